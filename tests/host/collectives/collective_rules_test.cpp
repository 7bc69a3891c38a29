// SPDX-License-Identifier: Apache-2.0
// Collective rules: which rule stands, condition by condition; and that `auto` carries out whatever
// some algorithm can.
#include "host/collectives/collective_rules.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "host/collectives/collective_library.hpp"
#include "tests/host/collectives/collective_machine.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::collective_rules_test {
namespace {

CollectiveRequest request_of(CollectiveType type, Bytes bytes, const GroupLayout& layout) {
  return {type, 0, bytes, &layout, nullptr};
}

std::vector<CollectiveRule> read(const std::string& text) { return read_collective_rules(SourceText("rules", text)); }

/// What the rules choose if every algorithm can carry out everything but those named.
std::string chosen(const std::string& text, const CollectiveRequest& request, const std::set<std::string>& cannot = {}) {
  const CollectiveRules rules(read(text), read("rule { algorithm: \"direct\" } rule { protocol: \"ideal\" }"));
  const std::string& algorithm = rules.algorithm(request, [&](const std::string& name) { return !cannot.contains(name); });
  return algorithm + " " + rules.protocol(request, algorithm);
}

bool holds(const std::string& conditions, const CollectiveRequest& request) {
  return read("rule { algorithm: \"direct\" " + conditions + " }").at(0).holds(request);
}

TEST(CollectiveRules, RangesIncludeTheirBounds) {
  const GroupLayout two_by_four = GroupLayout::blocks(2, 4);
  const auto of_size = [&](std::int64_t bytes) { return request_of(CollectiveType::all_reduce, Bytes::of(bytes), two_by_four); };
  const std::string some = "bytes_min: \"1KiB\" bytes_max: \"4KiB\"";
  EXPECT_FALSE(holds(some, of_size(1023)));
  EXPECT_TRUE(holds(some, of_size(1024)));
  EXPECT_TRUE(holds(some, of_size(4096)));
  EXPECT_FALSE(holds(some, of_size(4097)));
  EXPECT_TRUE(holds("bytes_max: \"0B\"", of_size(0)));
  // 8 ranks of 4096 bytes have 512 each; of 4097 a little more than 512.
  EXPECT_TRUE(holds("bytes_per_rank_max: \"512B\"", of_size(4096)));
  EXPECT_FALSE(holds("bytes_per_rank_max: \"512B\"", of_size(4097)));
  EXPECT_TRUE(holds("bytes_per_rank_min: \"512B\"", of_size(4097)));
  EXPECT_FALSE(holds("bytes_per_rank_min: \"512B\"", of_size(4095)));
  for (const auto& [what, value] : {std::pair("ranks", 8), std::pair("hosts", 2), std::pair("ranks_per_host", 4)}) {
    const auto bound = [&, name = std::string(what)](const std::string& side, int number) {
      return holds(fmt::format("{}{}: {}", name, side, number), of_size(1));
    };
    EXPECT_TRUE(bound("_min", value)) << what;
    EXPECT_FALSE(bound("_min", value + 1)) << what;
    EXPECT_TRUE(bound("_max", value)) << what;
    EXPECT_FALSE(bound("_max", value - 1)) << what;
  }
}

TEST(CollectiveRules, TheWholeBufferOfAGatherIsWhatIsGathered) {
  const GroupLayout four = GroupLayout::one_per_host(4);
  const std::string more_than_a_shard = "bytes_min: \"4000B\" bytes_max: \"4000B\"";
  for (const CollectiveType type : {CollectiveType::all_gather, CollectiveType::gather}) {
    EXPECT_TRUE(holds(more_than_a_shard, request_of(type, Bytes::of(1000), four))) << to_text(type);
  }
  for (const CollectiveType type : {CollectiveType::all_reduce, CollectiveType::scatter, CollectiveType::all_to_all}) {
    EXPECT_TRUE(holds(more_than_a_shard, request_of(type, Bytes::of(4000), four))) << to_text(type);
  }
}

TEST(CollectiveRules, TypesAndShapesOfGroups) {
  // Hosts of 3, 1 and 2 of the group's ranks.
  const GroupLayout uneven({{0, 0}, {0, 1}, {1, 0}, {0, 2}, {2, 0}, {2, 1}}, InsideLinks::pcie);
  const GroupLayout even = GroupLayout::blocks(2, 4);
  const auto in = [](const GroupLayout& layout) { return request_of(CollectiveType::reduce, Bytes::of(8), layout); };
  EXPECT_TRUE(holds("collective: \"all_reduce\" collective: \"reduce\"", in(even)));
  EXPECT_FALSE(holds("collective: \"all_reduce\"", in(even)));
  EXPECT_TRUE(holds("uniform: true", in(even)));
  EXPECT_FALSE(holds("uniform: false", in(even)));
  EXPECT_TRUE(holds("uniform: false", in(uneven)));
  EXPECT_TRUE(holds("ranks_per_host_min: 1 ranks_per_host_max: 3", in(uneven)));
  EXPECT_FALSE(holds("ranks_per_host_min: 2", in(uneven))) << "a host has one";
  EXPECT_FALSE(holds("ranks_per_host_max: 2", in(uneven))) << "a host has three";
  EXPECT_TRUE(holds("power_of_two: true", in(even)));
  EXPECT_FALSE(holds("power_of_two: true", in(uneven)));
  EXPECT_TRUE(holds("power_of_two: false", in(uneven)));
  EXPECT_TRUE(holds("inside: \"nvswitch\"", in(even)));
  EXPECT_FALSE(holds("inside: \"full_mesh\" inside: \"none\"", in(even)));
  EXPECT_TRUE(holds("inside: \"full_mesh\" inside: \"pcie\"", in(uneven)));
  const GroupLayout apart = GroupLayout::one_per_host(4);
  EXPECT_TRUE(holds("inside: \"none\" ranks_per_host_max: 1", in(apart)));
}

// Sixteen hosts under leafs with four times more below than above: what goes to everybody crowds
// the cables that leave the leafs.
TEST(BuiltInRules, LookAtOversubscription) {
  GroupLayout group = GroupLayout::one_per_host(16);
  HostHardware hardware = group.hardware();
  const CollectiveRules rules(read_collective_rules(SourceText("built-in rules", std::string(built_in_rules_text()))));
  const auto chosen_for = [&](std::int64_t bytes) {
    return *rules.find_algorithm(request_of(CollectiveType::all_reduce, Bytes::of(bytes), group),
                                 [](const std::string&) { return true; });
  };
  EXPECT_EQ(chosen_for(33'000'000), "direct");
  hardware.oversubscription = 4;
  group.set_hardware(hardware);
  EXPECT_TRUE(holds("oversubscribed: true", request_of(CollectiveType::all_reduce, Bytes::of(1), group)));
  EXPECT_EQ(chosen_for(33'000'000), "ring");
  EXPECT_EQ(chosen_for(16 * 1024), "direct") << "rounds cost more";
}

TEST(CollectiveRules, TheFirstThatHoldsStands) {
  const GroupLayout four = GroupLayout::one_per_host(4);
  const CollectiveRequest request = request_of(CollectiveType::all_reduce, Bytes::of(100), four);
  EXPECT_EQ(chosen("rule { algorithm: \"ring\" protocol: \"ll\" } rule { algorithm: \"bruck\" protocol: \"simple\" }", request),
            "ring ll");
  EXPECT_EQ(chosen("rule { bytes_min: \"101B\" algorithm: \"ring\" } rule { algorithm: \"bruck\" }", request), "bruck ideal");
  EXPECT_EQ(chosen("rule { ranks_min: 5 algorithm: \"ring\" protocol: \"ll\" }", request), "direct ideal") << "then those built in";
}

TEST(CollectiveRules, PassOverAlgorithmsThatCannot) {
  const GroupLayout four = GroupLayout::one_per_host(4);
  const CollectiveRequest request = request_of(CollectiveType::all_reduce, Bytes::of(100), four);
  const std::string two = "rule { algorithm: \"hierarchical\" protocol: \"ll\" } rule { algorithm: \"ring\" protocol: \"simple\" }";
  EXPECT_EQ(chosen(two, request, {"hierarchical"}), "ring simple") << "a protocol goes with its algorithm";
  EXPECT_EQ(chosen(two, request, {"hierarchical", "ring"}), "direct ideal");
}

TEST(CollectiveRules, ProtocolAndAlgorithmMayComeFromTwoRules) {
  const GroupLayout four = GroupLayout::one_per_host(4);
  const CollectiveRequest request = request_of(CollectiveType::all_reduce, Bytes::of(100), four);
  EXPECT_EQ(chosen("rule { protocol: \"ll128\" } rule { algorithm: \"ring\" protocol: \"simple\" }", request), "ring ll128");
  EXPECT_EQ(
      chosen("rule { algorithm: \"ring\" } rule { algorithm: \"bruck\" protocol: \"ll\" } rule { protocol: \"simple\" }", request),
      "ring simple");
}

TEST(CollectiveRules, EveryErrorOfAFileIsReported) {
  const std::string text =
      "rule { collective: \"all_reduc\" algorithm: \"ring\" }\n"
      "rule { collective: \"barrier\" algorithm: \"ring\" }\n"
      "rule { algorithm: \"rign\" protocol: \"l\" }\n"
      "rule { bytes_min: \"4MB\" bytes_max: \"1MB\" algorithm: \"ring\" }\n"
      "rule { hosts_min: 3 hosts_max: 2 algorithm: \"ring\" }\n"
      "rule { ranks_max: 0 algorithm: \"ring\" }\n"
      "rule { bytes_max: \"1 furlong\" algorithm: \"ring\" }\n"
      "rule { inside: \"nvlink\" algorithm: \"ring\" }\n"
      "rule { hosts_max: 2 }\n";
  std::multiset<std::string> codes;
  try {
    read(text);
  } catch (const InputError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) codes.insert(diagnostic.code);
  }
  EXPECT_EQ(codes, (std::multiset<std::string>{"unknown-collective", "unsupported-collective", "unknown-algorithm",
                                               "unknown-protocol", "out-of-range", "out-of-range", "out-of-range", "bad-value",
                                               "bad-value", "missing-field"}));
  EXPECT_THROW(read("# nothing but a comment\n"), InputError);
}

TEST(BuiltInRules, EndWithRulesForEverything) {
  const std::vector<CollectiveRule> rules = read(std::string(built_in_rules_text()));
  // The one for every collective is followed by rules about protocols.
  const auto found = std::find_if(rules.rbegin(), rules.rend(),
                                  [](const CollectiveRule& rule) { return !rule.algorithm.empty() && rule.protocol.empty(); });
  ASSERT_NE(found, rules.rend());
  const CollectiveRule& algorithm = *found;
  const CollectiveRule& protocol = rules.back();
  EXPECT_TRUE(protocol.algorithm.empty());
  EXPECT_FALSE(protocol.protocol.empty());
  const GroupLayout uneven({{0, 0}, {0, 1}, {1, 0}}, InsideLinks::pcie);
  for (std::size_t type = 0; type < collective_types; ++type) {
    for (const Bytes bytes : {Bytes::zero(), Bytes::of(std::int64_t{1} << 40)}) {
      const CollectiveRequest request = request_of(static_cast<CollectiveType>(type), bytes, uneven);
      EXPECT_TRUE(algorithm.holds(request) && protocol.holds(request));
      EXPECT_TRUE(make_algorithm(algorithm.algorithm)->supports(request.type)) << to_text(request.type);
      EXPECT_EQ(make_algorithm(algorithm.algorithm)->objection(request), "");
    }
  }
}

/// A topology of hosts whose GPUs meet at an NVSwitch, by a cable each, or at a PCIe switch; their
/// NICs at one packet switch.
std::shared_ptr<const Topology> hosts_of(std::uint32_t hosts, std::uint32_t gpus, InsideLinks inside) {
  TopologyBuilder builder("hosts");
  const NodeId packet_switch = builder.add_switch(1);
  const auto cable = [&](NodeId a, NodeId b) { builder.add_cable(a, b, Bandwidth::gbps(100), Duration::ns(100)); };
  for (std::uint32_t h = 0; h < hosts; ++h) {
    const HostId host = builder.add_host();
    std::vector<NodeId> of_host;
    for (std::uint32_t g = 0; g < gpus; ++g) of_host.push_back(builder.add_endpoint(host, NodeKind::gpu));
    const NodeId hub = inside == InsideLinks::full_mesh
                           ? NodeId::none()
                           : builder.add_inside(host, inside == InsideLinks::nvswitch ? NodeKind::nvswitch : NodeKind::pcie_switch);
    for (std::uint32_t g = 0; g < gpus; ++g) {
      cable(of_host[g], packet_switch);
      if (!hub.is_none()) cable(of_host[g], hub);
      for (std::uint32_t other = 0; hub.is_none() && other < g; ++other) cable(of_host[g], of_host[other]);
    }
  }
  return std::move(builder).build(nullptr, SourcePlace::named("hosts"));
}

// Rings of several channels once took the same cable of a full mesh, a seventh of what 8 GPUs have:
// 8 GiB on 2 x 8 MI355X took 243 ms, measured 44 ms.
TEST(GroupLayouts, ChainsThroughAMeshCrossEveryCableOnceEachWay) {
  std::vector<GroupLayout::Seat> seats;
  for (std::uint32_t rail = 0; rail < 8; ++rail) seats.push_back({0, rail});
  const GroupLayout mesh(seats, InsideLinks::full_mesh);
  for (const bool backwards : {false, true}) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> crossed;
    for (std::uint32_t start = 0; start < 8; ++start) {
      const std::vector<std::uint32_t> chain = mesh.chain_of_host(0, start, backwards);
      EXPECT_EQ(chain.front(), start);
      EXPECT_EQ(std::set<std::uint32_t>(chain.begin(), chain.end()).size(), 8U);
      for (std::size_t k = 1; k < 8; ++k) EXPECT_TRUE(crossed.emplace(chain[k - 1], chain[k]).second);
    }
    EXPECT_EQ(crossed.size(), 56U);
  }
  // By rail elsewhere.
  EXPECT_EQ(GroupLayout::blocks(2, 4).chain_of_host(1, 2, false), (std::vector<std::uint32_t>{6, 7, 4, 5}));
  EXPECT_EQ(GroupLayout::blocks(2, 4).chain_of_host(1, 2, true), (std::vector<std::uint32_t>{6, 5, 4, 7}));
}

TEST(GroupLayouts, KnowWhatJoinsTheMembersOfAHost) {
  for (const InsideLinks inside : {InsideLinks::nvswitch, InsideLinks::full_mesh, InsideLinks::pcie}) {
    const auto topology = hosts_of(2, 4, inside);
    const std::span<const NodeId> all = topology->endpoints();
    EXPECT_EQ(GroupLayout(*topology, all).inside(), inside);
    const std::vector<NodeId> apart = {all[1], all[6]};
    EXPECT_EQ(GroupLayout(*topology, apart).inside(), InsideLinks::none);
    const std::vector<NodeId> three = {all[1], all[6], all[0]};
    EXPECT_EQ(GroupLayout(*topology, three).inside(), inside);
  }
  EXPECT_NE(GroupLayout({{0, 0}, {0, 1}}, InsideLinks::pcie), GroupLayout({{0, 0}, {0, 1}}, InsideLinks::full_mesh));
}

/// A workload of one collective that all ranks join.
Workload one_collective(CollectiveType type, std::uint32_t ranks, Bytes bytes) {
  Workload workload;
  workload.name = "one";
  workload.rank_count = ranks;
  workload.communicators.push_back(Communicator::world(ranks));
  Op op;
  op.kind = OpKind::collective;
  op.collective = type;
  op.bytes = bytes;
  if (type == CollectiveType::all_to_all_v) {
    workload.splits.emplace_back("even", ranks, std::vector<Bytes>(std::size_t{ranks} * ranks, bytes));
    op.bytes = workload.splits.back().row_sum_max();
  }
  RoleBuilder role;
  role.add(op);
  workload.roles.push_back(std::move(role).finish().dag);
  workload.role_names.emplace_back("all");
  workload.role_of.assign(ranks, 0);
  return workload;
}

ParamSet all_auto() {
  ParamSet selection("collective", CollectiveLibrary::params());
  for (const ParamSpec& spec : CollectiveLibrary::params()) {
    if (spec.kind == ParamKind::choice && spec.name != "rule_set") selection.set(spec.name, "auto", {});
  }
  return selection;
}

TEST(CollectiveLibrary, AutoCarriesOutWhateverIsAsked) {
  // Direct carries out every type in every group, so auto has to find something for each request;
  // and what it finds is carried out.
  for (const auto& [rule_set, inside] : {std::pair("nccl", InsideLinks::nvswitch), std::pair("nccl", InsideLinks::full_mesh),
                                         std::pair("nccl", InsideLinks::pcie), std::pair("fastest", InsideLinks::nvswitch),
                                         std::pair("fastest", InsideLinks::full_mesh), std::pair("fastest", InsideLinks::pcie)}) {
    ParamSet selection = all_auto();
    selection.set("rule_set", rule_set, {});
    const auto topology = hosts_of(4, 4, inside);
    CollectiveLibrary library(selection, {});
    for (std::uint32_t round = 0; round < 60; ++round) {
      RandomStream random(7, round, static_cast<std::uint64_t>(inside));
      std::vector<NodeId> members(topology->endpoints().begin(), topology->endpoints().end());
      for (std::size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[random.below(i)]);
      members.resize(2 + random.below(members.size() - 1));
      if (random.below(2) == 0) std::sort(members.begin(), members.end());
      const auto type = static_cast<CollectiveType>(random.below(10));
      const bool is_barrier = type == CollectiveType::barrier;
      const Bytes bytes =
          is_barrier ? Bytes::zero() : Bytes::of(static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(30))));
      const Workload workload = one_collective(type, static_cast<std::uint32_t>(members.size()), bytes);
      SCOPED_TRACE(fmt::format("{} of {}", to_text(type), members.size()));
      std::shared_ptr<const JobCollectives> collectives;
      ASSERT_NO_THROW(collectives = library.prepare(workload, *topology, members, nullptr));
      const Op op = workload.roles[0].op(OpId(0));
      const CollectivePlan* plan = collectives->find(op, GroupId(0), 0);
      ASSERT_NE(plan, nullptr);
      if (std::string(rule_set) == "fastest") {
        EXPECT_TRUE(make_algorithm(plan->algorithm)->supports(type));
      }
      // Asked again, by another library, it is the same.
      CollectiveLibrary other(selection, {});
      const auto again = other.prepare(workload, *topology, members, nullptr);
      EXPECT_EQ(again->find(op, GroupId(0), 0)->algorithm, plan->algorithm);
      EXPECT_EQ(again->find(op, GroupId(0), 0)->protocol.name, plan->protocol.name);
      if (round % 6 == 0 && bytes.count() < 1 << 20) expect_carried_out(*plan);
    }
  }
}

}  // namespace
}  // namespace weft::collective_rules_test
