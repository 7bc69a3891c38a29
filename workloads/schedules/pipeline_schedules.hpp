// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules: in which order the devices of a pipeline do their passes, by name.
//
// Where it sits: `weft schedule` chooses one by name, `weft modules schedule` prints them. A
// schedule is one file of this folder that ends in a Module; adding one means adding its line to
// pipeline_schedules.cpp. pipeline.hpp says what they have in common, pipeline_execution.hpp when
// passes run.
//
// A schedule that does not exist for the given sizes names the rule that they break.
// Invariants of every schedule
//   1. Each pass of each microbatch and chunk stands once, on the device that holds the chunk.
//   2. execute() gets to its end.
//   3. Where the schedule has a memory limit, no device holds more.
//   4. The same input gives the same schedule; zb_optimal's solver is stopped by a clock.
// Threads: constants and pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/text/params.hpp"
#include "workloads/schedules/pipeline.hpp"
#include "workloads/schedules/pipeline_execution.hpp"

namespace weft {

struct PipelineSchedule {
  PipelineOrder order;
  PipelineTimeline timeline;
  std::vector<std::string> notes;  ///< on how it was found
};

/// Why there is no such schedule.
struct BrokenScheduleRule {
  std::string rule;  ///< "interleaved_1f1b: microbatches are a multiple of stages"
  std::string help;
};

using PipelineScheduleResult = std::variant<PipelineSchedule, BrokenScheduleRule>;

struct PipelineScheduleMaker {
  std::uint32_t chunks = 1;  ///< per device, where the user names no number
  PipelineScheduleResult (*make)(const PipelineSizes& sizes, const ParamSet& params) = nullptr;
  ChunkPlacement placement = ChunkPlacement::loop;  ///< of its orders
};

/// Every schedule, in the order in which they are printed.
std::span<const Module<PipelineScheduleMaker>> pipeline_schedules();

// --- For the files of the schedules ---

/// The schedule with its times.
PipelineSchedule executed(const PipelineSizes& sizes, PipelineOrder order);

/// The rule that stages or chunks break where a schedule needs so many.
std::optional<BrokenScheduleRule> check_chunks(const PipelineSizes& sizes, std::string_view schedule, std::uint32_t chunks);
std::optional<BrokenScheduleRule> check_stages(const PipelineSizes& sizes, std::string_view schedule, std::uint32_t stages_min);

}  // namespace weft
