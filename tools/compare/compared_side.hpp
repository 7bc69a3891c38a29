// SPDX-License-Identifier: Apache-2.0
// Compared side: what a comparison knows of one of its two sides - a run's folder, a study's
// folder, or a scenario that is run for it.
//
// Where it sits: compare() (tools/compare/comparison) takes two.
// Model: a side has cases, a run one and a study one for each point, and a case has figures by
// seed.
// Threads: values; run_side() takes threads inside.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/simulation/scenario/run_flags.hpp"

namespace weft {

struct ComparedInput {
  std::string role;  ///< "topology"
  std::string path;
  std::string sha256;
};

struct ComparedCase {
  /// What a study's point sets: "flow.queue_pairs=4, mode=flow"; "" of a run.
  std::string label;
  std::map<std::uint64_t, std::map<std::string, double>> figures;  ///< by seed and name
};

/// A cell of a table with a row for each job or link.
struct ComparedCell {
  std::string table;   ///< "jobs"
  std::string row;     ///< the job's or link's name
  std::string column;  ///< "jct_s"

  friend auto operator<=>(const ComparedCell&, const ComparedCell&) = default;
};

struct ComparedSide {
  std::string name;  ///< as it was given
  bool is_study = false;
  /// "mode", "seed"; not threads, which change no result
  std::vector<std::pair<std::string, std::string>> facts = {};
  std::vector<ComparedInput> inputs = {};
  std::map<std::string, std::string> parameters = {};  ///< by "module.param"
  std::vector<std::string> figures = {};               ///< names, in their files' order
  std::vector<ComparedCase> cases = {};
  std::map<std::string, std::string> texts = {};  ///< of one run: "fingerprint", "busiest_link"
  std::map<ComparedCell, double> cells = {};      ///< of one run
};

/// Reads a folder that `weft run` or `weft study` wrote. Throws InputError [no-results],
/// [unfinished-run], [bad-results], and what reading its tables does.
ComparedSide read_side(const std::string& folder);

struct SideRuns {
  std::uint32_t seeds = 1;    ///< 1, 2, ...; of one the scenario's own
  std::uint32_t threads = 0;  ///< 0: all cores
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(std::uint32_t done)> progress = {};  ///< from one thread at a time
};

/// Runs a scenario once for each seed. Interrupted, it has the seeds that came to their end.
/// Throws what load_scenario() and finish_run() do.
ComparedSide run_side(const RunFlags& flags, const SideRuns& runs);

}  // namespace weft
