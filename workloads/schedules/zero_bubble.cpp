// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/zero_bubble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text/param_rows.hpp"

namespace weft {

namespace {

struct HandcraftedSettings {
  std::uint32_t memory;  ///< 0: 2 p - 1
};

constexpr std::array handcrafted_params = {
    param<&HandcraftedSettings::memory>({.name = "memory",
                                         .default_text = "0",
                                         .minimum = "0",
                                         .maximum = "1000000",
                                         .meaning =
                                             "Microbatches whose activations a device may hold, from the number of stages p to "
                                             "2 p - 1. 0: 2 p - 1.",
                                         .origin = "Qi et al. 2024, section 2.1.2"}),
};

PipelineScheduleResult make_zb_h1(const PipelineSizes& sizes, const ParamSet& /*params*/) {
  if (auto broken = check_chunks(sizes, "zb_h1", 1)) return *std::move(broken);
  return executed(sizes, handcrafted_zero_bubble(sizes, sizes.stages));
}

PipelineScheduleResult make_zb_h2(const PipelineSizes& sizes, const ParamSet& params) {
  if (auto broken = check_chunks(sizes, "zb_h2", 1)) return *std::move(broken);
  const std::uint32_t most = 2 * sizes.stages - 1;
  const auto asked = filled<HandcraftedSettings>(params).memory;
  const std::uint32_t limit = asked == 0 ? most : std::min(asked, most);
  if (limit < sizes.stages) {
    return BrokenScheduleRule{
        fmt::format("zb_h2 needs a memory limit of {} microbatches, one per stage, not {}", sizes.stages, limit),
        fmt::format("--memory={}; zb_auto takes less", sizes.stages)};
  }
  return executed(sizes, handcrafted_zero_bubble(sizes, limit));
}

}  // namespace

PipelineOrder handcrafted_zero_bubble(const PipelineSizes& sizes, std::uint32_t limit) {
  PipelineOrder order;
  for (std::uint32_t device = 0; device < sizes.stages; ++device) {
    const std::uint32_t behind = sizes.stages - 1 - device;
    const std::uint32_t warm_up = behind + 1 + std::min(behind, limit - sizes.stages);
    const std::uint32_t owed_max = limit - warm_up;
    std::vector<PipelinePass> passes;
    std::uint32_t forward = 0;
    std::uint32_t weight = 0;
    while (forward < std::min(warm_up, sizes.microbatches)) passes.push_back({PassKind::forward, forward++, 0});
    for (std::uint32_t backward = 0; backward < sizes.microbatches; ++backward) {
      passes.push_back({PassKind::backward_input, backward, 0});
      if (backward >= owed_max) passes.push_back({PassKind::backward_weight, weight++, 0});
      if (forward < sizes.microbatches) passes.push_back({PassKind::forward, forward++, 0});
    }
    while (weight < sizes.microbatches) passes.push_back({PassKind::backward_weight, weight++, 0});
    order.devices.push_back(std::move(passes));
  }
  return order;
}

Module<PipelineScheduleMaker> zb_h1_module() {
  return {
      {"schedule",
       "zb_h1",
       "Zero bubble by hand with 1F1B's memory. Gradients of weights fill a part of the bubbles. Qi et al., Zero Bubble Pipeline "
       "Parallelism, ICLR 2024.",
       {}},
      {1, make_zb_h1}};
}

Module<PipelineScheduleMaker> zb_h2_module() {
  return {{"schedule", "zb_h2",
           "Zero bubble by hand with nearly twice 1F1B's memory. More forward passes before the first backward pass, so that no "
           "device waits if F, B and W take equally long. Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024.",
           handcrafted_params},
          {1, make_zb_h2}};
}

}  // namespace weft
