// SPDX-License-Identifier: Apache-2.0
// Requested run: a run with all that its user wants beside its scenario - a folder, a profile, a
// snapshot, the same in flow mode - from inputs to the last file.
//
// Where it sits: `weft run` fills it from flags, the Python module from keywords.
// Threads: one per call; several calls at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/text/manifest.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/results/trace_file.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/run_flags.hpp"

namespace weft {

/// As the flags of `weft run` have it.
struct RequestedRun {
  RunFlags flags = {};
  std::optional<std::uint64_t> fast_forward = {};
  std::uint32_t threads = 1;
  std::string zeta = "auto";
  std::string out = {};  ///< folder; empty: none is written
  std::string flows_csv = "auto";
  std::string log = "off";
  bool trace = false;
  std::string trace_size = "100MB";
  std::uint32_t trace_ranks = TraceLimits{}.ranks_max;
  std::string sample = {};
  bool report = false;
  std::string until = {};
  std::string snapshot = {};
  std::string profile = {};
  bool align = false;
  bool take_transferred = false;
  bool no_flow_comparison = false;
};

/// Who watches it. Each may be empty; calls come from one thread at a time.
struct RunWatch {
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const RunState&)> progress = {};
  std::function<void(const std::string&)> on_note = {};  ///< of inputs, and of the run as it begins
  std::function<void()> on_read = {};                    ///< all inputs are read
};

struct RequestedOutcome {
  RunSummary summary;
  RunManifest manifest;
  std::vector<std::string> assumptions;  ///< that the inputs left to make
  std::string snapshot;                  ///< text of the file; empty: there is none
  std::string out;                       ///< with {time} replaced
};

/// Rows go to the folder and to `rows`, which may be null. Throws InputError: what load_scenario()
/// and run() do, [bad-value], [unused-flag], [missing-flag] of what only a folder holds.
RequestedOutcome carry_out(RequestedRun wanted, ResultSink* rows, const RunWatch& watch);

}  // namespace weft
