// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/one_forward_one_backward.hpp"

#include <algorithm>
#include <utility>

namespace weft {

namespace {

PipelineScheduleResult make_1f1b(const PipelineSizes& sizes, const ParamSet& /*params*/) {
  if (auto broken = check_chunks(sizes, "1f1b", 1)) return *std::move(broken);
  PipelineOrder order;
  for (std::uint32_t device = 0; device < sizes.stages; ++device) {
    std::vector<PipelinePass> passes;
    std::uint32_t forward = 0;
    while (forward < std::min(sizes.microbatches, sizes.stages - 1 - device)) passes.push_back({PassKind::forward, forward++, 0});
    for (std::uint32_t backward = 0; backward < sizes.microbatches; ++backward) {
      if (forward < sizes.microbatches) passes.push_back({PassKind::forward, forward++, 0});
      passes.push_back({PassKind::backward, backward, 0});
    }
    order.devices.push_back(std::move(passes));
  }
  return executed(sizes, std::move(order));
}

}  // namespace

Module<PipelineScheduleMaker> one_forward_one_backward_module() {
  return {{"schedule",
           "1f1b",
           "One forward and one backward pass in turns after a warm-up. The step takes as long as GPipe's, and the first device "
           "holds the activations of as many microbatches as there are stages. Narayanan et al., PipeDream-Flush, ICML 2021.",
           {}},
          {1, make_1f1b}};
}

}  // namespace weft
