// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/congestion_monitor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/values/random.hpp"
#include "network/max_min/max_min_solver.hpp"
#include "tests/long_runs.hpp"
#include "tests/network/max_min/max_min_oracle.hpp"
#include "tests/network/test_topologies.hpp"
#include "topologies/topology.hpp"

namespace weft::congestion_monitor_test {
namespace {

/// Two leafs below one switch, so many hosts with one GPU below each; 100 Gb/s for every cable.
std::shared_ptr<const Topology> two_leafs(const char* hosts, const char* hosts_per_leaf) {
  return built("clos", {{"hosts", hosts},
                        {"gpus_per_host", "1"},
                        {"hosts_per_leaf", hosts_per_leaf},
                        {"leafs_per_pod", "2"},
                        {"aggs_per_pod", "1"},
                        {"spines", "0"},
                        {"nic_rate", "100Gbps"},
                        {"leaf_uplink_rate", "100Gbps"}});
}

Time at_ms(std::int64_t ms) { return Time::zero() + Duration::ms(ms); }

/// Flows of jobs between hosts, each job's attempt having its number.
class Network {
 public:
  Network(std::shared_ptr<const Topology> topology, Duration gap)
      : topology_(std::move(topology)),
        monitor_(*topology_, gap, [](AttemptId attempt) { return JobId(attempt.index()); }),
        model_(std::make_unique<MaxMinSolver>(link_capacities_bps(*topology_), MaxMinSolver::Options())) {
    model_.watch(monitor_);
  }

  struct Asks {
    double weight = 1;
    double cap_bps = std::numeric_limits<double>::infinity();
    std::uint8_t priority = 0;
    std::uint32_t multiplicity = 1;
  };
  FlowSlot start(std::uint32_t job, std::uint32_t from, std::uint32_t to, Bytes bytes, const Asks& asks) {
    const std::vector<LinkId> path = path_between(from, to);
    FlowRequest request;
    request.path = path;
    request.wire_bytes = bytes;
    request.weight = asks.weight;
    request.cap_bps = asks.cap_bps;
    request.priority = asks.priority;
    const FlowSlot slot = model_.start(request);
    monitor_.on_flow_starts(slot, {AttemptId(job), HostId(from), HostId(to), asks.multiplicity});
    return slot;
  }
  FlowSlot start(std::uint32_t job, std::uint32_t from, std::uint32_t to, Bytes bytes) {
    return start(job, from, to, bytes, Asks());
  }
  /// All that ends until then ends; then, at `now`, what was started begins.
  void go_on(Time now) {
    std::vector<FlowCompletion> done;
    for (Time next = model_.next_completion(); next <= now; next = model_.next_completion()) {
      model_.take_completions(next, done);
      if (next < now) model_.settle(next);
    }
    model_.settle(now);
  }

  std::vector<LinkId> path_between(std::uint32_t from, std::uint32_t to) const {
    const NodeId destination = topology_->endpoints()[to];
    std::vector<LinkId> path;
    std::vector<LinkId> next;
    for (NodeId at = topology_->endpoints()[from]; at != destination; at = topology_->link(path.back()).destination) {
      topology_->routes().next_hops(*topology_, at, destination, next);
      path.push_back(next.front());
    }
    return path;
  }
  LinkId link(const std::string& name) const {
    for (std::uint32_t i = 0; i < topology_->link_count(); ++i) {
      if (topology_->link_name(LinkId(i)) == name) return LinkId(i);
    }
    ADD_FAILURE() << "no link " << name;
    return LinkId::none();
  }
  const Topology& topology() const { return *topology_; }
  const CongestionMonitor& monitor() const { return monitor_; }
  FlowModel& model() { return model_; }

 private:
  std::shared_ptr<const Topology> topology_;
  CongestionMonitor monitor_;
  FlowModel model_;
};

constexpr std::int64_t kMegabit = 125'000;  // bytes: 10 us at 100 Gb/s

// Job 0 has the uplink for itself until job 1 comes at 5 ms: from then on each gets half of 100
// Gb/s, so that half of what its own links would give is lost. 1000 Mbit of job 0 are half done by
// then and take 10 ms more; job 1 has 500 of its 700 Mbit left then and goes on alone.
TEST(CongestionMonitor, TwoJobsShareAnUplink) {
  Network network(two_leafs("4", "2"), Duration::ms(1));
  network.start(0, 0, 2, Bytes::of(1000 * kMegabit));
  network.go_on(Time::zero());
  network.start(1, 1, 3, Bytes::of(700 * kMegabit));
  network.go_on(at_ms(5));
  network.go_on(at_ms(40));
  const std::vector<CongestionPeriod> periods = network.monitor().periods(at_ms(40));
  ASSERT_EQ(periods.size(), 1U);
  const CongestionPeriod& period = periods[0];
  EXPECT_EQ(period.link, network.link("leaf0->agg0")) << "the first of two links that are full";
  EXPECT_EQ(period.cause, CongestionCause::others);
  EXPECT_EQ(period.begin, at_ms(5));
  EXPECT_EQ(period.end, at_ms(15));
  EXPECT_EQ(period.congested, Duration::ms(10));
  EXPECT_DOUBLE_EQ(period.lost_share(), 0.5);
  EXPECT_EQ(period.slowed(), (std::vector{JobId(0), JobId(1)}));
  // 100 Gb/s for 10 ms were possible for each.
  EXPECT_NEAR(period.jobs[0].possible_bits, 1e9, 1);
  EXPECT_NEAR(period.jobs[1].lost_bits, 0.5e9, 1);
  EXPECT_EQ(trigger_of(period, {{JobId(0), {Time::zero()}}, {JobId(1), {at_ms(4)}}}), JobId(1));
  const std::vector<CongestionTotals> totals = network.monitor().totals(at_ms(40));
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals[1].congested, Duration::ms(10));
}

TEST(CongestionMonitor, OnesOwnHostLinksAreNoCongestion) {
  // Two flows of one job leave one host, and two end at one: 50 Gb/s each is what the host's link
  // can do. One of another job beside them has all of its own.
  Network network(two_leafs("6", "3"), Duration::ms(1));
  network.start(0, 0, 3, Bytes::of(kMegabit));
  network.start(0, 0, 1, Bytes::of(kMegabit));
  network.start(1, 2, 5, Bytes::of(kMegabit));
  network.go_on(Time::zero());
  // 50 + 50 Gb/s over the uplink: job 1 could have 100, and is slowed; flow 0 -> 3 has its fair
  // share of its host's link.
  EXPECT_TRUE(network.monitor().finding(FlowSlot(0)).bottleneck.is_none());
  EXPECT_TRUE(network.monitor().finding(FlowSlot(1)).bottleneck.is_none());
  EXPECT_EQ(network.monitor().finding(FlowSlot(2)).bottleneck, network.link("leaf0->agg0"));
  network.go_on(at_ms(1));
  const std::vector<CongestionPeriod> periods = network.monitor().periods(at_ms(1));
  ASSERT_EQ(periods.size(), 1U);
  EXPECT_EQ(periods[0].slowed(), std::vector{JobId(1)});
  ASSERT_EQ(periods[0].jobs.size(), 2U) << "job 0 is there, too";
  EXPECT_FALSE(periods[0].jobs[0].since.has_value());
}

// Two flows of job 0 leave host 0, one of which has to share the uplink with two others: 100 / 3
// Gb/s each, where 50, 100 and 100 were possible.
TEST(CongestionMonitor, SeveralTransfersOfAJobShareWhatItsHostCanDo) {
  Network network(two_leafs("6", "3"), Duration::ms(1));
  const FlowSlot shared = network.start(0, 0, 3, Bytes::of(kMegabit));
  const FlowSlot beside = network.start(0, 0, 1, Bytes::of(kMegabit));
  network.start(1, 1, 4, Bytes::of(kMegabit));
  network.start(1, 2, 5, Bytes::of(kMegabit));
  network.go_on(Time::zero());
  EXPECT_NEAR(network.monitor().finding(shared).rate_bps, 100e9 / 3, 0.01);
  EXPECT_DOUBLE_EQ(network.monitor().finding(shared).possible_bps, 50e9);
  EXPECT_DOUBLE_EQ(network.monitor().finding(FlowSlot(3)).possible_bps, 100e9);
  EXPECT_TRUE(network.monitor().finding(beside).bottleneck.is_none()) << "it has more than its half";
}

TEST(CongestionMonitor, AJobCanBeInItsOwnWay) {
  Network network(two_leafs("4", "2"), Duration::ms(1));
  network.start(0, 0, 2, Bytes::of(100 * kMegabit));
  network.start(0, 1, 3, Bytes::of(100 * kMegabit));
  network.go_on(Time::zero());
  network.go_on(at_ms(3));
  const std::vector<CongestionPeriod> periods = network.monitor().periods(at_ms(3));
  ASSERT_EQ(periods.size(), 1U);
  EXPECT_EQ(periods[0].cause, CongestionCause::own);
  EXPECT_EQ(periods[0].end, at_ms(2));
  EXPECT_DOUBLE_EQ(periods[0].lost_share(), 0.5);
  EXPECT_EQ(trigger_of(periods[0], {{JobId(0), {Time::zero()}}}), JobId(0));
}

TEST(CongestionMonitor, PausesShorterThanTheGapAreOfOnePeriod) {
  for (const std::int64_t gap_ms : {3, 5}) {
    // Both jobs move 100 Mbit every 6 ms, which takes them 2 ms together: congestion for 2 ms, none
    // for 4.
    Network network(two_leafs("4", "2"), Duration::ms(gap_ms));
    for (std::int64_t i = 0; i < 4; ++i) {
      network.start(0, 0, 2, Bytes::of(100 * kMegabit));
      network.start(1, 1, 3, Bytes::of(100 * kMegabit));
      network.go_on(at_ms(6 * i));
      network.go_on(at_ms(6 * i + 5));
    }
    const std::vector<CongestionPeriod> periods = network.monitor().periods(at_ms(23));
    if (gap_ms == 3) {
      ASSERT_EQ(periods.size(), 4U);
      EXPECT_EQ(periods[3].begin, at_ms(18));
      EXPECT_EQ(periods[3].congested, Duration::ms(2));
    } else {
      ASSERT_EQ(periods.size(), 1U);
      EXPECT_EQ(periods[0].end, at_ms(20));
      EXPECT_EQ(periods[0].congested, Duration::ms(8));
      EXPECT_DOUBLE_EQ(periods[0].congested_share(), 0.4);
    }
  }
}

TEST(CongestionMonitor, AHigherPriorityIsNotSlowedByALowerOne) {
  Network network(two_leafs("4", "2"), Duration::ms(1));
  network.start(0, 0, 2, Bytes::of(100 * kMegabit), {.priority = 1});
  network.start(1, 1, 3, Bytes::of(100 * kMegabit), {});
  network.go_on(Time::zero());
  EXPECT_TRUE(network.monitor().finding(FlowSlot(0)).bottleneck.is_none());
  const CongestionMonitor::Finding& low = network.monitor().finding(FlowSlot(1));
  EXPECT_EQ(low.bottleneck, network.link("leaf0->agg0"));
  EXPECT_EQ(low.cause, CongestionCause::others);
  EXPECT_EQ(low.rate_bps, 0);
  EXPECT_EQ(low.possible_bps, 100e9);
}

TEST(CongestionMonitor, ALimitOfItsOwnIsNoCongestion) {
  Network network(two_leafs("4", "2"), Duration::ms(1));
  network.start(0, 0, 2, Bytes::of(kMegabit), {.cap_bps = 40e9});
  network.start(1, 1, 3, Bytes::of(kMegabit), {});
  network.go_on(Time::zero());
  EXPECT_TRUE(network.monitor().finding(FlowSlot(0)).bottleneck.is_none());
  EXPECT_DOUBLE_EQ(network.monitor().finding(FlowSlot(1)).rate_bps, 60e9);
}

TEST(CongestionMonitor, ALinkWithoutCapacityIsNoCongestion) {
  Network network(two_leafs("4", "2"), Duration::ms(1));
  network.model().set_capacity(network.link("leaf0->agg0"), Bandwidth::gbps(0));
  network.start(0, 0, 2, Bytes::of(kMegabit));
  network.go_on(Time::zero());
  EXPECT_TRUE(network.monitor().finding(FlowSlot(0)).bottleneck.is_none());
}

TEST(CongestionMonitor, WhatIsUnderWayCountsUpToNow) {
  Network network(two_leafs("4", "2"), Duration::ms(1));
  network.start(0, 0, 2, Bytes::of(1000 * kMegabit), {.multiplicity = 3});
  network.start(1, 1, 3, Bytes::of(1000 * kMegabit), {});
  network.go_on(Time::zero());
  const std::vector<CongestionPeriod> periods = network.monitor().periods(at_ms(4));
  ASSERT_EQ(periods.size(), 1U);
  EXPECT_EQ(periods[0].end, at_ms(4));
  EXPECT_NEAR(periods[0].jobs[0].possible_bits, 3 * 0.4e9, 1) << "of three transfers alike";
  EXPECT_EQ(network.monitor().periods(at_ms(6))[0].congested, Duration::ms(6)) << "asking changes nothing";
}

// --- Against an oracle ---------------------------------------------------------------------------

struct LiveFlow {
  FlowSlot slot;
  std::uint32_t job;
  std::uint32_t from;
  std::uint32_t to;
  std::vector<LinkId> path;
  Network::Asks asks;
};

/// The definition in the header, from nothing, on exact rates.
struct Oracle {
  const Topology& topology;
  const std::vector<LiveFlow>& flows;
  std::vector<long double> rates;  ///< as flows

  bool uses(const LiveFlow& flow, LinkId link) const { return std::ranges::find(flow.path, link) != flow.path.end(); }
  bool is_access(const LiveFlow& flow, LinkId link) const {
    for (const NodeId end : {topology.link(link).source, topology.link(link).destination}) {
      const HostId host = topology.node(end).host;
      if (host == HostId(flow.from) || host == HostId(flow.to)) return true;
    }
    return false;
  }
  long double capacity(LinkId link) const { return static_cast<long double>(topology.link(link).rate.in_bps()); }

  long double possible(std::size_t f) const {
    const LiveFlow& flow = flows[f];
    long double least = flow.asks.cap_bps;
    for (const LinkId link : flow.path) {
      if (!is_access(flow, link)) continue;
      long double left = capacity(link);
      long double weights = 0;
      for (std::size_t g = 0; g < flows.size(); ++g) {
        const LiveFlow& other = flows[g];
        if (other.job != flow.job || !uses(other, link)) continue;
        if (other.asks.priority > flow.asks.priority) left -= rates[g];
        if (other.asks.priority != flow.asks.priority) continue;
        weights += other.asks.weight;
      }
      least = std::min(least, left * flow.asks.weight / weights);
    }
    return least;
  }

  CongestionMonitor::Finding find(std::size_t f) const {
    const LiveFlow& flow = flows[f];
    CongestionMonitor::Finding finding;
    if (flow.from == flow.to || rates[f] >= possible(f) * (1 - 1e-6L)) return finding;
    for (const LinkId link : flow.path) {
      long double load = 0;
      bool is_highest = true;
      bool has_others = false;
      for (std::size_t g = 0; g < flows.size(); ++g) {
        if (!uses(flows[g], link) || flows[g].asks.priority < flow.asks.priority) continue;
        load += rates[g];
        has_others = has_others || (flows[g].job != flow.job && rates[g] > 0);
        if (flows[g].asks.priority == flow.asks.priority &&
            rates[g] / flows[g].asks.weight > rates[f] / flow.asks.weight * (1 + 1e-9L))
          is_highest = false;
      }
      if (load < capacity(link) * (1 - 1e-9L) || !is_highest || (!has_others && is_access(flow, link))) continue;
      finding.bottleneck = link;
      finding.cause = has_others ? CongestionCause::others : CongestionCause::own;
      break;
    }
    EXPECT_FALSE(finding.bottleneck.is_none()) << "a flow that is slowed has a bottleneck";
    return finding;
  }
};

TEST(CongestionMonitor, FindsWhatTheDefinitionSays) {
  const std::uint64_t seeds = long_runs() ? 60 : 12;
  std::uint64_t slowed_by_others = 0;
  std::uint64_t slowed_by_itself = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    RandomStream random(seed, 1, 0);
    const bool has_classes = seed % 3 == 0;
    const Duration gap = Duration::us(static_cast<std::int64_t>(random.below(300)));
    Network network(built("clos", {{"hosts", "12"},
                                   {"gpus_per_host", "1"},
                                   {"hosts_per_leaf", "3"},
                                   {"leafs_per_pod", "2"},
                                   {"aggs_per_pod", "1"},
                                   {"spines", "1"},
                                   {"nic_rate", "100Gbps"},
                                   {"leaf_uplink_rate", "200Gbps"},
                                   {"agg_uplink_rate", "150Gbps"}}),
                    gap);
    std::vector<LiveFlow> live;
    // By link and cause, what the definition says of each span between two batches.
    struct Span {
      Time begin;
      Time end;
      std::set<std::uint32_t> slowed;
    };
    std::map<std::pair<LinkId, CongestionCause>, std::vector<Span>> spans;
    std::map<std::uint32_t, Duration> congested;
    std::map<std::uint32_t, long double> lost_bits;
    Time now;
    for (int batch = 0; batch < 40; ++batch) {
      std::vector<FlowCompletion> done;
      network.model().take_completions(now, done);
      for (const FlowCompletion& gone : done) std::erase_if(live, [&](const LiveFlow& flow) { return flow.slot == gone.flow; });
      for (std::uint64_t n = random.below(4); n > 0; --n) {
        LiveFlow flow;
        flow.job = static_cast<std::uint32_t>(random.below(4));
        flow.from = static_cast<std::uint32_t>(random.below(12));
        flow.to = (flow.from + 1 + static_cast<std::uint32_t>(random.below(11))) % 12;
        constexpr double weights[] = {1, 1, 1, 2, 0.5};
        flow.asks.weight = weights[random.below(5)];
        if (random.below(6) == 0) flow.asks.cap_bps = 1e10 * static_cast<double>(1 + random.below(8));
        if (has_classes) flow.asks.priority = static_cast<std::uint8_t>(random.below(2));
        flow.path = network.path_between(flow.from, flow.to);
        const Bytes size = Bytes::of(static_cast<std::int64_t>(kMegabit * (1 + random.below(60))));
        flow.slot = network.start(flow.job, flow.from, flow.to, size, flow.asks);
        live.push_back(flow);
      }
      network.model().settle(now);
      Oracle oracle{network.topology(), live, {}};
      const std::vector<ExactNumber> by_slot = fill_progressively<ExactNumber>(network.model().policy().graph());
      for (const LiveFlow& flow : live) oracle.rates.push_back(static_cast<long double>(by_slot[flow.slot.index()]));

      // Between two batches: until something ends, or some time before.
      Time next = now + Duration::us(static_cast<std::int64_t>(1 + random.below(400)));
      next = std::min(next, network.model().next_completion());
      std::map<std::pair<LinkId, CongestionCause>, std::set<std::uint32_t>> slowed;
      std::set<std::uint32_t> slowed_anywhere;
      for (std::size_t f = 0; f < live.size(); ++f) {
        const CongestionMonitor::Finding expected = oracle.find(f);
        const CongestionMonitor::Finding& found = network.monitor().finding(live[f].slot);
        ASSERT_EQ(found.bottleneck, expected.bottleneck) << "seed " << seed << ", batch " << batch << ", flow " << f;
        if (expected.bottleneck.is_none()) continue;
        ASSERT_EQ(found.cause, expected.cause) << "seed " << seed << ", batch " << batch << ", flow " << f;
        const long double possible = oracle.possible(f);
        EXPECT_NEAR(found.possible_bps, static_cast<double>(possible), 1e-6 * found.possible_bps);
        lost_bits[live[f].job] += (possible - oracle.rates[f]) * static_cast<long double>((next - now).in_s());
        slowed[{expected.bottleneck, expected.cause}].insert(live[f].job);
        slowed_anywhere.insert(live[f].job);
        ++(expected.cause == CongestionCause::others ? slowed_by_others : slowed_by_itself);
      }
      for (const auto& [spot, jobs] : slowed) spans[spot].push_back({now, next, jobs});
      for (const std::uint32_t job : slowed_anywhere) congested[job] += next - now;
      now = next;
    }

    const std::vector<CongestionTotals> totals = network.monitor().totals(now);
    for (std::uint32_t job = 0; job < totals.size(); ++job) {
      EXPECT_EQ(totals[job].congested, congested[job]) << "seed " << seed << ", job " << job;
      EXPECT_NEAR(totals[job].lost_bits, static_cast<double>(lost_bits[job]), 1e-6 * totals[job].possible_bits + 1);
    }
    std::map<std::pair<LinkId, CongestionCause>, std::vector<Span>> joined;
    for (const auto& [spot, of_spot] : spans) {
      for (const Span& span : of_spot) {
        std::vector<Span>& to = joined[spot];
        if (to.empty() || span.begin - to.back().end > gap) {
          to.push_back(span);
        } else {
          to.back().end = span.end;
          to.back().slowed.insert(span.slowed.begin(), span.slowed.end());
        }
      }
    }
    std::size_t expected_periods = 0;
    for (const auto& [spot, of_spot] : joined) expected_periods += of_spot.size();
    const std::vector<CongestionPeriod> periods = network.monitor().periods(now);
    ASSERT_EQ(periods.size(), expected_periods) << "seed " << seed;
    std::map<std::pair<LinkId, CongestionCause>, std::size_t> place;
    for (const CongestionPeriod& period : periods) {
      const std::pair spot(period.link, period.cause);
      const Span& expected = joined[spot][place[spot]++];
      EXPECT_EQ(period.begin, expected.begin);
      EXPECT_EQ(period.end, expected.end);
      std::set<std::uint32_t> jobs;
      for (const JobId job : period.slowed()) jobs.insert(job.index());
      EXPECT_EQ(jobs, expected.slowed);
    }
  }
  // The random flows are not all of one kind.
  EXPECT_GT(slowed_by_others, 500U);
  EXPECT_GT(slowed_by_itself, 10U);
}

}  // namespace
}  // namespace weft::congestion_monitor_test
