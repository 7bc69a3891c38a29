// SPDX-License-Identifier: Apache-2.0
// Sampled kernels: which kernel a row of a table of measured times is of, by the sizes that decide
// how long it takes, and which kernel an operator of a model is.
//
// Where it sits: between tables, whose columns are a model's (mp, b, h, l, dim), and operators
// (workloads/models/operator.hpp), whose sizes are a kernel's. Look-ups go by sizes; regressors
// see features made of them.
// Model: a row of a table is a kernel of a model with mp tensor parallel ranks, b sequences of l
// tokens, h heads, dim features, V words. sampled_kernel.cpp has a row for each function; a linear
// layer linear1 is a matmul (b l) x (3 dim/mp) x dim. V is 50,257 words, filled up to a multiple of
// 128 mp. flash_atten is of all pairs of tokens: A100's would reach 118 TFLOP/s by half of them.
// An encoder has 12 dim^2/mp + 9 dim/mp + 4 dim parameters, the last norm 2 dim. A cross entropy
// is in FP32 whatever the table's type is: A100 moves 30 B per element forward, 10 B backward.
// Collectives' shapes are elements of the table's type.
// Sources: estimate-train-time (github.com/DebarghaG/estimate-train-time), Kernel_sampling's
// functions and its prediction of Llemma 7B; tools/kernel_sampler/shapes.py for those that only it
// writes.
// Functions that are not listed have their own columns as sizes, among them expert_gemm, products
// one after the other, for which there is no operator.
// Threads: pure functions and values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/models/operator.hpp"

namespace weft {

enum class KernelKind : std::uint8_t {
  matmul,            ///< rows, columns, inner, groups
  grouped_matmul,    ///< rows of all groups, rows of the largest, columns, inner, groups
  attention,         ///< sequences, heads, length, head_width; as many key heads as query heads
  causal_attention,  ///< likewise, of half of the pairs
  row_wise,          ///< rows, width
  rotary,            ///< sequences, length, heads, head_width
  router,            ///< rows, experts, chosen
  embedding,         ///< rows, width, table_rows
  optimizer,         ///< parameters, layers
  updates,           ///< parameters
  message,           ///< bytes of a collective's buffer
  columns            ///< of the table, whatever they are
};

std::string_view to_text(KernelKind kind);
std::optional<KernelKind> kernel_kind_called(std::string_view name);
/// None for `columns`.
std::span<const std::string_view> size_names(KernelKind kind);

/// Which kernel runs; its sizes are beside it.
struct KernelId {
  KernelKind kind = KernelKind::columns;
  std::optional<RowOperator> row_operator;  ///< of `row_wise`, where operators have it

  friend auto operator<=>(const KernelId&, const KernelId&) = default;
};

/// Columns of a table with the row's values.
struct ColumnValues {
  std::span<const std::string> names;
  std::span<const double> values;

  std::optional<double> of(std::string_view name) const;
};

/// The kernel of a function by its name in file names; `columns` if it is not known or the table
/// lacks a column that it needs.
KernelId kernel_of_function(std::string_view function, std::span<const std::string> columns);

/// Sizes of the kernel of a row of a table of this type. Requires: the id is the function's for
/// these columns.
std::vector<double> kernel_sizes(std::string_view function, const KernelId& kernel, ElementType type, const ColumnValues& row);

/// The type that operators have whose kernel a table of `type` tells of.
ElementType operator_type(const KernelId& kernel, ElementType type);

/// A kernel that several functions' rows tell of, with the sizes that operators know: all single
/// matmuls, rotary embeddings as rows, routers whatever they choose, optimizers by parameters.
struct PooledKernel {
  std::string_view function;  ///< "any_matmul"
  KernelId kernel;
  std::vector<double> sizes;
};
/// None where there is no such kernel.
std::optional<PooledKernel> pooled_kernel(const KernelId& kernel, std::span<const double> sizes);

/// An operator's kernel; none of an operator that tables do not have.
struct OperatorKernel {
  KernelId kernel;
  std::vector<double> sizes;
};
std::optional<OperatorKernel> kernel_of(const OperatorShape& shape);

/// The reverse: the operator that a kernel or its pool is of, none where there is none.
std::optional<OperatorShape> operator_of(const KernelId& kernel, std::span<const double> sizes);

}  // namespace weft
