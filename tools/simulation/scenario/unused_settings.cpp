// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/unused_settings.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "core/text/run_condition.hpp"
#include "tools/simulation/scenario/module_uses.hpp"
#include "tools/simulation/scenario/run_facts.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "topologies/builders.hpp"

namespace weft {

namespace {

bool is_builder(std::string_view module) {
  return std::ranges::any_of(topology_builders(), [&](const auto& builder) { return builder.info.name == module; });
}

bool is_used(std::string_view module, const HasValue& has_value, const std::string& builder) {
  if (is_builder(module)) return module == builder;
  bool has_condition = false;
  for (const ModuleUse& use : module_uses()) {
    if (use.name != module) continue;
    if (holds(use.condition, has_value)) return true;
    has_condition = true;
  }
  return !has_condition;
}

/// Notes parameters that are not at their defaults and have no effect.
class UnusedNotes {
 public:
  explicit UnusedNotes(Scenario& scenario) : scenario_(scenario) {}

  void note(const ParamSet& set, const ParamSpec& row, const std::string& because) {
    if (set.is_default(row.name) || scenario_.parameters.is_of_preset(set.module(), row.name)) return;
    const std::string name = fmt::format("{}.{}", set.module(), row.name);
    unused_.insert(name);
    scenario_.assumptions.push_back(fmt::format("{} is set and changes nothing: {}", name, because));
  }
  std::set<std::string> take() { return std::move(unused_); }

 private:
  Scenario& scenario_;
  std::set<std::string> unused_;
};

}  // namespace

std::set<std::string> note_unused_settings(Scenario& scenario) {
  const std::string& builder = scenario.parameters.builder();
  const HasValue has_value = facts_of(scenario);
  const std::string run = fmt::format("{}{} mode", scenario.flows ? "a flow list in " : "this run in ", to_text(scenario.mode));
  if (!scenario.parameters.preset().empty() && !is_used("flow", has_value, builder)) {
    scenario.assumptions.push_back(
        fmt::format("preset {} changes nothing: {} simulates no network", scenario.parameters.preset(), run));
  }
  if (is_used("collective", has_value, builder) && holds("collective.protocol = ideal", has_value)) {
    scenario.assumptions.push_back(
        "collective.protocol is ideal: steps of collectives cost nothing beside the network's own time, and kernels keep every "
        "link busy");
  }
  UnusedNotes notes(scenario);
  for (const ParamSet& set : scenario.parameters.all()) {
    if (!is_used(set.module(), has_value, builder)) continue;
    for (const ParamSpec& row : set.table()) {
      const UnusedWhen* const when = first_that_holds(unused_of(set.module(), row), has_value);
      if (when != nullptr) notes.note(set, row, std::string(when->because));
    }
  }
  for (const ParamSet& set : scenario.parameters.all()) {
    if (is_used(set.module(), has_value, builder)) continue;
    for (const ParamSpec& row : set.table()) notes.note(set, row, fmt::format("{} does not use {}", run, set.module()));
  }
  return notes.take();
}

}  // namespace weft
