// SPDX-License-Identifier: Apache-2.0
// Workload shelf: the workloads of a scenario, each read or made once however many jobs run it.
//
// Where it sits: loading takes workloads of files, templates and flags from it. Each workload that
// it hands out is checked, and stands in the scenario's lists and its manifest.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/text/params.hpp"
#include "tools/simulation/scenario/planned_workload.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft {

class WorkloadShelf {
 public:
  explicit WorkloadShelf(Scenario& scenario) : scenario_(scenario) {}

  /// The workload of a file. Throws InputError.
  std::shared_ptr<const Workload> get(const std::string& path, const std::string& format, const WorkloadOptions& options);
  /// The workload that a template makes. Its parameters say all about it. Throws InputError.
  std::shared_ptr<const Workload> get(const Module<WorkloadFactory>& module, const ParamSet& params, const SourcePlace& place);
  /// The workload of a model under a plan. Throws InputError.
  std::shared_ptr<const Workload> get(const PlannedWorkload& planned, const PlannedPlaces& places);
  /// How many ranks the template makes, whether or not a job runs it. Throws InputError.
  std::uint32_t rank_count(const Module<WorkloadFactory>& module, const ParamSet& params, const SourcePlace& place);

 private:
  struct Made {
    std::shared_ptr<const Workload> workload;
    bool is_taken = false;  ///< into the scenario
  };

  Made& make(const Module<WorkloadFactory>& module, const ParamSet& params, const SourcePlace& place);
  void take_in(const std::shared_ptr<const Workload>& workload, const std::string& name);

  Scenario& scenario_;
  std::map<std::string, Made> made_;
};

}  // namespace weft
