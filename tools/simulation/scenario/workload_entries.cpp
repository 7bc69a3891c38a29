// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/workload_entries.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/source_text.hpp"
#include "tools/simulation/scenario/entry_fields.hpp"
#include "tools/simulation/scenario/named_files.hpp"
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

std::shared_ptr<const Workload> made_workload(Loading& loading, const scenario::Workload& workload, const SourcePlace& place,
                                              const FieldPlaces& places, std::optional<std::uint32_t> ranks) {
  const SourcePlace name_place = places.of(workload, "template");
  const auto& module = find_module(workload_templates(), workload.template_(), name_place);
  auto made = loading.shelf.get(module, params_of(module.info, workload, places), name_place);
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
    const bool is_alone = workload.file().empty() && workload.format().empty() &&
                          options_of(loading, workload) == options_of(loading, scenario::Workload());
    require(is_alone, "workload-source", "a template is no file and takes nothing but its parameters", place,
            "give template: and set { name: \"...\" value: \"...\" }, or file: and what belongs to it");
    return;
  }
  require(workload.set_size() == 0, "workload-source", "set says something about a template, which is not given", place,
          "add template: \"llm\"; `weft modules template` lists them");
  require(!workload.file().empty(), "missing-field", "a workload needs a file or a template", place,
          "file: \"my.textproto\" or template: \"llm\"");
  require(!workload.has_ranks() || workload.ranks() > 0, "out-of-range", "a workload has at least one rank",
          places.of(workload, "ranks"), "give a number above 0, or drop it");
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
  return loading.shelf.rank_count(module, params_of(module.info, workload, places), place);
}

}  // namespace weft
