// SPDX-License-Identifier: Apache-2.0
// Loading: a scenario on its way from file and flags, and the mistakes found so far.
//
// Where it sits: load_scenario() makes one; every step of loading adds to it. A step that fails
// leaves its diagnostics here, and the other steps go on, so that all mistakes are reported
// together.
// Thread safety: belongs to one thread.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "tools/simulation/scenario/job_rules.hpp"
#include "tools/simulation/scenario/run_flags.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/scenario/workload_settings.hpp"
#include "tools/simulation/scenario/workload_shelf.hpp"
#include "topologies/topology_file.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Jobs may be submitted until then, which leaves most of the clock's 2.9 years for the jobs
/// themselves.
inline const Duration submit_max = Duration::s(366LL * 86'400);

/// A job trace that was read, and what its jobs run.
struct TraceUnderRules {
  JobTrace trace;
  std::string path;
  std::vector<JobRule> rules = {};
  bool skips_larger_jobs = false;  ///< jobs larger than the cluster are left out, no error
  std::uint32_t queue = 0;         ///< so many of its jobs wait at a time; 0: as their times say
};

struct Loading {
  const RunFlags& flags;
  Scenario& scenario;
  WorkloadShelf shelf{scenario};
  WorkloadSettings workload_settings{flags.settings};
  std::vector<TraceUnderRules> traces = {};
  Diagnostics diagnostics = {};
  std::set<std::string> caught = {};  ///< texts of what attempt() added to the diagnostics
  /// What --topology or the scenario names, or what is wrong with it.
  std::variant<std::monostate, TopologyOrBuilder, InputError> topology_file = {};
  bool is_place_good = true;  ///< whether topology or cluster, where given, could be read

  /// Runs one step of loading and returns whether nothing was wrong. Each mistake is kept once.
  template <class Step>
  bool attempt(const Step& step) {
    try {
      step();
      return true;
    } catch (const InputError& error) {
      keep(error);
      return false;
    }
  }
  void keep(const InputError& error);

  /// Paths in a scenario file are relative to its folder.
  std::string beside_scenario(const std::string& path) const;
};

}  // namespace weft
