// SPDX-License-Identifier: Apache-2.0
// Tensor math: from shapes to bytes and from floating-point operations to time, with limits
// checked.
//
// Where it sits: templates derive their sizes and times here. A result that no op may have
// (limits.hpp) is an InputError [too-large] at the template's place.
//   time = operations / (tflops 10^12 / s), rounded to the nearest tick of 10 ps
// Thread safety: values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/text/params.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/dag/element_type.hpp"

namespace weft {

/// The choices of a `dtype` parameter.
constexpr std::string_view tensor_dtypes = "FP32|TF32|BF16|FP16|FP8_E4M3|FP8_E5M2";
constexpr std::string_view tensor_rate_default = "400";
constexpr std::string_view tensor_rate_meaning =
    "What a GPU sustains, in 10^12 floating-point operations per second; compute times follow from it.";
constexpr std::string_view tensor_rate_origin = "assumption: about 40 % of the dense BF16 peak of an H100 (989)";

/// The element type of such a choice.
ElementType tensor_dtype(const std::string& text, const std::string& param);

/// What the parameter "tflops" fills.
struct TensorRate {
  double tflops;
};

class TensorMath {
 public:
  TensorMath(const ParamSet& params, const SourcePlace& place) : params_(params), place_(place) {}

  /// Product of numbers; [too-large] if it exceeds 62 bits.
  std::uint64_t product(std::initializer_list<std::uint64_t> factors) const;
  Bytes bytes(std::uint64_t elements, ElementType type) const;
  Bytes checked(Bytes size) const;

  /// `operations` at the parameter "tflops".
  Duration time(double operations) const;
  Duration checked(Duration duration) const;

  /// Throws [bad-plan] unless `divisor` divides `number`.
  void require_divides(std::string_view number_name, std::uint64_t number, std::string_view divisor_name,
                       std::uint64_t divisor) const;
  [[noreturn]] void fail(const char* code, const std::string& message, const std::string& help) const;
  /// Throws [too-large] if all roles together would have more ops than a template may write.
  void require_op_count(std::uint64_t ops) const;

  /// The assumption that compute times come from "tflops".
  std::string rate_note() const;

 private:
  const ParamSet& params_;
  const SourcePlace& place_;
};

}  // namespace weft
