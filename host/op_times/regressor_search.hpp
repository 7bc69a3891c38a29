// SPDX-License-Identifier: Apache-2.0
// Regressor search: from sampled tables to a profile - rows per function and pass, without
// outliers; split; settings chosen on validation rows; errors on rows that were never used.
//
// Where it sits: `weft optimes fit` calls it with read_samples().
// Model, for each function and pass, and each pooled kernel (sampled_kernel.hpp):
//   1. Rows far off the law of all rows are left out and named (time_law.hpp).
//   2. Kernels - not rows: rows of the same kernel stay together - are shuffled by a stream named
//      by the seed and cut into test (a fifth), validation (a fifth of the rest) and training.
//   3. Each of tree_candidates() is grown from the training rows; of boosted trees the number of
//      rounds is the best one, too. The least mean absolute percentage error on validation rows
//      wins. Up to 600 kernels, where few would decide, all parts take turns: cross-validation.
//   4. Law and trees are fitted anew, with these settings, to training and validation rows.
//   5. The test rows are predicted, once.
// Only step 1 sees test rows before: it drops rows, and counts them.
// Threads: one call at a time uses `threads`; the profile does not depend on how many.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "host/op_times/regressor_profile.hpp"
#include "host/op_times/sampled_tables.hpp"

namespace weft {

struct RegressorSearch {
  struct Progress {
    std::uint64_t done = 0;
    std::uint64_t of = 0;
    std::string function;  ///< that was fitted last
  };
  std::uint64_t seed = 1;
  double test_share = 0.2;
  double validation_share = 0.2;  ///< of what is not tested
  std::uint32_t threads = 1;
  std::vector<TreeSettings> candidates;           ///< empty: tree_candidates()
  std::function<void(const Progress&)> progress;  ///< may be empty; one call at a time
  /// Asked now and then; true: fit_regressors() throws SearchStopped.
  std::function<bool()> stop;
};

/// Settings that are tried, in the order in which the first of equals wins.
std::span<const TreeSettings> tree_candidates();

/// Kernels without which a function gets no regressor, but a note.
constexpr std::size_t regressed_kernels_min = 20;

/// What stops a search is no failure, and not the user's mistake.
struct SearchStopped {};

/// Requires: shares between 0 and 1, a thread at least. Throws InputError [too-few-rows] if no
/// function has rows enough.
RegressorProfile fit_regressors(const SampledFolder& samples, const RegressorSearch& how);

}  // namespace weft
