// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/rated_clock.hpp"

#include <gtest/gtest.h>

#include "tests/workloads/templates/template_testing.hpp"

namespace weft::rated_clock_test {
namespace {

Operator operator_of(const OperatorShape& shape) { return {"op", shape, *element_type_named("BF16")}; }

TEST(RatedClock, TakesProductsAtTheRateAndNothingElse) {
  const SourcePlace place = SourcePlace::named("test");
  ParamSet params("llm", find_module(workload_templates(), "llm", place).info.params);
  params.set("tflops", "0.001", place);  // 10^9 operations a second: 1 ns each
  const TensorMath math(params, place);
  const OperatorClock clock = rated_clock(math, Duration::us(7), {.forward = 3.0, .backward = 0.5});
  const Operator product = operator_of(Matmul{.rows = 2, .columns = 3, .inner = 5});
  EXPECT_EQ(clock(product, OperatorPass::forward), Duration::ns(3 * 2 * 2 * 3 * 5));
  EXPECT_EQ(clock(product, OperatorPass::backward_input), Duration::ns(2 * 3 * 5));
  EXPECT_EQ(clock(product, OperatorPass::backward), Duration::ns(2 * 2 * 3 * 5));
  EXPECT_EQ(clock(operator_of(RowWise{.rows = 1000, .width = 1000}), OperatorPass::forward), Duration::zero());
  EXPECT_EQ(clock(operator_of(EmbeddingLookup{.rows = 1000, .width = 1000, .table_rows = 10}), OperatorPass::backward),
            Duration::zero());
  EXPECT_EQ(clock(operator_of(OptimizerStep{.parameters = 1'000'000}), OperatorPass::forward), Duration::us(7));
  // 2^60 operations take 2^60 ns, more than 30 years.
  const Operator huge = operator_of(Matmul{.rows = 1ULL << 20, .columns = 1ULL << 20, .inner = 1ULL << 19});
  EXPECT_HAS(errors_of([&] { clock(huge, OperatorPass::forward); }), "[too-large]");
}

}  // namespace
}  // namespace weft::rated_clock_test
