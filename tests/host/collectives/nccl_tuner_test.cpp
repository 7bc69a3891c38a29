// SPDX-License-Identifier: Apache-2.0
// NCCL's tuner: what it has for which group, what that takes by its closed forms, and whose
// constants it takes.
#include "host/collectives/nccl_tuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "host/collectives/collective_library.hpp"
#include "topologies/builders.hpp"

namespace weft::nccl_tuner_test {
namespace {

ParamSet constants(std::initializer_list<std::pair<const char*, const char*>> settings = {}) {
  ParamSet params("nccl", nccl_params());
  for (const auto& [name, value] : settings) params.set(name, value, {});
  return params;
}

std::vector<NcclChoice> choices(const GroupLayout& layout, CollectiveType type, Bytes bytes, const ParamSet& params = constants()) {
  return NcclTuner(params).choices({type, 0, bytes, &layout, nullptr});
}

std::string best(const GroupLayout& layout, CollectiveType type, Bytes bytes, const ParamSet& params = constants()) {
  const NcclChoice choice = choices(layout, type, bytes, params).front();
  return choice.algorithm + "/" + choice.protocol.name;
}

bool has(const std::vector<NcclChoice>& all, std::string_view algorithm) {
  return std::any_of(all.begin(), all.end(), [&](const NcclChoice& choice) { return choice.algorithm == algorithm; });
}

std::shared_ptr<const Topology> built(const char* builder, std::initializer_list<std::pair<const char*, const char*>> settings) {
  const auto& module = find_module(topology_builders(), builder, {});
  ParamSet params(builder, module.info.params);
  for (const auto& [name, value] : settings) params.set(name, value, {});
  return module.make(params, {});
}

TEST(NcclTuner, TakesNvlsForLargeAllReducesOfEightAndRingsOfTwo) {
  const GroupLayout eight = GroupLayout::blocks(1, 8);
  EXPECT_EQ(best(eight, CollectiveType::all_reduce, Bytes::mib(1024)), "nvls/simple");
  // 31.4 us and 42.1 us to fill, then 9/8 of the buffer at 0.664 of 450 GB/s.
  const double expected_us = 31.4 + 42.1 + 9.0 / 8 * 1073741824 / (0.664 * 450e3);
  EXPECT_NEAR(choices(eight, CollectiveType::all_reduce, Bytes::mib(1024)).front().time_us, expected_us, 0.1);
  // Of two a ring moves the buffer once, switches one and a half times.
  EXPECT_EQ(best(GroupLayout::blocks(1, 2), CollectiveType::all_reduce, Bytes::mib(1024)), "ring/simple");
  // 1 KiB by LL: 4.4 us, two steps of 0.85 us, two passes at 26 GB/s of which one half less, as
  // the second rank reduces and passes on at once.
  const NcclChoice small = choices(GroupLayout::blocks(1, 2), CollectiveType::all_reduce, Bytes::kib(1)).front();
  EXPECT_EQ(small.algorithm + "/" + small.protocol.name, "ring/ll");
  EXPECT_NEAR(small.time_us, 4.4 + 2 * 0.85 + 1.5 * 1024 / 26e3, 1e-3);
}

const NcclChoice& one(const std::vector<NcclChoice>& all, std::string_view algorithm, std::string_view protocol) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const NcclChoice& choice) {
    return choice.algorithm == algorithm && choice.protocol.name == protocol;
  });
  WEFT_CHECK(found != all.end(), "the test asks for what there is");
  return *found;
}

// 1 MiB on 8 ranks and 16 channels: a channel's step has 8 KiB, of which 2 KiB take no time. 15
// steps of an eighth of the buffer at 1570 Gb/s, 196.25 GB/s, take a quarter less.
TEST(NcclTuner, ThreadsMoveTheFirstBytesOfALl128StepAtOnce) {
  const GroupLayout eight = GroupLayout::blocks(1, 8);
  const auto time_us = [&](Bytes bytes, const char* at_once) {
    const auto all = choices(eight, CollectiveType::all_reduce, bytes, constants({{"ll128_at_once", at_once}}));
    return one(all, "ring", "ll128").time_us;
  };
  EXPECT_NEAR(time_us(Bytes::mib(1), "0B") - time_us(Bytes::mib(1), "2KiB"), 1.875 * 1048576 / 196.25e3 / 4, 1e-6);
  // Steps of 1 KiB take what they take without data, and the links: 0.92 x 0.818 of 450 GB/s.
  const double latency_us = 5.2 + 14 * (0.11 + 0.85);
  EXPECT_NEAR(time_us(Bytes::kib(128), "2KiB"), latency_us + 1.75 * 131072 / (0.92 * 0.818 * 450e3), 1e-6);
}

TEST(NcclTuner, Ll128EndsWhereTheTunerLeavesIt) {
  const GroupLayout eight = GroupLayout::blocks(1, 8);
  const ParamSet params = constants({{"ll128_share_max", "128KiB"}});
  EXPECT_EQ(best(eight, CollectiveType::all_reduce, Bytes::mib(2)), "ring/ll128");
  EXPECT_EQ(best(eight, CollectiveType::all_reduce, Bytes::mib(1), params), "ring/ll128");
  EXPECT_EQ(best(eight, CollectiveType::all_reduce, Bytes::mib(2), params), "ring/simple");
}

// 14 steps of 10 us where they are short and 4 us where they have 8 MiB; of 32 MiB they have 4 MiB
// each, half of it.
TEST(NcclTuner, SimpleHidesLatencyBehindLongSteps) {
  const GroupLayout eight = GroupLayout::blocks(1, 8);
  const auto time_us = [&](Bytes bytes, const char* full_hop) {
    const ParamSet params = constants({{"simple_hop", "10us"}, {"simple_full_hop", full_hop}, {"full_step_bytes", "8MiB"}});
    return one(choices(eight, CollectiveType::all_reduce, bytes, params), "ring", "simple").time_us;
  };
  EXPECT_NEAR(time_us(Bytes::mib(32), "10us") - time_us(Bytes::mib(32), "4us"), 14 * 3, 1e-6);
  EXPECT_NEAR(time_us(Bytes::mib(64), "10us") - time_us(Bytes::mib(64), "4us"), 14 * 6, 1e-6);
  EXPECT_NEAR(time_us(Bytes::mib(1024), "10us") - time_us(Bytes::mib(1024), "4us"), 14 * 6, 1e-6);
}

// Of 64 MiB a rank keeps 8 MiB, which take 16.8 us at 4 Tb/s and a tenth of it at 40 Tb/s.
TEST(NcclTuner, AllToAllsMoveARanksOwnShareAtARateOfItsOwn) {
  const GroupLayout eight = GroupLayout::blocks(1, 8);
  const auto time_us = [&](const char* rate) {
    const ParamSet params = constants({{"p2p_own_copy_rate", rate}, {"own_copy_rate", "1Gbps"}});
    return choices(eight, CollectiveType::all_to_all, Bytes::mib(64), params).front().time_us;
  };
  EXPECT_NEAR(time_us("4Tbps") - time_us("40Tbps"), 8388608 / 500e3 * 0.9, 1e-6);
}

TEST(NcclTuner, Ll128HasARateOfItsOwnBetweenHosts) {
  const GroupLayout group = GroupLayout::blocks(2, 8);
  const auto time_us = [&](const ParamSet& params) {
    return one(choices(group, CollectiveType::all_reduce, Bytes::mib(4), params), "ring", "ll128").time_us;
  };
  EXPECT_EQ(time_us(constants({{"ll128_rate", "100Gbps"}})), time_us(constants()));
  EXPECT_GT(time_us(constants({{"between_ll128_rate", "100Gbps"}})), time_us(constants()));
}

TEST(NcclTuner, BetweenHostsTreesComeBeforeRingsForAsLongAsLatencyCounts) {
  const GroupLayout group = GroupLayout::blocks(10, 8);
  EXPECT_EQ(best(group, CollectiveType::all_reduce, Bytes::kib(16)), "tree/ll");
  EXPECT_EQ(best(group, CollectiveType::all_reduce, Bytes::mib(1024)), "nvls_tree/simple");
  // A ring of 80 takes 2 x 79 - 18 steps of 3.4 us and 18 of 14 us, times 1.4.
  const auto all = choices(group, CollectiveType::all_reduce, Bytes::mib(1024));
  const auto ring = std::find_if(all.begin(), all.end(), [](const NcclChoice& choice) {
    return choice.algorithm == "ring" && choice.protocol.name == "simple";
  });
  ASSERT_NE(ring, all.end());
  const double latency_us = 1.4 * (140 * 3.4 + 18 * 14.0);
  const double own_copy_us = 1073741824 / 80.0 / (8090e3 / 8);
  const double data_us = 2 * 79.0 / 80 * 1073741824 / (0.97 * 8 * 50e3 / 1.0);
  // The NVLinks of a GPU leave 0.818 of 450 GB/s, less than its host's NICs.
  const double inside_us = 2 * 79.0 / 80 * 1073741824 / (0.818 * 450e3);
  EXPECT_NEAR(ring->time_us, 16.5 + 11.6 + own_copy_us + latency_us + std::max(data_us, inside_us), 1);
  // All NICs of a host are used.
  EXPECT_EQ(ring->params, (std::vector<std::pair<std::string, std::string>>{{"channels", "8"}, {"order", "hosts"}}));
}

// 256 MiB on 2 x 8 H100: 16 channels with 8 heads have 128 chunks of 128 KiB on their way, as 256
// MiB is less than 16 times the 32 MiB of chunks of 256 KiB and more than 4 times the 16 MiB that
// are left. They fill up twice, at the 265.6 GB/s that NVLS leaves, and NCCL's tuner does not count
// it.
TEST(NcclTuner, TreesOfNvlsFillUpWithChunks) {
  // They begin in 31.4 us, of which NCCL's tuner counts 25. A step between hosts takes 18.6 us and
  // the 2.3 us of a message, 18 us where it is weighed; 2 log2 H of them.
  constexpr double beginning_us = 31.4 - 25;
  constexpr double hops_us = 2 * (18.6 + 2.3 - 18);
  const auto all = choices(GroupLayout::blocks(2, 8), CollectiveType::all_reduce, Bytes::mib(256));
  ASSERT_EQ(all.front().algorithm, "nvls_tree");
  EXPECT_NEAR(all.front().time_us - all.front().weighed_us - beginning_us - hops_us, 2 * 16 * 1048576 / (0.664 * 450e3 * 8.0 / 9),
              0.1);
  // From 4 hosts on chunks have 64 KiB at most; 8 MiB on 4 hosts are 8 times fewer than would fill
  // them, so a quarter of the buffer does.
  const auto four = choices(GroupLayout::blocks(4, 8), CollectiveType::all_reduce, Bytes::mib(8));
  const auto tree =
      std::find_if(four.begin(), four.end(), [](const NcclChoice& choice) { return choice.algorithm == "nvls_tree"; });
  ASSERT_NE(tree, four.end());
  EXPECT_NEAR(tree->time_us - tree->weighed_us - beginning_us - 2 * hops_us, 2 * 2 * 1048576 / (0.97 * 8 * 50e3 / 2), 0.1);
}

// A tree by LL128 takes its bytes at 0.65 of the rate by which it is weighed.
TEST(NcclTuner, TreesByLl128GetLessThanTheyAreWeighedWith) {
  const auto tree_of = [](Bytes size) {
    const auto all = choices(GroupLayout::blocks(4, 8), CollectiveType::all_reduce, size);
    const auto tree = std::find_if(all.begin(), all.end(), [](const NcclChoice& choice) {
      return choice.algorithm == "tree" && choice.protocol.name == "ll128";
    });
    EXPECT_NE(tree, all.end());
    return *tree;
  };
  const NcclChoice less = tree_of(Bytes::mib(4));
  const NcclChoice more = tree_of(Bytes::mib(8));
  EXPECT_NEAR((more.weighed_us - less.weighed_us) / (more.time_us - less.time_us), 0.65, 1e-3);
}

// Between hosts a collective begins as measured there: other constants than those of one host,
// which move nothing here.
TEST(NcclTuner, BetweenHostsCollectivesBeginAsMeasuredThere) {
  const auto ring_us = [](CollectiveType type, const char* name, const char* value) {
    const auto all = choices(GroupLayout::blocks(2, 8), type, Bytes::mib(64), constants({{name, value}}));
    const auto ring = std::find_if(all.begin(), all.end(), [](const NcclChoice& choice) {
      return choice.algorithm == "ring" && choice.protocol.name == "simple";
    });
    EXPECT_NE(ring, all.end());
    return ring->time_us;
  };
  const double standing = ring_us(CollectiveType::all_gather, "channels", "16");
  EXPECT_DOUBLE_EQ(ring_us(CollectiveType::all_gather, "simple_base", "100us"), standing);
  EXPECT_NEAR(ring_us(CollectiveType::all_gather, "between_simple_base", "26.5us"), standing + 10, 1e-6);
  EXPECT_NEAR(ring_us(CollectiveType::all_gather, "between_copy_base", "50us"), standing + 10, 1e-6);
  const double reducing = ring_us(CollectiveType::all_reduce, "channels", "16");
  EXPECT_DOUBLE_EQ(ring_us(CollectiveType::all_reduce, "between_copy_base", "50us"), reducing);
}

// Between two hosts of A100 a tree takes 1 GiB at 0.92 of what its NVLinks leave in two directions,
// 0.798 x 300 GB/s / 2, which is less than its NICs' 0.97 x 200 GB/s. NCCL counts half of the NICs,
// 97 GB/s, and takes a ring, whose 194 GB/s carry 2 x 15/16 of the buffer. It begins in 8.4 us for
// NCCL's tuner, in 22 + 13.7 us by measurement.
TEST(NcclTuner, TreesBetweenTwoHostsAreTakenForHalfAsFastAsTheyAre) {
  GroupLayout layout = GroupLayout::blocks(2, 8);
  HostHardware hardware = layout.hardware();
  hardware.nvlink_bps = 2'400'000'000'000;
  hardware.nic_bps = 200'000'000'000;
  layout.set_hardware(hardware);
  const auto all = choices(layout, CollectiveType::all_reduce, Bytes::mib(1024), constants({{"machine", "hgx_a100"}}));
  EXPECT_EQ(all.front().algorithm, "ring");
  const auto tree = std::find_if(all.begin(), all.end(), [](const NcclChoice& choice) {
    return choice.algorithm == "tree" && choice.protocol.name == "simple";
  });
  ASSERT_NE(tree, all.end());
  EXPECT_NEAR(tree->weighed_us - tree->time_us, 8.4 - 22 - 13.7 + 1073741824 / 0.92e3 * (1 / 97.0 - 1 / (0.798 * 150)), 1);
}

// The rate at which NVLS takes a buffer grows with the group until nvls_rate_max: 0.616 n/(n+1) of
// 900 GB/s for 2 GPUs, 0.524 of it for 72.
TEST(NcclTuner, NvlsOfLargeDomainsHasARateThatItDoesNotPass) {
  const auto rate = [](std::uint32_t gpus) {
    GroupLayout layout = GroupLayout::blocks(1, gpus);
    HostHardware hardware = layout.hardware();
    hardware.nvlink_bps = 7'200'000'000'000;
    layout.set_hardware(hardware);
    const auto time_us = [&](Bytes bytes) {
      const auto all = choices(layout, CollectiveType::all_reduce, bytes, constants({{"machine", "gb200_nvl72"}}));
      const auto nvls = std::find_if(all.begin(), all.end(), [](const NcclChoice& choice) { return choice.algorithm == "nvls"; });
      return nvls->time_us;
    };
    return 1073741824 / (time_us(Bytes::mib(2048)) - time_us(Bytes::mib(1024))) * 1e-3;
  };
  EXPECT_NEAR(rate(2), 0.616 * 900 * 2.0 / 3, 0.1);
  EXPECT_NEAR(rate(72), 0.524 * 900, 0.1);
}

// 8 peers on the other host of two leave a share of 1 / (1 + 8/8).
TEST(NcclTuner, AllToAllsOfManyPeersGetLessOfTheNics) {
  const auto efficiency = [](const char* peers) {
    return choices(GroupLayout::blocks(2, 8), CollectiveType::all_to_all, Bytes::mib(64), constants({{"p2p_peers", peers}}))
        .front()
        .protocol.efficiency_network;
  };
  EXPECT_NEAR(efficiency("8"), efficiency("1000000") / 2, 1e-4);
}

TEST(NcclTuner, HasOnlyWhatTheGroupAndTheLibraryHave) {
  const GroupLayout apart = GroupLayout::one_per_host(16);
  const GroupLayout together = GroupLayout::blocks(2, 8);
  const Bytes bytes = Bytes::mib(1);
  EXPECT_TRUE(has(choices(apart, CollectiveType::all_gather, bytes), "pat"));
  EXPECT_FALSE(has(choices(apart, CollectiveType::all_gather, bytes, constants({{"pat", "off"}})), "pat"));
  EXPECT_FALSE(has(choices(together, CollectiveType::all_gather, bytes), "pat")) << "one rank per host only";
  EXPECT_TRUE(has(choices(together, CollectiveType::all_reduce, bytes), "nvls_tree"));
  EXPECT_FALSE(has(choices(apart, CollectiveType::all_reduce, bytes), "nvls_tree"));
  EXPECT_FALSE(has(choices(together, CollectiveType::all_reduce, bytes, constants({{"nvls", "off"}})), "nvls_tree"));
  EXPECT_FALSE(has(choices(together, CollectiveType::all_reduce, bytes, constants({{"machine", "hgx_a100"}})), "nvls_tree"));
  EXPECT_FALSE(has(choices(together, CollectiveType::all_reduce, bytes), "collnet"));
  EXPECT_TRUE(has(choices(together, CollectiveType::all_reduce, bytes, constants({{"collnet", "on"}})), "collnet"));
  EXPECT_FALSE(has(choices(GroupLayout::blocks(1, 8), CollectiveType::all_reduce, bytes), "tree")) << "it joins hosts";
  // NCCL has but rings for these.
  for (const NcclChoice& choice : choices(together, CollectiveType::broadcast, bytes)) EXPECT_EQ(choice.algorithm, "ring");
}

TEST(NcclTuner, AllToAllsGoByPxnWhereRailsMeetAndMessagesAreSmall) {
  GroupLayout group = GroupLayout::blocks(4, 8);
  EXPECT_EQ(best(group, CollectiveType::all_to_all, Bytes::kib(32 * 16)), "pxn/ll");
  EXPECT_EQ(best(group, CollectiveType::all_to_all, Bytes::mib(32)), "direct/simple");
  EXPECT_EQ(best(group, CollectiveType::all_to_all, Bytes::kib(32 * 16), constants({{"pxn", "off"}})), "direct/ll");
  HostHardware hardware = group.hardware();
  hardware.rails_meet = false;
  group.set_hardware(hardware);
  EXPECT_EQ(best(group, CollectiveType::all_to_all, Bytes::kib(32 * 16)), "direct/ll");
}

TEST(NcclTuner, KnowsTheMachineByNameOrByItsLinks) {
  const auto machine_on = [](const Topology& topology) {
    const GroupLayout layout(topology, topology.endpoints());
    return NcclTuner(constants()).machine_of(layout);
  };
  for (const char* server : {"hgx_a100", "hgx_h100", "hgx_h200", "hgx_b200", "gb200_nvl72", "gb300_nvl72", "mi300x", "mi355x_8"}) {
    EXPECT_EQ(machine_on(*built("lone_server", {{"server", server}})), server);
  }
  EXPECT_EQ(machine_on(*built("single_switch", {{"server", "gh200"}})), "gh200");
  EXPECT_EQ(machine_on(*built("lone_server", {})), "hgx_h100");
  EXPECT_EQ(machine_on(*built("lone_server", {{"nvlink_rate", "2400Gbps"}})), "hgx_a100");
  EXPECT_EQ(machine_on(*built("lone_server", {{"nvlink_rate", "7200Gbps"}})), "hgx_b200");
  EXPECT_EQ(machine_on(*built("lone_server", {{"nvlink_rate", "7200Gbps"}, {"gpus_per_host", "36"}})), "gb200_nvl72");
  EXPECT_EQ(machine_on(*built("lone_server", {{"inside", "full_mesh"}, {"nvlink_rate", "3584Gbps"}})), "mi300x");
  const GroupLayout eight = GroupLayout::blocks(1, 8);
  EXPECT_EQ(NcclTuner(constants({{"machine", "hgx_a100"}})).machine_of(eight), "hgx_a100");
}

TEST(NcclTuner, WhatTheUserGivesStandsBeforeTheMachines) {
  const GroupLayout eight = GroupLayout::blocks(1, 8);
  const auto time_us = [&](const ParamSet& params) {
    return choices(eight, CollectiveType::all_gather, Bytes::kib(1), params).front().time_us;
  };
  const double without = time_us(constants({{"machine", "hgx_a100"}, {"launch", "0ns"}}));
  EXPECT_NEAR(time_us(constants({{"machine", "hgx_a100"}})) - without, 22, 1e-9) << "the machine's launch";
  EXPECT_NEAR(time_us(constants({{"machine", "hgx_a100"}, {"launch", "5us"}})) - without, 5, 1e-9);
}

TEST(NcclTuner, EveryConstantOfAMachineIsAParameterWithinItsRange) {
  for (const ModuleInfo& machine : nccl_machines()) {
    ParamSet params = constants();
    for (const NamedValue& value : machine.values) {
      EXPECT_NO_THROW(params.set(value.name, value.value, {})) << machine.name << " " << value.name;
      EXPECT_FALSE(value.origin.empty()) << machine.name << " " << value.name;
    }
  }
}

// 4 hosts of 8 GPUs, a NIC each.
TEST(HostHardware, IsReadFromTheTopology) {
  const auto rails = built("rail_optimized", {{"server", "hgx_a100"}, {"hosts", "4"}});
  const HostHardware of_rails = GroupLayout(*rails, rails->endpoints()).hardware();
  EXPECT_EQ(of_rails.machine, "hgx_a100");
  EXPECT_EQ(of_rails.gpus, 8u);
  EXPECT_EQ(of_rails.nics, 8u);
  EXPECT_EQ(of_rails.nvlink_bps, 2'400'000'000'000);
  EXPECT_EQ(of_rails.nic_bps, 200'000'000'000);
  EXPECT_TRUE(of_rails.rails_meet);
  // Two of a host's GPUs use two of its NICs.
  const std::vector<NodeId> some = {rails->endpoints()[0], rails->endpoints()[3], rails->endpoints()[8], rails->endpoints()[11]};
  EXPECT_EQ(GroupLayout(*rails, some).hardware().nics, 2u);
  const auto star = built("single_switch", {{"hosts", "4"}, {"gpus_per_host", "8"}});
  EXPECT_FALSE(GroupLayout(*star, star->endpoints()).hardware().rails_meet) << "all NICs meet at one switch";
}

TEST(CollectiveLibrary, TheTunerIsTheDefaultRuleSet) {
  const ParamSet selection("collective", CollectiveLibrary::params());
  EXPECT_EQ(selection.text("rule_set"), "nccl");
  EXPECT_EQ(CollectiveLibrary::type_params().size(), collective_types);
  for (const ParamSpec& row : CollectiveLibrary::type_params()) EXPECT_TRUE(CollectiveLibrary::is_auto(selection, row.name));
  EXPECT_TRUE(CollectiveLibrary::is_auto(selection, "protocol"));
}

}  // namespace
}  // namespace weft::nccl_tuner_test
