// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/regressor_search.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/version.hpp"
#include "core/values/random.hpp"
#include "host/op_times/kernel_features.hpp"
#include "host/op_times/regression_rows.hpp"

namespace weft {

namespace {

constexpr std::uint32_t forest_trees = 60;
constexpr std::uint32_t rounds_most = 400;

constexpr TreeSettings forest(std::uint32_t depth, double min_child_weight) {
  return {true, forest_trees, depth, 1, min_child_weight, 0.8, 0.7};
}
constexpr TreeSettings boosted(std::uint32_t depth, double learning_rate) {
  return {false, rounds_most, depth, learning_rate, 2, 0.7, 0.7};
}
constexpr TreeSettings medians(std::uint32_t depth, double learning_rate) {
  return {false, rounds_most, depth, learning_rate, 2, 0.7, 0.7, true};
}
constexpr std::array tree_candidate_list = {
    boosted(3, 0.1), boosted(3, 0.05), boosted(5, 0.1), boosted(5, 0.05), boosted(7, 0.1), boosted(7, 0.05), forest(8, 5),
    forest(8, 2),    forest(14, 5),    forest(14, 2),   medians(3, 0.1),  medians(5, 0.1), medians(7, 0.05),
};

constexpr std::size_t turns_kernels_max = 600;

// Purposes of chance.
constexpr std::uint32_t split_purpose = 0x73706c74;
constexpr std::uint32_t trees_purpose = 0x74726565;

/// One function's rows with everything made of them.
struct Learning {
  const RegressionRows* rows = nullptr;
  std::vector<KernelFeatures> kernels;  ///< of each row
  /// Rows by place. Each part is validated in turn, or the first only.
  std::vector<std::vector<std::size_t>> parts;
  bool takes_turns = false;
  std::vector<std::size_t> test;
  std::vector<std::size_t> left_out;
  TimeLaw law_of_all;
};

TimeLaw law_of(const Learning& learning, const std::vector<std::size_t>& rows) {
  std::vector<std::vector<double>> terms;
  std::vector<double> times_us;
  for (const std::size_t row : rows) {
    terms.push_back(learning.kernels[row].terms);
    times_us.push_back(learning.rows->rows[row].time_us);
  }
  return fit_time_law(terms, times_us);
}

TreeSamples samples_of(const Learning& learning, const std::vector<std::size_t>& rows, const TimeLaw& law) {
  TreeSamples samples;
  samples.feature_count = learning.kernels.front().features.size();
  for (const std::size_t row : rows) {
    const KernelFeatures& kernel = learning.kernels[row];
    samples.features.insert(samples.features.end(), kernel.features.begin(), kernel.features.end());
    samples.targets.push_back(static_cast<float>(portable_log(learning.rows->rows[row].time_us / law.time_us(kernel.terms))));
  }
  return samples;
}

/// Mean absolute percentage error of a law with the first trees, for every number of trees from 0.
std::vector<double> errors_by_trees(const Learning& learning, const std::vector<std::size_t>& rows, const TimeLaw& law,
                                    const RegressionTrees& trees) {
  std::vector<double> sums(trees.size() + 1, 0.0);
  for (const std::size_t row : rows) {
    const KernelFeatures& kernel = learning.kernels[row];
    const double ratio = law.time_us(kernel.terms) / learning.rows->rows[row].time_us;
    double exponent = 0;
    sums[0] += std::abs(ratio - 1);
    for (std::size_t tree = 0; tree < trees.size(); ++tree) {
      exponent += trees.leaf_of(tree, kernel.features);
      sums[tree + 1] += std::abs(ratio * portable_exp(exponent) - 1);
    }
  }
  for (double& sum : sums) sum /= static_cast<double>(rows.size());
  return sums;
}

void leave_out_outliers(Learning& learning) {
  const std::vector<RegressionRow>& rows = learning.rows->rows;
  std::vector<std::size_t> all(rows.size());
  std::iota(all.begin(), all.end(), 0);
  learning.law_of_all = law_of(learning, all);
  std::vector<std::vector<double>> terms;
  std::vector<double> times_us;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    terms.push_back(learning.kernels[i].terms);
    times_us.push_back(rows[i].time_us);
  }
  learning.left_out = outliers_of(learning.law_of_all, terms, times_us);
}

/// Kernels are shuffled, then cut.
void split_rows(Learning& learning, const RegressorSearch& how) {
  std::vector<std::vector<std::size_t>> kernels;
  for (std::vector<std::size_t>& kernel : rows_by_kernel(learning.rows->rows)) {
    std::erase_if(kernel, [&](std::size_t row) { return std::ranges::binary_search(learning.left_out, row); });
    if (!kernel.empty()) kernels.push_back(std::move(kernel));
  }
  RandomStream chance(how.seed, 0, split_purpose);
  for (std::size_t i = kernels.size(); i > 1; --i) std::swap(kernels[i - 1], kernels[chance.below(i)]);
  const auto share_of = [](double share, std::size_t all) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::round(share * static_cast<double>(all))));
  };
  const std::size_t tested = share_of(how.test_share, kernels.size());
  const std::size_t validated = share_of(how.validation_share, kernels.size() - tested);
  for (std::size_t i = 0; i < tested; ++i) learning.test.insert(learning.test.end(), kernels[i].begin(), kernels[i].end());
  std::ranges::sort(learning.test);
  for (std::size_t i = tested; i < kernels.size(); ++i) {
    const std::size_t part = (i - tested) / validated;
    if (part == learning.parts.size()) learning.parts.emplace_back();
    learning.parts[part].insert(learning.parts[part].end(), kernels[i].begin(), kernels[i].end());
  }
  for (std::vector<std::size_t>& part : learning.parts) std::ranges::sort(part);
  learning.takes_turns = kernels.size() <= turns_kernels_max;
}

/// All rows but those of the test and of one part.
std::vector<std::size_t> rows_without(const Learning& learning, std::size_t part) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < learning.parts.size(); ++i) {
    if (i != part) rows.insert(rows.end(), learning.parts[i].begin(), learning.parts[i].end());
  }
  std::ranges::sort(rows);
  return rows;
}

std::uint64_t tree_seed(const RegressorSearch& how) { return RandomStream(how.seed, 0, trees_purpose).next_u64(); }

/// What a candidate came to on training and validation rows.
struct Trial {
  TreeSettings settings;
  double training = 0;
  double validation = std::numeric_limits<double>::infinity();
};

/// Training rows of a turn, as trees see them.
struct Turn {
  std::size_t part = 0;  ///< that is validated
  std::vector<std::size_t> training;
  TimeLaw law;
  TreeSamples samples;
};

std::vector<Turn> turns_of(const Learning& learning) {
  std::vector<Turn> turns(learning.takes_turns ? learning.parts.size() : 1);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Turn& turn = turns[i];
    turn.part = i;
    turn.training = rows_without(learning, i);
    turn.law = law_of(learning, turn.training);
    turn.samples = samples_of(learning, turn.training, turn.law);
  }
  return turns;
}

Trial try_candidate(const Learning& learning, const std::vector<Turn>& turns, TreeSettings settings, const RegressorSearch& how) {
  std::vector<double> training;  // by number of trees, means of turns
  std::vector<double> validation;
  for (const Turn& turn : turns) {
    const RegressionTrees trees = grow_trees(turn.samples, settings, tree_seed(how));
    const std::vector<double> seen = errors_by_trees(learning, turn.training, turn.law, trees);
    const std::vector<double> unseen = errors_by_trees(learning, learning.parts[turn.part], turn.law, trees);
    training.resize(seen.size(), 0.0);
    validation.resize(unseen.size(), 0.0);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      training[i] += seen[i] / static_cast<double>(turns.size());
      validation[i] += unseen[i] / static_cast<double>(turns.size());
    }
  }
  std::size_t best = validation.size() - 1;
  if (!settings.is_forest) {
    best = static_cast<std::size_t>(std::min_element(validation.begin() + 1, validation.end()) - validation.begin());
    settings.trees = static_cast<std::uint32_t>(best);
  }
  return {settings, training[best], validation[best]};
}

Trial search_settings_of(const Learning& learning, const RegressorSearch& how) {
  const std::vector<Turn> turns = turns_of(learning);
  const std::span<const TreeSettings> candidates = how.candidates.empty() ? tree_candidates() : how.candidates;
  std::vector<Trial> trials(candidates.size());
  tbb::parallel_for(std::size_t{0}, trials.size(), [&](std::size_t i) {
    if (how.stop && how.stop()) throw SearchStopped();
    trials[i] = try_candidate(learning, turns, candidates[i], how);
  });
  return *std::ranges::min_element(trials, {}, &Trial::validation);
}

Regressor fit_regressor(const Learning& learning, const RegressorSearch& how) {
  const Trial best = search_settings_of(learning, how);
  const std::vector<std::size_t> fitted = rows_without(learning, learning.parts.size());

  Regressor regressor;
  regressor.of = learning.rows->of;
  regressor.settings = best.settings;
  regressor.law = law_of(learning, fitted);
  regressor.trees = grow_trees(samples_of(learning, fitted, regressor.law), best.settings, tree_seed(how));
  for (const std::size_t row : fitted) {
    const std::vector<double> values = range_values(regressor.of.kernel, learning.rows->rows[row].sizes);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i == regressor.ranges.size()) regressor.ranges.push_back({values[i], values[i]});
      SampledRange& range = regressor.ranges[i];
      range = {std::min(range.least, values[i]), std::max(range.most, values[i])};
    }
  }
  const std::vector<double> tested = errors_by_trees(learning, learning.test, regressor.law, regressor.trees);
  RegressionRows kept = *learning.rows;
  std::size_t at = 0;
  std::erase_if(kept.rows, [&](const RegressionRow&) { return std::ranges::binary_search(learning.left_out, at++); });
  const RepeatError repeats = repeat_error(kept);
  RegressorErrors& errors = regressor.errors;
  errors.fitted_rows = fitted.size();
  errors.validation_rows = learning.takes_turns ? fitted.size() : learning.parts.front().size();
  errors.test_rows = learning.test.size();
  errors.training = best.training;
  errors.validation = best.validation;
  errors.test = tested.back();
  errors.test_law = tested.front();
  errors.repeats = repeats.mape;
  errors.repeated_rows = repeats.rows;
  errors.outliers = learning.left_out.size();
  return regressor;
}

}  // namespace

std::span<const TreeSettings> tree_candidates() { return tree_candidate_list; }

RegressorProfile fit_regressors(const SampledFolder& samples, const RegressorSearch& how) {
  RegressorProfile profile;
  profile.gpu = samples.gpu;
  profile.weft_version = version_text();
  profile.seed = how.seed;
  profile.test_share = how.test_share;
  profile.validation_share = how.validation_share;
  for (const SampledTable& table : samples.tables) profile.inputs.push_back({table.path, table.sha256});

  const std::vector<RegressionRows> all = regression_rows(samples);
  std::vector<Learning> learnings;
  for (const RegressionRows& rows : all) {
    const std::size_t kernels = rows_by_kernel(rows.rows).size();
    if (kernels < regressed_kernels_min) {
      profile.notes.push_back(
          fmt::format("{} has {} different kernels, fewer than {}: look-ups only", rows.of.text(), kernels, regressed_kernels_min));
      continue;
    }
    Learning& learning = learnings.emplace_back();
    learning.rows = &rows;
    for (const RegressionRow& row : rows.rows) {
      learning.kernels.push_back(kernel_features(rows.of.kernel.kind, row.sizes, rows.of.type.bytes()));
    }
  }
  if (learnings.empty()) {
    fail("too-few-rows", "no function has rows enough for a regressor", SourcePlace::named(samples.tables.front().path),
         fmt::format("sample at least {} different sizes of each", regressed_kernels_min));
  }

  profile.regressors.resize(learnings.size());
  std::mutex reporting;
  std::uint64_t done = 0;
  tbb::task_arena arena(static_cast<int>(how.threads));
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, learnings.size(), [&](std::size_t i) {
      leave_out_outliers(learnings[i]);
      split_rows(learnings[i], how);
      profile.regressors[i] = fit_regressor(learnings[i], how);
      const std::lock_guard lock(reporting);
      ++done;
      if (how.progress) how.progress({done, learnings.size(), learnings[i].rows->of.text()});
    });
  });
  for (const Learning& learning : learnings) {
    for (const std::size_t row : learning.left_out) {
      const RegressionRow& out = learning.rows->rows[row];
      const RegressorProfile::Outlier outlier{samples.tables[out.table].path, out.line, learning.rows->time_column, out.time_us,
                                              learning.law_of_all.time_us(learning.kernels[row].terms)};
      // Pooled kernels have rows of other functions, which name them, too.
      const bool is_named = std::ranges::any_of(profile.outliers, [&](const RegressorProfile::Outlier& other) {
        return other.file == outlier.file && other.line == outlier.line && other.column == outlier.column;
      });
      if (!is_named) profile.outliers.push_back(outlier);
    }
  }
  return profile;
}

}  // namespace weft
