// SPDX-License-Identifier: Apache-2.0
#include "network/flow/flow_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <sstream>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/values/random.hpp"
#include "network/max_min/max_min_solver.hpp"
#include "tests/long_runs.hpp"
#include "tests/network/max_min/max_min_oracle.hpp"
#include "tests/network/routing/fat_tree_paths.hpp"

namespace weft::flow_model_test {
namespace {

FlowModel model_of(std::vector<double> capacities_bps, std::size_t slots_kept = 1000) {
  return FlowModel(std::make_unique<MaxMinSolver>(std::move(capacities_bps), MaxMinSolver::Options{}), slots_kept);
}

FlowRequest request(const std::vector<LinkId>& path, std::int64_t bytes, std::uint32_t owner = 0) {
  FlowRequest r;
  r.path = path;
  r.wire_bytes = Bytes::of(bytes);
  r.owner = owner;
  return r;
}

TEST(FlowModel, ALoneFlowTakesSizeOverRate) {
  FlowModel model = model_of({100e9});
  const std::vector<LinkId> path = {LinkId(0)};
  model.start(request(path, 125'000));
  model.settle(Time::zero());
  // 1 Mbit at 100 Gb/s: 10 us.
  EXPECT_EQ(model.next_completion(), Time::zero() + Duration::us(10));
}

TEST(FlowModel, WhoStaysGetsWhatTheOthersLeave) {
  FlowModel model = model_of({100e9});
  const std::vector<LinkId> path = {LinkId(0)};
  model.start(request(path, 125'000, 1));
  model.start(request(path, 250'000, 2));
  model.settle(Time::zero());
  // 50 Gb/s each: the first ends after 20 us; the second then has 1 Mbit left and all of the link,
  // another 10 us.
  std::vector<FlowCompletion> done;
  const Time first = model.next_completion();
  EXPECT_EQ(first, Time::zero() + Duration::us(20));
  model.take_completions(first, done);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].owner, 1U);
  model.settle(first);
  const Time second = model.next_completion();
  EXPECT_EQ(second, Time::zero() + Duration::us(30));
  EXPECT_EQ(model.link_bytes(first).by_link[0], Bytes::of(125'000 + 125'000));
  model.take_completions(second, done);
  model.settle(second);
  EXPECT_EQ(model.next_completion(), Time::max());
  EXPECT_EQ(model.link_bytes(second).by_link[0], Bytes::of(375'000));
  EXPECT_EQ(model.active_flows(), 0U);
  EXPECT_EQ(model.active_flows_peak(), 2U);
  EXPECT_EQ(model.solves(), 3U);
}

TEST(FlowModel, FlowsThatEndTogetherAreOneBatch) {
  FlowModel model = model_of(std::vector<double>(64, 100e9));
  std::vector<LinkId> path(1);
  for (std::uint32_t f = 0; f < 256; ++f) {
    path[0] = LinkId(f % 64);
    model.start(request(path, 1'000'000, f));
  }
  model.settle(Time::zero());
  std::vector<FlowCompletion> done;
  model.take_completions(model.next_completion(), done);
  ASSERT_EQ(done.size(), 256U);
  for (std::uint32_t f = 0; f < 256; ++f) EXPECT_EQ(done[f].owner, f) << "completions come in order of start";
  EXPECT_EQ(model.next_completion(), Time::max());
}

TEST(FlowModel, AFlowWithoutCapacityIsReportedAndWakesUpWithIt) {
  FlowModel model = model_of({100e9, 0});
  const std::vector<LinkId> path = {LinkId(0), LinkId(1)};
  model.start(request(path, 125'000, 42));
  model.settle(Time::zero());
  EXPECT_EQ(model.next_completion(), Time::max());
  const std::vector<StalledFlow> stalled = model.stalled_flows();
  ASSERT_EQ(stalled.size(), 1U);
  EXPECT_EQ(stalled[0].owner, 42U);
  EXPECT_EQ(stalled[0].link, LinkId(1));
  const Time later = Time::zero() + Duration::ms(1);
  model.set_capacity(LinkId(1), Bandwidth::gbps(50));
  model.settle(later);
  EXPECT_EQ(model.next_completion(), later + Duration::us(20));
  EXPECT_TRUE(model.stalled_flows().empty());
}

TEST(FlowModel, AFlowOfAHigherClassHoldsUpTheOthers) {
  // Links of 100 and 50 Gb/s. The low flow over both starts alone at 50 Gb/s. After 10 us one of a
  // higher class takes link 1 for 1 Mbit, 20 us, in which the low flow stands still; then it has 1
  // Mbit - 10 us x 50 Gb/s = .5 Mbit left, another 10 us.
  FlowModel model = model_of({100e9, 50e9});
  const std::vector<LinkId> both = {LinkId(0), LinkId(1)};
  const std::vector<LinkId> second = {LinkId(1)};
  model.start(request(both, 125'000, 1));
  model.settle(Time::zero());
  const Time arrival = Time::zero() + Duration::us(10);
  FlowRequest urgent = request(second, 125'000, 2);
  urgent.priority = 3;
  model.start(urgent);
  model.settle(arrival);
  const std::vector<StalledFlow> stalled = model.stalled_flows();
  ASSERT_EQ(stalled.size(), 1U);
  EXPECT_EQ(stalled[0].owner, 1U);
  EXPECT_EQ(stalled[0].link, LinkId(1)) << "the link that the other fills";
  std::vector<FlowCompletion> done;
  ASSERT_EQ(model.next_completion(), arrival + Duration::us(20));
  model.take_completions(model.next_completion(), done);
  EXPECT_EQ(done.at(0).owner, 2U);
  model.settle(arrival + Duration::us(20));
  EXPECT_TRUE(model.stalled_flows().empty());
  EXPECT_EQ(model.next_completion(), arrival + Duration::us(30));
}

TEST(FlowModel, OnlyChangedFlowsAreRetimed) {
  FlowModel model = model_of({100e9, 100e9});
  const std::vector<LinkId> left = {LinkId(0)}, right = {LinkId(1)};
  model.start(request(left, 1'000'000));
  model.settle(Time::zero());
  EXPECT_EQ(model.rate_changes(), 1U);
  model.start(request(right, 1'000'000));
  model.settle(Time::zero() + Duration::us(1));
  EXPECT_EQ(model.rate_changes(), 2U);
}

TEST(FlowModel, ACancelledFlowLeavesItsShareAndCountsAsFarAsItCame) {
  // Two flows of 1 MB share 8 Gb/s. After 1 ms each has moved 0.5 MB; the second leaves, and the
  // first has all of the link: 0.5 ms for the rest.
  FlowModel model = model_of({8e9});
  const std::vector<LinkId> path{LinkId(0)};
  const FlowSlot first = model.start(request(path, 1'000'000));
  FlowRequest counted_apart = request(path, 1'000'000);
  counted_apart.account = 2;
  const FlowSlot second = model.start(counted_apart);
  model.settle(Time::zero());
  const Time stop = Time::zero() + Duration::ms(1);
  model.cancel(second, stop);
  model.settle(stop);
  EXPECT_EQ(model.rate_bps(first), 8e9);
  EXPECT_EQ(model.next_completion(), Time::zero() + Duration::us(1500));
  const FlowModel::CountedBytes counted = model.link_bytes(stop);
  EXPECT_EQ(counted.by_link[0], Bytes::of(500'000));
  ASSERT_EQ(counted.by_account.size(), 2U);
  EXPECT_TRUE(counted.by_account[0].empty());
  EXPECT_EQ(counted.by_account[1].at(LinkId(0)), Bytes::of(500'000));
  std::vector<FlowCompletion> done;
  model.take_completions(model.next_completion(), done);
  EXPECT_EQ(done.size(), 1U);
}

// 1 Mbit at 100 Gb/s, of which another model moves 3 us, and this one the rest: alone it ends as if
// nothing had happened; beside another flow it has 0.7 Mbit left for 50 Gb/s.
TEST(FlowModel, AFlowGoesOnInAnotherModel) {
  const std::vector<LinkId> path = {LinkId(0)};
  for (const bool is_alone : {true, false}) {
    FlowModel first = model_of({100e9});
    const FlowSlot slot = first.start(request(path, 125'000));
    first.settle(Time::zero());
    const FlowProgress progress = first.take_out(slot);
    EXPECT_EQ(progress.finish, Time::zero() + Duration::us(10));
    EXPECT_EQ(first.active_flows(), 0U);
    FlowModel second = model_of({100e9});
    second.settle(Time::zero() + Duration::us(3));
    second.adopt(request(path, 125'000), progress);
    if (!is_alone) second.start(request(path, 1'000'000));
    second.settle(Time::zero() + Duration::us(3));
    EXPECT_EQ(second.next_completion(), Time::zero() + Duration::us(is_alone ? 10 : 17));
    std::vector<FlowCompletion> done;
    second.take_completions(second.next_completion(), done);
    EXPECT_EQ(second.bytes_of_ended()[0], Bytes::of(125'000)) << "those of the first model as well";
    EXPECT_EQ(first.bytes_of_ended()[0], Bytes::zero());
  }
}

TEST(FlowModel, MissingACompletionIsABug) {
  FlowModel model = model_of({100e9});
  const std::vector<LinkId> path = {LinkId(0)};
  model.start(request(path, 125'000));
  model.settle(Time::zero());
  std::vector<FlowCompletion> done;
  EXPECT_THROW(model.take_completions(Time::zero() + Duration::us(11), done), CheckFailure);
}

/// Event by event in real numbers: all rates anew at every event, all flows brought forward,
/// earliest finish found by scanning.
struct NaiveFlow {
  std::vector<LinkId> path;
  double bits = 0;
  double weight = 1;
  double start_s = 0;
  double end_s = -1;
};

void run_naively(const std::vector<double>& capacities, std::vector<NaiveFlow>& flows) {
  double now = 0;
  std::vector<std::size_t> active;
  std::size_t next = 0;
  while (next < flows.size() || !active.empty()) {
    FlowLinkGraph graph(capacities);
    for (const std::size_t f : active) graph.add({flows[f].path, flows[f].weight});
    const std::vector<long double> rates = fill_progressively<long double>(graph);
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < active.size(); ++i) step = std::min(step, flows[active[i]].bits / static_cast<double>(rates[i]));
    const bool arrival = next < flows.size() && flows[next].start_s <= now + step;
    if (arrival) step = flows[next].start_s - now;
    now += step;
    std::vector<std::size_t> still;
    for (std::size_t i = 0; i < active.size(); ++i) {
      NaiveFlow& flow = flows[active[i]];
      flow.bits -= step * static_cast<double>(rates[i]);
      if (flow.bits <= 1e-3) {
        flow.end_s = now;
      } else {
        still.push_back(active[i]);
      }
    }
    active = still;
    if (arrival) active.push_back(next++);
  }
}

/// Water filling with a heap of lower bounds on the links' shares, for flows without weights, caps
/// and loads. Rates by slot.
std::vector<double> fill_by_heap(const FlowLinkGraph& graph) {
  std::vector<double> rates(graph.slot_count(), -1);
  std::vector<double> left(graph.link_count());
  std::vector<std::size_t> waiting(graph.link_count());
  using Entry = std::pair<double, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap;
  const auto share = [&](std::uint32_t link) { return left[link] / static_cast<double>(waiting[link]); };
  for (std::uint32_t link = 0; link < graph.link_count(); ++link) {
    left[link] = graph.capacity(LinkId(link));
    waiting[link] = graph.members(LinkId(link)).size();
    if (waiting[link] > 0) heap.emplace(share(link), link);
  }
  while (!heap.empty()) {
    const auto [bound, link] = heap.top();
    heap.pop();
    if (waiting[link] == 0) continue;
    const double level = share(link);
    if (level > bound) {
      heap.emplace(level, link);
      continue;
    }
    for (const FlowLinkGraph::Member member : graph.members(LinkId(link))) {
      double& rate = rates[member.flow.index()];
      if (rate >= 0) continue;
      rate = level;
      for (const FlowLinkGraph::Hop& hop : graph.hops(member.flow)) {
        left[hop.link.index()] -= level;
        --waiting[hop.link.index()];
      }
    }
  }
  return rates;
}

// The traffic of bench/flow's run_poisson: 1 MB flows between random hosts of 1,024, half busy,
// every arrival and completion a batch. All rates found anew at every event by another way must
// lead to the same completions.
TEST(FlowModel, AgreesWithANaiveSimulationOfPoissonTraffic) {
  const std::size_t count = WEFT_SANITIZED ? 300 : long_runs() ? 5000 : 800;
  const FatTreePaths tree(16);
  const std::vector<double> capacities(tree.links(), 100e9);
  const Bytes size = Bytes::of(1'000'000);
  RandomStream random(6, 0, 0);
  std::vector<std::vector<LinkId>> paths;
  std::vector<Time> starts;
  double start_s = 0;
  while (paths.size() < count) {
    start_s += random.exponential(160e-6 / tree.hosts());
    starts.push_back(Time::zero() + Duration::from_seconds(start_s));
    paths.push_back(tree.random_path(random));
  }

  // Time and bits in doubles, all flows brought forward at every event, the earliest finish found
  // by scanning.
  struct Moving {
    std::size_t flow;
    double bits;
  };
  FlowLinkGraph graph(capacities);
  std::vector<Moving> moving;  // by slot of the graph; bits < 0 where there is none
  std::vector<double> expected_s(count);
  double now_s = 0;
  std::size_t next = 0;
  for (std::size_t active = 0; next < count || active > 0;) {
    const std::vector<double> rates = fill_by_heap(graph);
    double step = next < count ? starts[next].in_s() - now_s : std::numeric_limits<double>::infinity();
    std::size_t ending = moving.size();
    for (std::size_t slot = 0; slot < moving.size(); ++slot) {
      if (moving[slot].bits < 0 || moving[slot].bits / rates[slot] > step) continue;
      step = moving[slot].bits / rates[slot];
      ending = slot;
    }
    now_s += step;
    for (std::size_t slot = 0; slot < moving.size(); ++slot) {
      if (moving[slot].bits >= 0) moving[slot].bits = std::max(0.0, moving[slot].bits - step * rates[slot]);
    }
    if (ending < moving.size()) {
      expected_s[moving[ending].flow] = now_s;
      moving[ending].bits = -1;
      graph.remove(FlowSlot(static_cast<std::uint32_t>(ending)));
      --active;
    } else {
      const FlowSlot slot = graph.add({paths[next]});
      moving.resize(graph.slot_count());
      moving[slot.index()] = {next, size.in_bits()};
      ++next;
      ++active;
    }
  }

  FlowModel model = model_of(capacities);
  std::vector<FlowCompletion> done;
  std::size_t finished = 0;
  double worst = 0;
  next = 0;
  while (finished < count) {
    const Time now = std::min(next < count ? starts[next] : Time::max(), model.next_completion());
    ASSERT_LT(now, Time::max());
    done.clear();
    model.take_completions(now, done);
    for (const FlowCompletion& completion : done) {
      const double start = starts[completion.owner].in_s();
      worst = std::max(worst, relative_error(now.in_s() - start, expected_s[completion.owner] - start));
    }
    finished += done.size();
    for (; next < count && starts[next] == now; ++next) model.start(request(paths[next], size.count(), next));
    model.settle(now);
  }
  EXPECT_LT(worst, 1e-6);
  std::ostringstream worst_text;
  worst_text << worst;
  RecordProperty("worst_relative_error", worst_text.str());
  const MaxMinSolver::Counters counters = dynamic_cast<const MaxMinSolver&>(model.policy()).counters();
  // Until some hundred flows are under way, arrivals meet small segments, which are solved from
  // nothing.
  if (count >= 1500) {
    EXPECT_GT(counters.repairs, 3 * counters.full_solves)
        << "the first few flows are alone in their segments, the others are repaired";
  }
}

TEST(FlowModel, AgreesWithANaiveFluidSimulation) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    RandomStream random(21, seed, 1);
    std::vector<double> capacities;
    for (int l = 0; l < 12; ++l) capacities.push_back(1e9 * static_cast<double>(10 * (1 + random.below(10))));
    std::vector<NaiveFlow> flows;
    std::vector<Bytes> sizes;
    std::vector<Time> starts;
    Time start;
    for (int f = 0; f < 80; ++f) {
      if (random.below(3) > 0) start += Duration::ns(static_cast<std::int64_t>(random.below(20'000)));
      NaiveFlow flow;
      for (std::uint64_t hop = 0; hop <= random.below(4); ++hop)
        flow.path.emplace_back(static_cast<std::uint32_t>(random.below(12)));
      sizes.push_back(Bytes::of(static_cast<std::int64_t>(1 + random.below(500'000))));
      starts.push_back(start);
      flow.bits = sizes.back().in_bits();
      flow.weight = static_cast<double>(1 + random.below(3));
      flow.start_s = start.in_s();
      flows.push_back(flow);
    }
    std::vector<NaiveFlow> naive = flows;
    run_naively(capacities, naive);

    // Half of the models give back memory whenever they stand empty, which some do some ten times.
    FlowModel model = model_of(capacities, seed % 2 == 0 ? 0 : 1000);
    std::vector<Time> ends(flows.size());
    std::vector<FlowCompletion> done;
    std::size_t next = 0;
    for (;;) {
      const Time arrival = next < flows.size() ? starts[next] : Time::max();
      const Time now = std::min(arrival, model.next_completion());
      if (now == Time::max()) break;
      done.clear();
      model.take_completions(now, done);
      for (const FlowCompletion& completion : done) ends[completion.owner] = now;
      for (; next < flows.size() && starts[next] == now; ++next) {
        FlowRequest r = request(flows[next].path, sizes[next].count(), static_cast<std::uint32_t>(next));
        r.weight = flows[next].weight;
        model.start(r);
      }
      model.settle(now);
    }
    if (seed % 2 == 0) {
      EXPECT_EQ(model.policy().graph().slot_count(), 0U);
    }
    // Ticks are 10 ps; each of some hundred events may round by half of one.
    for (std::size_t f = 0; f < flows.size(); ++f)
      ASSERT_NEAR(ends[f].in_s(), naive[f].end_s, 1e-9) << "seed " << seed << " flow " << f;
    std::vector<Bytes> bytes(capacities.size());
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const LinkId link : flows[f].path) bytes[link.index()] += sizes[f];
    }
    EXPECT_EQ(model.link_bytes(ends.back()).by_link, bytes);
    EXPECT_EQ(model.flows_finished(), flows.size());
  }
}

}  // namespace
}  // namespace weft::flow_model_test
