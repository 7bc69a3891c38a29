// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/mask_ratio.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <variant>

#include "core/text/diagnostics.hpp"
#include "host/op_times/analytical_attention.hpp"
#include "host/op_times/gpu_presets.hpp"

namespace weft {

namespace {

constexpr std::string_view fitted_preset = "a100_sxm_80gb";

/// "a100" of "a100_sxm_80gb".
std::string_view chip_of(std::string_view preset) { return preset.substr(0, preset.find('_')); }

/// The first preset of the longest chip in a name: "gh200" has "h200" in it, too.
std::string_view preset_in(std::string_view sampled_gpu) {
  std::string name(sampled_gpu);
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  std::string_view best;
  for (const ModuleInfo& preset : gpu_presets()) {
    const std::string_view chip = chip_of(preset.name);
    if (name.find(chip) != std::string::npos && chip.size() > chip_of(best).size()) best = preset.name;
  }
  return best.empty() ? fitted_preset : best;
}

}  // namespace

MaskRatio::MaskRatio(std::string_view sampled_gpu)
    : gpu_(gpu_named(std::string(preset_in(sampled_gpu)), SourcePlace::named("GPU of the tables"))) {}

std::optional<OtherMask> MaskRatio::other(const Operator& op, OperatorPass pass) const {
  const auto* shape = std::get_if<FusedAttention>(&op.shape);
  const std::optional<MatrixType> type = matrix_type_of(op.type);
  const bool has_pass = pass == OperatorPass::forward || pass == OperatorPass::backward;
  if (shape == nullptr || !has_pass || !type || !gpu_.product_rate(*type)) return std::nullopt;
  FusedAttention masked = *shape;
  masked.is_causal = !shape->is_causal;
  const std::optional<OperatorKernel> kernel = kernel_of(masked);
  if (!kernel) return std::nullopt;
  const AttentionKernel version = attention_kernel(gpu_.generation, AttentionVersion::automatic);
  const auto seconds = [&](bool is_causal) {
    FusedAttention one = *shape;
    one.is_causal = is_causal;
    return plan_attention(gpu_, *type, op.type.bytes(), one, pass, version).time_s;
  };
  // Of few blocks the model's end of a list may be later than its whole wave; a mask adds no work.
  const double causal_share = std::min(1.0, seconds(true) / seconds(false));
  return OtherMask{*kernel, shape->is_causal ? causal_share : 1 / causal_share};
}

}  // namespace weft
