// SPDX-License-Identifier: Apache-2.0
// Regression rows: the rows of sampled tables, put together by what a regressor is made for.
//
// Where it sits: first step of regressor_search.
// A function and pass has the rows of all its tables; a collective those of its nodes and GPUs per
// node, wherever they stand: estimate-train-time has them twice, in a table of all and in one each,
// so that a row equal to one of another file counts once. Pooled kernels have the rows of all
// functions that run them.
// Threads: pure functions and values.
#pragma once

#include <string>
#include <vector>

#include "host/op_times/regressor.hpp"
#include "host/op_times/sampled_tables.hpp"

namespace weft {

struct RegressionRow {
  std::vector<double> sizes;  ///< of the kernel
  double time_us = 0;
  std::size_t table = 0;  ///< in the folder
  int line = 0;
};

struct RegressionRows {
  RegressedFunction of;
  std::string time_column;
  std::vector<RegressionRow> rows;  ///< by table and line
};

/// By function name, type, nodes, GPUs and pass.
std::vector<RegressionRows> regression_rows(const SampledFolder& samples);

/// Rows of the same kernel, as places in `rows`, by sizes.
std::vector<std::vector<std::size_t>> rows_by_kernel(const std::vector<RegressionRow>& rows);

/// Mean of how far times are off what other rows of the same kernel tell: their median, or of a
/// message the geometric mean of the next smaller and the next larger one.
struct RepeatError {
  double mape = 0;
  std::uint64_t rows = 0;
};
RepeatError repeat_error(const RegressionRows& rows);

}  // namespace weft
