// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/pipeline_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/check.hpp"
#include "workloads/schedules/pass_times.hpp"

namespace weft {

namespace {

double most_activations(const PipelineSizes& sizes, const std::vector<TimedPass>& passes) {
  HeldActivations held;
  double most = 0.0;
  for (const TimedPass& timed : passes) {
    held.add(timed.pass.kind);
    most = std::max(most, held.in_microbatches(sizes));
  }
  return most;
}

}  // namespace

PipelineTimeline execute(const PipelineSizes& sizes, const PipelineOrder& order) {
  std::vector<PositionTimes> positions(static_cast<std::size_t>(sizes.stages) * sizes.chunks);
  for (std::uint32_t i = 0; i < positions.size(); ++i) {
    const std::uint32_t chunk = place_of(sizes, order.placement, i).chunk;
    positions[i].forward = pass_duration(sizes, PassKind::forward, chunk);
    positions[i].backward_input = pass_duration(sizes, PassKind::backward_input, chunk);
    positions[i].backward_weight = pass_duration(sizes, PassKind::backward_weight, chunk);
    positions[i].backward = pass_duration(sizes, PassKind::backward, chunk);
    positions[i].forward_transfer = sizes.transfer;
    positions[i].backward_transfer = sizes.transfer;
  }
  return execute(sizes, order, positions);
}

PipelineTimeline execute(const PipelineSizes& sizes, const PipelineOrder& order, std::span<const PositionTimes> positions,
                         DuringTransfer during) {
  PassTimes times(sizes, order.placement, positions);
  PipelineTimeline timeline;
  timeline.devices.resize(order.devices.size());
  std::vector<Time> free_at(order.devices.size());
  bool is_moving = true;
  while (is_moving) {
    is_moving = false;
    for (std::uint32_t device = 0; device < order.devices.size(); ++device) {
      std::vector<TimedPass>& done = timeline.devices[device].passes;
      while (done.size() < order.devices[device].size()) {
        const PipelinePass& pass = order.devices[device][done.size()];
        const std::optional<Time> ready = times.ready(device, pass);
        if (!ready) break;
        const Time start = std::max(free_at[device], *ready);
        const Time end = start + positions[position_of(sizes, order.placement, device, pass.chunk)].of(pass.kind);
        times.set_end(device, pass, end);
        done.push_back({pass, start, end});
        free_at[device] = during == DuringTransfer::wait ? end + times.transfer_after(device, pass) : end;
        is_moving = true;
      }
    }
  }
  for (std::uint32_t device = 0; device < order.devices.size(); ++device) {
    DeviceTimeline& line = timeline.devices[device];
    if (line.passes.size() < order.devices[device].size()) {
      const PipelinePass& next = order.devices[device][line.passes.size()];
      WEFT_CHECK(false, fmt::format("a pipeline schedule's passes wait for each other: device {} never gets to {} of microbatch "
                                    "{} in chunk {}, its pass {} of {}",
                                    device, to_text(next.kind), next.microbatch, next.chunk, line.passes.size(),
                                    order.devices[device].size()));
    }
    line.activations_max = most_activations(sizes, line.passes);
    if (!line.passes.empty()) timeline.step_time = std::max(timeline.step_time, line.passes.back().end.since_start());
    timeline.span_max = std::max(timeline.span_max, line.span());
    timeline.activations_max = std::max(timeline.activations_max, line.activations_max);
  }
  return timeline;
}

double bubble_ratio(const PipelineSizes& sizes, Duration elapsed) {
  if (elapsed <= Duration::zero()) return 0.0;
  return static_cast<double>((elapsed - device_work(sizes)).in_ticks()) / static_cast<double>(elapsed.in_ticks());
}

}  // namespace weft
