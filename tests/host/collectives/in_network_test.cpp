// SPDX-License-Identifier: Apache-2.0
// Algorithms that let switches reduce: what they carry out, what each rank brings, and what they
// refuse.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/collectives/data_flow.hpp"
#include "tests/host/collectives/collective_machine.hpp"

namespace weft::in_network_test {
namespace {

const std::vector<CollectiveType> kTypes = {CollectiveType::all_reduce, CollectiveType::all_gather, CollectiveType::reduce_scatter,
                                            CollectiveType::broadcast,  CollectiveType::reduce,     CollectiveType::barrier};

TEST(InNetwork, CarriesOutEveryCollectiveOfEveryGroup) {
  const std::vector<GroupLayout> layouts = {GroupLayout::blocks(1, 2), GroupLayout::blocks(1, 8), GroupLayout::blocks(5, 1),
                                            GroupLayout::blocks(3, 4),
                                            // Rails first, and hosts mixed.
                                            GroupLayout({{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}}),
                                            GroupLayout({{0, 3}, {1, 0}, {1, 3}, {0, 0}, {2, 1}, {2, 7}, {1, 5}, {0, 5}, {2, 0}})};
  int carried_out = 0;
  for (const std::string name : {"nvls", "sharp"}) {
    for (const std::string inside : {"nvls", "ring", "direct"}) {
      if (name == "nvls" && inside != "nvls") continue;
      const auto algorithm = name == "nvls" ? make_algorithm(name) : make_algorithm(name, {{"inside", inside}, {"pieces", "3"}});
      for (const GroupLayout& layout : layouts) {
        for (const CollectiveType type : kTypes) {
          if (!algorithm->supports(type)) continue;
          for (std::uint32_t root = 0; root < (has_root(type) ? layout.ranks() : 1); ++root) {
            const CollectiveRequest request{type, root, type == CollectiveType::barrier ? Bytes::zero() : Bytes::of(12'345),
                                            &layout, nullptr};
            if (!algorithm->objection(request).empty()) continue;
            SCOPED_TRACE(fmt::format("{} {} {} of {}", name, inside, to_text(type), layout.ranks()));
            const CollectivePlan plan = algorithm->compile(request);
            expect_carried_out(plan, root + 1);
            ++carried_out;
            if (type == CollectiveType::barrier) continue;
            for (const DataFlowFault& fault : find_data_flow_faults(plan, 5)) ADD_FAILURE() << fault.message;
          }
        }
      }
    }
  }
  EXPECT_GT(carried_out, 60);
}

TEST(InNetwork, RanksBringTheirBufferOnce) {
  const GroupLayout one_host = GroupLayout::blocks(1, 4);
  const auto nvls = make_algorithm("nvls");
  const auto brought = [&](CollectiveType type, std::uint32_t position, std::uint32_t root = 0) {
    return expect_carried_out(nvls->compile({type, root, Bytes::of(1003), &one_host, nullptr})).bytes_sent(position);
  };
  for (const CollectiveType type :
       {CollectiveType::all_reduce, CollectiveType::reduce_scatter, CollectiveType::all_gather, CollectiveType::reduce}) {
    EXPECT_EQ(brought(type, 3), Bytes::of(1003)) << to_text(type);
  }
  EXPECT_EQ(brought(CollectiveType::broadcast, 2, 2), Bytes::of(1003));
  EXPECT_EQ(brought(CollectiveType::broadcast, 3, 2), Bytes::zero());
  // Over hosts: inside its host the whole buffer and the share of the sum, and on its rail that
  // share.
  const GroupLayout hosts = GroupLayout::blocks(2, 4);
  const CollectiveRequest request{CollectiveType::all_reduce, 0, Bytes::of(8000), &hosts, nullptr};
  EXPECT_EQ(expect_carried_out(make_algorithm("sharp")->compile(request)).bytes_sent(5), Bytes::of(8000 + 2000 + 2000));
  const GroupLayout lone = GroupLayout::one_per_host(7);
  const CollectivePlan tree = make_algorithm("sharp")->compile({CollectiveType::all_reduce, 0, Bytes::of(8000), &lone, nullptr});
  EXPECT_EQ(expect_carried_out(tree).bytes_sent(5), Bytes::of(8000)) << "a single tree";
}

TEST(InNetwork, RefusesGroupsThatNoSwitchJoins) {
  const GroupLayout two_hosts = GroupLayout::blocks(2, 4);
  EXPECT_EQ(make_algorithm("nvls")->objection({CollectiveType::all_reduce, 0, Bytes::of(8), &two_hosts, nullptr}),
            "they are in 2 hosts, which no NVSwitch joins");
  const GroupLayout uneven({{0, 0}, {0, 1}, {1, 0}});
  EXPECT_EQ(make_algorithm("sharp")->objection({CollectiveType::all_reduce, 0, Bytes::of(8), &uneven, nullptr}),
            "its hosts have unequal numbers of the group's ranks, so that there are no rails");
}

// The checker sees what is wrong with steps in switches as with others.
TEST(DataFlow, FindsWhatIsWrongWithStepsInSwitches) {
  const GroupLayout layout = GroupLayout::blocks(1, 4);
  const CollectiveRequest request{CollectiveType::all_reduce, 0, Bytes::of(400), &layout, nullptr};
  CollectiveStep sum;
  sum.kind = StepKind::in_network;
  sum.parts = {0, 4, {}, {}};
  const auto faults_of = [&](const std::vector<CollectiveStep>& steps, bool in_order) {
    CollectivePlan plan(request, 4, Bytes::of(400));
    CollectiveProgramBuilder builder;
    for (const CollectiveStep& step : steps) {
      const std::uint32_t index = builder.add(step);
      if (in_order && index > 0) builder.after(index, index - 1);
    }
    plan.programs.push_back(std::move(builder).build());
    std::vector<std::string> codes;
    for (const DataFlowFault& fault : find_data_flow_faults(plan, 1)) codes.push_back(fault.code);
    return codes;
  };
  EXPECT_EQ(faults_of({sum}, true), std::vector<std::string>());
  EXPECT_EQ(faults_of({sum, sum}, true), std::vector<std::string>{"added-twice"});
  EXPECT_EQ(faults_of({sum, sum}, false), std::vector<std::string>{"unordered-steps"});
  CollectiveStep half = sum;
  half.parts.count = 2;
  EXPECT_EQ(faults_of({half}, true), std::vector<std::string>{"incomplete-collective"});
}

}  // namespace
}  // namespace weft::in_network_test
