// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/maintenance_plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft::maintenance_plan_test {
namespace {

TEST(MaintenanceSettings, WithoutValuesAreTheDefaults) {
  const ParamSet params("maintenance", maintenance_params());
  EXPECT_TRUE(members_that_differ(MaintenanceSettings(), params).empty());
}

TEST(MaintenancePlan, IsReadInOrderOfTime) {
  const ClusterState cluster(3, 4);
  const auto drains = read_maintenance_plan(
      SourceText("plan.csv", "time_s,host,duration_s\n20,host1,5\n10.5,host0,3\n13.5,host0,1\n25,host1,1\n"), cluster);
  ASSERT_EQ(drains.size(), 4U);
  EXPECT_EQ(drains[0].at, Time::zero() + Duration::ms(10'500));
  EXPECT_EQ(drains[0].host, HostId(0));
  EXPECT_EQ(drains[0].duration, Duration::s(3));
  EXPECT_EQ(drains[1].host, HostId(0)) << "one begins as the other ends";
  EXPECT_EQ(drains[3].host, HostId(1));
}

TEST(MaintenancePlan, SaysAllThatIsWrong) {
  const ClusterState cluster(3, 4);
  const auto errors_of = [&](const std::string& rows) {
    std::string text;
    try {
      read_maintenance_plan(SourceText("plan.csv", "time_s,host,duration_s\n" + rows), cluster);
    } catch (const InputError& error) {
      for (const Diagnostic& one : error.diagnostics()) text += fmt::format("{}:{} ", one.code, one.place.line);
    }
    return text;
  };
  EXPECT_EQ(errors_of("1,host3,5\n1,host0/gpu1,5\n-1,host0,5\n1,host0,x\n"),
            "unknown-part:2 unknown-part:3 negative-duration:4 bad-value:5 ");
  EXPECT_EQ(errors_of("10,host0,5\n14,host0,1\n"), "overlapping-drains:3 ");
  EXPECT_EQ(errors_of("10,host0,5\n8,host0,3\n"), "overlapping-drains:3 ");
  EXPECT_EQ(errors_of("10,host0,0\n10,host0,3\n"), "overlapping-drains:3 ");
  EXPECT_EQ(errors_of("10,host0,5\n1,host0,50\n"), "overlapping-drains:3 ");
  EXPECT_EQ(errors_of("10,host0,5\n12,host1,5\n15,host0,1\n5,host0,5\n"), "");
}

}  // namespace
}  // namespace weft::maintenance_plan_test
