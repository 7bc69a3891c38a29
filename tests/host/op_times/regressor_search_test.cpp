// SPDX-License-Identifier: Apache-2.0
// Regressor search: a planted time is learnt up to its noise, the same on any number of threads,
// and test rows are seen by nobody.
#include "host/op_times/regressor_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/text/diagnostics.hpp"
#include "tests/host/op_times/planted_samples.hpp"
#include "tests/long_runs.hpp"

namespace weft::regressor_search_test {
namespace {

const Regressor& regressor_of(const RegressorProfile& profile, const std::string& text) {
  const auto found = std::ranges::find_if(profile.regressors, [&](const Regressor& one) { return one.of.text() == text; });
  if (found == profile.regressors.end()) throw std::runtime_error("no " + text);
  return *found;
}

// Noise of 2 % is a mean error of 2 % sqrt(2 / pi) = 1.6 % that nobody can predict. A norm's law is
// exact; a matmul's waves, up to a factor of 2 between neighbours, are left to the trees.
TEST(RegressorSearch, LearnsAPlantedTimeUpToItsNoise) {
  const RegressorProfile profile = fit_regressors(planted_samples(0.02), small_search());
  ASSERT_EQ(profile.regressors.size(), 6U);  // two functions and all matmuls, forward and backward
  EXPECT_EQ(profile.gpu, "planted");
  EXPECT_EQ(profile.inputs.size(), 2U);
  EXPECT_TRUE(profile.outliers.empty());
  for (const char* pass : {"forward", "backward"}) {
    const RegressorErrors& norm = regressor_of(profile, std::string("layernorm fp16 ") + pass).errors;
    EXPECT_LT(norm.test, 0.025);
    EXPECT_GT(norm.test, 0.008);
    const RegressorErrors& matmul = regressor_of(profile, std::string("linear1 fp16 ") + pass).errors;
    EXPECT_GT(matmul.test_law, 0.05);
    EXPECT_LT(matmul.test, 0.05);
    EXPECT_EQ(matmul.fitted_rows + matmul.test_rows, 240U);
    EXPECT_NEAR(static_cast<double>(matmul.test_rows), 48, 12);
  }
  // Repeats: 1.6 % against one other row of the same noise is sqrt(2) times as much, and less with
  // more.
  const RegressorErrors& norm = regressor_of(profile, "layernorm fp16 forward").errors;
  EXPECT_GT(norm.repeated_rows, 20U);
  EXPECT_NEAR(norm.repeats, 0.02, 0.008);
}

TEST(RegressorSearch, IsTheSameOnAnyNumberOfThreadsAndDiffersBySeed) {
  const SampledFolder samples = planted_samples(0.02);
  RegressorSearch how = small_search();
  const std::string one = fit_regressors(samples, how).to_text();
  how.threads = 2;
  EXPECT_EQ(fit_regressors(samples, how).to_text(), one);
  how.seed = 2;
  EXPECT_NE(fit_regressors(samples, how).to_text(), one);
}

// A kernel's times are made three times as long: either it was one of the test, and nothing but the
// test's error changes, or law, trees and choice do. Of six kernels about a fifth is tested.
TEST(RegressorSearch, TestRowsAreUsedForNothingElse) {
  SampledFolder samples = planted_samples(0.02);
  samples.tables.pop_back();
  const RegressorProfile before = fit_regressors(samples, small_search());
  const Regressor& known = regressor_of(before, "linear1 fp16 forward");
  std::size_t tested = 0;
  for (const std::size_t row : {0UL, 40UL, 80UL, 120UL, 160UL, 200UL}) {
    SampledFolder changed = samples;
    for (SampledRow& other : changed.tables[0].rows) {
      const auto kernel = [](const SampledRow& one) { return std::tuple(one.sizes[0], one.sizes[1] * one.sizes[2], one.sizes[3]); };
      if (kernel(other) == kernel(samples.tables[0].rows[row])) other.forward_us *= 3;
    }
    const RegressorProfile profile = fit_regressors(changed, small_search());
    const Regressor& after = regressor_of(profile, "linear1 fp16 forward");
    const bool is_same = after.law.coefficients == known.law.coefficients && after.settings == known.settings;
    EXPECT_NE(after.errors.test, known.errors.test);
    if (is_same) {
      ++tested;
      EXPECT_EQ(after.trees.tree_text(0), known.trees.tree_text(0));
      EXPECT_EQ(after.errors.training, known.errors.training);
    }
  }
  EXPECT_GT(tested, 0U);
  EXPECT_LT(tested, 6U);
}

TEST(RegressorSearch, OutliersAreNamed) {
  SampledFolder samples = planted_samples(0.02);
  samples.tables[1].rows[7].backward_us *= 500;
  const RegressorProfile profile = fit_regressors(samples, small_search());
  ASSERT_EQ(profile.outliers.size(), 1U);
  EXPECT_EQ(profile.outliers[0].file, "planted_layernorm_fp16.csv");
  EXPECT_EQ(profile.outliers[0].line, 9);  // behind the header
  EXPECT_EQ(profile.outliers[0].column, "B_dur(us)");
  EXPECT_NEAR(profile.outliers[0].time_us / profile.outliers[0].law_us, 500, 60);
  EXPECT_LT(regressor_of(profile, "layernorm fp16 backward").errors.test, 0.025);
}

TEST(RegressorSearch, FewKernelsGetANote) {
  SampledFolder samples = planted_samples(0.02);
  samples.tables[1].rows.resize(regressed_kernels_min - 1);
  const RegressorProfile profile = fit_regressors(samples, small_search());
  ASSERT_EQ(profile.notes.size(), 2U);
  EXPECT_TRUE(profile.notes[0].starts_with("layernorm fp16 forward has ")) << profile.notes[0];
  EXPECT_TRUE(profile.notes[0].ends_with(" different kernels, fewer than 20: look-ups only")) << profile.notes[0];
  samples.tables.erase(samples.tables.begin());
  EXPECT_THROW(fit_regressors(samples, small_search()), InputError);
}

TEST(RegressorSearch, StopsWhenToldTo) {
  RegressorSearch how = small_search();
  how.stop = [] { return true; };
  EXPECT_THROW(fit_regressors(planted_samples(0.02), how), SearchStopped);
}

/// All functions of a machine of estimate-train-time, without those whose own repeats are as far
/// apart as their regressor is off.
void check_machine(const std::string& machine) {
  const std::string folder = std::string(WEFT_SOURCE_DIR) + "/../shared/data/kernels/estimate_train_time/" + machine + "/operator";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  if (!long_runs() || WEFT_SANITIZED) GTEST_SKIP() << "takes minutes; tools/test --long runs it";
  RegressorSearch how;
  how.threads = 2;
  const RegressorProfile profile = fit_regressors(read_samples({folder}), how);
  std::size_t within = 0;
  for (const Regressor& regressor : profile.regressors) {
    const RegressorErrors& errors = regressor.errors;
    within += errors.test < 0.05 ? 1 : 0;
    // A hundred rows of a cross entropy do not teach more than 6 %; parameters alone do not tell
    // what an optimizer takes that launches pace.
    constexpr std::uint64_t few_rows = 120;
    if (regressor.of.function == "any_optimizer" || errors.fitted_rows < few_rows) continue;
    EXPECT_LT(errors.test, std::max(0.05, 1.5 * errors.repeats)) << machine << " " << regressor.of.text();
  }
  EXPECT_GE(within, profile.regressors.size() - 8) << machine;
}

// Clocks differ by a quarter between runs of the same kernel.
TEST(RegressorSearch, KernelsOfAnA100AreWithinFivePercent) { check_machine("Perlmutter"); }

TEST(RegressorSearch, KernelsOfAGh200AreWithinFivePercent) { check_machine("Vista"); }

}  // namespace
}  // namespace weft::regressor_search_test
