// SPDX-License-Identifier: Apache-2.0
// Block sizes: products of a model's and a plan's sizes, with limits checked, and operators in the
// types of the plan.
//
// Where it sits: model_blocks.hpp's functions write their blocks with it.
// Threads: a value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/text/diagnostics_fwd.hpp"
#include "workloads/models/operator.hpp"
#include "workloads/plans/precision.hpp"

namespace weft {

class BlockSizes {
 public:
  /// Both outlive it.
  BlockSizes(const Precision& precision, const SourcePlace& place) : precision_(precision), place_(place) {}

  /// Throws InputError [too-large] beyond 2^62.
  std::uint64_t product(std::initializer_list<std::uint64_t> factors) const;
  /// Adds parameters of a block, `more` of product(). Throws InputError [too-large] from 2^50 on.
  void add(std::uint64_t& parameters, std::uint64_t more) const;
  /// Throws InputError [too-large] beyond what an operation may move.
  Bytes bytes(std::uint64_t elements, ElementType type) const;
  Bytes activations(std::uint64_t elements) const { return bytes(elements, precision_.activations()); }

  Operator make(std::string_view name, const OperatorShape& shape, OperatorRole role) const {
    return {name, shape, precision_.type_of(role)};
  }
  Operator matmul(std::string_view name, std::uint64_t rows, std::uint64_t columns, std::uint64_t inner, OperatorRole role,
                  std::uint64_t groups = 1) const {
    return make(name, Matmul{.rows = rows, .columns = columns, .inner = inner, .groups = groups}, role);
  }
  Operator row_wise(std::string_view name, RowOperator what, std::uint64_t rows, std::uint64_t width, OperatorRole role) const {
    return make(name, RowWise{.what = what, .rows = rows, .width = width}, role);
  }

 private:
  const Precision& precision_;
  const SourcePlace& place_;
};

}  // namespace weft
