// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/workload_shelf.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/text/preset_text.hpp"
#include "workloads/formats/workload_reader.hpp"

namespace weft {

std::shared_ptr<const Workload> WorkloadShelf::get(const std::string& path, const std::string& format,
                                                   const WorkloadOptions& options) {
  for (const WorkloadFile& entry : scenario_.workload_files) {
    if (entry.path == path && entry.format == format && entry.options == options) return entry.workload;
  }
  const auto workload = std::make_shared<const Workload>(load_workload(path, format, options));
  take_in(workload, path);
  if (!options.process_groups_path.empty()) {
    scenario_.manifest.add_input("process groups", options.process_groups_path, "json");
  }
  for (const std::string& input : workload_files(path, format)) scenario_.manifest.add_input("workload", input, format);
  scenario_.workload_files.push_back({path, format, options, workload});
  return workload;
}

std::shared_ptr<const Workload> WorkloadShelf::get(const Module<WorkloadFactory>& module, const ParamSet& params,
                                                   const SourcePlace& place) {
  Made& made = make(module, params, place);
  if (!made.is_taken) take_in(made.workload, params.module());
  made.is_taken = true;
  return made.workload;
}

std::shared_ptr<const Workload> WorkloadShelf::get(const PlannedWorkload& planned, const PlannedPlaces& places) {
  const std::string name = fmt::format("{}, {}", planned.model, planned.plan.name);
  std::string key = fmt::format("{}\n{}\n{}", name, planned.gpu, planned.plan.gpus.value_or(0));
  for (const std::string& setting : planned.plan.overrides) key += "\n" + setting;
  const auto known = made_.find(key);
  if (known != made_.end()) return known->second.workload;
  const auto workload = std::make_shared<const Workload>(make_planned_workload(planned, places));
  take_in(workload, name);
  for (const auto& [what, file] : {std::pair("model", &planned.model), std::pair("plan", &planned.plan.name)}) {
    if (names_file(*file)) scenario_.manifest.add_input(what, *file, "weft");
  }
  made_[key] = {workload, true};
  return workload;
}

std::uint32_t WorkloadShelf::rank_count(const Module<WorkloadFactory>& module, const ParamSet& params, const SourcePlace& place) {
  return make(module, params, place).workload->rank_count;
}

WorkloadShelf::Made& WorkloadShelf::make(const Module<WorkloadFactory>& module, const ParamSet& params, const SourcePlace& place) {
  std::string key = params.module();
  for (std::size_t i = 0; i < params.table().size(); ++i) key += fmt::format("\n{}", params.value_text(i));
  const auto known = made_.find(key);
  if (known != made_.end()) return known->second;
  return made_[key] = {std::make_shared<const Workload>(module.make(params, place))};
}

void WorkloadShelf::take_in(const std::shared_ptr<const Workload>& workload, const std::string& name) {
  Diagnostics diagnostics;
  check_workload(*workload, SourcePlace::named(name), diagnostics);
  diagnostics.throw_if_errors();
  for (const std::string& assumption : workload->assumptions)
    scenario_.assumptions.push_back(fmt::format("{}: {}", name, assumption));
  scenario_.workloads.push_back(workload);
}

}  // namespace weft
