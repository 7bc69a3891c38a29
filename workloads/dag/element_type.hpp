// SPDX-License-Identifier: Apache-2.0
// Element types of tensors and their sizes: the one table.
//
// Where it sits: readers turn "1000 elements of BF16" into bytes with it. 4-bit types take half a
// byte; a tensor's size is rounded up.
// Thread safety: constants and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/values/units.hpp"

namespace weft {

struct ElementType {
  std::string_view name;  ///< as the enum of workload.proto spells it
  int bits = 0;

  double bytes() const { return bits / Bytes::of(1).in_bits(); }

  bool operator==(const ElementType&) const = default;
};

std::span<const ElementType> element_types();

/// The type called `name`; none if there is none.
std::optional<ElementType> element_type_named(std::string_view name);

/// Bytes of `elements` of a type; none if they do not fit 63 bits.
std::optional<Bytes> tensor_size(std::uint64_t elements, ElementType type);
/// Requires: they fit (WEFT_CHECK).
Bytes checked_tensor_size(std::uint64_t elements, ElementType type);

}  // namespace weft
