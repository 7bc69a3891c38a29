// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/run_again.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "tools/results/results_folder.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/workload_settings.hpp"

namespace weft {

namespace {

using Json = nlohmann::json;

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

[[noreturn]] void refuse_manifest(const std::filesystem::path& path) {
  fail("bad-manifest", "this is no manifest of a run", SourcePlace::named(path.string()), "run the scenario again");
}

std::string fact(const Json& manifest, const std::string& key) {
  const auto found = manifest.find(key);
  return found != manifest.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::uint64_t> number(const Json& manifest, const char* key) {
  const auto found = manifest.find(key);
  return found != manifest.end() && found->is_number_unsigned() ? std::optional(found->get<std::uint64_t>()) : std::nullopt;
}

std::optional<std::uint32_t> small_number(const Json& manifest, const char* key) {
  const std::optional<std::uint64_t> found = number(manifest, key);
  return found && *found <= UINT32_MAX ? std::optional(static_cast<std::uint32_t>(*found)) : std::nullopt;
}

void check_inputs(const Json& manifest) {
  for (const Json& input : manifest.at("inputs")) {
    const std::string path = input.at("path").get<std::string>();
    if (std::filesystem::exists(path)) continue;
    fail("input-missing", fmt::format("the run's {} is not there any more", input.at("role").get<std::string>()),
         SourcePlace::named(path), "paths are those of the run: start from the folder that it was started from");
  }
}

/// "llm.dp=4, plan.zero_stage=1" one by one; a value may have commas of its own.
std::vector<std::string> settings_in(const std::string& text) {
  constexpr std::string_view separator = ", ";
  std::vector<std::string> settings;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find(separator, begin);
    while (end != std::string::npos) {
      const std::string next = text.substr(end + separator.size());
      if (WorkloadSettings::is_of_workload(next.substr(0, next.find('=')))) break;
      end = text.find(separator, end + 1);
    }
    settings.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) break;
    begin = end + separator.size();
  }
  return settings;
}

/// What a scenario file would say of inputs.
void take_input_options(const Json& manifest, RunFlags& flags) {
  for (const Json& input : manifest.at("inputs")) {
    const std::string role = input.at("role").get<std::string>();
    const std::string path = input.at("path").get<std::string>();
    const std::string with_format = path + ":" + input.at("format").get<std::string>();
    if (role == "topology") flags.topology = with_format;
    if (role == "workload" && flags.workload.empty()) flags.workload = with_format;
    if (role == "flows") flags.flows = with_format;
    if (role == "jobs") flags.jobs = with_format;
    if (role == "throughputs") flags.jobs_options.throughputs_path = path;
    if (role == "process groups") flags.workload_options.process_groups_path = path;
  }
  if (flags.topology.empty()) {
    flags.hosts = small_number(manifest, "hosts");
    flags.gpus_per_host = small_number(manifest, "gpus_per_host");
  }
  flags.iterations = number(manifest, "iterations");
  flags.workload_options.ranks = small_number(manifest, "ranks");
  flags.workload_options.iteration = small_number(manifest, "iteration");
  flags.workload_options.time_unit = fact(manifest, "time_unit");
  flags.workload_options.collectives_as_recorded = manifest.contains("as_recorded");
  flags.jobs_options.gpu_type = fact(manifest, "gpu_type");
  flags.jobs_options.limit_share = fact(manifest, "limit_share");
  flags.jobs_options.time_zone = fact(manifest, "time_zone");
  flags.skip_larger_jobs = number(manifest, "jobs_larger_than_cluster_left_out").value_or(0) > 0;
}

/// Without policies, which a scenario may have by itself.
RunFlags flags_of(const Json& manifest) {
  RunFlags flags;
  bool has_scenario = false;
  for (const Json& input : manifest.at("inputs")) has_scenario = has_scenario || input.at("role") == "scenario";
  for (const Json& input : manifest.at("inputs")) {
    if (input.at("role") == "scenario") flags.scenario_file = input.at("path").get<std::string>();
  }
  if (!has_scenario) take_input_options(manifest, flags);
  flags.mode = fact(manifest, "mode");
  flags.seed = manifest.at("seed").get<std::uint64_t>();
  flags.settings = settings_in(fact(manifest, "workload_settings"));
  for (const auto& [module, parameters] : manifest.at("parameters").items()) {
    for (const auto& [name, parameter] : parameters.items()) {
      const std::string value = parameter.at("value").get<std::string>();
      if (value != parameter.at("default").get<std::string>()) flags.settings.push_back(module + "." + name + "=" + value);
    }
  }
  return flags;
}

void compare(const Json& before, const Json& now, const std::string& place) {
  std::map<std::string, std::string> hashes;
  for (const Json& input : now.at("inputs")) hashes[input.at("path").get<std::string>()] = input.at("sha256").get<std::string>();
  for (const Json& input : before.at("inputs")) {
    const auto found = hashes.find(input.at("path").get<std::string>());
    if (found == hashes.end()) {
      fail("cannot-repeat",
           fmt::format("the run read {}, which its manifest alone does not lead to", input.at("path").get<std::string>()),
           SourcePlace::named(place), "give the scenario file instead, with the flags of the run");
    }
    if (found->second == input.at("sha256").get<std::string>()) continue;
    fail("input-changed", fmt::format("the run's {} has changed since", input.at("role").get<std::string>()),
         SourcePlace::named(found->first), "run it again, and give that; or give the file back its content");
  }
  // What changes no result, or is looked at by itself.
  static const std::set<std::string> skipped = {"weft_version", "name",   "threads",    "zeta",
                                                "assumptions",  "inputs", "parameters", "results"};
  for (const auto& [key, value] : before.items()) {
    if (skipped.contains(key)) continue;
    const auto found = now.find(key);
    if (found != now.end() && *found == value) continue;
    fail("cannot-repeat",
         fmt::format("{} was {} in the run, and would be {}", key, printed_json(value, -1),
                     found == now.end() ? "nothing" : printed_json(*found, -1)),
         SourcePlace::named(place), "give the scenario file instead, with the flags of the run");
  }
  for (const auto& [module, parameters] : before.at("parameters").items()) {
    for (const auto& [name, parameter] : parameters.items()) {
      const Json& value = parameter.at("value");
      const auto modules = now.at("parameters").find(module);
      const bool is_same =
          modules != now.at("parameters").end() && modules->contains(name) && modules->at(name).at("value") == value;
      if (is_same) continue;
      fail("cannot-repeat", fmt::format("{}.{} was {} in the run, and would be another", module, name, printed_json(value, -1)),
           SourcePlace::named(place), "give the scenario file instead, with the flags of the run");
    }
  }
}

Json manifest_now(const RunFlags& flags) { return Json::parse(manifest_of(load_scenario(flags), {}).to_json()); }

}  // namespace

bool is_results_folder(const std::string& path) { return std::filesystem::is_directory(path); }

RunFlags flags_of_results(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / manifest_file;
  if (!std::filesystem::exists(path)) {
    const bool is_unfinished = std::filesystem::exists(folder / (std::string(manifest_file) + ".partial"));
    fail(is_unfinished ? "unfinished-run" : "not-results",
         is_unfinished ? "the run has not finished, or was killed" : "the folder holds no results of a run",
         SourcePlace::named(folder.string()),
         is_unfinished ? "wait for its end, or run it again" : "give the folder that weft run wrote (--out), or a scenario file");
  }
  const Json manifest = Json::parse(text_of_file(path), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("inputs") || !manifest.contains("parameters") || !manifest.contains("seed"))
    refuse_manifest(path);
  const Json summary = Json::parse(text_of_file(folder / "summary.json"), nullptr, false);
  if (summary.is_object() &&
      (summary.value("interrupted", false) || summary.contains("stopped_at_s") || summary.contains("standstill"))) {
    fail("unfinished-run", "the run was cut off before its end, and only a whole one can be repeated",
         SourcePlace::named(folder.string()), "run it to its end");
  }
  try {
    check_inputs(manifest);
    RunFlags flags = flags_of(manifest);
    Json now = manifest_now(flags);
    for (const auto& [key, flag] : {std::pair("policy", &flags.scheduler), std::pair("placement", &flags.placement)}) {
      if (fact(manifest, key) != fact(now, key)) *flag = fact(manifest, key);
    }
    if (!flags.scheduler.empty() || !flags.placement.empty()) now = manifest_now(flags);
    compare(manifest, now, path.string());
    return flags;
  } catch (const nlohmann::json::exception&) {
    refuse_manifest(path);
  }
}

}  // namespace weft
