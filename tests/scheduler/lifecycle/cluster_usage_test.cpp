// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/cluster_usage.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/check.hpp"

namespace weft::cluster_usage_test {
namespace {

ClusterSample state(Time since, std::uint32_t busy, std::uint32_t free, std::uint64_t waiting) {
  ClusterSample sample;
  sample.since = since;
  sample.busy_gpus = busy;
  sample.free_gpus = free;
  sample.waiting_jobs = waiting;
  sample.gpus_out = 10 - busy - free;
  sample.draining_gpus = busy / 8;
  return sample;
}

Time at(double seconds) { return Time::zero() + Duration::from_seconds(seconds); }

class Watcher final : public JobObserver {
 public:
  void cluster_changed(const ClusterSample& sample) override { since.push_back(sample.since); }
  std::vector<Time> since;
};

// Expectation, of 10 GPUs: 2 s with 6 busy, 3 free, none waiting; 4 s with 8 busy, 1 free, 3
// waiting.
//   busy 2 x 6 + 4 x 8 = 44 GPU-s, stranded 4 x 1 = 4, out 2 x 1 + 4 x 1 = 6, draining 4 x 1 = 4;
//   over 6 s 44/6 busy and 4 x 3 / 6 = 2 waiting.
TEST(ClusterUsage, SumsGpuTimeByWhatTheClusterWasIn) {
  ClusterUsage usage(nullptr, Time::zero());
  EXPECT_EQ(usage.gpus_busy_mean(), 0);
  usage.advance(at(2), state(at(0), 6, 3, 0));
  usage.advance(at(6), state(at(2), 8, 1, 3));
  EXPECT_EQ(usage.up_to(), at(6));
  EXPECT_DOUBLE_EQ(usage.busy_gpu_s(), 44);
  EXPECT_DOUBLE_EQ(usage.stranded_gpu_s(), 4);
  EXPECT_DOUBLE_EQ(usage.out_gpu_s(), 6);
  EXPECT_DOUBLE_EQ(usage.draining_gpu_s(), 4);
  EXPECT_DOUBLE_EQ(usage.gpus_busy_mean(), 44.0 / 6);
  EXPECT_DOUBLE_EQ(usage.queue_length_mean(), 2);
}

TEST(ClusterUsage, TellsOfEachStateOnceAndOfChangesOnly) {
  Watcher watcher;
  ClusterUsage usage(&watcher, at(1));
  usage.advance(at(2), state(at(1), 6, 3, 0));
  usage.advance(at(3), state(at(2), 6, 3, 0));
  usage.advance(at(4), state(at(3), 5, 4, 0));
  usage.tell(state(at(4), 5, 4, 0));
  usage.tell(state(at(4), 4, 5, 0));
  EXPECT_EQ(watcher.since, (std::vector{at(1), at(3), at(4)}));
}

TEST(ClusterUsage, TimeGoesOn) {
  ClusterUsage usage(nullptr, at(1));
  EXPECT_THROW(usage.advance(at(1), state(at(1), 6, 3, 0)), CheckFailure);
}

}  // namespace
}  // namespace weft::cluster_usage_test
