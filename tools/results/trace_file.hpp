// Trace file: trace.json, the trace events that Perfetto and chrome://tracing draw.
//
// Where it sits: a FolderSink hands it what the run was asked to record for it; whoever wants the
// trace alone may, too.
//
// Contents: one process per job and two threads per rank, "rank 0" for computation and "rank 0
// communication"; where ranks were folded, "rank 0 (for 288 alike)". In packet mode a process "links":
// a slice for each pause, counters of rate and queue by the samples of --sample.
// Source: Trace Event Format, Google, 2016: phases M, X and C; times in microseconds.
// Threads: as ResultSink.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tools/results/output_file.hpp"
#include "tools/results/rows.hpp"

namespace weft {

class TraceFile {
 public:
  /// Throws InputError [cannot-write], as do all others.
  explicit TraceFile(const std::filesystem::path& path);

  void add_op(const OpRow& row);
  void add_link_sample(const LinkSampleRow& row);
  void add_link_pause(const LinkPauseRow& row);
  /// The file is complete.
  void close();

 private:
  /// Of a link that has samples: a counter keeps its value until the next one.
  struct Counters {
    Time until;
    std::array<double, 2> values{};
  };

  /// `event` is JSON.
  void write(const std::string& event);
  void name_process(std::uint64_t process, const std::string& name);
  void count(const std::string& link, Counters& last, Time at, const std::array<double, 2>& values);

  OutputFile file_;
  bool is_empty_ = true;
  std::set<std::uint64_t> named_processes_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> named_threads_;  ///< by process
  std::map<std::string, Counters, std::less<>> counters_;            ///< by link
};

}  // namespace weft
