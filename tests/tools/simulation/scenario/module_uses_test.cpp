// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/module_uses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/text/run_condition.hpp"
#include "host/collectives/collective.hpp"
#include "scheduler/handlers/event_handler.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"
#include "tools/simulation/scenario/parameters.hpp"
#include "tools/simulation/scenario/run_facts.hpp"

namespace weft::module_uses_test {
namespace {

template <class List>
bool has_module(const List& modules, std::string_view name) {
  return std::ranges::any_of(modules, [&](const auto& module) { return module.info.name == name; });
}

bool is_between_bars(std::string_view list, std::string_view value) {
  return ("|" + std::string(list) + "|").find("|" + std::string(value) + "|") != std::string::npos;
}

/// "" if a run can answer the comparison.
std::string fault_of(const Parameters& parameters, const std::string& subject, const std::string& value) {
  const std::size_t dot = subject.find('.');
  if (dot != std::string::npos) {
    const ParamSet& set = parameters.of(subject.substr(0, dot));
    const auto row = std::ranges::find(set.table(), subject.substr(dot + 1), &ParamSpec::name);
    if (row == set.table().end()) return "there is no parameter " + subject;
    if (row->kind == ParamKind::choice && !is_between_bars(row->choices, value)) return value + " is no choice of " + subject;
    has_value(set, row->name, value);
    return "";
  }
  const auto fact = std::ranges::find(run_facts(), std::string_view(subject), &RunFact::name);
  if (fact == run_facts().end()) return "there is no fact " + subject;
  if (!fact->values.empty()) return is_between_bars(fact->values, value) ? "" : subject + " is never " + value;
  const bool is_known = (subject == "policy" && has_module(scheduling_policies(), value)) ||
                        (subject == "placement" && has_module(placers(), value)) ||
                        (subject == "algorithm" && (value == "auto" || has_module(collective_algorithms(), value)));
  return is_known ? "" : subject + " is never " + value;
}

void expect_answerable(const Parameters& parameters, std::string_view condition) {
  for (const RunComparison& one : parse_run_condition(condition)) {
    for (const std::string& value : one.values) EXPECT_EQ(fault_of(parameters, one.subject, value), "") << condition;
  }
}

TEST(ModuleUses, ARunCanAnswerEveryCondition) {
  const Parameters parameters;
  for (const ModuleUse& use : module_uses()) expect_answerable(parameters, use.condition);
  std::size_t count = 0;
  for (const ParamSet& set : parameters.all()) {
    for (const ParamSpec& row : set.table()) {
      for (const UnusedWhen& when : unused_of(set.module(), row)) {
        expect_answerable(parameters, when.condition);
        EXPECT_FALSE(when.because.empty());
        ++count;
      }
    }
  }
  EXPECT_GT(count, 40U);
}

// Only handlers, which a scenario names itself, and topology builders have no condition.
TEST(ModuleUses, EveryModuleOfARunHasAConditionButHandlers) {
  const Parameters parameters;
  for (const ParamSet& set : parameters.all()) {
    EXPECT_TRUE(std::ranges::any_of(module_uses(), [&](const ModuleUse& use) { return use.name == set.module(); })) << set.module();
  }
  for (const auto& handler : event_handlers()) {
    EXPECT_FALSE(std::ranges::any_of(module_uses(), [&](const ModuleUse& use) { return use.name == handler.info.name; }));
  }
}

TEST(ModuleUses, TablesOfOtherRoomsMayHaveTheirConditionsHere) {
  const ParamSpec row{.name = "fast_forward"};
  ASSERT_NE(unused_of("scheduler", row).begin(), unused_of("scheduler", row).end());
  EXPECT_EQ(unused_of("scheduler", row).begin()->because, "no job runs a workload");
  EXPECT_EQ(unused_of("flow", row).begin(), unused_of("flow", row).end());
}

}  // namespace
}  // namespace weft::module_uses_test
