// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/text/params.hpp"
#include "scheduler/handlers/event_handler.hpp"
#include "scheduler/lifecycle/scheduler_settings.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft::modules_test {
namespace {

const SourcePlace place{"--scheduler", 0, 0, 1, ""};

TEST(SchedulerModules, AreMadeByName) {
  const auto& policy = find_module(scheduling_policies(), "fcfs", place);
  EXPECT_NE(policy.make(ParamSet("fcfs", policy.info.params)), nullptr);
  const auto& placement = find_module(placers(), "first_fit", place);
  ParamSet params("first_fit", placement.info.params);
  // Two hosts with one free GPU of two each: only a scattered job of two finds a place.
  ClusterState cluster(2, 2);
  cluster.take(JobId(0), {{GpuSlot(0), GpuSlot(2)}});
  EXPECT_FALSE(placement.make(params, {})->place(cluster, 2));
  params.set("scatter", "true", place);
  EXPECT_TRUE(placement.make(params, {})->place(cluster, 2));
}

TEST(SchedulerModules, UnknownNamesAreTheUsersError) {
  EXPECT_THROW(find_module(scheduling_policies(), "fcsf", place), InputError);
  EXPECT_THROW(find_module(placers(), "best_fit", place), InputError);
}

TEST(SchedulerModules, TablesAreComplete) {
  std::vector<ParamTable> tables{scheduler_params()};
  for (const auto& module : scheduling_policies()) {
    EXPECT_EQ(module.info.kind, "scheduler");
    EXPECT_FALSE(module.info.summary.empty());
    tables.push_back(module.info.params);
  }
  for (const auto& module : event_handlers()) {
    EXPECT_EQ(module.info.kind, "handler");
    EXPECT_FALSE(module.info.summary.empty());
    tables.push_back(module.info.params);
  }
  for (const auto& module : placers()) {
    EXPECT_EQ(module.info.kind, "placement");
    EXPECT_FALSE(module.info.summary.empty());
    tables.push_back(module.info.params);
  }
  for (const ParamTable table : tables) {
    EXPECT_NO_THROW(ParamSet("any", table));
    for (const ParamSpec& spec : table) {
      EXPECT_FALSE(spec.meaning.empty()) << spec.name;
      EXPECT_FALSE(spec.origin.empty()) << spec.name;
    }
  }
  EXPECT_EQ(ParamSet("scheduler", scheduler_params()).duration("control_delay"), Duration::us(10));
}

}  // namespace
}  // namespace weft::modules_test
