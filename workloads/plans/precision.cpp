// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/precision.hpp"

#include <array>
#include <cstddef>
#include <optional>

#include "core/check.hpp"

namespace weft {

namespace {

ElementType type(std::string_view name) {
  const std::optional<ElementType> found = element_type_named(name);
  WEFT_CHECK(found.has_value(), "element types of precisions are known");
  return *found;
}

bool is_amp(PrecisionKind kind) { return kind == PrecisionKind::amp_fp16 || kind == PrecisionKind::amp_bf16; }

/// Half precision of the kind, or what stands in its place.
ElementType half(PrecisionKind kind) {
  switch (kind) {
    case PrecisionKind::all_fp32:
      return type("FP32");
    case PrecisionKind::all_tf32:
      return type("TF32");
    case PrecisionKind::all_fp16:
    case PrecisionKind::amp_fp16:
    case PrecisionKind::megatron_fp16:
      return type("FP16");
    case PrecisionKind::all_bf16:
    case PrecisionKind::amp_bf16:
    case PrecisionKind::megatron_bf16:
    case PrecisionKind::megatron_fp8:
    case PrecisionKind::megatron_fp4:
      return type("BF16");
  }
  return type("FP32");
}

bool is_single(PrecisionKind kind) { return kind == PrecisionKind::all_fp32 || kind == PrecisionKind::all_tf32; }

}  // namespace

Precision precision_of(PrecisionKind kind) {
  const ElementType fp32 = type("FP32");
  const ElementType small = is_single(kind) ? fp32 : half(kind);
  Precision precision{.kind = kind, .parameters = fp32, .gradients = fp32, .reduced_gradients = fp32, .moments = fp32};
  switch (kind) {
    case PrecisionKind::all_fp32:
    case PrecisionKind::all_tf32:
    case PrecisionKind::amp_fp16:
    case PrecisionKind::amp_bf16:
      return precision;
    case PrecisionKind::all_fp16:
    case PrecisionKind::all_bf16:
      precision.parameters = precision.gradients = precision.reduced_gradients = precision.moments = small;
      return precision;
    case PrecisionKind::megatron_fp16:
      precision.parameters = precision.gradients = precision.reduced_gradients = small;
      precision.has_master_copy = true;
      return precision;
    case PrecisionKind::megatron_bf16:
    case PrecisionKind::megatron_fp8:
    case PrecisionKind::megatron_fp4:
      precision.parameters = small;
      precision.has_master_copy = true;
      return precision;
  }
  return precision;
}

std::string_view to_text(PrecisionKind kind) {
  constexpr std::array<std::string_view, 10> names = {"all_fp32", "all_tf32",      "all_fp16",      "all_bf16",     "amp_fp16",
                                                      "amp_bf16", "megatron_fp16", "megatron_bf16", "megatron_fp8", "megatron_fp4"};
  return names[static_cast<std::size_t>(kind)];
}

ElementType Precision::activations() const {
  if (own_activations) return *own_activations;
  return is_single(kind) ? type("FP32") : half(kind);
}

ElementType Precision::residuals() const { return is_amp(kind) ? type("FP32") : activations(); }

int Precision::cast_copy_bytes() const {
  constexpr int half_bytes = 2;
  return is_amp(kind) ? half_bytes : 0;
}

ElementType Precision::type_of(OperatorRole role) const {
  switch (role) {
    case OperatorRole::linear:
      if (kind == PrecisionKind::megatron_fp8) return type("FP8_E4M3");
      if (kind == PrecisionKind::megatron_fp4) return type("FP4");
      return half(kind);
    case OperatorRole::product:
      return half(kind);
    case OperatorRole::full:
      return is_amp(kind) ? type("FP32") : activations();
    case OperatorRole::loss:
      return kind == PrecisionKind::all_fp16 || kind == PrecisionKind::all_bf16 ? half(kind) : type("FP32");
    case OperatorRole::residual:
      return residuals();
    case OperatorRole::pass_through:
      return activations();
    case OperatorRole::lookup:
      return parameters;
  }
  return activations();
}

}  // namespace weft
