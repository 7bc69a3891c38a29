// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/workload_entries.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/preset_text.hpp"
#include "core/text/source_text.hpp"
#include "core/text/textproto_settings.hpp"
#include "tools/simulation/scenario/entry_fields.hpp"
#include "tools/simulation/scenario/named_files.hpp"
#include "tools/simulation/scenario/planned_workload.hpp"
#include "tools/simulation/scenario/workload_gpu.hpp"
#include "workloads/formats/workload_reader.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft {

namespace {

WorkloadOptions options_of(const Loading& loading, const scenario::Workload& workload) {
  WorkloadOptions options;
  options.names = OptionNames::of_fields();
  if (workload.has_ranks()) options.ranks = workload.ranks();
  if (workload.has_iteration()) options.iteration = workload.iteration();
  if (!workload.process_groups().empty()) options.process_groups_path = loading.beside_scenario(workload.process_groups());
  options.time_unit = workload.time_unit();
  options.collectives_as_recorded = workload.as_recorded();
  for (const scenario::GroupSize& group : workload.scale_group()) options.group_sizes.push_back({group.name(), group.size()});
  return options;
}

/// A name stands for itself, a file is beside the scenario.
std::string file_or_name(const Loading& loading, const std::string& name) {
  return names_file(name) ? loading.beside_scenario(name) : name;
}

ParamSet template_params(Loading& loading, const ModuleInfo& module, const scenario::Workload& workload,
                         const FieldPlaces& places) {
  ParamSet params = params_of(module, workload, places);
  loading.workload_settings.apply(params);
  take_rates_of(workload_gpu(loading), params);
  return params;
}

std::shared_ptr<const Workload> planned_workload(Loading& loading, const scenario::Workload& workload, const SourcePlace& place,
                                                 const FieldPlaces& places, std::optional<std::uint32_t> ranks) {
  PlannedWorkload planned;
  planned.model = file_or_name(loading, workload.model());
  planned.plan.name = file_or_name(loading, workload.plan());
  planned.gpu = workload.gpu().empty() ? workload_gpu(loading) : workload.gpu();
  if (workload.has_ranks()) planned.plan.gpus = workload.ranks();
  if (ranks && !workload.has_ranks()) planned.plan.gpus = *ranks;
  Diagnostics diagnostics;
  for_each_setting(workload, places, diagnostics, [&](const std::string& name, const std::string& value, const SourcePlace& at) {
    planned.plan.overrides.push_back(fmt::format("{}={}", name, value));
    planned.plan.override_places.push_back(at);
  });
  diagnostics.throw_if_errors();
  loading.workload_settings.apply(planned.plan);
  auto made = loading.shelf.get(planned, {places.of(workload, "model"), places.of(workload, "plan"), places.of(workload, "gpu")});
  require(!ranks || made->rank_count == *ranks, "rank-count-mismatch",
          fmt::format("plan {} takes {}, jobs that the rule matches have {}", workload.plan(),
                      counted(made->rank_count, "GPU", "GPUs"), counted(ranks.value_or(0), "GPU", "GPUs")),
          place, "drop ranks and data_parallel, so that it makes up the rest, or limit the rule with gpus: \"64\"");
  return made;
}

std::shared_ptr<const Workload> made_workload(Loading& loading, const scenario::Workload& workload, const SourcePlace& place,
                                              const FieldPlaces& places, std::optional<std::uint32_t> ranks) {
  const SourcePlace name_place = places.of(workload, "template");
  const auto& module = find_module(workload_templates(), workload.template_(), name_place);
  auto made = loading.shelf.get(module, template_params(loading, module.info, workload, places), name_place);
  require(!ranks || made->rank_count == *ranks, "rank-count-mismatch",
          fmt::format("template {} makes {}, jobs that the rule matches have {}", workload.template_(),
                      counted(made->rank_count, "rank", "ranks"), counted(ranks.value_or(0), "GPU", "GPUs")),
          place, "limit the rule to jobs with as many GPUs as the workload has ranks, like gpus: \"8\"");
  return made;
}

}  // namespace

void check_workload_fields(const Loading& loading, const scenario::Workload& workload, const SourcePlace& place,
                           const FieldPlaces& places) {
  if (!workload.template_().empty()) {
    const bool is_alone = workload.file().empty() && workload.format().empty() && workload.model().empty() &&
                          workload.plan().empty() && workload.gpu().empty() &&
                          options_of(loading, workload) == options_of(loading, scenario::Workload());
    require(is_alone, "workload-source", "a template is no file and takes nothing but its parameters", place,
            "give template: and set { name: \"...\" value: \"...\" }, or file: and what belongs to it");
    return;
  }
  require(workload.model().empty() == workload.plan().empty(), "missing-field", "a model needs a plan, and a plan a model", place,
          "model: \"llama3_8b\" plan: \"llama3_8b_nemo\"");
  require(!workload.has_ranks() || workload.ranks() > 0, "out-of-range", "a workload has at least one rank",
          places.of(workload, "ranks"), "give a number above 0, or drop it");
  if (!workload.model().empty()) {
    scenario::Workload others = workload;
    others.clear_ranks();
    const bool is_alone = workload.file().empty() && workload.format().empty() &&
                          options_of(loading, others) == options_of(loading, scenario::Workload());
    require(is_alone, "workload-source", "a model under a plan is no file and takes nothing but ranks, gpu and fields of the plan",
            place, "give model: and plan:, or file: and what belongs to it");
    return;
  }
  require(workload.gpu().empty(), "workload-source", "gpu says something about a model and a plan, which are not given", place,
          "drop it, or add model: and plan:");
  require(workload.set_size() == 0, "workload-source", "set says something about a template, which is not given", place,
          "add template: \"llm\"; `weft modules template` lists them");
  require(!workload.file().empty(), "missing-field", "a workload needs a file, a template, or a model and a plan", place,
          "file: \"my.textproto\", template: \"llm\", or model: and plan:");
  for (int i = 0; i < workload.scale_group_size(); ++i) {
    const scenario::GroupSize& group = workload.scale_group(i);
    require(!group.name().empty() && group.size() > 0, "missing-field", "a process group that grows needs a name and a size",
            places.of(workload, "scale_group", i), "scale_group { name: \"dp\" size: 64 }");
  }
}

std::shared_ptr<const Workload> load_workload_entry(Loading& loading, const scenario::Workload& workload, const SourcePlace& place,
                                                    const FieldPlaces& places, std::optional<std::uint32_t> ranks) {
  check_workload_fields(loading, workload, place, places);
  if (!workload.template_().empty()) return made_workload(loading, workload, place, places, ranks);
  if (!workload.model().empty()) return planned_workload(loading, workload, place, places, ranks);
  WorkloadOptions options = options_of(loading, workload);
  if (ranks && !options.ranks) options.ranks = ranks;
  try {
    return read_named_file(loading, workload, places,
                           [&] { return loading.shelf.get(loading.beside_scenario(workload.file()), workload.format(), options); });
  } catch (const InputError& error) {
    if (!ranks || error.diagnostics().front().code != "rank-conflict") throw;
    fail("rank-count-mismatch",
         fmt::format("{} cannot run on the {} of jobs that the rule matches", workload.file(), counted(*ranks, "GPU", "GPUs")),
         place, "limit the rule to jobs with as many GPUs as the workload has ranks, like gpus: \"8\"");
  }
}

void require_workload_files(Loading& loading, const scenario::Workload& workload, const FieldPlaces& places) {
  if (!workload.model().empty()) {
    for (const std::string* name : {&workload.model(), &workload.plan()}) {
      const std::string file = file_or_name(loading, *name);
      if (file != *name) SourceText::read(file);
    }
    return;
  }
  read_named_file(loading, workload, places, [&] {
    std::vector<std::string> files = workload_files(loading.beside_scenario(workload.file()), workload.format());
    for (const std::string& file : files) {
      // Reading it says in what way it is missing.
      if (!std::filesystem::exists(file)) SourceText::read(file);
    }
    return files;
  });
}

std::uint32_t template_ranks(Loading& loading, const scenario::Workload& workload, const FieldPlaces& places) {
  const SourcePlace place = places.of(workload, "template");
  const auto& module = find_module(workload_templates(), workload.template_(), place);
  return loading.shelf.rank_count(module, template_params(loading, module.info, workload, places), place);
}

}  // namespace weft
