// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/run_again.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/diagnostics.hpp"
#include "tools/results/results_folder.hpp"
#include "tools/simulation/run.hpp"

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

/// What flags other than these would be needed for.
constexpr std::array<const char*, 8> options_of_inputs = {"ranks",       "iteration", "time_unit", "scale_group",
                                                          "as_recorded", "gpu_type",  "time_zone", "jobs_rows_left_out"};

void check_inputs(const Json& manifest) {
  for (const Json& input : manifest.at("inputs")) {
    const std::string path = input.at("path").get<std::string>();
    if (std::filesystem::exists(path)) continue;
    fail("input-missing", fmt::format("the run's {} is not there any more", input.at("role").get<std::string>()),
         SourcePlace::named(path), "paths are those of the run: start from the folder that it was started from");
  }
}

RunFlags flags_of(const Json& manifest) {
  RunFlags flags;
  bool has_scenario = false;
  for (const Json& input : manifest.at("inputs")) has_scenario = has_scenario || input.at("role") == "scenario";
  for (const Json& input : manifest.at("inputs")) {
    const std::string role = input.at("role").get<std::string>();
    const std::string path = input.at("path").get<std::string>();
    const std::string with_format = path + ":" + input.at("format").get<std::string>();
    if (role == "scenario") flags.scenario_file = path;
    if (has_scenario) continue;
    if (role == "topology") flags.topology = with_format;
    if (role == "workload" && flags.workload.empty()) flags.workload = with_format;
    if (role == "flows") flags.flows = with_format;
    if (role == "jobs") flags.jobs = with_format;
  }
  flags.mode = fact(manifest, "mode");
  flags.seed = manifest.at("seed").get<std::uint64_t>();
  flags.scheduler = fact(manifest, "policy");
  flags.placement = fact(manifest, "placement");
  if (const auto iterations = manifest.find("iterations"); iterations != manifest.end())
    flags.iterations = iterations->get<std::uint64_t>();
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
  for (const auto& [module, parameters] : before.at("parameters").items()) {
    for (const auto& [name, parameter] : parameters.items()) {
      const Json& value = parameter.at("value");
      const auto modules = now.at("parameters").find(module);
      const bool is_same =
          modules != now.at("parameters").end() && modules->contains(name) && modules->at(name).at("value") == value;
      if (is_same) continue;
      fail("cannot-repeat", fmt::format("{}.{} was {} in the run, and would be another", module, name, value.dump()),
           SourcePlace::named(place), "give the scenario file instead, with the flags of the run");
    }
  }
}

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
    for (const char* option : options_of_inputs) {
      if (!manifest.contains(option)) continue;
      fail("cannot-repeat",
           fmt::format("the run took its inputs with an option ({}) that its manifest has only the outcome of", option),
           SourcePlace::named(path.string()), "give a scenario file that says the same");
    }
    check_inputs(manifest);
    RunFlags flags = flags_of(manifest);
    compare(manifest, Json::parse(manifest_of(load_scenario(flags), {}).to_json()), path.string());
    return flags;
  } catch (const nlohmann::json::exception&) {
    refuse_manifest(path);
  }
}

}  // namespace weft
