// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/pipeline_schedules.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/text/counted.hpp"
#include "workloads/schedules/gpipe.hpp"
#include "workloads/schedules/interleaved_1f1b.hpp"
#include "workloads/schedules/one_forward_one_backward.hpp"
#include "workloads/schedules/v_schedules.hpp"
#include "workloads/schedules/zero_bubble.hpp"
#include "workloads/schedules/zero_bubble_optimal.hpp"
#include "workloads/schedules/zero_bubble_search.hpp"
#include "workloads/schedules/zero_bubble_v.hpp"

namespace weft {

std::span<const Module<PipelineScheduleMaker>> pipeline_schedules() {
  static const std::array<Module<PipelineScheduleMaker>, 10> modules = {gpipe_module(),
                                                                        one_forward_one_backward_module(),
                                                                        interleaved_1f1b_module(),
                                                                        zb_h1_module(),
                                                                        zb_h2_module(),
                                                                        zb_auto_module(),
                                                                        zb_optimal_module(),
                                                                        zbv_module(),
                                                                        v_half_module(),
                                                                        v_min_module()};
  return modules;
}

PipelineSchedule executed(const PipelineSizes& sizes, PipelineOrder order) {
  PipelineTimeline timeline = execute(sizes, order);
  return {std::move(order), std::move(timeline), {}};
}

std::optional<BrokenScheduleRule> check_chunks(const PipelineSizes& sizes, std::string_view schedule, std::uint32_t chunks) {
  if (sizes.chunks == chunks) return std::nullopt;
  return BrokenScheduleRule{fmt::format("{} has {} per device, not {}", schedule, counted(chunks, "chunk", "chunks"), sizes.chunks),
                            fmt::format("--chunks={}", chunks)};
}

std::optional<BrokenScheduleRule> check_stages(const PipelineSizes& sizes, std::string_view schedule, std::uint32_t stages_min) {
  if (sizes.stages >= stages_min) return std::nullopt;
  return BrokenScheduleRule{fmt::format("{} needs {} stages at least, not {}", schedule, stages_min, sizes.stages),
                            fmt::format("--stages={}", stages_min)};
}

}  // namespace weft
