// SPDX-License-Identifier: Apache-2.0
#include "host/symmetry/coupled_jobs.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "host/collectives/collective_library.hpp"
#include "host/symmetry/job_link_demand.hpp"
#include "topologies/topology.hpp"

namespace weft::coupled_jobs_test {
namespace {

/// Two leafs with four hosts of one GPU each, GPUs 0 to 3 and 4 to 7, and two spines.
struct TwoLeafs {
  std::vector<NodeId> leafs;
  std::vector<NodeId> spines;
  std::shared_ptr<const Topology> topology;
  std::unique_ptr<CollectiveLibrary> library;  ///< what it prepares refers to it

  explicit TwoLeafs(Bandwidth uplink) {
    TopologyBuilder builder("two leafs");
    for (int i = 0; i < 2; ++i) leafs.push_back(builder.add_switch(1));
    for (int i = 0; i < 2; ++i) spines.push_back(builder.add_switch(2));
    for (int host = 0; host < 8; ++host) {
      builder.add_cable(builder.add_endpoint(builder.add_host(), NodeKind::gpu), leafs[host / 4], Bandwidth::gbps(100),
                        Duration::ns(10));
    }
    for (const NodeId leaf : leafs) {
      for (const NodeId spine : spines) builder.add_cable(leaf, spine, uplink, Duration::ns(10));
    }
    topology = std::move(builder).build(nullptr, {});
    ParamSet selection("collective", CollectiveLibrary::params());
    selection.set("all_to_all", "direct", {});
    selection.set("all_reduce", "ring", {});
    library = std::make_unique<CollectiveLibrary>(selection, std::vector<ParamSet>());
  }

  LinkId link(NodeId from, NodeId to) const {
    for (const LinkId link : topology->out_links(from)) {
      if (topology->link(link).destination == to) return link;
    }
    return LinkId::none();
  }
};

FlowSettings routed(const char* routing) {
  ParamSet flow("flow", flow_params());
  flow.set("routing", routing, {"test", 0, 0, 1, ""});
  return FlowSettings(flow);
}

/// A collective of all ranks, on these GPUs.
PlacedJob placed(const TwoLeafs& fabric, CollectiveType type, const std::vector<std::uint32_t>& gpus) {
  auto workload = std::make_shared<Workload>();
  workload->name = "one collective";
  workload->rank_count = static_cast<std::uint32_t>(gpus.size());
  workload->communicators.push_back(Communicator::world(workload->rank_count));
  RoleBuilder role;
  Op op;
  op.kind = OpKind::collective;
  op.collective = type;
  op.bytes = Bytes::of(960'000);
  role.add(op);
  workload->roles.push_back(std::move(role).finish().dag);
  workload->role_of.assign(workload->rank_count, 0);
  auto endpoints = std::make_shared<std::vector<NodeId>>();
  for (const std::uint32_t gpu : gpus) endpoints->push_back(fabric.topology->endpoints()[gpu]);
  return {workload, fabric.library->prepare(*workload, *fabric.topology, *endpoints, nullptr), endpoints};
}

double most_bps(const JobLinkDemand& link_demand, LinkId link) {
  for (const LinkDemand& demand : link_demand.links()) {
    if (demand.link == link) return demand.most_bps;
  }
  return 0;
}

// Two senders of 100 Gb/s below leaf 0, each of whose messages puts half on each spine; one
// receiver there.
TEST(JobLinkDemand, IsWhatTheAttachingLinksLetThrough) {
  const TwoLeafs fabric(Bandwidth::gbps(400));
  const HostSpeeds speeds(8);
  const auto link_demand =
      JobLinkDemand::find(placed(fabric, CollectiveType::all_to_all, {0, 1, 4}), *fabric.topology, routed("spray"), speeds);
  ASSERT_TRUE(link_demand.has_value());
  const std::span<const NodeId> gpus = fabric.topology->endpoints();
  EXPECT_EQ(most_bps(*link_demand, fabric.link(gpus[0], fabric.leafs[0])), 100e9);
  EXPECT_EQ(most_bps(*link_demand, fabric.link(gpus[2], fabric.leafs[0])), 0);
  // The receiver takes no more than 100 Gb/s, half of it by each spine, whatever two senders could
  // send.
  EXPECT_EQ(most_bps(*link_demand, fabric.link(fabric.leafs[0], fabric.spines[0])), 50e9);
  EXPECT_EQ(most_bps(*link_demand, fabric.link(fabric.spines[1], fabric.leafs[1])), 50e9);
  EXPECT_EQ(most_bps(*link_demand, fabric.link(fabric.leafs[1], fabric.spines[0])), 50e9);
}

TEST(JobLinkDemand, IsNotKnownWherePathsShowWhileRunning) {
  const TwoLeafs fabric(Bandwidth::gbps(400));
  const PlacedJob job = placed(fabric, CollectiveType::all_to_all, {0, 1, 4});
  EXPECT_FALSE(JobLinkDemand::find(job, *fabric.topology, routed("adaptive"), HostSpeeds(8)).has_value());
  EXPECT_TRUE(JobLinkDemand::find(job, *fabric.topology, routed("ecmp"), HostSpeeds(8)).has_value());
}

// Two jobs put 100 Gb/s and 50 Gb/s on each uplink of both leafs at most; a third stays below leaf
// 1.
TEST(CoupledJobs, AreThoseThatCanFillALinkTogether) {
  for (const auto& [uplink_gbps, coupled] : {std::pair(149, true), std::pair(150, false)}) {
    SCOPED_TRACE(uplink_gbps);
    const TwoLeafs fabric(Bandwidth::gbps(uplink_gbps));
    const FlowSettings spray = routed("spray");
    const HostSpeeds speeds(8);
    CoupledJobs jobs(*fabric.topology, spray, speeds, std::nullopt);
    const JobId a(3);
    const JobId b(1);
    const JobId c(7);
    jobs.add(a, placed(fabric, CollectiveType::all_to_all, {0, 1, 4, 5}));
    jobs.add(b, placed(fabric, CollectiveType::all_to_all, {2, 6}));
    jobs.add(c, placed(fabric, CollectiveType::all_to_all, {7}));
    const std::vector<JobId> both = {b, a};
    EXPECT_EQ(jobs.set_of(a), coupled ? both : std::vector{a});
    EXPECT_EQ(jobs.set_of(b), coupled ? both : std::vector{b});
    EXPECT_EQ(jobs.set_of(c), std::vector{c});
    jobs.remove(a);
    EXPECT_FALSE(jobs.contains(a));
    EXPECT_EQ(jobs.set_of(b), std::vector{b});
  }
}

// a and b meet below leaf 0, b and c between the leafs: what a does reaches c.
TEST(CoupledJobs, ReachAsFarAsTheChainGoes) {
  const TwoLeafs fabric(Bandwidth::gbps(60));
  const FlowSettings spray = routed("spray");
  const HostSpeeds speeds(8);
  CoupledJobs jobs(*fabric.topology, spray, speeds, std::nullopt);
  const JobId a(0);
  const JobId b(1);
  const JobId c(2);
  jobs.add(a, placed(fabric, CollectiveType::all_to_all, {0, 1}));
  jobs.add(c, placed(fabric, CollectiveType::all_to_all, {3, 7}));
  EXPECT_EQ(jobs.set_of(c), std::vector{c});
  jobs.add(b, placed(fabric, CollectiveType::all_to_all, {1, 6}));  // shares GPU 1's cable with a
  EXPECT_EQ(jobs.set_of(a), (std::vector{a, b, c}));
  EXPECT_EQ(jobs.set_of(c), (std::vector{a, b, c}));
  jobs.remove(b);
  EXPECT_EQ(jobs.set_of(a), std::vector{a});
  EXPECT_EQ(jobs.set_of(c), std::vector{c});
}

TEST(CoupledJobs, WhoseLinksAreNotKnownAreCoupledWithAll) {
  const TwoLeafs fabric(Bandwidth::gbps(400));
  const FlowSettings adaptive = routed("adaptive");
  const HostSpeeds speeds(8);
  CoupledJobs jobs(*fabric.topology, adaptive, speeds, std::nullopt);
  // never leaves leaf 0: its paths are known
  jobs.add(JobId(0), placed(fabric, CollectiveType::all_to_all, {0, 1}));
  jobs.add(JobId(1), placed(fabric, CollectiveType::all_to_all, {4, 5}));
  EXPECT_EQ(jobs.set_of(JobId(0)), std::vector{JobId(0)});
  jobs.add(JobId(2), placed(fabric, CollectiveType::all_to_all, {2, 6}));
  EXPECT_EQ(jobs.set_of(JobId(0)).size(), 3U);
  EXPECT_EQ(jobs.set_of(JobId(1)).size(), 3U);
  jobs.remove(JobId(2));
  EXPECT_EQ(jobs.set_of(JobId(1)), std::vector{JobId(1)});
}

// Links between switches tell nobody apart once ranks are folded loosely; without tolerance the
// ring's neighbours on the other leaf do.
TEST(CoupledJobs, FoldLooselyWithATolerance) {
  const TwoLeafs fabric(Bandwidth::gbps(400));
  const FlowSettings spray = routed("spray");
  const HostSpeeds speeds(8);
  for (const auto& [tolerance, classes] : {std::pair(Duration::us(2), 1U), std::pair(Duration::ns(1), 0U)}) {
    CoupledJobs jobs(*fabric.topology, spray, speeds, tolerance);
    jobs.add(JobId(0), placed(fabric, CollectiveType::all_reduce, {0, 1, 2, 4, 5}));
    const std::vector<JobId> set = jobs.set_of(JobId(0));
    const std::shared_ptr<const RankFolding> folding = jobs.fold(set);
    EXPECT_EQ(folding == nullptr ? 0 : folding->class_count(), classes);
  }
  CoupledJobs unfolded(*fabric.topology, spray, speeds, std::nullopt);
  unfolded.add(JobId(0), placed(fabric, CollectiveType::all_reduce, {0, 1, 4, 5}));
  EXPECT_EQ(unfolded.fold(std::vector{JobId(0)}), nullptr);
}

}  // namespace
}  // namespace weft::coupled_jobs_test
