// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/block_sizes.hpp"

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

constexpr const char* smaller = "make the model or the batch smaller";

}  // namespace

std::uint64_t BlockSizes::product(std::initializer_list<std::uint64_t> factors) const {
  constexpr int bits_max = 62;
  std::uint64_t result = 1;
  for (const std::uint64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result) || result >> bits_max != 0)
      fail("too-large", fmt::format("a tensor would have more than 2^{} elements", bits_max), place_, smaller);
  }
  return result;
}

void BlockSizes::add(std::uint64_t& parameters, std::uint64_t more) const {
  constexpr int bits_max = 50;
  parameters += more;
  if (parameters >> bits_max != 0)
    fail("too-large", fmt::format("a layer would have 2^{} parameters or more", bits_max), place_, smaller);
}

Bytes BlockSizes::bytes(std::uint64_t elements, ElementType type) const {
  const Bytes size = tensor_size(elements, type).value_or(Bytes::of(INT64_MAX));
  if (size > op_size_max)
    fail("too-large", fmt::format("a collective would have more than {}", to_text(op_size_max)), place_, smaller);
  return size;
}

}  // namespace weft
