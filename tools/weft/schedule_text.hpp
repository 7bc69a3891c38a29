// SPDX-License-Identifier: Apache-2.0
// What `weft schedule` prints of pipeline schedules: a timeline in characters, figures of each
// device, a table of several schedules, JSON, and trace events.
//
// Where it sits: command_schedule.cpp makes schedules, this shows them.
// Threads: pure functions, but for the trace, which writes a file.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

/// A schedule by name, or the rule that it would break.
struct NamedSchedule {
  std::string name;
  PipelineSizes sizes;
  PipelineScheduleResult result;
};

/// Timeline, where it is small enough for a terminal, figures and notes. Requires: it broke no
/// rule.
std::string schedule_page(const NamedSchedule& named);

/// A line for each, those that broke rules last.
std::string schedule_table(const std::vector<NamedSchedule>& all);

/// With every pass of every device, if asked for. Of one that broke a rule: its name and the
/// rule.
nlohmann::ordered_json schedule_json(const NamedSchedule& named, bool has_passes);

/// Chrome and Perfetto trace events: a track per device. Throws InputError [cannot-write].
void write_schedule_trace(const NamedSchedule& named, const std::filesystem::path& path);

}  // namespace weft
