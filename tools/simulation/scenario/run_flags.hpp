// SPDX-License-Identifier: Apache-2.0
// Run flags: what the command line of a run says beside its scenario file.
//
// Where it sits: `weft run` and `weft check` fill the struct, load_scenario() reads it. Flags
// override the scenario file.
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/formats/workload_reader.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"

namespace weft {

/// What the command line says; a scenario file fills the rest.
struct RunFlags {
  std::string scenario_file;
  std::string topology;  ///< FILE[:format]
  std::string workload;  ///< FILE[:format]
  std::string flows;     ///< FILE[:format]
  std::string jobs;      ///< FILE[:format]
  std::string mode;      ///< "" = the scenario's, or by what is given
  WorkloadOptions workload_options;
  JobTraceOptions jobs_options;
  bool skip_larger_jobs = false;            ///< of all job traces
  std::optional<std::uint64_t> iterations;  ///< of --workload; default 1
  std::optional<std::uint32_t> hosts;
  std::optional<std::uint32_t> gpus_per_host;  ///< default: the scenario's, or 8
  std::string scheduler;
  std::string placement;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> settings;  ///< --set
  bool jobs_follow = false;           ///< the caller adds what runs: there may be nothing yet
};

}  // namespace weft
