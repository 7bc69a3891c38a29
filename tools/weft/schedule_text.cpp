// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/schedule_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "core/text/readable.hpp"
#include "tools/results/trace_file.hpp"
#include "tools/weft/aligned_rows.hpp"

namespace weft {

namespace {

constexpr std::size_t timeline_columns_max = 200;

const PipelineSchedule& schedule_of(const NamedSchedule& named) { return std::get<PipelineSchedule>(named.result); }

/// "F3"; lower case in every other chunk.
std::string label_of(const PipelinePass& pass) {
  std::string label = fmt::format("{}{}", to_text(pass.kind), pass.microbatch);
  if (pass.chunk % 2 == 1) {
    for (char& letter : label) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return label;
}

/// Columns that the step takes where every pass has room for its label; 0: too many.
std::size_t timeline_columns(const PipelineTimeline& timeline) {
  double columns = 0.0;
  for (const DeviceTimeline& device : timeline.devices) {
    for (const TimedPass& timed : device.passes) {
      const Duration length = timed.end - timed.start;
      if (length <= Duration::zero()) return 0;
      const auto width = static_cast<double>(label_of(timed.pass).size() + 1);
      columns =
          std::max(columns, width * static_cast<double>(timeline.step_time.in_ticks()) / static_cast<double>(length.in_ticks()));
    }
  }
  return columns > static_cast<double>(timeline_columns_max) ? 0 : static_cast<std::size_t>(std::ceil(columns));
}

std::string drawn_timeline(const PipelineTimeline& timeline, std::size_t columns) {
  const auto column_of = [&](Time at) {
    const double share = static_cast<double>(at.since_start().in_ticks()) / static_cast<double>(timeline.step_time.in_ticks());
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(columns)));
  };
  std::string text;
  for (std::size_t device = 0; device < timeline.devices.size(); ++device) {
    std::string line(columns, '.');
    for (const TimedPass& timed : timeline.devices[device].passes) {
      const std::size_t begin = column_of(timed.start);
      const std::size_t width = column_of(timed.end) - begin;
      std::string drawn = label_of(timed.pass).substr(0, width);
      drawn.resize(width, ' ');
      line.replace(begin, width, drawn);
    }
    text += fmt::format("{:>6}  {}\n", device, line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return text;
}

std::string ratio_text(double ratio) { return fmt::format("{:.4f}", ratio); }

/// "4", "5.5", "4.75"
std::string activations_text(double microbatches) { return fmt::format("{:.10g}", microbatches); }

}  // namespace

std::string schedule_page(const NamedSchedule& named) {
  const PipelineSchedule& schedule = schedule_of(named);
  const PipelineTimeline& timeline = schedule.timeline;
  const PipelineSizes& sizes = named.sizes;
  std::string text = fmt::format("{}: {} stages, {} microbatches, {} per device\n\n", named.name, sizes.stages, sizes.microbatches,
                                 sizes.chunks == 1 ? "1 chunk" : fmt::format("{} chunks", sizes.chunks));
  if (const std::size_t columns = timeline_columns(timeline); columns > 0) {
    text += "device\n" + drawn_timeline(timeline, columns);
    text += "        F forward, B backward for input, W for weights, BW both, and the microbatch";
    text += sizes.chunks > 1 ? "; lower case: chunks 1, 3, ...; . waits\n\n" : "; . waits\n\n";
  }
  std::vector<std::array<std::string, 5>> rows = {{"device", "first start", "last end", "bubble", "activations"}};
  for (std::size_t device = 0; device < timeline.devices.size(); ++device) {
    const DeviceTimeline& line = timeline.devices[device];
    rows.push_back({fmt::to_string(device), readable(line.passes.front().start.in_s()), readable(line.passes.back().end.in_s()),
                    ratio_text(bubble_ratio(sizes, line.span())), activations_text(line.activations_max)});
  }
  text += aligned(rows);
  text +=
      fmt::format("\nstep time         {}\nbubble ratio      {}\nlongest device    {}, bubble ratio {}\nactivations       {} {}\n",
                  to_text(timeline.step_time), ratio_text(bubble_ratio(sizes, timeline.step_time)), to_text(timeline.span_max),
                  ratio_text(bubble_ratio(sizes, timeline.span_max)), activations_text(timeline.activations_max),
                  timeline.activations_max == 1.0 ? "microbatch at most" : "microbatches at most");
  for (const std::string& note : schedule.notes) text += fmt::format("note: {}\n", note);
  return text;
}

std::string schedule_table(const std::vector<NamedSchedule>& all) {
  std::vector<std::array<std::string, 7>> rows = {
      {"schedule", "chunks", "step time", "bubble", "longest device", "bubble", "activations"}};
  std::string broken_rules;
  std::string notes;
  for (const NamedSchedule& named : all) {
    if (const auto* broken = std::get_if<BrokenScheduleRule>(&named.result)) {
      broken_rules += fmt::format("  {}\n", broken->rule);
      continue;
    }
    const PipelineSchedule& schedule = schedule_of(named);
    const PipelineTimeline& timeline = schedule.timeline;
    rows.push_back({named.name, fmt::to_string(named.sizes.chunks), to_text(timeline.step_time),
                    ratio_text(bubble_ratio(named.sizes, timeline.step_time)), to_text(timeline.span_max),
                    ratio_text(bubble_ratio(named.sizes, timeline.span_max)), activations_text(timeline.activations_max)});
    for (const std::string& note : schedule.notes) notes += fmt::format("note: {}: {}\n", named.name, note);
  }
  std::string text = aligned(rows);
  if (!broken_rules.empty()) text += fmt::format("\nnot for these sizes:\n{}", broken_rules);
  return text + (notes.empty() ? "" : "\n") + notes;
}

nlohmann::ordered_json schedule_json(const NamedSchedule& named, bool has_passes) {
  nlohmann::ordered_json json = {{"name", named.name}, {"chunks", named.sizes.chunks}};
  if (const auto* broken = std::get_if<BrokenScheduleRule>(&named.result)) {
    json["broken_rule"] = broken->rule;
    return json;
  }
  const PipelineSchedule& schedule = schedule_of(named);
  const PipelineTimeline& timeline = schedule.timeline;
  json["step_time_ns"] = timeline.step_time.in_ns();
  json["bubble_ratio"] = bubble_ratio(named.sizes, timeline.step_time);
  json["device_span_ns_max"] = timeline.span_max.in_ns();
  json["device_span_bubble_ratio"] = bubble_ratio(named.sizes, timeline.span_max);
  json["activations_max"] = timeline.activations_max;
  if (!schedule.notes.empty()) json["notes"] = schedule.notes;
  if (!has_passes) return json;
  json["devices"] = nlohmann::ordered_json::array();
  for (const DeviceTimeline& line : timeline.devices) {
    nlohmann::ordered_json device = {{"start_ns", line.passes.front().start.in_ns()},
                                     {"end_ns", line.passes.back().end.in_ns()},
                                     {"activations_max", line.activations_max}};
    device["passes"] = nlohmann::ordered_json::array();
    for (const TimedPass& timed : line.passes) {
      device["passes"].push_back({{"pass", to_text(timed.pass.kind)},
                                  {"microbatch", timed.pass.microbatch},
                                  {"chunk", timed.pass.chunk},
                                  {"start_ns", timed.start.in_ns()},
                                  {"end_ns", timed.end.in_ns()}});
    }
    json["devices"].push_back(std::move(device));
  }
  return json;
}

void write_schedule_trace(const NamedSchedule& named, const std::filesystem::path& path) {
  struct Slice {
    std::uint32_t device;
    TimedPass timed;
  };
  std::vector<Slice> slices;
  const PipelineTimeline& timeline = schedule_of(named).timeline;
  for (std::uint32_t device = 0; device < timeline.devices.size(); ++device) {
    for (const TimedPass& timed : timeline.devices[device].passes) slices.push_back({device, timed});
  }
  std::ranges::stable_sort(slices, {}, [](const Slice& slice) { return slice.timed.start; });
  TraceFile trace(path, {}, "--trace");
  for (const Slice& slice : slices) {
    const PipelinePass& pass = slice.timed.pass;
    const std::string name = named.sizes.chunks == 1
                                 ? fmt::format("{} {}", to_text(pass.kind), pass.microbatch)
                                 : fmt::format("{} {} chunk {}", to_text(pass.kind), pass.microbatch, pass.chunk);
    OpRow row;
    row.job = named.name;
    row.rank = slice.device;
    row.op = name;
    row.kind = to_text(pass.kind);
    row.is_compute = true;
    row.start = slice.timed.start;
    row.end = slice.timed.end;
    trace.add_op(row);
  }
  trace.commit();
}

}  // namespace weft
