// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/interleaved_1f1b.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weft {

namespace {

/// The n-th forward or backward pass of every device.
PipelinePass nth_pass(const PipelineSizes& sizes, PassKind kind, std::uint32_t n) {
  const std::uint32_t group = sizes.stages * sizes.chunks;
  const std::uint32_t chunk = n % group / sizes.stages;
  const std::uint32_t microbatch = n / group * sizes.stages + n % sizes.stages;
  return {kind, microbatch, kind == PassKind::forward ? chunk : sizes.chunks - 1 - chunk};
}

PipelineScheduleResult make_interleaved(const PipelineSizes& sizes, const ParamSet& /*params*/) {
  if (auto broken = check_stages(sizes, "interleaved_1f1b", 2)) return *std::move(broken);
  if (sizes.chunks < 2) return BrokenScheduleRule{"interleaved_1f1b needs 2 chunks per device at least, not 1", "--chunks=2"};
  if (sizes.microbatches % sizes.stages != 0) {
    return BrokenScheduleRule{
        fmt::format("interleaved_1f1b needs a multiple of the {} stages as microbatches, not {}", sizes.stages, sizes.microbatches),
        fmt::format("--microbatches={}", (sizes.microbatches / sizes.stages + 1) * sizes.stages)};
  }
  PipelineOrder order;
  for (std::uint32_t device = 0; device < sizes.stages; ++device) order.devices.push_back(interleaved_passes(sizes, device));
  return executed(sizes, std::move(order));
}

}  // namespace

std::vector<PipelinePass> interleaved_passes(const PipelineSizes& sizes, std::uint32_t device) {
  const std::uint32_t all = sizes.microbatches * sizes.chunks;
  std::vector<PipelinePass> passes;
  passes.reserve(std::size_t{2} * all);
  std::uint32_t forward = 0;
  const std::uint32_t warm_up = 2 * (sizes.stages - 1 - device) + (sizes.chunks - 1) * sizes.stages;
  while (forward < std::min(all, warm_up)) passes.push_back(nth_pass(sizes, PassKind::forward, forward++));
  for (std::uint32_t backward = 0; backward < all; ++backward) {
    if (forward < all) passes.push_back(nth_pass(sizes, PassKind::forward, forward++));
    passes.push_back(nth_pass(sizes, PassKind::backward, backward));
  }
  return passes;
}

Module<PipelineScheduleMaker> interleaved_1f1b_module() {
  return {{"schedule",
           "interleaved_1f1b",
           "1F1B over several chunks per device, as Megatron-LM does it. Bubbles shrink by the number of chunks, activations "
           "and transfers grow. Microbatches are a multiple of stages. Narayanan et al., SC 2021.",
           {}},
          {2, make_interleaved}};
}

}  // namespace weft
