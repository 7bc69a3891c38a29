// SPDX-License-Identifier: Apache-2.0
// Pipeline execution: when every pass of a schedule runs, how long the step takes, and how many
// activations each device holds.
//
// Where it sits: every schedule of this folder is judged by it; `weft schedule` prints what it
// finds.
//
// Model
//   start(pass) = max(end of the pass before it on its device, ready(pass))
//   ready(F at position s) = end(F at s - 1) + T
//   ready(B at position s) = max(end(B or BW at s + 1) + T, end(F at s))
//   ready(W at s)          = end(B at s)
//   for one microbatch, where T = 0 between two chunks of one device. A device does one pass at a
//   time; transfers run beside passes and beside each other.
//   step time    last end of all devices, from the first start at 0
//   device span  last end - first start of one device; steps that follow each other without a
//                barrier take the longest span each
//   activations  of all microbatches that a device holds: each chunk's count from the start of F,
//                by weight_memory from the end of B, and no more from the end of W or BW. The unit
//                is one microbatch in all chunks of a device.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, sections 3 and 5.1 (cost).
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/values/units.hpp"
#include "workloads/schedules/pipeline.hpp"

namespace weft {

struct TimedPass {
  PipelinePass pass;
  Time start;
  Time end;
};

struct DeviceTimeline {
  std::vector<TimedPass> passes;  ///< in order
  double activations_max = 0.0;

  Duration span() const { return passes.empty() ? Duration::zero() : passes.back().end - passes.front().start; }
};

struct PipelineTimeline {
  std::vector<DeviceTimeline> devices;
  Duration step_time;
  Duration span_max;             ///< of a device
  double activations_max = 0.0;  ///< of a device
};

/// Requires: every pass stands once on the device that holds its chunk. Passes that wait for each
/// other in a circle are a bug of the schedule (WEFT_CHECK).
PipelineTimeline execute(const PipelineSizes& sizes, const PipelineOrder& order);

/// What a device does while what it sends is under way.
enum class DuringTransfer : std::uint8_t {
  next_pass,  ///< as above
  wait        ///< the next pass begins at the end of the transfer
};

/// Where positions have passes and transfers of their own, by position; times of `sizes` count for
/// nothing. Requires: as above, and stages x chunks positions.
PipelineTimeline execute(const PipelineSizes& sizes, const PipelineOrder& order, std::span<const PositionTimes> positions,
                         DuringTransfer during = DuringTransfer::next_pass);

/// The share of `elapsed` in which a device does nothing: 1 - m (F + B + W) / elapsed.
double bubble_ratio(const PipelineSizes& sizes, Duration elapsed);

}  // namespace weft
