// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/zero_bubble_search.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/schedules/weight_filling.hpp"
#include "workloads/schedules/zero_bubble.hpp"

namespace weft {

namespace {

struct SearchSettings {
  std::uint32_t memory;  ///< 0: 2 p
  ScheduleObjective objective;
};

constexpr std::array search_params = {
    param<&SearchSettings::memory>({.name = "memory",
                                    .default_text = "0",
                                    .minimum = "0",
                                    .maximum = "1000000",
                                    .meaning = "Microbatches whose activations a device may hold. 0: twice the number of stages.",
                                    .origin = "ZB-2p of Qi et al. 2024"}),
    param<&SearchSettings::objective>(
        {.name = "objective",
         .default_text = "device_span",
         .choices = "device_span|step_time",
         .meaning = "What is made short: the longest time from a device's first pass to its last, which is what a step costs where "
                    "no device waits for others between steps; or the time until the last device has ended.",
         .origin = "cost of Qi et al. 2024, section 3.1"}),
};

/// Forward passes of each device before its first B.
using WarmUp = std::vector<std::uint32_t>;

/// Between 1 and what the device before has, below the limit.
void add_warm_up(WarmUp& warm_up, std::int64_t wanted, std::uint32_t most) {
  const std::uint32_t bound = warm_up.empty() ? most : std::min(most, warm_up.back());
  warm_up.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted, 1, bound)));
}

/// As many as fit before the first gradient comes, plus `extra`.
WarmUp warm_up_by_time(const PipelineSizes& sizes, std::uint32_t extra, std::uint32_t most) {
  WarmUp warm_up;
  for (std::uint32_t device = 0; device < sizes.stages; ++device) {
    const std::int64_t behind = sizes.stages - 1 - device;
    const Duration wait =
        (sizes.forward + sizes.transfer) * behind + sizes.forward + (sizes.backward_input + sizes.transfer) * behind;
    const std::int64_t fit = sizes.forward > Duration::zero() ? wait.in_ticks() / sizes.forward.in_ticks() : most;
    add_warm_up(warm_up, fit + extra, most);
  }
  return warm_up;
}

WarmUp warm_up_by_place(const PipelineSizes& sizes, std::uint32_t slope, std::uint32_t extra, std::uint32_t most) {
  WarmUp warm_up;
  for (std::uint32_t device = 0; device < sizes.stages; ++device) {
    add_warm_up(warm_up, std::int64_t{slope} * (sizes.stages - 1 - device) + 1 + extra, most);
  }
  return warm_up;
}

PipelineOrder alternating_order(const PipelineSizes& sizes, const WarmUp& warm_up) {
  PipelineOrder order;
  for (const std::uint32_t first : warm_up) {
    std::vector<PipelinePass> passes;
    std::uint32_t forward = 0;
    while (forward < first) passes.push_back({PassKind::forward, forward++, 0});
    for (std::uint32_t backward = 0; backward < sizes.microbatches; ++backward) {
      passes.push_back({PassKind::backward_input, backward, 0});
      if (forward < sizes.microbatches) passes.push_back({PassKind::forward, forward++, 0});
    }
    order.devices.push_back(std::move(passes));
  }
  return order;
}

/// Keeps the best schedule that it is shown.
class BestSchedule {
 public:
  BestSchedule(const PipelineSizes& sizes, double limit, ScheduleObjective objective)
      : sizes_(sizes), limit_(limit), objective_(objective) {}

  void show(PipelineOrder order) {
    PipelineSchedule schedule = executed(sizes_, std::move(order));
    constexpr double rounding = 1e-9;
    if (schedule.timeline.activations_max > limit_ + rounding) return;
    if (!best_ || is_better(schedule.timeline, best_->timeline)) best_ = std::move(schedule);
  }
  std::optional<PipelineSchedule> take() { return std::move(best_); }

 private:
  bool is_better(const PipelineTimeline& a, const PipelineTimeline& b) const {
    const auto rank = [this](const PipelineTimeline& timeline) {
      return std::pair(objective_value(timeline, objective_), timeline.activations_max);
    };
    return rank(a) < rank(b);
  }

  const PipelineSizes& sizes_;
  double limit_;
  ScheduleObjective objective_;
  std::optional<PipelineSchedule> best_;
};

PipelineScheduleResult make_zb_auto(const PipelineSizes& sizes, const ParamSet& params) {
  if (auto broken = check_chunks(sizes, "zb_auto", 1)) return *std::move(broken);
  const auto settings = filled<SearchSettings>(params);
  const std::uint32_t limit = settings.memory == 0 ? 2 * sizes.stages : settings.memory;
  std::optional<PipelineSchedule> best = search_zero_bubble(sizes, limit, settings.objective);
  WEFT_CHECK(best.has_value(), "one microbatch after the other has room within any limit");
  return *std::move(best);
}

}  // namespace

Duration objective_value(const PipelineTimeline& timeline, ScheduleObjective objective) {
  return objective == ScheduleObjective::device_span ? timeline.span_max : timeline.step_time;
}

std::optional<PipelineSchedule> search_zero_bubble(const PipelineSizes& sizes, double limit, ScheduleObjective objective) {
  BestSchedule best(sizes, limit, objective);
  const auto whole = static_cast<std::uint32_t>(std::min(limit, 1e9));
  for (std::uint32_t hold = sizes.stages; hold <= std::min(whole, 2 * sizes.stages - 1); ++hold) {
    best.show(handcrafted_zero_bubble(sizes, hold));
  }
  const std::uint32_t most = std::min(whole, sizes.microbatches);
  std::vector<WarmUp> warm_ups;
  for (const std::uint32_t extra : {0U, 1U, 2U, 3U}) {
    warm_ups.push_back(warm_up_by_time(sizes, extra, most));
    warm_ups.push_back(warm_up_by_place(sizes, 1, extra, most));
    warm_ups.push_back(warm_up_by_place(sizes, 2, extra, most));
  }
  std::ranges::sort(warm_ups);
  warm_ups.erase(std::unique(warm_ups.begin(), warm_ups.end()), warm_ups.end());
  for (const WarmUp& warm_up : warm_ups) {
    const PipelineOrder order = alternating_order(sizes, warm_up);
    for (const double least_gap : {1.0, 0.75, 0.5, 0.25}) {
      if (auto filled_order = fill_weight_passes(sizes, order, {limit, least_gap})) best.show(*std::move(filled_order));
    }
  }
  return best.take();
}

Module<PipelineScheduleMaker> zb_auto_module() {
  return {{"schedule", "zb_auto",
           "Zero bubble, searched for the given durations within a memory limit. ZB-1p and ZB-2p are its results for limits of "
           "one and two microbatches per stage. Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024.",
           search_params},
          {1, make_zb_auto}};
}

}  // namespace weft
