// SPDX-License-Identifier: Apache-2.0
#include "workloads/measurements/gavel_throughputs.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/check.hpp"
#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

struct JobKey {
  std::string type;
  std::uint32_t gpus = 0;
};

/// "('ResNet-50 (batch size 64)', 2)".
std::optional<JobKey> parse_key(std::string_view text) {
  constexpr std::string_view key_begin = "('";
  constexpr std::string_view key_middle = "', ";
  const std::size_t middle = text.rfind(key_middle);
  if (!text.starts_with(key_begin) || !text.ends_with(')') || middle == std::string_view::npos || middle < key_begin.size())
    return {};
  const std::string_view number = text.substr(middle + key_middle.size(), text.size() - middle - key_middle.size() - 1);
  JobKey key;
  key.type = std::string(text.substr(key_begin.size(), middle - key_begin.size()));
  key.gpus = plain_number<std::uint32_t>(number).value_or(0);
  if (key.gpus == 0 || key.gpus > workload_rank_count_max) return {};
  return key;
}

/// The place of a quoted key: its first appearance after `from`.
SourcePlace place_of(const SourceText& source, const std::string& key, std::size_t from) {
  const std::size_t at = source.text().find(fmt::format("\"{}\"", key), from);
  return at == std::string_view::npos ? source.whole_file() : source.at_offset(at, static_cast<int>(key.size()) + 2);
}

}  // namespace

GavelThroughputs GavelThroughputs::read(const SourceText& source) {
  source.require_utf8_text("JSON table of throughputs");
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(source.text());
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, source.text().size() - 1);
    fail("bad-json", "this is no JSON", source.at_offset(at), "the file is damaged or cut off here");
  } catch (const nlohmann::json::out_of_range&) {
    fail("bad-json", "a number is beyond what 64 bits hold", source.whole_file(), "throughputs are steps per second");
  }
  GavelThroughputs table;
  table.file_ = source.name();
  Diagnostics diagnostics;
  const char* const shape = "the table is {GPU TYPE: {\"('JOB TYPE', GPUS)\": {\"null\": STEPS PER SECOND, ...}}}";
  if (!json.is_object() || json.empty()) {
    fail("bad-value", "the table of throughputs is no object of GPU types", source.at(1, 1), shape);
  }
  for (const auto& [gpu_type, jobs] : json.items()) {
    const std::size_t begin = source.text().find(fmt::format("\"{}\"", gpu_type));
    if (!jobs.is_object()) {
      diagnostics.error("bad-value", fmt::format("GPU type \"{}\" is no object of job types", gpu_type),
                        place_of(source, gpu_type, 0), shape);
      continue;
    }
    ByJobType& of_type = table.throughput_[gpu_type];
    for (const auto& [key_text, entry] : jobs.items()) {
      const std::optional<JobKey> key = parse_key(key_text);
      if (!key) {
        diagnostics.error("bad-value", fmt::format("\"{}\" is no job type with its number of GPUs", key_text),
                          place_of(source, key_text, begin == std::string_view::npos ? 0 : begin), "write \"('JOB TYPE', GPUS)\"");
        continue;
      }
      const auto alone = entry.is_object() ? entry.find("null") : entry.end();
      const bool found = entry.is_object() && alone != entry.end() && alone->is_number();
      const double rate = found ? alone->get<double>() : -1;
      if (!found || !std::isfinite(rate) || rate < 0) {
        diagnostics.error("bad-value", fmt::format("\"{}\" has no throughput of its own", key_text),
                          place_of(source, key_text, begin == std::string_view::npos ? 0 : begin),
                          "its entry \"null\" is a number of steps per second, 0 or more");
        continue;
      }
      of_type[key->type][key->gpus] = rate;
    }
  }
  diagnostics.throw_if_errors();
  return table;
}

std::vector<std::string> GavelThroughputs::gpu_types() const {
  std::vector<std::string> names;
  for (const auto& [name, jobs] : throughput_) names.push_back(name);
  return names;
}

void GavelThroughputs::require_gpu_type(std::string_view gpu_type, const SourcePlace& place) const {
  if (throughput_.find(gpu_type) != throughput_.end()) return;
  const std::string message = gpu_type.empty() ? fmt::format("{} lists throughputs by GPU type, and none is named", file_)
                                               : fmt::format("{} has no GPU type \"{}\"", file_, gpu_type);
  fail("unknown-gpu-type", message, place, suggestion(gpu_type, gpu_types(), "GPU type"));
}

std::vector<std::string> GavelThroughputs::job_types(std::string_view gpu_type) const {
  std::vector<std::string> names;
  const auto jobs = throughput_.find(gpu_type);
  if (jobs == throughput_.end()) return names;
  for (const auto& [name, by_gpus] : jobs->second) names.push_back(name);
  return names;
}

std::set<std::uint32_t> GavelThroughputs::gpu_counts(std::string_view gpu_type, std::string_view job_type) const {
  std::set<std::uint32_t> counts;
  const auto jobs = throughput_.find(gpu_type);
  if (jobs == throughput_.end()) return counts;
  const auto job = jobs->second.find(job_type);
  if (job == jobs->second.end()) return counts;
  for (const auto& [gpus, rate] : job->second) counts.insert(gpus);
  return counts;
}

std::optional<double> GavelThroughputs::steps_per_s(std::string_view gpu_type, std::string_view job_type,
                                                    std::uint32_t gpus) const {
  const auto jobs = throughput_.find(gpu_type);
  if (jobs == throughput_.end()) return std::nullopt;
  const auto job = jobs->second.find(job_type);
  if (job == jobs->second.end()) return std::nullopt;
  const auto rate = job->second.find(gpus);
  return rate == job->second.end() ? std::nullopt : std::optional<double>(rate->second);
}

std::optional<double> GavelThroughputs::steps_per_s_spread(std::string_view gpu_type, std::string_view job_type,
                                                           std::uint32_t gpus) const {
  return steps_per_s(fmt::format("{}_unconsolidated", gpu_type), job_type, gpus);
}

std::optional<PlacementTimes> GavelThroughputs::placement_times(std::string_view gpu_type, std::string_view job_type,
                                                                std::uint32_t gpus) const {
  const std::optional<double> together = steps_per_s(gpu_type, job_type, gpus);
  WEFT_CHECK(together.has_value(), "step times are asked for what was measured on one host");
  const std::optional<double> spread = gpus > 1 ? steps_per_s_spread(gpu_type, job_type, gpus) : std::nullopt;
  const double rate_min = 1 / op_duration_max.in_s();
  if (*together < rate_min || spread.value_or(rate_min) < rate_min) return std::nullopt;
  PlacementTimes times;
  times.add(std::span(&gpus, 1), Duration::from_seconds(1 / *together));
  if (spread) times.add_spread(gpus, Duration::from_seconds(1 / *spread));
  return times;
}

std::string GavelThroughputs::to_text() const {
  std::string text;
  for (const auto& [gpu_type, jobs] : throughput_) {
    std::size_t entries = 0;
    std::size_t not_running = 0;
    for (const auto& [name, by_gpus] : jobs) {
      entries += by_gpus.size();
      not_running +=
          static_cast<std::size_t>(std::count_if(by_gpus.begin(), by_gpus.end(), [](const auto& e) { return e.second == 0; }));
    }
    text += fmt::format("{}: {}, {}", gpu_type, counted(jobs.size(), "job type", "job types"),
                        counted(entries, "throughput", "throughputs"));
    if (not_running > 0) text += fmt::format(", of which {} 0 (does not run)", counted(not_running, "is", "are"));
    text += "\n";
  }
  return text;
}

}  // namespace weft
