// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/network_service.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "scheduler/failures/network_parts.hpp"
#include "tests/scheduler/scheduler_run.hpp"
#include "tests/topologies/topology_help.hpp"
#include "topologies/connected_parts.hpp"

namespace weft::network_service_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::job;
using testing_scheduler::run_jobs;

/// Four pods of two leafs with two hosts of a GPU each, two aggregation switches a pod, four
/// spines.
std::shared_ptr<const NetworkParts> parts_of_tree() {
  return std::make_shared<const NetworkParts>(build_named("fat_tree", {{"k", "4"}}));
}

Part named(const NetworkParts& parts, const std::string& name) { return parts.names().at(name); }

Failure breaks(const Part& part) { return {Time::zero(), part, Duration::s(1)}; }
Failure of_link(const Part& part, Fault fault, double share) { return {Time::zero(), part, Duration::s(1), false, fault, share}; }

std::vector<GpuSlot> slots(std::initializer_list<std::uint32_t> numbers) {
  std::vector<GpuSlot> result;
  for (const std::uint32_t number : numbers) result.emplace_back(number);
  return result;
}

// 20 switches; 16 cables of hosts, 16 between leafs and aggregation switches, 16 above.
TEST(NetworkParts, AreSwitchesAndCables) {
  const auto parts = parts_of_tree();
  EXPECT_EQ(parts->switches().size(), 20U);
  EXPECT_EQ(parts->cables().size(), 48U);
  EXPECT_EQ(parts->name(named(*parts, "agg3")), "agg3");
  // Either direction names the cable.
  EXPECT_EQ(named(*parts, "leaf0->agg1"), named(*parts, "agg1->leaf0"));
  EXPECT_EQ(parts->cables_of(named(*parts, "leaf0->agg1")).size(), 1U);
  EXPECT_EQ(parts->cables_of(named(*parts, "agg3")).size(), 4U);
}

TEST(NetworkService, TellsWhatLasts) {
  const auto parts = parts_of_tree();
  NetworkService service(parts, FailureScope::gpu);
  const Part slow = named(*parts, "leaf0->agg1");
  const Part out = named(*parts, "leaf1->agg1");
  const Part flaps = named(*parts, "leaf2->agg2");
  const auto cable = [&](const Part& part) { return parts->cables_of(part).front(); };
  service.fail(of_link(slow, Fault::degrades, 0.5));
  service.fail(breaks(out));
  EXPECT_EQ(service.fail(of_link(flaps, Fault::flaps, 0)).cables, std::vector({CableShare{cable(flaps), 0}}));
  EXPECT_EQ(service.lasting(), std::vector({CableShare{cable(slow), 0.5}, CableShare{cable(out), 0}}));
  EXPECT_EQ(service.repair(of_link(flaps, Fault::flaps, 0)).cables, std::vector({CableShare{cable(flaps), 1}}));
  service.repair(breaks(out));
  EXPECT_EQ(service.lasting(), std::vector({CableShare{cable(slow), 0.5}}));
}

// leaf0 breaks, and its cable to host 0 breaks while it is away: host 0 is connected when both work
// again, host 1 before.
TEST(NetworkService, WhatIsBrokenTwiceIsRepairedTwice) {
  const auto parts = parts_of_tree();
  NetworkService service(parts, FailureScope::gpu);
  const Failure leaf = breaks(named(*parts, "leaf0"));
  const Failure cable = breaks(named(*parts, "leaf0->host0/gpu0"));
  EXPECT_EQ(service.fail(leaf).cut_off, slots({0, 1}));
  const NetworkService::Changes second = service.fail(cable);
  EXPECT_TRUE(second.cut_off.empty() && second.cables.empty());
  const NetworkService::Changes first_repair = service.repair(leaf);
  EXPECT_EQ(first_repair.connected, slots({1}));
  EXPECT_EQ(first_repair.cables.size(), 3U);
  EXPECT_TRUE(service.is_cut_off(GpuSlot(0)));
  const NetworkService::Changes second_repair = service.repair(cable);
  EXPECT_EQ(second_repair.connected, slots({0}));
  ASSERT_EQ(second_repair.cables.size(), 1U);
  EXPECT_EQ(second_repair.cables.front().share, 1);
  EXPECT_THROW(service.repair(cable), CheckFailure);
}

// Both aggregation switches of a pod, one after the other.
TEST(NetworkService, SeveralTogetherCutOff) {
  const auto parts = parts_of_tree();
  NetworkService service(parts, FailureScope::gpu);
  EXPECT_TRUE(service.fail(breaks(named(*parts, "agg0"))).cut_off.empty());
  EXPECT_EQ(service.fail(breaks(named(*parts, "agg1"))).cut_off, slots({0, 1, 2, 3}));
  EXPECT_EQ(service.repair(breaks(named(*parts, "agg0"))).connected, slots({0, 1, 2, 3}));
}

// Without spines the four pods are alone, and the first is the network. As it loses a leaf, the
// second is; and stays so when the leaf works again, as jobs may run there by then.
TEST(NetworkService, ARepairCutsOffNobody) {
  const auto parts = parts_of_tree();
  NetworkService service(parts, FailureScope::gpu);
  for (const char* spine : {"spine0", "spine1", "spine2"}) EXPECT_TRUE(service.fail(breaks(named(*parts, spine))).cut_off.empty());
  EXPECT_EQ(service.fail(breaks(named(*parts, "spine3"))).cut_off, slots({4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  const NetworkService::Changes without_leaf = service.fail(breaks(named(*parts, "leaf0")));
  EXPECT_EQ(without_leaf.cut_off, slots({0, 1, 2, 3}));
  EXPECT_EQ(without_leaf.connected, slots({4, 5, 6, 7}));
  const NetworkService::Changes with_leaf = service.repair(breaks(named(*parts, "leaf0")));
  EXPECT_TRUE(with_leaf.cut_off.empty() && with_leaf.connected.empty());
  EXPECT_EQ(service.repair(breaks(named(*parts, "spine0"))).connected, slots({0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15}));
}

// The second pod is the network, as the first was a leaf short when the spines went out. What fails
// in the last pod concerns nobody.
TEST(NetworkService, StaysWhereNothingFails) {
  const auto parts = parts_of_tree();
  NetworkService service(parts, FailureScope::gpu);
  for (const char* part : {"spine0", "spine1", "spine2", "spine3", "leaf0"}) service.fail(breaks(named(*parts, part)));
  service.repair(breaks(named(*parts, "leaf0")));
  const NetworkService::Changes elsewhere = service.fail(breaks(named(*parts, "leaf7->host15/gpu0")));
  EXPECT_TRUE(elsewhere.cut_off.empty() && elsewhere.connected.empty());
  const NetworkService::Changes here = service.fail(breaks(named(*parts, "leaf2->host4/gpu0")));
  EXPECT_EQ(here.cut_off, slots({4, 5, 6, 7}));
  EXPECT_EQ(here.connected, slots({0, 1, 2, 3}));
}

// The first pod is the network while there are no spines, and loses its cables to them. Spines that
// work again join the other pods, which are most of all then, and no part of the network that jobs
// run on until the first pod is.
TEST(NetworkService, RepairsMakeNoSecondNetwork) {
  const auto parts = parts_of_tree();
  NetworkService service(parts, FailureScope::gpu);
  const std::vector<const char*> spines{"spine0", "spine1", "spine2", "spine3"};
  const std::vector<const char*> cables{"agg0->spine0", "agg0->spine1", "agg1->spine2", "agg1->spine3"};
  for (const char* spine : spines) service.fail(breaks(named(*parts, spine)));
  for (const char* cable : cables) EXPECT_TRUE(service.fail(breaks(named(*parts, cable))).cut_off.empty());
  for (const char* spine : spines) {
    const NetworkService::Changes changes = service.repair(breaks(named(*parts, spine)));
    EXPECT_TRUE(changes.cut_off.empty() && changes.connected.empty()) << spine;
  }
  EXPECT_EQ(service.repair(breaks(named(*parts, cables[2]))).connected, slots({4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

// Whatever fails and is repaired in whatever order: a repair cuts nobody off, all in service reach
// each other, and when everything works everybody is.
TEST(NetworkService, OneNetworkServesAtATime) {
  const auto parts = parts_of_tree();
  const Topology& topology = parts->topology();
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) {
    names.push_back("leaf" + std::to_string(i));
    names.push_back("agg" + std::to_string(i));
    if (i < 4) names.push_back("spine" + std::to_string(i));
    for (int j = 0; j < 2; ++j) {
      names.push_back(fmt::format("leaf{}->agg{}", i, i / 2 * 2 + j));
      names.push_back(fmt::format("agg{}->spine{}", i, i % 2 * 2 + j));
    }
  }
  std::mt19937 random(7);
  std::size_t kept_small = 0;
  constexpr int runs = WEFT_SANITIZED ? 6 : 60;
  for (int run = 0; run < runs; ++run) {
    NetworkService service(parts, FailureScope::gpu);
    std::vector<std::string> broken;
    std::vector<std::uint32_t> times_out(topology.link_count(), 0);
    const auto count_out = [&](const std::string& name, std::uint32_t change) {
      for (const LinkId cable : parts->cables_of(named(*parts, name.c_str()))) times_out[cable.index()] += change;
    };
    const std::uint32_t wave = 5 + random() % 30;
    for (std::uint32_t step = 0; step < 200 || !broken.empty(); ++step) {
      const bool fails = step < 200 && (broken.empty() || (step / wave % 2 == 0 ? random() % 4 != 0 : random() % 4 == 0));
      if (fails) {
        broken.push_back(names[random() % names.size()]);
        count_out(broken.back(), 1);
        service.fail(breaks(named(*parts, broken.back().c_str())));
      } else {
        std::swap(broken[random() % broken.size()], broken.back());
        count_out(broken.back(), UINT32_MAX);
        EXPECT_TRUE(service.repair(breaks(named(*parts, broken.back().c_str()))).cut_off.empty());
        broken.pop_back();
      }
      std::vector<bool> is_out(topology.link_count(), false);
      for (std::uint32_t link = 0; link < topology.link_count(); ++link) {
        if (times_out[link] > 0) is_out[link] = is_out[topology.reverse(LinkId(link)).index()] = true;
      }
      ConnectedParts connected(topology, is_out, nics_relay(topology));
      std::set<std::uint32_t> serving;
      std::size_t in_service = 0;
      for (std::uint32_t gpu = 0; gpu < topology.endpoints().size(); ++gpu) {
        if (service.is_cut_off(GpuSlot(gpu))) continue;
        ++in_service;
        for (const std::uint32_t part : connected.of(topology.endpoints()[gpu]).parts) serving.insert(part);
      }
      EXPECT_LE(serving.size(), 1U) << run << " " << step;
      EXPECT_GT(in_service, 0U);
      kept_small += in_service < 8 ? 1 : 0;
    }
    for (std::uint32_t gpu = 0; gpu < topology.endpoints().size(); ++gpu) EXPECT_FALSE(service.is_cut_off(GpuSlot(gpu)));
  }
  EXPECT_GT(kept_small, 2U * runs);
}

// A waits for a pod's four GPUs at 2 s, where the network is the second pod; B for all, which are
// back at 71 s.
TEST(NetworkService, TheLargerPartServes) {
  const auto parts = parts_of_tree();
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.network = parts;
  const auto breaks_at = [&](std::int64_t at, const char* part, std::int64_t repair) {
    settings.failures.log.push_back({at_s(at), named(*parts, part), Duration::s(repair)});
  };
  for (const char* spine : {"spine0", "spine1", "spine2", "spine3"}) breaks_at(1, spine, 70);
  breaks_at(1, "leaf0", 30);
  const FinishedRun run =
      run_jobs({job("A", 2, 4, Duration::s(50)), job("B", 3, 16, Duration::s(10))}, ClusterState(16, 1), std::move(settings));
  EXPECT_EQ(run.records[0].start, at_s(2));
  EXPECT_EQ(run.records[0].placement, "host4-7:0");
  EXPECT_EQ(run.records[0].end, at_s(52));
  EXPECT_EQ(run.records[0].failures, 0U);
  EXPECT_EQ(run.records[1].start, at_s(71));
}

TEST(NetworkService, TheLeastShareCounts) {
  const auto parts = parts_of_tree();
  NetworkService service(parts, FailureScope::gpu);
  const Part cable = named(*parts, "host0/gpu0->leaf0");
  const auto share = [](const NetworkService::Changes& changes) {
    EXPECT_TRUE(changes.cut_off.empty() && changes.connected.empty());
    return changes.cables.empty() ? -1.0 : changes.cables.front().share;
  };
  EXPECT_EQ(share(service.fail(of_link(cable, Fault::degrades, 0.5))), 0.5);
  EXPECT_EQ(share(service.fail(of_link(cable, Fault::degrades, 0.75))), -1);  // no change
  // nobody is given up for a flap
  EXPECT_EQ(share(service.fail(of_link(cable, Fault::flaps, 0))), 0);
  EXPECT_EQ(share(service.repair(of_link(cable, Fault::degrades, 0.5))), -1);
  EXPECT_EQ(share(service.repair(of_link(cable, Fault::flaps, 0))), 0.75);
  EXPECT_EQ(share(service.repair(of_link(cable, Fault::degrades, 0.75))), 1);
}

// Rails of two GPUs a host: with scope host both go out with the one that has no way.
TEST(NetworkService, AHostMayGoAsAWhole) {
  const auto parts = std::make_shared<const NetworkParts>(
      build_named("single_switch", {{"hosts", "3"}, {"gpus_per_host", "2"}, {"nics_per_host", "2"}}));
  std::string cable;
  for (const auto& [name, part] : parts->names()) {
    if (name.starts_with("host1/") && name.ends_with("->leaf0")) cable = name;
  }
  NetworkService by_gpu(parts, FailureScope::gpu);
  EXPECT_EQ(by_gpu.fail(breaks(named(*parts, cable))).cut_off, slots({3}));
  NetworkService by_host(parts, FailureScope::host);
  EXPECT_EQ(by_host.fail(breaks(named(*parts, cable))).cut_off, slots({2, 3}));
}

// The job on hosts 0 and 1 stops when leaf0 breaks at 40 s, which is known at 45; it works again at
// 105, and the job does its last 6 parts of 10 s. The spines matter to nobody.
TEST(NetworkService, JobsStopWithoutTheirLeaf) {
  const auto parts = parts_of_tree();
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.network = parts;
  settings.failures.detection = Duration::s(5);
  settings.failures.log = {{at_s(10), named(*parts, "spine0"), Duration::s(1'000)},
                           {at_s(40), named(*parts, "leaf0"), Duration::s(60)}};
  std::vector<JobSpec> jobs{job("A", 0, 2, Duration::s(100)), job("B", 0, 14, Duration::s(110))};
  jobs[0].iterations = 10;
  const FinishedRun run = run_jobs(jobs, ClusterState(16, 1), std::move(settings));
  EXPECT_EQ(run.records[0].placement, "host0-1:0");
  EXPECT_EQ(run.records[0].end, at_s(105 + 60));
  EXPECT_EQ(run.records[0].failures, 1U);
  EXPECT_EQ(run.records[0].lost_to_failures, Duration::s(5));
  EXPECT_EQ(run.records[1].failures, 0U);
  EXPECT_EQ(run.records[1].end, at_s(110));
  EXPECT_DOUBLE_EQ(run.counters.out_gpu_s, 2 * 60.0);
  EXPECT_DOUBLE_EQ(run.counters.draining_gpu_s, 2 * 5.0);
}

}  // namespace
}  // namespace weft::network_service_test
