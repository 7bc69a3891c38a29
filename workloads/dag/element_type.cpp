// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/element_type.hpp"

#include <array>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr std::array element_type_table = {
    ElementType{"FP64", 64},  ElementType{"FP32", 32},    ElementType{"TF32", 32},      ElementType{"FP16", 16},
    ElementType{"BF16", 16},  ElementType{"FP8_E4M3", 8}, ElementType{"FP8_E5M2", 8},   ElementType{"FP4", 4},
    ElementType{"INT64", 64}, ElementType{"INT32", 32},   ElementType{"INT16", 16},     ElementType{"INT8", 8},
    ElementType{"UINT8", 8},  ElementType{"BOOL", 8},     ElementType{"COMPLEX64", 64}, ElementType{"COMPLEX128", 128},
};

}  // namespace

std::span<const ElementType> element_types() { return element_type_table; }

std::optional<ElementType> element_type_named(std::string_view name) {
  for (const ElementType& type : element_type_table) {
    if (type.name == name) return type;
  }
  return std::nullopt;
}

std::optional<Bytes> tensor_size(std::uint64_t elements, ElementType type) {
  constexpr std::uint64_t bits_per_byte = 8;
  std::uint64_t bits = 0;
  if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(type.bits), &bits)) return std::nullopt;
  return Bytes::of(static_cast<std::int64_t>(bits / bits_per_byte + (bits % bits_per_byte != 0 ? 1 : 0)));
}

Bytes checked_tensor_size(std::uint64_t elements, ElementType type) {
  const std::optional<Bytes> size = tensor_size(elements, type);
  WEFT_CHECK(size.has_value(), "a tensor of checked sizes fits 63 bits");
  return *size;
}

}  // namespace weft
