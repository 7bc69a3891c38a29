// SPDX-License-Identifier: Apache-2.0
// Trace file: trace.json, the trace events that Perfetto (ui.perfetto.dev) and chrome://tracing
// draw.
//
// Where it sits: a FolderSink hands it the rows of a run; whoever wants the trace alone may, too.
//
// Contents
//   cluster   a process with a slice for every attempt of a job, and counters of busy GPUs and
//             waiting jobs
//   JOB       a process per job, with tracks of its ranks: one for each stream of the workload, or
//             for computation and communication where it names none; arrows from sends to their
//             receives
//   transfers of a flow list: a track per endpoint that sends
//   links     counters of rate and queue by the samples of --sample; packet mode: a slice for each
//             pause
//   Slices of a track never overlap, as viewers drop those that do in part: a track that needs more
//   lanes gets "(2)" and so on.
// Size: of a job of more than ranks_max ranks as many are drawn, evenly spread; ranks that stand
// for others always are. Beyond bytes_max what comes later in simulated time is left out. notes()
// says both.
// Source: Trace Event Format, Google, 2016: phases M, X, C, s and f; times in microseconds.
// Threads: as ResultSink: transfers may come beside all else. They are kept until close().
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/results/output_file.hpp"
#include "tools/results/rows.hpp"
#include "tools/results/text_pool.hpp"

namespace weft {

struct TraceLimits {
  std::uint64_t bytes_max = 100'000'000;
  std::uint32_t ranks_max = 64;  ///< of each job
};

class TraceFile {
 public:
  /// Throws InputError [cannot-write], as do all others. `choice` is the flag that names another
  /// place.
  explicit TraceFile(const std::filesystem::path& path, const TraceLimits& limits = {}, std::string_view choice = "--out");

  void add_attempt(const AttemptRow& row);
  void add_cluster(const ClusterRow& row);
  /// Ops come in order of their starts.
  void add_op(const OpRow& row);
  void add_flow(const FlowRow& row);
  void add_link_sample(const LinkSampleRow& row);
  void add_link_pause(const LinkPauseRow& row);
  /// The file is complete; its name is still that of OutputFile::close().
  void close();
  /// The same, and it has its name.
  void commit();
  /// What was left out.
  std::vector<std::string> notes() const;

 private:
  /// Threads of a process that stand for one track, so that no two slices of one overlap.
  struct Track {
    std::vector<std::uint64_t> threads;
    std::vector<Time> busy_until;  ///< by thread
  };
  /// Tracks of a process, by name.
  struct Process {
    std::uint64_t number = 0;
    std::uint64_t threads = 0;
    std::map<std::string, Track, std::less<>> tracks;
  };
  /// Of a link that has samples: a counter keeps its value until the next one.
  struct Counters {
    Time until;
    std::array<double, 2> values{};
  };
  /// A transfer that is drawn when all ops are.
  struct Arrow {
    std::uint64_t flow;
    JobId job;
    std::uint32_t source_rank;
    std::uint32_t destination_rank;
    Time start;
    Time end;
  };
  struct Thread {
    std::uint64_t process;
    std::uint64_t number;
  };
  /// Which op ran where, for arrows.
  struct Slice {
    Time start;
    Time end;
    Thread thread;
  };

  /// Returns whether there was room. `event` is JSON.
  bool write(std::string_view event, Time at);
  Process& process(const std::string& name);
  /// A thread of the track that is free at `start`; busy from then on until `end`.
  Thread thread_of(Process& process, const std::string& track, Time start, Time end);
  bool slice(const Thread& thread, std::string_view name, std::string_view category, Time start, Time end,
             std::string_view arguments);
  void count(Process& process, const std::string& name, Time at, double value);
  void count_link(const std::string& link, Counters& last, Time at, const std::array<double, 2>& values);
  void draw_arrows();
  void write_rest();

  OutputFile file_;
  TraceLimits limits_;
  std::uint64_t bytes_ = 0;
  bool is_empty_ = true;
  std::optional<Time> left_out_from_;
  std::map<std::string, Process, std::less<>> processes_;
  std::optional<ClusterRow> cluster_;                      ///< the last
  std::map<std::string, Counters, std::less<>> counters_;  ///< by link
  /// sends and receives by job and rank
  std::map<std::pair<JobId, std::uint32_t>, std::vector<Slice>> messages_;
  std::vector<Arrow> arrows_;
  std::vector<FlowRow> listed_;  ///< transfers of a flow list; their names are in names_
  TextPool names_;
  /// ranks of jobs of which not all are drawn
  std::map<std::string, std::uint32_t, std::less<>> thinned_;
};

}  // namespace weft
