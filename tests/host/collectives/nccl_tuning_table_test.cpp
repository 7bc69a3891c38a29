// SPDX-License-Identifier: Apache-2.0
// NCCL tuning table: ranges end where the tuner changes its mind, costs are those of its closed
// forms.
#include "host/collectives/nccl_tuning_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::nccl_tuning_table_test {
namespace {

NcclTuner tuner() { return NcclTuner(ParamSet("nccl", nccl_params())); }

std::string taken(const GroupLayout& layout, CollectiveType type, std::int64_t bytes) {
  const NcclChoice choice = tuner().choices({type, 0, Bytes::of(bytes), &layout, nullptr}).front();
  return choice.algorithm + "/" + choice.protocol.name;
}

// At the first byte of a range the tuner takes what the range says; 1/64 below it, what the one
// before says.
TEST(NcclTuningTable, RangesBeginWhereTheTunerTakesSomethingElse) {
  for (const GroupLayout& layout : {GroupLayout::blocks(1, 8), GroupLayout::blocks(4, 8), GroupLayout::one_per_host(16)}) {
    for (const CollectiveType type : {CollectiveType::all_reduce, CollectiveType::reduce_scatter, CollectiveType::all_to_all}) {
      const std::vector<NcclTunedRange> ranges = nccl_tuned_ranges(tuner(), layout, type, Bytes::kib(1), Bytes::mib(4096));
      ASSERT_FALSE(ranges.empty());
      EXPECT_EQ(ranges.front().from, Bytes::kib(1));
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        EXPECT_EQ(ranges[i].algorithm + "/" + ranges[i].protocol, taken(layout, type, ranges[i].from.count()));
        EXPECT_LE(ranges[i].channels_min, ranges[i].channels_max);
        if (i == 0) continue;
        EXPECT_LT(ranges[i - 1].from, ranges[i].from);
        const std::int64_t below = ranges[i].from.count() - ranges[i].from.count() / 64 - 1;
        EXPECT_EQ(ranges[i - 1].algorithm + "/" + ranges[i - 1].protocol, taken(layout, type, below));
      }
    }
  }
}

// 1 KiB and 2 KiB between two GPUs by LL: 4.4 us, two steps of 0.85 us, two passes at 208 Gb/s. The
// second KiB adds 2 x 1,024 B / 26 GB/s, and bus bandwidth is half of what all the passes of two
// ranks move: 2 (2-1)/2 x 1,024 B over that, 13 GB/s.
TEST(NcclTuningTable, CostsAreLatencyAndWhatTheLastDoublingAdds) {
  const std::vector<NcclTunedCost> costs =
      nccl_tuned_costs(tuner(), GroupLayout::blocks(1, 2), CollectiveType::all_reduce, Bytes::kib(1), Bytes::kib(2));
  const auto ll = std::find_if(costs.begin(), costs.end(),
                               [](const NcclTunedCost& cost) { return cost.algorithm == "ring" && cost.protocol == "ll"; });
  ASSERT_NE(ll, costs.end());
  // One and a half passes at 26 GB/s.
  EXPECT_NEAR(ll->latency_us, 4.4 + 2 * 0.85 + 1.5 * 1024 / 26e3, 1e-3);
  EXPECT_NEAR(ll->bus_gbytes_per_s, 26 / 1.5, 0.01);
  EXPECT_TRUE(std::any_of(costs.begin(), costs.end(), [](const NcclTunedCost& cost) { return cost.algorithm == "nvls"; }));
}

// Sends and receives go by LL to 16 KiB of a pair and by Simple from then on: each has its own
// latency and rate.
TEST(NcclTuningTable, ChoicesThatAreThereForSomeSizesOnlyAreListed) {
  const GroupLayout eight = GroupLayout::blocks(1, 8);
  const auto costs = nccl_tuned_costs(tuner(), eight, CollectiveType::all_to_all, Bytes::kib(1), Bytes::mib(1024));
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].protocol, "ll");
  EXPECT_EQ(costs[1].protocol, "simple");
  EXPECT_GT(costs[1].bus_gbytes_per_s, costs[0].bus_gbytes_per_s);
  const auto ranges = nccl_tuned_ranges(tuner(), eight, CollectiveType::all_to_all, Bytes::kib(1), Bytes::mib(1024));
  ASSERT_EQ(ranges.size(), 2u);
  // The largest of eight parts of 16 KiB is 128 KiB; the search is to 1/64 of the size.
  EXPECT_NEAR(static_cast<double>(ranges[1].from.count()), 128 * 1024, 2 * 1024 + 1);
}

}  // namespace
}  // namespace weft::nccl_tuning_table_test
