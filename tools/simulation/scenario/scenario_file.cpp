// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/scenario_file.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include <fmt/format.h>

#include "core/text/textproto_settings.hpp"
#include "scheduler/handlers/event_handler.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"
#include "tools/simulation/scenario/entry_fields.hpp"
#include "tools/simulation/scenario/event_entries.hpp"
#include "tools/simulation/scenario/host_speed_entries.hpp"
#include "tools/simulation/scenario/input_kind.hpp"
#include "tools/simulation/scenario/switch_entries.hpp"
#include "tools/simulation/scenario/topology_entries.hpp"
#include "tools/simulation/scenario/trace_entries.hpp"

namespace weft {

namespace {

SourceText read_scenario_text(const std::string& path) {
  SourceText source = SourceText::read(path);
  check_is_scenario(source);
  return source;
}

}  // namespace

ScenarioFile::ScenarioFile(Loading& loading)
    : loading_(loading),
      scenario_(loading.scenario),
      source_(read_scenario_text(loading.flags.scenario_file)),
      document_(source_, message_, loading.diagnostics),
      jobs_(loading) {
  loading.diagnostics.throw_if_errors();
}

void ScenarioFile::read() {
  const FieldPlaces places = document_.places();
  const std::string& path = loading_.flags.scenario_file;
  scenario_.manifest.add_input("scenario", path, "weft");
  scenario_.name = message_.name().empty() ? std::filesystem::path(path).stem().string() : message_.name();
  if (message_.has_seed()) scenario_.seed = message_.seed();
  // Parameters first: whoever reads one later finds what the flags made of it.
  const Module<TopologyFactory>* builder = nullptr;
  loading_.is_place_good = loading_.attempt([&] { builder = choose_builder(loading_, message_, places); });
  for (int i = 0; i < message_.handler_size(); ++i) {
    loading_.attempt(
        [&] { read_handler(message_.handler(i), places.of(message_, "handler", i), places.inside(message_, "handler", i)); });
  }
  read_parameters(places);
  // With --topology what stands here is not used.
  const bool has_place = loading_.flags.topology.empty();
  if (has_place)
    loading_.is_place_good = loading_.is_place_good && loading_.attempt([&] { read_place(loading_, message_, builder, places); });
  if (message_.has_scheduler()) read_scheduler(places.inside(message_, "scheduler"));
  jobs_.read(message_, places);
  for (int i = 0; i < message_.jobs_size(); ++i) {
    loading_.attempt(
        [&] { read_trace_entry(loading_, message_.jobs(i), places.of(message_, "jobs", i), places.inside(message_, "jobs", i)); });
  }
  const bool is_of_workloads = (scenario_.topology != nullptr || !has_place) && has_workloads();
  scenario_.mode = has_mode() ? mode_of(message_.mode()) : is_of_workloads ? Mode::flow : Mode::job;
}

void ScenarioFile::read_parameters(const FieldPlaces& places) {
  for_each_setting(
      message_, places, loading_.diagnostics, [&](const std::string& name, const std::string& value, const SourcePlace& place) {
        scenario_.parameters.apply(name, scenario_.parameters.is_file(name) ? loading_.beside_scenario(value) : value, place);
      });
  loading_.attempt([&] { scenario_.parameters.apply_flags(loading_.workload_settings.others()); });
  scenario_.parameters.fill_in_preset();
}

void ScenarioFile::read_handler(const scenario::Handler& said, const SourcePlace& place, const FieldPlaces& inside) {
  require(!said.name().empty(), "missing-field", "a handler needs a name", place,
          "for example name: \"drain_repeat_offenders\"; `weft modules handler` lists them");
  const auto& module = find_module(event_handlers(), said.name(), inside.of(said, "name"));
  const auto known = std::find(scenario_.handlers.begin(), scenario_.handlers.end(), said.name());
  require(known == scenario_.handlers.end(), "duplicate-handler", fmt::format("there are two handlers {}", in_quotes(said.name())),
          inside.of(said, "name"), "keep one of the two");
  scenario_.handlers.push_back(said.name());
  scenario_.parameters.add(params_of(module.info, said, inside));
}

void ScenarioFile::read_scheduler(const FieldPlaces& inside) {
  const scenario::Scheduler& scheduler = message_.scheduler();
  if (!scheduler.policy().empty()) {
    loading_.attempt([&] {
      scenario_.policy = find_module(scheduling_policies(), scheduler.policy(), inside.of(scheduler, "policy")).info.name;
    });
  }
  if (!scheduler.placement().empty()) {
    loading_.attempt(
        [&] { scenario_.placement = find_module(placers(), scheduler.placement(), inside.of(scheduler, "placement")).info.name; });
  }
}

bool ScenarioFile::has_workloads() const {
  const auto has_one = [](const auto& message) { return message.has_workload(); };
  return std::any_of(message_.job().begin(), message_.job().end(), has_one) ||
         std::any_of(
             message_.jobs().begin(), message_.jobs().end(),
             [&](const scenario::JobTrace& trace) { return std::any_of(trace.rule().begin(), trace.rule().end(), has_one); }) ||
         std::any_of(message_.event().begin(), message_.event().end(),
                     [](const scenario::Event& event) { return event.submit().job().has_workload(); });
}

bool ScenarioFile::has_jobs() const {
  return message_.job_size() > 0 || message_.jobs_size() > 0 ||
         std::any_of(message_.event().begin(), message_.event().end(), [](const auto& event) { return event.has_submit(); });
}

std::vector<HostSpeedEntry> ScenarioFile::host_speeds() const {
  if (message_.host_speed_size() == 0) return {};
  if (scenario_.flows) {
    fail("unused-field", "host_speed is of what hosts compute, and a flow list is nothing but transfers", place_of("host_speed"),
         "drop it, or --flows");
  }
  return read_host_speeds(message_, document_.places(), empty_cluster(scenario_).host_count());
}

void ScenarioFile::read_switches() {
  if (message_.switches_size() == 0) return;
  scenario_.manifest.set("switches", text_of_switch_entries(message_, document_.places()));
  if (scenario_.topology != nullptr)
    scenario_.switch_profiles = read_switch_entries(message_, document_.places(), *scenario_.topology);
  if (scenario_.mode == Mode::packet) return;
  scenario_.assumptions.push_back("switches is set and changes nothing: this run in " + std::string(to_text(scenario_.mode)) +
                                  " mode does not use packet");
}

void ScenarioFile::read_events() const {
  if (message_.event_size() + message_.handler_size() == 0) return;
  if (scenario_.flows) {
    fail("unused-field", "events and handlers say something about jobs, and a flow list has none",
         place_of(message_.event_size() > 0 ? "event" : "handler"), "drop them, or --flows");
  }
  std::vector<std::string> names;
  for (const JobSpec& job : scenario_.jobs) names.push_back(job.name);
  for (const TraceUnderRules& one : loading_.traces) {
    for (const TraceJob& job : one.trace.jobs) names.push_back(job.name);
  }
  const std::vector<std::string> submitted(names.begin() + message_.job_size(),
                                           names.begin() + static_cast<std::ptrdiff_t>(jobs_.size()));
  weft::read_events(message_, document_.places(), names, submitted, scenario_);
}

}  // namespace weft
