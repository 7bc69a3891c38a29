// SPDX-License-Identifier: Apache-2.0
// Regressor times: operators are answered by shape, functions by their columns; outside the sampled
// range nothing is silent. Chains go on to the next source.
#include "host/op_times/regressor_times.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "host/op_times/chained_times.hpp"
#include "host/op_times/regressor_search.hpp"
#include "host/op_times/tabled_times.hpp"
#include "tests/host/op_times/planted_samples.hpp"

namespace weft::regressor_times_test {
namespace {

constexpr ElementType half{"FP16", 16};

const RegressorProfile& planted() {
  static const RegressorProfile profile = fit_regressors(planted_samples(0.01), small_search());
  return profile;
}

Operator matmul(std::uint64_t rows, std::uint64_t columns, std::uint64_t inner) {
  return {"qkv", Matmul{rows, columns, inner, 1}, half};
}

// 4,096 x 3,072 x 2,048: 32 x 24 tiles are 8 waves of 108, 8 x 108 x 2 x 128^2 x 2,048 / 300e6 us +
// 4.
TEST(RegressorTimes, AnswersOperatorsByShape) {
  const RegressorTimes times(planted(), OutsideRange::decline);
  const auto forward = times.time_of(matmul(4096, 3072, 2048), OperatorPass::forward);
  const auto backward = times.time_of(matmul(4096, 3072, 2048), OperatorPass::backward);
  const auto weight = times.time_of(matmul(4096, 3072, 2048), OperatorPass::backward_weight);
  ASSERT_TRUE(forward && backward && weight);
  EXPECT_NEAR(forward->in_us(), planted_matmul_us(4096, 3072, 2048), 0.05 * forward->in_us());
  EXPECT_NEAR(backward->in_us(), 2 * planted_matmul_us(4096, 3072, 2048), 0.05 * backward->in_us());
  EXPECT_NEAR(weight->in_us(), backward->in_us() / 2, 1e-4);
  EXPECT_TRUE(times.time_of({"norm", RowWise{RowOperator::layer_norm, 4096, 2048}, {"BF16", 16}}, OperatorPass::forward));
  EXPECT_FALSE(times.time_of({"norm", RowWise{RowOperator::layer_norm, 4096, 2048}, {"FP32", 32}}, OperatorPass::forward));
  EXPECT_FALSE(times.time_of({"norm", RowWise{RowOperator::rms_norm, 4096, 2048}, half}, OperatorPass::forward));
  EXPECT_TRUE(times.notes().empty());
  EXPECT_EQ(times.origin(), "regressors: planted");
}

TEST(RegressorTimes, DeclinesOrExtrapolatesWithANote) {
  const Operator large = matmul(65536, 3072, 2048);
  const RegressorTimes declines(planted(), OutsideRange::decline);
  EXPECT_FALSE(declines.time_of(large, OperatorPass::forward));
  ASSERT_EQ(declines.notes().size(), 1U);
  EXPECT_NE(declines.notes()[0].find("rows 65536 is above 16384"), std::string::npos) << declines.notes()[0];
  const RegressorTimes extrapolates(planted(), OutsideRange::extrapolate);
  const auto time = extrapolates.time_of(large, OperatorPass::forward);
  ASSERT_TRUE(time);
  // The law goes on: four times the work of the largest sampled number of rows.
  EXPECT_NEAR(time->in_us(), planted_matmul_us(65536, 3072, 2048), 0.15 * time->in_us());
  EXPECT_EQ(extrapolates.notes().size(), 1U);
  EXPECT_NE(extrapolates.notes()[0].find("extrapolated"), std::string::npos);
}

TEST(RegressorTimes, AnswersFunctionsByTheirColumns) {
  const RegressorTimes times(planted(), OutsideRange::decline);
  const std::vector<std::string> names = {"mp", "b", "l", "dim"};
  const auto answer = times.function_time("linear1", false, half, {names, std::vector<double>{2, 4, 1024, 2048}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->by->of.function, "linear1");
  EXPECT_NEAR(answer->prediction.time_us, planted_matmul_us(4096, 3072, 2048), 0.05 * answer->prediction.time_us);
  EXPECT_TRUE(answer->prediction.outside.empty());
  const auto beyond = times.function_time("linear1", false, half, {names, std::vector<double>{1, 64, 2048, 2048}});
  ASSERT_TRUE(beyond);
  EXPECT_TRUE(beyond->prediction.outside.starts_with("rows 131072 is above 16384"));
  EXPECT_FALSE(times.function_time("linear1", false, half, {{names.data(), 2}, {}}));
  EXPECT_FALSE(times.function_time("linear9", false, half, {names, std::vector<double>{2, 4, 1024, 2048}}));
}

// 10 us and 100 GB/s on two nodes; "large" goes on where the other ends.
TEST(RegressorTimes, AnswersCollectivesByBytesAndPlaces) {
  std::string small = "shape,nodes,GPUsPerNode,dur(us)\n";
  std::string large = small;
  for (int i = 0; i < 40; ++i) {
    const double elements = 1e6 * (i + 1);
    small += fmt::format("{},2,1,{}\n", elements, 10 + 2 * elements / 1e5);
    large += fmt::format("{},2,1,{}\n", 40 * elements, 10 + 80 * elements / 1e5);
  }
  SampledFolder samples;
  samples.gpu = "planted";
  for (const auto& [name, text] : {std::pair{"planted_allreduce_fp16.csv", small}, {"planted_allreduce_large_fp16.csv", large}})
    samples.tables.push_back(read_sampled_table(SourceText(name, text), *parse_sampled_name(name)));
  const RegressorTimes times(fit_regressors(samples, small_search()), OutsideRange::decline);
  const auto near = times.collective_time("allreduce", 2, 1, 40e6);
  const auto far = times.collective_time("allreduce", 2, 1, 1e9);
  ASSERT_TRUE(near && far);
  EXPECT_NEAR(near->prediction.time_us, 410, 5);
  EXPECT_EQ(near->by->of.function, "allreduce");
  EXPECT_NEAR(far->prediction.time_us, 10010, 200);
  EXPECT_EQ(far->by->of.function, "allreduce_large");
  EXPECT_FALSE(times.collective_time("allreduce", 4, 1, 40e6));
  EXPECT_FALSE(times.collective_time("allgather", 2, 1, 40e6));
}

// The first source that knows answers: a sampled size is looked up, one between is predicted, one
// outside is left to whoever comes last.
TEST(ChainedTimes, GoesOnToTheNextSource) {
  class Constant final : public OperatorTimes {
   public:
    std::optional<Duration> time_of(const Operator&, OperatorPass) const override { return Duration::us(7); }
    std::string origin() const override { return "constant"; }
  };
  const SampledFolder samples = planted_samples(0.01);
  std::vector<std::unique_ptr<OperatorTimes>> sources;
  sources.push_back(std::make_unique<TabledTimes>(samples));
  sources.push_back(std::make_unique<RegressorTimes>(planted(), OutsideRange::decline));
  sources.push_back(std::make_unique<Constant>());
  const ChainedTimes chain(std::move(sources));
  EXPECT_EQ(chain.origin(), "measured: planted, then regressors: planted, then constant");
  const TabledTimes table(samples);
  EXPECT_EQ(chain.time_of(matmul(1024, 3072, 1024), OperatorPass::forward),
            table.time_of(matmul(1024, 3072, 1024), OperatorPass::forward));
  EXPECT_TRUE(chain.time_of(matmul(1500, 3000, 2000), OperatorPass::forward));
  EXPECT_EQ(chain.time_of(matmul(1 << 20, 3072, 1024), OperatorPass::forward), Duration::us(7));
  EXPECT_EQ(chain.answered(), (std::vector<std::uint64_t>{1, 1, 1}));
}

}  // namespace
}  // namespace weft::regressor_times_test
