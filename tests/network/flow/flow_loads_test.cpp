// SPDX-License-Identifier: Apache-2.0
#include "network/flow/flow_loads.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "network/max_min/max_min_solver.hpp"

namespace weft::flow_loads_test {
namespace {

using Changes = std::vector<FlowLoads::LinkLoad>;

FlowRequest request(const std::vector<LinkId>& path, const std::vector<double>& loads = {}) {
  FlowRequest r;
  r.path = path;
  r.wire_bytes = Bytes::of(1'000'000'000);
  r.loads = loads;
  return r;
}

// Two links of 100 Gb/s. A crosses both, B the second; C the second as well, and does not count.
TEST(FlowLoads, AreWhatFlowsTakeThatCount) {
  FlowModel model(std::make_unique<MaxMinSolver>(std::vector<double>{100e9, 100e9}, MaxMinSolver::Options{}));
  FlowLoads loads(model.policy());
  model.watch(loads);
  const std::vector<LinkId> both{LinkId(0), LinkId(1)};
  const std::vector<LinkId> second{LinkId(1)};
  const FlowSlot a = model.start(request(both));
  loads.on_flow_starts(a, true);
  model.settle(Time::zero());
  EXPECT_EQ(loads.take_changes(), (Changes{{LinkId(0), Bandwidth::gbps(100)}, {LinkId(1), Bandwidth::gbps(100)}}));
  EXPECT_TRUE(loads.take_changes().empty());
  const FlowSlot b = model.start(request(second));
  loads.on_flow_starts(b, true);
  model.settle(Time::zero() + Duration::us(1));
  // The second link stays full.
  EXPECT_EQ(loads.take_changes(), (Changes{{LinkId(0), Bandwidth::gbps(50)}}));
  const FlowSlot c = model.start(request(second));
  loads.on_flow_starts(c, false);
  model.cancel(b, Time::zero() + Duration::us(2));
  model.settle(Time::zero() + Duration::us(2));
  // Where B was, C is.
  EXPECT_EQ(loads.take_changes(), (Changes{{LinkId(1), Bandwidth::gbps(50)}}));
}

// What is sprayed loads links by its shares, and what leaves takes exactly what it brought.
TEST(FlowLoads, AreByShare) {
  FlowModel model(std::make_unique<MaxMinSolver>(std::vector<double>{100e9, 100e9, 100e9}, MaxMinSolver::Options{}));
  FlowLoads loads(model.policy());
  model.watch(loads);
  const std::vector<LinkId> all{LinkId(0), LinkId(1), LinkId(2)};
  const std::vector<double> shares{1, 0.25, 0.75};
  std::vector<FlowSlot> flows;
  for (int i = 0; i < 3; ++i) {
    flows.push_back(model.start(request(all, shares)));
    loads.on_flow_starts(flows.back(), i < 2);
  }
  model.settle(Time::zero());
  // Of the first link a third each, rounded to whole bits per second for each flow.
  EXPECT_EQ(loads.take_changes(), (Changes{{LinkId(0), Bandwidth::bps(2 * 33'333'333'333)},
                                           {LinkId(1), Bandwidth::bps(2 * 8'333'333'333)},
                                           {LinkId(2), Bandwidth::bps(2 * 25'000'000'000)}}));
  for (const FlowSlot flow : flows) model.cancel(flow, Time::zero() + Duration::us(1));
  model.settle(Time::zero() + Duration::us(1));
  EXPECT_EQ(loads.take_changes(),
            (Changes{{LinkId(0), Bandwidth::bps(0)}, {LinkId(1), Bandwidth::bps(0)}, {LinkId(2), Bandwidth::bps(0)}}));
}

// A flow of another class comes after the loads are watched. Its slot is one that the graph of the
// first class has given to a flow on the other link.
TEST(FlowLoads, KnowFlowsOfEveryPriority) {
  FlowModel model(std::make_unique<MaxMinSolver>(std::vector<double>{100e9, 100e9}, MaxMinSolver::Options{}));
  FlowLoads loads(model.policy());
  model.watch(loads);
  const std::vector<LinkId> first{LinkId(0)};
  const std::vector<LinkId> second{LinkId(1)};
  std::vector<FlowSlot> gone;
  for (int i = 0; i < 3; ++i) gone.push_back(model.start(request(first)));
  for (const FlowSlot flow : gone) loads.on_flow_starts(flow, true);
  model.settle(Time::zero());
  EXPECT_EQ(loads.take_changes(), (Changes{{LinkId(0), Bandwidth::bps(3 * 33'333'333'333)}}));
  FlowRequest urgent = request(second);
  urgent.priority = 1;
  const Time later = Time::zero() + Duration::us(1);
  model.cancel(gone[1], later);
  loads.on_flow_starts(model.start(urgent), true);
  model.settle(later);
  EXPECT_EQ(loads.take_changes(), (Changes{{LinkId(0), Bandwidth::gbps(100)}, {LinkId(1), Bandwidth::gbps(100)}}));
}

}  // namespace
}  // namespace weft::flow_loads_test
