// Measured collectives: NCCL's all-reduces on real machines beside what Weft simulates for them.
//
// Where it sits: measured_collectives_test asserts the errors; the program measured_collectives prints the table of README.md.
//
// A data set is one file of measured times of one machine and number of ranks. Weft runs each of its sizes from `size_min` on, every
// `row_stride`-th row, on the server of the machine's name under the preset of the machine's name: one set of parameters per machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct MeasuredCollectives {
  std::string_view machine;    ///< a server (topologies/builders/server_presets) and a preset (host/presets)
  std::string_view file;       ///< below shared/data
  std::string_view builder;    ///< of the topology
  std::string_view rank_unit;  ///< parameter of the builder that is the number of ranks
  unsigned ranks;
  std::string_view size_column;
  unsigned bytes_per_size;  ///< what the size column counts
  std::string_view time_column;
  double us_per_time;
  unsigned row_stride;
};

/// Every data set of all-reduces.
const std::vector<MeasuredCollectives>& measured_collectives();

struct CollectiveTime {
  double bytes;  ///< buffer of a rank
  double measured_us;
  double simulated_us;
  double error() const { return simulated_us / measured_us - 1; }
};

/// Reads a data set and simulates it, by size. Requires: its file is there.
std::vector<CollectiveTime> simulate(const MeasuredCollectives& set);

struct ErrorSummary {
  double median;  ///< of absolute relative errors
  double worst;
};
ErrorSummary summarize_errors(const std::vector<CollectiveTime>& times);

/// The Markdown table of all data sets, with a final newline.
std::string measured_collectives_table();

}  // namespace weft
