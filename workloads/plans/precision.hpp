// SPDX-License-Identifier: Apache-2.0
// Precision: which tensor of a training run has which type.
//
// Where it sits: part of a plan; memory, volumes of gradients and times of operators follow.
//
// Model, in bytes per parameter: stored, gradient, FP32 copy in the optimizer, two moments
//   all_fp32, all_tf32   4  4  -  8
//   all_fp16, all_bf16   2  2  -  4
//   amp_fp16, amp_bf16   4  4  -  8   and a half-precision copy while forward and backward run
//   megatron_fp16        2  2  4  8
//   megatron_bf16        2  4  4  8
//   megatron_fp8, _fp4   2  4  4  8   linear layers in that type, activations in BF16
// Operators under torch.amp (PyTorch, "Automatic Mixed Precision", op-specific behavior): products
// are cast down; norms, softmax and loss are cast up; residuals are promoted to FP32; what else
// there is keeps the type of its input. Under all_* every operator has that type. Under megatron_*
// all are in half precision but the loss, which is in FP32; FP8 and FP4 are for linear layers
// alone, not for attention, routers or the output layer.
// Sources: Micikevicius et al., arXiv 1710.03740; Rajbhandari et al., arXiv 1910.02054, section
// 3.1; Megatron-LM, where --bf16 adds gradients up in FP32; FP8 arXiv 2209.05433.
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "workloads/dag/element_type.hpp"
#include "workloads/models/operator.hpp"

namespace weft {

enum class PrecisionKind : std::uint8_t {
  all_fp32,
  all_tf32,
  all_fp16,
  all_bf16,
  amp_fp16,
  amp_bf16,
  megatron_fp16,
  megatron_bf16,
  megatron_fp8,
  megatron_fp4
};

/// What an operator is for its precision.
enum class OperatorRole : std::uint8_t {
  linear,        ///< products with weights of layers
  product,       ///< other products: attention, router, output layer, convolutions
  full,          ///< norms, softmax: cast up under torch.amp
  loss,          ///< always FP32 where precisions are mixed
  residual,      ///< adds to the stream between layers
  pass_through,  ///< activation, dropout, rotary: as its input
  lookup         ///< embeddings: as the stored table
};

struct Precision {
  PrecisionKind kind = PrecisionKind::megatron_bf16;
  ElementType parameters;         ///< stored
  ElementType gradients;          ///< while they add up
  ElementType reduced_gradients;  ///< between replicas
  ElementType moments;
  bool has_master_copy = false;                     ///< FP32 parameters in the optimizer
  std::optional<ElementType> own_activations = {};  ///< instead of the kind's

  ElementType activations() const;  ///< between operators and between ranks
  ElementType residuals() const;    ///< between layers
  ElementType type_of(OperatorRole role) const;
  /// Bytes of the copy in half precision that torch.amp keeps of each parameter; else 0.
  int cast_copy_bytes() const;

  friend bool operator==(const Precision&, const Precision&) = default;
};

Precision precision_of(PrecisionKind kind);

/// "megatron_bf16".
std::string_view to_text(PrecisionKind kind);

}  // namespace weft
