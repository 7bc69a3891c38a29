// SPDX-License-Identifier: Apache-2.0
// Regressor: predicts how long one function takes in one pass on one GPU type from the sizes of its
// kernel.
//
// Where it sits: regressor_search fits it to samples, profiles keep it, regressor_times asks it.
// Model: time = law(sizes) e^(trees(features)), time_law and regression_trees. Trees are fitted to
// ln(t / law), so that they make the relative error small whatever the size of the time.
// Beyond the sampled range: the law goes on with the sizes themselves, the trees say of a kernel
// what they say of it with every size moved to the nearest end of its range. Such a prediction says
// so. A range is also kept of what a matmul's sizes are in proportion to each other, as tables of a
// model hold narrow strips of all matmuls.
// Threads: values; const functions may be called from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/op_times/regression_trees.hpp"
#include "host/op_times/sampled_kernel.hpp"
#include "host/op_times/time_law.hpp"
#include "host/op_times/tree_learner.hpp"

namespace weft {

/// Of what a function is predicted: the key of a regressor.
struct RegressedFunction {
  std::string function;
  bool is_backward = false;
  bool is_whole = false;  ///< the table had one time for all there is
  KernelId kernel;
  ElementType type;
  std::uint32_t nodes = 0;  ///< of a collective, else 0
  std::uint32_t gpus_per_node = 0;
  std::vector<std::string> sizes;  ///< their names

  /// "linear1 fp16 backward", "allreduce fp16 on 2 x 1".
  std::string text() const;
};

struct SampledRange {
  double least = 0;
  double most = 0;
};

/// Mean absolute percentage errors as shares, on rows of three kinds that share no kernel.
struct RegressorErrors {
  std::uint64_t fitted_rows = 0;      ///< law and trees were fitted to
  std::uint64_t validation_rows = 0;  ///< of these, those that settings were chosen by
  std::uint64_t test_rows = 0;        ///< never used but for `test`
  double training = 0;                ///< on what trees were grown from while settings were chosen
  double validation = 0;
  double test = 0;      ///< of the regressor itself
  double test_law = 0;  ///< of its law alone
  /// How far a time is off the median of all other rows of the same kernel, or of a collective off
  /// the line between the next smaller and larger one: no regressor can be expected to be better.
  double repeats = 0;
  std::uint64_t repeated_rows = 0;
  std::uint64_t outliers = 0;  ///< rows that were left out
};

struct RegressorPrediction {
  double time_us = 0;
  /// "rows 65536 is above 40960"; empty inside the sampled range.
  std::string outside;
};

class Regressor {
 public:
  RegressedFunction of;
  std::vector<SampledRange> ranges;  ///< of range_names()
  TimeLaw law;
  RegressionTrees trees;
  TreeSettings settings;
  RegressorErrors errors;

  /// Requires: as many sizes as names, all above 0.
  RegressorPrediction predict(std::span<const double> sizes) const;
  /// How many powers of e the sizes lie outside, added up; 0 inside.
  double distance(std::span<const double> sizes) const;
};

/// Sizes, and of matmuls their proportions.
std::vector<std::string> range_names(const RegressedFunction& of);
std::vector<double> range_values(const KernelId& kernel, std::span<const double> sizes);

/// Whether a kernel takes as long in one type as in the other: FP16 and
/// BF16 have the same peaks and sizes.
bool are_timed_alike(ElementType type, ElementType other);

}  // namespace weft
