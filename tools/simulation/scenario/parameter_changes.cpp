// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/parameter_changes.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text/param_rows.hpp"
#include "scheduler/lifecycle/scheduler_settings.hpp"

namespace weft {

namespace {

constexpr std::string_view policy_name = "scheduler.policy";
constexpr std::string_view placement_name = "scheduler.placement";

/// Of modules that every run has.
struct Changeable {
  std::string_view name;
  void (*apply)(const Parameters& parameters, SettingsChange& change);
};

void change_checkpoints(const Parameters& parameters, SettingsChange& change) {
  change.checkpoints = filled<CheckpointPlan>(parameters.of("checkpoint"));
}

constexpr std::array changeable = {
    Changeable{"scheduler.round",
               [](const Parameters& parameters, SettingsChange& change) {
                 change.round = filled<SchedulerSettings>(parameters.of("scheduler")).round;
               }},
    Changeable{"scheduler.start_overhead",
               [](const Parameters& parameters, SettingsChange& change) {
                 change.start_overhead = filled<SchedulerSettings>(parameters.of("scheduler")).start_overhead;
               }},
    Changeable{"checkpoint.every", change_checkpoints},
    Changeable{"checkpoint.interval", change_checkpoints},
    Changeable{"checkpoint.write", change_checkpoints},
    Changeable{"failure.detection",
               [](const Parameters& parameters, SettingsChange& change) {
                 change.detection = filled<FailureSettings>(parameters.of("failure")).detection;
               }},
    Changeable{"failure.cold_start",
               [](const Parameters& parameters, SettingsChange& change) {
                 change.cold_start = filled<FailureSettings>(parameters.of("failure")).cold_start;
               }},
    Changeable{"maintenance.jobs",
               [](const Parameters& parameters, SettingsChange& change) {
                 change.moves_jobs = filled<MaintenanceSettings>(parameters.of("maintenance")).moves_jobs;
               }},
};

template <class List>
bool is_one_of(const List& modules, std::string_view name) {
  return std::any_of(modules.begin(), modules.end(), [name](const auto& module) { return module.info.name == name; });
}

/// The parameters as they stand after the changes so far.
class ChangingParameters {
 public:
  explicit ChangingParameters(const Scenario& scenario)
      : scenario_(scenario), parameters_(scenario.parameters), policy_(scenario.policy), placement_(scenario.placement) {}

  SettingsChange apply(const ParameterChange& said) {
    SettingsChange change;
    if (said.name == policy_name) {
      policy_ = find_module(scheduling_policies(), said.value, said.value_place).info.name;
      change.policy = make_policy();
      return change;
    }
    if (said.name == placement_name) {
      placement_ = find_module(placers(), said.value, said.value_place).info.name;
      change.placer = make_placer(scenario_, placement_, parameters_.of(placement_));
      return change;
    }
    const std::string module = said.name.substr(0, said.name.find('.'));
    const bool is_of_policy = is_one_of(scheduling_policies(), module);
    const bool is_of_placement = is_one_of(placers(), module);
    const auto known =
        std::find_if(changeable.begin(), changeable.end(), [&](const Changeable& one) { return one.name == said.name; });
    set(said);
    if (!is_of_policy && !is_of_placement && known == changeable.end()) {
      fail("fixed-parameter", fmt::format("{} cannot change while the run goes on", said.name), said.place,
           fmt::format("set it for the whole run; what may change is {}, and the parameters of policies and placements",
                       changeable_parameters()));
    }
    if (known != changeable.end()) known->apply(parameters_, change);
    if (is_of_policy && module == policy_) change.policy = make_policy();
    if (is_of_placement && module == placement_) change.placer = make_placer(scenario_, placement_, parameters_.of(placement_));
    return change;
  }

 private:
  void set(const ParameterChange& said) {
    try {
      parameters_.apply(said.name, said.value, said.place);
    } catch (const InputError& error) {
      std::vector<Diagnostic> diagnostics(error.diagnostics().begin(), error.diagnostics().end());
      for (Diagnostic& found : diagnostics) {
        if (found.code == "bad-value" || found.code == "out-of-range") found.place = said.value_place;
      }
      throw InputError(std::move(diagnostics));
    }
  }
  std::unique_ptr<SchedulingPolicy> make_policy() const {
    return find_module(scheduling_policies(), policy_, SourcePlace::named("scheduler")).make(parameters_.of(policy_));
  }

  const Scenario& scenario_;
  Parameters parameters_;
  std::string policy_;
  std::string placement_;
};

/// Whether the change has no effect: it is of a policy or placement that the run has neither then
/// nor later.
bool is_unused(const Scenario& scenario, std::size_t number) {
  const ParameterChange& change = scenario.changes[number];
  const std::string module = change.name.substr(0, change.name.find('.'));
  const bool is_of_policy = is_one_of(scheduling_policies(), module);
  if (!is_of_policy && !is_one_of(placers(), module)) return false;
  std::string now = is_of_policy ? scenario.policy : scenario.placement;
  for (std::size_t i = 0; i < scenario.changes.size(); ++i) {
    if (scenario.changes[i].name == (is_of_policy ? policy_name : placement_name)) now = scenario.changes[i].value;
    if (i >= number && now == module) return false;
  }
  return true;
}

}  // namespace

std::string changeable_parameters() {
  std::string names = fmt::format("{}, {}", policy_name, placement_name);
  for (const Changeable& one : changeable) names += fmt::format(", {}", one.name);
  return names;
}

void apply_changes_until(Scenario& scenario, Time when) {
  std::size_t number = 0;
  for (const ScriptedEvent& event : scenario.events) {
    if (event.kind != ScriptedEvent::Kind::set || event.at > when) continue;
    const ParameterChange& change = scenario.changes[number++];
    if (change.name == policy_name) {
      scenario.policy = change.value;
    } else if (change.name == placement_name) {
      scenario.placement = change.value;
    } else {
      scenario.parameters.apply(change.name, change.value, change.place);
    }
  }
  scenario.maintenance.moves_jobs = filled<MaintenanceSettings>(scenario.parameters.of("maintenance")).moves_jobs;
}

std::vector<SettingsChange> settings_changes(const Scenario& scenario, std::vector<std::string>* unused) {
  Diagnostics diagnostics;
  std::vector<SettingsChange> changes;
  ChangingParameters changing(scenario);
  for (std::size_t i = 0; i < scenario.changes.size(); ++i) {
    const ParameterChange& said = scenario.changes[i];
    try {
      changes.push_back(changing.apply(said));
      if (unused != nullptr && is_unused(scenario, i)) unused->push_back(said.name);
    } catch (const InputError& error) {
      for (const Diagnostic& found : error.diagnostics()) diagnostics.add(found);
    }
  }
  diagnostics.throw_if_errors();
  return changes;
}

}  // namespace weft
