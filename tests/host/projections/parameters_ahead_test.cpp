// SPDX-License-Identifier: Apache-2.0
// Estimates of what is asked for ahead: parameters under ZeRO 3, and shares of what goes between
// stages.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/projections/iteration_estimate.hpp"
#include "tests/host/projections/small_training.hpp"

namespace weft::parameters_ahead_test {

namespace {

const SourcePlace place = SourcePlace::named("test");
const Duration gather = Duration::us(10);
const Duration scatter = Duration::us(20);

/// All-gathers and reduce-scatters take the times above, other collectives none, and messages a
/// nanosecond per byte.
AxisClock network() {
  AxisClock clock;
  clock.collective = [](PlanAxis, CollectiveType type, Bytes) {
    return type == CollectiveType::all_gather ? gather : type == CollectiveType::reduce_scatter ? scatter : Duration::zero();
  };
  clock.message = [](PlanAxis, Bytes bytes) { return Duration::ns(bytes.count()); };
  return clock;
}

const OperatorClock operators = [](const Operator&, OperatorPass) { return Duration::us(100); };

}  // namespace

// Once the next unit's parameters queued behind the gradients of this one, although they had been
// asked for before: each unit waited for both. Units take 100 us and more here, so that only the
// first gather of each pass is seen, and the last scatter.
TEST(ParametersAhead, AreNotHeldUpByGradients) {
  const TransformerModel model = small_training::model(6);
  const ParallelPlan plan = small_training::plan(
      model, {"zero_stage=3", "tensor_parallel=1", "pipeline_parallel=1", "data_parallel=4", "global_batch=4"});
  const IterationEstimate estimate = estimate_iteration(model, plan, operators, network(), place);
  EXPECT_EQ(estimate.communication, gather * 2);
  EXPECT_EQ(estimate.gradients, scatter);
}

// 128 tokens of 64 elements of 2 B go forward and back, a half from each of 2 ranks: 8,192 B less
// each way at 1 ns, and a gather.
TEST(ParametersAhead, RanksScatterWhatGoesBetweenStages) {
  const TransformerModel model = small_training::model(4);
  const auto iteration = [&](const std::string& scatters) {
    const ParallelPlan plan = small_training::plan(model, {"pipeline_parallel=2", "data_parallel=1", "global_batch=1",
                                                           "precision.kind=MEGATRON_FP16", "scatter_between_stages=" + scatters});
    return estimate_iteration(model, plan, operators, network(), place).iteration;
  };
  EXPECT_EQ(iteration("true") + Duration::ns(2 * 8192), iteration("false") + gather * 2);
}

TEST(ParametersAhead, NothingIsScatteredThatIsSharedAnyway) {
  const TransformerModel model = small_training::model(4);
  for (const std::vector<std::string>& settings :
       std::vector<std::vector<std::string>>{{"sequence_parallel=true"}, {"tensor_parallel=1"}}) {
    std::vector<std::string> all = settings;
    all.emplace_back("scatter_between_stages=true");
    EXPECT_THROW(small_training::plan(model, all), InputError);
  }
}

}  // namespace weft::parameters_ahead_test
