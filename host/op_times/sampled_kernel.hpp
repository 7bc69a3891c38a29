// SPDX-License-Identifier: Apache-2.0
// Sampled kernels: which kernel a row of a table of measured times is of, by the sizes that decide
// how long it takes, and which kernel an operator of a model is.
//
// Where it sits: between tables, whose columns are a model's (mp, b, h, l, dim), and operators
// (workloads/models/operator.hpp), whose sizes are a kernel's. Look-ups go by sizes; regressors
// see features made of them.
// Model: mp tensor parallel ranks, b sequences of l tokens, h heads, dim features, V words, fp16:
//   linear1         matmul (b l) x (3 dim/mp) x dim          linear2       (b l) x dim x (dim/mp)
//   linear3         matmul (b l) x (4 dim/mp) x dim          linear4       (b l) x dim x (4 dim/mp)
//   linear_final    matmul (b l) x (V/mp) x dim              gelu          (b l) rows of 4 dim/mp
//   baddbmm, bmm    b h/mp matmuls l x l x (dim/h), l x (dim/h) x l
//   flash_atten     causal attention, b sequences, h/mp heads of dim/h
//   softmax, ScaledUpperTriangMaskedSoftmax, fillmask        (b h/mp l) rows of l
//   layernorm, RMSlayernorm, res_add                         (b l) rows of dim
//   RoPE            (b l) rows of h/mp heads of dim/h        embedding     b l of V/mp rows of dim
//   parallel_cross_entropy_128                               (b l) rows of V/mp
//   X_optimizer     12 dim^2/mp parameters per encoder; first and last stage V/mp dim more
// V is 50,257 words, filled up to a multiple of 128 mp. That is how estimate-train-time calls its
// kernels: its prediction of Llemma 7B prints their sizes, from which these rows were read.
// Functions that are not listed have their own columns as sizes.
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
  matmul,     ///< rows, columns, inner, groups
  attention,  ///< sequences, heads, length, head_width; causal, as many key heads as query heads
  row_wise,   ///< rows, width
  rotary,     ///< sequences, length, heads, head_width
  embedding,  ///< rows, width, table_rows
  optimizer,  ///< parameters, layers
  updates,    ///< parameters
  message,    ///< bytes of a collective's buffer
  columns     ///< of the table, whatever they are
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

/// Sizes of the kernel of a row. Requires: the id is the function's for these columns.
std::vector<double> kernel_sizes(std::string_view function, const KernelId& kernel, const ColumnValues& row);

/// A kernel that several functions' rows tell of, with the sizes that operators know: all single
/// matmuls, rotary embeddings as rows, optimizers by their parameters.
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

}  // namespace weft
