// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/run_facts.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "host/collectives/collective_library.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/scenario/storage_entries.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

namespace {

/// "all", "some" or "none" of the jobs; without jobs both all and none.
template <class Predicate>
bool is_share_of_jobs(const Scenario& scenario, std::string_view value, const Predicate& predicate) {
  if (value == "all") return std::ranges::all_of(scenario.jobs, predicate);
  return std::ranges::any_of(scenario.jobs, predicate) == (value == "some");
}

bool is_some(bool has, std::string_view value) { return has == (value == "some"); }

/// In job mode only iterations that are measured run on the network.
bool runs_on_network(const Scenario& scenario) {
  return simulates_network(scenario.mode) ||
         std::ranges::any_of(scenario.jobs, [](const JobSpec& job) { return job.compute_share.has_value(); });
}

/// Whether the run begins with the policy or placement, or an event takes it.
bool takes(const Scenario& scenario, const std::string& first, std::string_view setting, std::string_view value) {
  return first == value || std::ranges::any_of(scenario.changes, [&](const ParameterChange& change) {
           return change.name == setting && change.value == value;
         });
}

bool has_algorithm(const Scenario& scenario, std::string_view value) {
  const ParamSet& collective = scenario.parameters.of("collective");
  return std::ranges::any_of(CollectiveLibrary::type_params(),
                             [&](const ParamSpec& row) { return has_value(collective, row.name, value); });
}

constexpr std::array facts = {
    RunFact{"mode", "job|flow|packet",
            [](const Scenario& scenario, std::string_view value) { return to_text(scenario.mode) == value; }},
    RunFact{"traffic", "jobs|flow_list",
            [](const Scenario& scenario, std::string_view value) { return scenario.flows.has_value() == (value == "flow_list"); }},
    RunFact{"network", "simulated|none",
            [](const Scenario& scenario, std::string_view value) { return runs_on_network(scenario) == (value == "simulated"); }},
    RunFact{"wide_area", "some|none",
            [](const Scenario& scenario, std::string_view value) {
              return is_some(scenario.topology != nullptr && scenario.topology->has_wide_area(), value);
            }},
    RunFact{"lossy_lines", "some|none",
            [](const Scenario& scenario, std::string_view value) {
              const auto is_lossy = [](const auto& line) { return line.second.loss > 0; };
              return is_some(scenario.topology != nullptr && std::ranges::any_of(scenario.topology->wide_area_lines(), is_lossy),
                             value);
            }},
    RunFact{"workloads", "all|some|none",
            [](const Scenario& scenario, std::string_view value) {
              return is_share_of_jobs(scenario, value, [](const JobSpec& job) { return job.workload != nullptr; });
            }},
    RunFact{"flow_jobs", "all|some|none",
            [](const Scenario& scenario, std::string_view value) {
              return is_share_of_jobs(scenario, value, [](const JobSpec& job) { return job.is_in_flow_mode; });
            }},
    RunFact{"declared_iterations", "all|some|none",
            [](const Scenario& scenario, std::string_view value) {
              return is_share_of_jobs(scenario, value, [](const JobSpec& job) { return job.iterations > 0; });
            }},
    RunFact{"stored_data", "some|none",
            [](const Scenario& scenario, std::string_view value) { return is_some(uses_storage(scenario), value); }},
    RunFact{"failures", "some|none",
            [](const Scenario& scenario, std::string_view value) { return is_some(scenario.failures.has_failures(), value); }},
    RunFact{
        "network_failures", "some|none",
        [](const Scenario& scenario, std::string_view value) { return is_some(scenario.failures.has_network_failures(), value); }},
    RunFact{"drains", "some|none",
            [](const Scenario& scenario, std::string_view value) {
              return is_some(!scenario.maintenance.drains.empty() || !scenario.handlers.empty(), value);
            }},
    RunFact{"own_rules", "some|none",
            [](const Scenario& scenario, std::string_view value) {
              return is_some(!scenario.parameters.of("collective").is_default("rules"), value);
            }},
    RunFact{"policy", "",
            [](const Scenario& scenario, std::string_view value) {
              return takes(scenario, scenario.policy, "scheduler.policy", value);
            }},
    RunFact{"placement", "",
            [](const Scenario& scenario, std::string_view value) {
              return takes(scenario, scenario.placement, "scheduler.placement", value);
            }},
    RunFact{"algorithm", "", has_algorithm},
};

}  // namespace

std::span<const RunFact> run_facts() { return facts; }

HasValue facts_of(const Scenario& scenario) {
  return [&scenario](std::string_view subject, std::string_view value) {
    const std::size_t dot = subject.find('.');
    if (dot != std::string_view::npos)
      return has_value(scenario.parameters.of(subject.substr(0, dot)), subject.substr(dot + 1), value);
    const auto fact = std::ranges::find(facts, subject, &RunFact::name);
    WEFT_CHECK(fact != facts.end(), fmt::format("conditions name facts of runs: {}", subject));
    return fact->has(scenario, value);
  };
}

}  // namespace weft
