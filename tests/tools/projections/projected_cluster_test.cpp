// SPDX-License-Identifier: Apache-2.0
// Projected clusters: servers, files, and what is refused.
#include "tools/projections/projected_cluster.hpp"

#include <gtest/gtest.h>

#include "tests/validation/scenario_run.hpp"

namespace weft::projected_cluster_test {
namespace {

const SourcePlace place = SourcePlace::named("CLUSTER");

std::string refusal(const ClusterRequest& request) {
  try {
    load_cluster(request, place);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

// 20 GPUs need three hosts of 8; two hosts that are asked for have 16.
TEST(ProjectedCluster, HasAsManyServersAsThePlanNeeds) {
  EXPECT_EQ(load_cluster({.name = "hgx_h100", .gpus = 20}, place).topology->host_count(), 3U);
  EXPECT_EQ(load_cluster({.name = "hgx_h100", .hosts = 2}, place).topology->endpoints().size(), 16U);
  EXPECT_EQ(
      load_cluster(
          {.name = "hgx_h100", .hosts = 2, .settings = {"rail_optimized.gpus_per_host=4", "rail_optimized.nics_per_host=4"}}, place)
          .topology->endpoints()
          .size(),
      8U);
}

TEST(ProjectedCluster, RefusesWhatItDoesNotHave) {
  EXPECT_NE(refusal({.name = "hgx_h1000", .gpus = 8}).find("[unknown-cluster]"), std::string::npos);
  const ScratchFolder folder;
  const std::string file = folder.write("c.textproto",
                                        "topology { builder: \"rail_optimized\" set { name: \"server\" value: \"hgx_h100\" } "
                                        "set { name: \"hosts\" value: \"2\" } }\n");
  EXPECT_EQ(refusal({.name = file, .gpus = 16}), "none");
  EXPECT_NE(refusal({.name = file, .gpus = 17}).find("takes 17 GPUs, and the cluster has 16 [cluster-too-small]"),
            std::string::npos);
  EXPECT_NE(refusal({.name = file, .hosts = 3}).find("takes 24 GPUs"), std::string::npos);
  const std::string empty = folder.write("e.textproto", "cluster { hosts: 2 gpus_per_host: 8 }\n");
  EXPECT_NE(refusal({.name = empty, .gpus = 8}).find("[no-topology]"), std::string::npos);
}

TEST(ProjectedCluster, TellsSettingsOfModulesFromFieldsOfPlans) {
  std::vector<std::string> settings = {"tensor_parallel=4", "rail_optimized.oversubscription=2", "recompute.kind=UNIFORM",
                                       "flow.routing=spray", "nccl.bandwidth=1.5"};
  EXPECT_EQ(take_module_settings(settings),
            (std::vector<std::string>{"rail_optimized.oversubscription=2", "flow.routing=spray", "nccl.bandwidth=1.5"}));
  EXPECT_EQ(settings, (std::vector<std::string>{"tensor_parallel=4", "recompute.kind=UNIFORM"}));
}

}  // namespace
}  // namespace weft::projected_cluster_test
