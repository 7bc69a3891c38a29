// SPDX-License-Identifier: Apache-2.0
// Simulated iterations: which iteration counts, and who is blamed for what neighbours cost.
#include "tools/projections/simulated_iteration.hpp"

#include <gtest/gtest.h>

#include "tests/tools/projections/projection_setup.hpp"
#include "tests/validation/scenario_run.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft::simulated_iteration_test {
namespace {

using projection_setup::place;
using projection_setup::TestedPlan;

/// Hosts of two GPUs, three on a leaf, which has 600 Gb/s for their 1,200.
Scenario thin_cluster(const ScratchFolder& folder) {
  const std::string file = folder.write("thin.textproto", R"(topology { builder: "rail_optimized"
    set { name: "server" value: "hgx_h100" } set { name: "gpus_per_host" value: "2" } set { name: "nics_per_host" value: "2" }
    set { name: "hosts" value: "9" } set { name: "hosts_per_leaf_group" value: "3" } set { name: "spines" value: "1" }
    set { name: "leaf_uplink_rate" value: "600Gbps" } })");
  return load_cluster({.name = file, .gpus = 8}, place());
}

std::shared_ptr<const Workload> replicas(const TestedPlan& tested) {
  return std::make_shared<const Workload>(make_training_workload("test", tested.model, tested.plan, tested.clock, place()));
}

SimulationRequest request_of(std::shared_ptr<const Workload> workload) {
  SimulationRequest request;
  request.workload = std::move(workload);
  request.name = "projected";
  return request;
}

// A neighbour of eight replicas has GPUs on the leaf of the first job's last two: what it sends
// there shares the uplink.
TEST(SimulatedIteration, NeighboursCostTimeAndAreBlamed) {
  const ScratchFolder folder;
  const TestedPlan tested("llama3_8b", 4, {"data_parallel=8", "global_batch=8", "sequence=1024"}, "hgx_h100");
  Scenario cluster = thin_cluster(folder);
  SimulationRequest request = request_of(replicas(tested));
  const SimulatedIteration alone = simulate_iteration(cluster, request, {});
  JobSpec neighbour;
  neighbour.name = "neighbour";
  neighbour.gpus = 8;
  neighbour.iterations = 1'000'000;
  neighbour.workload = request.workload;
  neighbour.place = place();
  cluster.jobs.push_back(neighbour);
  const SimulatedIteration still_alone = simulate_iteration(cluster, request, {});
  EXPECT_EQ(still_alone.iteration, alone.iteration);
  request.with_neighbours = true;
  const SimulatedIteration beside = simulate_iteration(cluster, request, {});
  EXPECT_GT(beside.iteration.in_s(), alone.iteration.in_s() * 1.05);
  ASSERT_TRUE(beside.blamed);
  EXPECT_FALSE(beside.blamed->is_own);
  EXPECT_EQ(beside.blamed->trigger, "neighbour");
  EXPECT_NE(beside.blamed->link.find("leaf"), std::string::npos);
  // A neighbour by the name of what is projected is another job all the same.
  cluster.jobs.front().name = request.name;
  const SimulatedIteration namesake = simulate_iteration(cluster, request, {});
  EXPECT_EQ(namesake.iteration, beside.iteration);
  EXPECT_EQ(namesake.blamed->trigger, request.name);
}

// Parameters that are gathered before the first passes are those of the iteration before: only from
// the second iteration on do gathers meet gradients' last reductions.
TEST(SimulatedIteration, TheLastIterationCounts) {
  const TestedPlan tested("llama3_8b", 4, {"data_parallel=8", "global_batch=8", "sequence=1024"}, "hgx_h100");
  SimulationRequest request = request_of(replicas(tested));
  request.iterations = 2;
  const SimulatedIteration second = simulate_iteration(tested.cluster, request, {});
  request.iterations = 4;
  const SimulatedIteration fourth = simulate_iteration(tested.cluster, request, {});
  EXPECT_NEAR(second.iteration.in_s() / fourth.iteration.in_s(), 1, 0.01);
  EXPECT_GT(second.exposed, Duration::zero());
  EXPECT_LE(second.exposed, second.iteration);
  bool has_replicas = false;
  for (const auto& [name, seconds] : second.exposed_s) has_replicas = has_replicas || (name == "dp" && seconds > 0);
  EXPECT_TRUE(has_replicas);
}

}  // namespace
}  // namespace weft::simulated_iteration_test
