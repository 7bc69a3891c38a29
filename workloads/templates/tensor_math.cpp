// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/tensor_math.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

/// Ops of all roles together: 80 bytes each while they are built.
constexpr std::uint64_t ops_max = 1ULL << 24;

}  // namespace

void TensorMath::fail(const char* code, const std::string& message, const std::string& help) const {
  weft::fail(code, fmt::format("{}: {}", params_.module(), message), place_, help);
}

ElementType tensor_dtype(const std::string& text, const std::string& /*param*/) { return *element_type_named(text); }

std::uint64_t TensorMath::product(std::initializer_list<std::uint64_t> factors) const {
  std::uint64_t result = 1;
  for (const std::uint64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result) || result >> 62 != 0) {
      fail("too-large", "a tensor has more than 2^62 elements", "make the model, the batch or the sequence smaller");
    }
  }
  return result;
}

Bytes TensorMath::bytes(std::uint64_t elements, ElementType type) const {
  const std::optional<Bytes> size = tensor_size(elements, type);
  return checked(size.value_or(Bytes::of(INT64_MAX)));
}

Bytes TensorMath::checked(Bytes size) const {
  if (size > op_size_max) {
    fail("too-large", fmt::format("a collective or message would have more than {}", to_text(op_size_max)),
         "make the model, the batch or the sequence smaller");
  }
  return size;
}

Duration TensorMath::time(double operations) const {
  const double seconds = operations / (filled<TensorRate>(params_).tflops * 1e12);
  if (!(seconds < op_duration_max.in_s())) {
    fail("too-large", fmt::format("a computation would take more than {}", to_text(op_duration_max)),
         "raise tflops, or make the model smaller");
  }
  return Duration::from_seconds(seconds);
}

Duration TensorMath::checked(Duration duration) const {
  if (duration > op_duration_max) {
    fail("too-large", fmt::format("a computation would take more than {}", to_text(op_duration_max)), "give a shorter time");
  }
  return duration;
}

void TensorMath::require_divides(std::string_view number_name, std::uint64_t number, std::string_view divisor_name,
                                 std::uint64_t divisor) const {
  if (number % divisor == 0) return;
  fail("bad-plan", fmt::format("{} = {} cannot be divided by {} = {}", number_name, number, divisor_name, divisor),
       fmt::format("{} is a multiple of {}", number_name, divisor_name));
}

void TensorMath::require_op_count(std::uint64_t ops) const {
  if (ops <= ops_max) return;
  fail("too-large", fmt::format("the roles would have {} ops", ops),
       fmt::format("at most {} are written; lower layers, micro-batches or counts", ops_max));
}

std::string TensorMath::rate_note() const {
  std::string rate;
  for (std::size_t i = 0; i < params_.table().size(); ++i) {
    if (params_.table()[i].name == "tflops") rate = params_.value_text(i);
  }
  return fmt::format("compute times follow from shapes at tflops = {} per GPU", rate);
}

}  // namespace weft
