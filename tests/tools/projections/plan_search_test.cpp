// SPDX-License-Identifier: Apache-2.0
// Plan search: what is ranked, left out and simulated, and that threads change nothing.
#include "tools/projections/plan_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "host/memory/memory_projection.hpp"
#include "host/op_times/analytical_times.hpp"
#include "tests/host/projections/small_training.hpp"
#include "tools/projections/projected_cluster.hpp"

namespace weft::plan_search_test {
namespace {

const SourcePlace place = SourcePlace::named("test");

class PlanSearchOfTwoHosts : public testing::Test {
 protected:
  SearchResult search(std::uint32_t threads, Bytes memory = Bytes::of(1LL << 40), std::uint64_t simulated = 6) const {
    SearchRequest request;
    request.space.settings = {"global_batch=32"};
    request.space.gpus = 16;
    request.simulated = simulated;
    request.memory = memory;
    request.margin = 0;
    request.threads = threads;
    return search_plans(model, cluster, times, request, place);
  }

  /// The iteration of the first plan, with a model of so many layers.
  Duration shorter(const SearchRequest& request, std::uint64_t layers) const {
    return *search_plans(small_training::model(layers), cluster, times, request, place).plans.front().simulated;
  }

  TransformerModel model = small_training::model(8);
  Scenario cluster = load_cluster({.name = "hgx_h100", .gpus = 16, .settings = {}}, place);
  AnalyticalTimes times{gpu_named("h100_sxm", place), default_settings<AnalyticalSettings>(analytical_params())};
};

}  // namespace

// Told to stop after the fifth plan of hundreds that one thread would rank, and after the second of
// six that it would simulate.
TEST_F(PlanSearchOfTwoHosts, StopsWhenItIsInterrupted) {
  const std::vector<std::pair<std::string, std::uint64_t>> moments = {{"plans ranked", 5}, {"plans simulated", 2}};
  for (const auto& [phase, last] : moments) {
    std::atomic<bool> interrupt = false;
    std::uint64_t told = 0;
    SearchRequest request;
    request.space.settings = {"global_batch=32"};
    request.space.gpus = 16;
    request.simulated = 6;
    request.memory = Bytes::of(1LL << 40);
    request.threads = 1;
    request.interrupt = &interrupt;
    request.progress = [&, of = phase, at = last](const SearchProgress& progress) {
      if (progress.what != of) return;
      told = progress.done;
      if (progress.done == at) interrupt = true;
    };
    const SearchResult result = search_plans(model, cluster, times, request, place);
    EXPECT_TRUE(result.interrupted) << phase;
    EXPECT_TRUE(result.plans.empty()) << phase;
    EXPECT_EQ(told, last) << phase;
  }
}

TEST_F(PlanSearchOfTwoHosts, SimulatedPlansComeFirstAndBothPartsAreInOrder) {
  const SearchResult result = search(1);
  ASSERT_GT(result.plans.size(), 20U);
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    EXPECT_EQ(result.plans[i].simulated.has_value(), i < 6);
    EXPECT_EQ(result.estimated_rank[i] > 0, i < 6);
    if (i == 0 || i == 6) continue;
    EXPECT_LE(result.plans[i - 1].iteration(), result.plans[i].iteration());
  }
  // Those that the formula had first, each once.
  std::vector<std::uint64_t> ranks(result.estimated_rank.begin(), result.estimated_rank.begin() + 6);
  std::sort(ranks.begin(), ranks.end());
  EXPECT_EQ(ranks, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
  for (std::size_t i = 6; i < result.plans.size(); ++i) {
    for (std::size_t k = 0; k < 6; ++k) EXPECT_LE(result.plans[k].estimate.iteration, result.plans[i].estimate.iteration);
  }
  ASSERT_TRUE(result.correlation.has_value());
  EXPECT_GE(*result.correlation, -1.0);
  EXPECT_LE(*result.correlation, 1.0);
}

TEST_F(PlanSearchOfTwoHosts, PlansThatDoNotFitAreLeftOut) {
  const SearchResult all = search(1, Bytes::of(1LL << 40), 0);
  std::vector<Bytes> needs;
  for (const FoundPlan& found : all.plans) needs.push_back(found.memory);
  std::sort(needs.begin(), needs.end());
  const Bytes limit = needs[needs.size() / 2];
  const SearchResult some = search(1, limit, 0);
  const auto fitting = std::ranges::count_if(needs, [&](Bytes need) { return need <= limit; });
  EXPECT_EQ(some.plans.size(), static_cast<std::size_t>(fitting));
  EXPECT_EQ(some.plans.size() + some.out_of_memory, all.plans.size());
  EXPECT_FALSE(some.correlation.has_value());
}

TEST_F(PlanSearchOfTwoHosts, NoPlanBeatsOneOfTheParetoTableInBoth) {
  const SearchResult result = search(1);
  ASSERT_FALSE(result.pareto.empty());
  for (const FoundPlan& other : result.plans) {
    const bool is_covered = std::ranges::any_of(result.pareto, [&](std::size_t i) {
      return result.plans[i].memory <= other.memory && result.plans[i].iteration() <= other.iteration();
    });
    EXPECT_TRUE(is_covered);
  }
  for (std::size_t k = 1; k < result.pareto.size(); ++k) {
    EXPECT_LT(result.plans[result.pareto[k - 1]].memory, result.plans[result.pareto[k]].memory);
    EXPECT_GT(result.plans[result.pareto[k - 1]].iteration(), result.plans[result.pareto[k]].iteration());
  }
}

// 40 layers of which each gathers its own parameters: what 8 and 16 take tells how long all do.
TEST_F(PlanSearchOfTwoHosts, ManyLayersOfZero3GoOnAsFewerDiffer) {
  const TransformerModel deep = small_training::model(40);
  for (const char* recompute : {"KEEP", "UNIFORM"}) {
    SearchRequest request;
    request.space.settings = {"global_batch=32",     "tensor_parallel=2", "context_parallel=2",
                              "pipeline_parallel=1", "microbatch=1",      std::string("recompute.kind=") + recompute,
                              "zero_stage=3"};
    request.space.gpus = 16;
    request.memory = Bytes::of(1LL << 40);
    const SearchResult continued = search_plans(deep, cluster, times, request, place);
    request.whole = true;
    const SearchResult whole = search_plans(deep, cluster, times, request, place);
    ASSERT_EQ(continued.plans.size(), 1U) << recompute;
    const double seconds = whole.plans.front().simulated->in_s();
    EXPECT_NEAR(continued.plans.front().simulated->in_s(), seconds, seconds * 2e-3) << recompute;
    // 8 layers alone take far less.
    EXPECT_GT(seconds, 2 * shorter(request, 8).in_s()) << recompute;
  }
}

TEST_F(PlanSearchOfTwoHosts, ThreadsChangeNothing) {
  const SearchResult one = search(1);
  const SearchResult two = search(2);
  ASSERT_EQ(one.plans.size(), two.plans.size());
  for (std::size_t i = 0; i < one.plans.size(); ++i) {
    EXPECT_EQ(one.plans[i].iteration(), two.plans[i].iteration());
    EXPECT_EQ(one.plans[i].memory, two.plans[i].memory);
    EXPECT_EQ(one.estimated_rank[i], two.estimated_rank[i]);
  }
  EXPECT_EQ(one.correlation, two.correlation);
  EXPECT_EQ(one.pareto, two.pareto);
}

}  // namespace weft::plan_search_test
