// SPDX-License-Identifier: Apache-2.0
// Measured collectives: what NCCL took on real machines beside what Weft simulates for them with
// its defaults.
//
// Where it sits: measured_collectives_test asserts the errors; the program measured_collectives
// prints the table of README.md.
//
// A data set is one file's times of one collective on one machine and number of ranks. Weft runs
// each of its sizes from 64 KB on, every `row_stride`-th row, on the server of the machine's name;
// nothing else is set. Constants of a machine (host/collectives/nccl_tuner) were fitted to the
// sizes with even numbers, counted from 0 in the order of size over the rows that are read; those
// with odd numbers are held out. A set of a machine that nothing was fitted to is held out as a
// whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct MeasuredCollectives {
  std::string_view machine;     ///< as the table calls it
  std::string_view collective;  ///< "all_reduce" and so on
  std::string_view file;        ///< below shared/data
  std::string topology;         ///< in protobuf text, for `ranks` GPUs
  unsigned ranks = 2;
  std::string_view size_column;
  unsigned bytes_per_size = 1;  ///< what the size column counts
  std::string_view time_column;
  double us_per_time = 1;
  unsigned row_stride = 1;
  bool fitted = true;                        ///< to the sizes with even numbers
  std::vector<std::string_view> conditions;  ///< "column=value": rows that count
};

/// Every data set.
const std::vector<MeasuredCollectives>& measured_collectives();

struct CollectiveTime {
  double bytes;  ///< of the whole buffer: what a rank holds before or after, whichever is more
  double measured_us;
  double simulated_us;
  bool held_out = true;
  double error() const { return simulated_us / measured_us - 1; }
};

/// Fills in what the times of a collective are in Weft, on a topology in protobuf text.
void simulate(std::string_view collective, const std::string& topology, unsigned ranks, std::vector<CollectiveTime>& times);
/// Reads a data set and simulates it, by size. Requires: its file is there.
std::vector<CollectiveTime> simulate(const MeasuredCollectives& set);

/// Sizes from 16 MiB on, and those from 64 KiB on below.
enum class SizeClass { medium, large };
std::vector<CollectiveTime> held_out(const std::vector<CollectiveTime>& times, SizeClass sizes);

struct ErrorSummary {
  double median;  ///< of absolute relative errors
  double worst;
};
ErrorSummary summarize_errors(const std::vector<CollectiveTime>& times);

/// Cells of a table: how many times, median error, worst.
std::string error_cells(const std::vector<CollectiveTime>& times);
/// A workload that runs all sizes, each collective ("c0", "c1" and so on) when the one before has
/// ended.
std::string collectives_workload_text(std::string_view collective, unsigned ranks, const std::vector<CollectiveTime>& times);

/// The Markdown table of all data sets, with a final newline.
std::string measured_collectives_table();

}  // namespace weft
