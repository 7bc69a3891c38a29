// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/zero_bubble_v.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace weft {

namespace {

/// The passes of one device; microbatches of a kind and chunk follow each other.
class PhaseScript {
 public:
  void add(PassKind kind, std::uint32_t chunk) { passes_.push_back({kind, next_[index(kind)][chunk]++, chunk}); }
  std::uint32_t done(PassKind kind, std::uint32_t chunk) const { return next_[index(kind)][chunk]; }
  std::vector<PipelinePass> take() { return std::move(passes_); }

 private:
  static std::size_t index(PassKind kind) { return static_cast<std::size_t>(kind); }
  std::array<std::array<std::uint32_t, 2>, 3> next_{};  ///< by kind and chunk
  std::vector<PipelinePass> passes_;
};

std::vector<PipelinePass> device_passes(const PipelineSizes& sizes, std::uint32_t device) {
  using enum PassKind;
  const std::uint32_t from_end = sizes.stages - device;
  PhaseScript script;
  for (std::uint32_t i = 0; i < 2 * from_end - 1; ++i) script.add(forward, 0);
  for (std::uint32_t i = 0; i < device; ++i) {
    script.add(forward, 1);
    script.add(forward, 0);
  }
  for (std::uint32_t i = 0; i < from_end; ++i) {
    for (const PassKind kind : {forward, backward_input, backward_weight}) script.add(kind, 1);
  }
  while (script.done(forward, 1) < sizes.microbatches) {
    if (script.done(forward, 0) < sizes.microbatches) script.add(forward, 0);
    script.add(backward_input, 0);
    script.add(backward_weight, 0);
    for (const PassKind kind : {forward, backward_input, backward_weight}) script.add(kind, 1);
  }
  for (std::uint32_t i = 0; i < device; ++i) {
    script.add(backward_input, 0);
    script.add(backward_input, 1);
  }
  for (std::uint32_t i = 0; i < from_end; ++i) {
    script.add(backward_input, 0);
    script.add(backward_weight, 0);
  }
  for (const std::uint32_t chunk : {1U, 0U}) {
    while (script.done(backward_weight, chunk) < sizes.microbatches) script.add(backward_weight, chunk);
  }
  return script.take();
}

PipelineScheduleResult make_zbv(const PipelineSizes& sizes, const ParamSet& /*params*/) {
  if (auto broken = check_stages(sizes, "zbv", 2)) return *std::move(broken);
  if (auto broken = check_chunks(sizes, "zbv", 2)) return *std::move(broken);
  const std::uint32_t least = 2 * sizes.stages - 1;
  if (sizes.microbatches < least) {
    return BrokenScheduleRule{fmt::format("zbv needs {} microbatches at least, 2 * stages - 1, not {}", least, sizes.microbatches),
                              fmt::format("--microbatches={}", least)};
  }
  PipelineOrder order{ChunkPlacement::v_shape, {}};
  for (std::uint32_t device = 0; device < sizes.stages; ++device) order.devices.push_back(device_passes(sizes, device));
  return executed(sizes, std::move(order));
}

}  // namespace

Module<PipelineScheduleMaker> zbv_module() {
  return {{"schedule",
           "zbv",
           "Zero bubble on a V, in fixed phases. Two chunks per device, the second on the way back, so that no device waits with "
           "1F1B's memory if F, B and W take equally long. Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024.",
           {}},
          {2, make_zbv, ChunkPlacement::v_shape}};
}

}  // namespace weft
