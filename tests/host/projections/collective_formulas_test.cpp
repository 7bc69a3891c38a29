// SPDX-License-Identifier: Apache-2.0
// Collective formulas: each by hand, the best of them by size, and groups across nodes.
#include "host/projections/collective_formulas.hpp"

#include <gtest/gtest.h>

namespace weft::collective_formulas_test {
namespace {

/// 1 GB/s and 1 us inside, 0.5 GB/s per GPU and 10 us between nodes of 4.
HardwareConfig small() {
  return {.name = "small",
          .origin = {},
          .gpus_per_node = 4,
          .nics_per_node = 2,
          .inside = {Bandwidth::gbps(8), Duration::us(1), 1.0},
          .between = {Bandwidth::gbps(8), Duration::us(10), 1.0},
          .message_overhead = Duration::ns(500)};
}

Duration time(AllReduceFormula formula, std::uint64_t ranks, Bytes size) {
  return all_reduce_time(formula, small().inside_of_gpu(), small().message_overhead, ranks, size).value();
}

// 4000 bytes take 4 us at 1 GB/s. Ring of 4: 6 messages, 2 x 3 / 4 of 4 us. Hypercube: 2 x 2
// messages. Bruck: 2 rounds, 3 x 4 us. Single shot: 1 us, 2 x 0.5 us, 3 x 4 us.
TEST(CollectiveFormulas, AllReduceOfFour) {
  const Bytes size = Bytes::of(4000);
  EXPECT_EQ(time(AllReduceFormula::ring, 4, size), Duration::us(6 + 6));
  EXPECT_EQ(time(AllReduceFormula::hypercube, 4, size), Duration::us(4 + 6));
  EXPECT_EQ(time(AllReduceFormula::bruck, 4, size), Duration::us(2 + 12));
  EXPECT_EQ(time(AllReduceFormula::single_shot, 4, size), Duration::us(1 + 1 + 12));
}

// Six ranks are no hypercube; Bruck's rounds are ceil(lg 6) = 3.
TEST(CollectiveFormulas, AnyNumberOfRanks) {
  const AlphaBeta link = small().inside_of_gpu();
  EXPECT_FALSE(all_reduce_time(AllReduceFormula::hypercube, link, Duration::zero(), 6, Bytes::of(1000)));
  EXPECT_EQ(time(AllReduceFormula::bruck, 6, Bytes::of(1000)), Duration::us(3 + 5));
  EXPECT_EQ(time(AllReduceFormula::ring, 6, Bytes::of(3000)), Duration::us(10 + 5));
  for (const auto formula :
       {AllReduceFormula::ring, AllReduceFormula::hypercube, AllReduceFormula::bruck, AllReduceFormula::single_shot}) {
    EXPECT_EQ(time(formula, 1, Bytes::of(1000)), Duration::zero());
    // One exchange of all the data or of two halves each.
    EXPECT_EQ(time(formula, 2, Bytes::zero()),
              Duration::us(formula == AllReduceFormula::ring || formula == AllReduceFormula::hypercube ? 2 : 1));
  }
}

// Of nothing, single shot's one latency and 2 overheads of 0.5 us are as much as Bruck's 2 rounds:
// the first of the two is named. With many ranks Bruck's rounds are fewer than messages to post;
// of large messages only parts are sent, in the fewest rounds.
TEST(CollectiveFormulas, TheBestDependsOnSizeAndRanks) {
  const auto best = [](std::uint64_t ranks, Bytes size) {
    HardwareConfig hardware = small();
    hardware.gpus_per_node = 1024;
    return best_all_reduce(hardware, {ranks, ranks}, size).formula;
  };
  EXPECT_EQ(best(3, Bytes::of(1)), AllReduceFormula::single_shot);  // 1.5 us before 2
  EXPECT_EQ(best(4, Bytes::zero()), AllReduceFormula::bruck);
  EXPECT_EQ(best(64, Bytes::of(1)), AllReduceFormula::bruck);
  EXPECT_EQ(best(64, Bytes::of(1'000'000)), AllReduceFormula::hypercube);
  EXPECT_EQ(best(63, Bytes::of(100'000'000)), AllReduceFormula::ring);
}

// Two nodes of 4, 8000 bytes: scattered and gathered inside by rings in 6 us + 2 x 3 / 4 x 8 us;
// between nodes 2000 bytes at 0.5 GB/s of two ranks: 4 us and one latency.
TEST(CollectiveFormulas, AcrossNodes) {
  const BestAllReduce best = best_all_reduce(small(), {8, 4}, Bytes::of(8000));
  EXPECT_EQ(best.time, Duration::us(6 + 12 + 4 + 10));
  EXPECT_EQ(best.formula, AllReduceFormula::bruck);
  EXPECT_EQ(best_all_reduce(small(), {2, 1}, Bytes::of(2000)).time, Duration::us(14));
  EXPECT_EQ(best_all_reduce(small(), {1, 1}, Bytes::of(2000)).time, Duration::zero());
}

// 8 ranks with 8000 bytes: 1000 for each. 3 x (1 + 1) us inside, 4 x (10 + 2) us between.
TEST(CollectiveFormulas, AllToAllAndSend) {
  EXPECT_EQ(all_to_all_time(small(), {8, 4}, Bytes::of(8000)), Duration::us(6 + 48));
  EXPECT_EQ(all_to_all_time(small(), {4, 4}, Bytes::of(4000)), Duration::us(6));
  EXPECT_EQ(all_to_all_time(small(), {1, 1}, Bytes::of(4000)), Duration::zero());
  EXPECT_EQ(send_time(small(), false, Bytes::of(4000)), Duration::us(5));
  EXPECT_EQ(send_time(small(), true, Bytes::of(4000)), Duration::us(18));
}

// 64 GPUs in nodes of 8, PP 4, EP 8: 16 GPUs of a stage hold 2 replicas of each expert, one in each
// of 2 nodes, as the published example has it; dense weights have 16.
TEST(CollectiveFormulas, SpreadOfAxes) {
  ParallelPlan plan;
  plan.pipeline = 4;
  plan.data = 16;
  plan.expert = 8;
  EXPECT_EQ(spread_of(PlanAxis::expert, plan, 8), (GroupSpread{8, 8}));
  EXPECT_EQ(spread_of(PlanAxis::expert_replicas, plan, 8), (GroupSpread{2, 1}));
  EXPECT_EQ(spread_of(PlanAxis::expert_replicas, plan, 8).nodes(), 2U);
  EXPECT_EQ(spread_of(PlanAxis::replicas, plan, 8), (GroupSpread{16, 8}));
  EXPECT_EQ(spread_of(PlanAxis::pipeline, plan, 8), (GroupSpread{4, 1}));
  EXPECT_EQ(spread_of(PlanAxis::tensor, plan, 8), (GroupSpread{1, 1}));
  plan.tensor = 4;
  EXPECT_EQ(spread_of(PlanAxis::replicas, plan, 8), (GroupSpread{16, 2}));
}

// A year stands for never, so that times add up.
TEST(CollectiveFormulas, AbsurdTimesEnd) {
  HardwareConfig slow = small();
  slow.inside.bandwidth = Bandwidth::bps(1);
  EXPECT_EQ(send_time(slow, false, Bytes::of(1'000'000'000'000)), one_year);
}

}  // namespace
}  // namespace weft::collective_formulas_test
