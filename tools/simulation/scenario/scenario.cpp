// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/scenario.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/out_of_memory.hpp"
#include "core/text/param_rows.hpp"
#include "core/text/source_text.hpp"
#include "core/text/version.hpp"
#include "scheduler/failures/fleet.hpp"
#include "scheduler/placement/placer.hpp"
#include "tools/simulation/scenario/content_checks.hpp"
#include "tools/simulation/scenario/flag_inputs.hpp"
#include "tools/simulation/scenario/input_kind.hpp"
#include "tools/simulation/scenario/loading.hpp"
#include "tools/simulation/scenario/notes.hpp"
#include "tools/simulation/scenario/scenario_file.hpp"
#include "tools/simulation/scenario/service.hpp"
#include "tools/simulation/scenario/storage_entries.hpp"
#include "tools/simulation/scenario/topology_entries.hpp"
#include "tools/simulation/scenario/trace_jobs.hpp"
#include "tools/simulation/scenario/unused_settings.hpp"

namespace weft {

namespace {

/// What is not at its default, for the manifest.
void note_options(const WorkloadOptions& options, RunManifest& manifest) {
  if (options.ranks) manifest.set("ranks", std::uint64_t{*options.ranks});
  if (options.iteration) manifest.set("iteration", std::uint64_t{*options.iteration});
  if (!options.time_unit.empty()) manifest.set("time_unit", options.time_unit);
  std::string sizes;
  for (const GroupSize& group : options.group_sizes)
    sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ",", group.name, group.size);
  if (!sizes.empty()) manifest.set("scale_group", sizes);
  if (options.collectives_as_recorded) manifest.set("as_recorded", std::uint64_t{1});
}

void read_routes(Scenario& scenario) {
  const ParamSet& flow = scenario.parameters.of("flow");
  const std::string& file = flow.text("routes");
  if (file.empty() || flow.text("routing") != "static") return;
  scenario.routes = read_static_routes(SourceText::read(file), *scenario.topology);
}

/// Those that are used.
void add_parameter_files(Scenario& scenario, const std::set<std::string>& unused) {
  for (const ParamSet& set : scenario.parameters.all()) {
    for (const ParamSpec& spec : set.table()) {
      const std::string name = fmt::format("{}.{}", set.module(), spec.name);
      if (spec.kind != ParamKind::file || set.is_default(spec.name) || unused.contains(name)) continue;
      scenario.manifest.add_input(name, set.text(spec.name), "weft");
    }
  }
}

/// Of hosts that are slow for some of the time only.
void note_speeds_at_start(Scenario& scenario) {
  const auto changes = [](const HostSpeedEntry& entry) { return entry.from > Time::zero() || entry.until < Time::max(); };
  const auto is_timed = [](const JobSpec& job) { return job.workload == nullptr; };
  if (std::ranges::none_of(scenario.host_speeds, changes)) return;
  if (std::ranges::any_of(scenario.jobs, is_timed)) {
    scenario.assumptions.push_back(
        "host_speed: jobs in job mode keep the speed that the slowest of their hosts has when they start, each time that they do");
  }
}

void note_flows_beside_packets(Scenario& scenario) {
  const auto flows = std::ranges::count_if(scenario.jobs, &JobSpec::is_in_flow_mode);
  if (flows == 0) return;
  scenario.assumptions.push_back(
      fmt::format("{} in flow mode: flows and packets get their max-min shares of links, and know of each other after "
                  "flow.wqe_latency; queues, marks and pauses are those of packets alone",
                  counted(flows, "job is", "jobs are")));
}

void note_unfelt_checkpoints(Scenario& scenario) {
  const auto stores = [](const JobSpec& job) { return job.workload != nullptr && job.checkpoint > Bytes::zero(); };
  if (!fast_forwards(scenario) || std::ranges::none_of(scenario.jobs, stores)) return;
  scenario.assumptions.push_back(
      "fast forward: checkpoints that jobs write while they are not simulated put nothing on the network and slow nobody down");
}

/// Reads the scenario file, if there is one, and the parameters of the flags.
std::unique_ptr<ScenarioFile> read_file(Loading& loading) {
  if (loading.flags.scenario_file.empty()) {
    const FileAndFormat topology = split_format(loading.flags.topology);
    if (!topology.file.empty()) open_topology_file(loading, topology.file, topology.format);
    loading.attempt([&] { loading.scenario.parameters.apply_flags(loading.workload_settings.others()); });
    loading.scenario.parameters.fill_in_preset();
    return nullptr;
  }
  auto file = std::make_unique<ScenarioFile>(loading);
  file->read();
  return file;
}

/// Reads file and flags. Throws InputError with everything that is wrong in them.
std::unique_ptr<ScenarioFile> read_inputs(Loading& loading) {
  const RunFlags& flags = loading.flags;
  Scenario& scenario = loading.scenario;
  check_flags(flags, loading.diagnostics);
  std::unique_ptr<ScenarioFile> file = read_file(loading);
  read_flags(loading, file == nullptr || !file->has_mode());
  if (file != nullptr) file->jobs().check_names();
  if (file != nullptr) file->jobs().take_modes();
  // Without anything to run it does not matter where.
  const bool has_content = loading.attempt([&] { check_content(scenario, flags, file.get()); });
  if (loading.is_place_good && has_content) loading.attempt([&] { check_cluster(scenario, flags, file.get()); });
  if (scenario.topology != nullptr) loading.attempt([&] { read_routes(scenario); });
  loading.diagnostics.throw_if_errors();
  return file;
}

/// Reads what happens to the cluster while jobs run; returns whether there are jobs. Throws
/// InputError with everything that is wrong.
bool read_cluster_events(Loading& loading, const ScenarioFile* file) {
  Scenario& scenario = loading.scenario;
  const bool has_service = !scenario.flows && loading.attempt([&] { read_service(scenario); });
  if (has_service) loading.attempt([&] { read_storage(scenario); });
  if (file != nullptr && (scenario.flows || has_service)) loading.attempt([&] { file->read_events(); });
  if (has_service) loading.attempt([&] { check_network_failures(scenario); });
  loading.diagnostics.throw_if_errors();
  return has_service;
}

void fill_manifest(Scenario& scenario, const RunFlags& flags) {
  if (scenario.topology == nullptr) {
    scenario.manifest.set("hosts", std::uint64_t{scenario.hosts});
    scenario.manifest.set("gpus_per_host", std::uint64_t{scenario.gpus_per_host});
  }
  if (!scenario.parameters.preset().empty()) scenario.manifest.set("preset", scenario.parameters.preset());
  note_options(flags.workload_options, scenario.manifest);
  if (flags.iterations) scenario.manifest.set("iterations", *flags.iterations);
}

Scenario read_scenario(const RunFlags& flags, Probing probing) {
  Scenario scenario;
  scenario.manifest.set("weft_version", version_text());
  Loading loading{flags, scenario};
  const std::unique_ptr<ScenarioFile> file = read_inputs(loading);
  const bool has_service = read_cluster_events(loading, file.get());
  if (file != nullptr) scenario.host_speeds = file->host_speeds();
  if (file != nullptr) file->read_switches();
  if (file != nullptr) file->jobs().run_in_job_mode(probing);
  apply_rules(loading, probing);
  if (has_service) check_storage(scenario);
  if (has_service) note_unfelt_checkpoints(scenario);
  note_speeds_at_start(scenario);
  note_flows_beside_packets(scenario);
  add_parameter_files(scenario, note_unused_settings(scenario));
  loading.workload_settings.check_used(loading.diagnostics);
  loading.diagnostics.throw_if_errors();
  fill_manifest(scenario, flags);
  if (const std::string text = loading.workload_settings.text(); !text.empty()) scenario.manifest.set("workload_settings", text);
  check_data_regions(scenario);
  sort_by_submission(scenario.jobs);
  if (scenario.name.empty() && !scenario.jobs.empty()) scenario.name = scenario.jobs.front().name;
  if (scenario.name.empty() && scenario.flows) scenario.name = scenario.flows->name;
  scenario.assumptions = readable_notes(std::move(scenario.assumptions), scenario.manifest.input_paths());
  return scenario;
}

}  // namespace

std::string_view to_text(Mode mode) {
  switch (mode) {
    case Mode::job:
      return "job";
    case Mode::flow:
      return "flow";
    case Mode::packet:
      return "packet";
  }
  return "";
}

Scenario load_scenario(const RunFlags& flags, Probing probing) {
  return naming_memory_use(fmt::format("while loading {}", flags.scenario_file.empty() ? "the inputs" : flags.scenario_file),
                           [&] { return read_scenario(flags, probing); });
}

bool network_changes(const Scenario& scenario) { return !scenario.flows && scenario.failures.has_network_failures(); }

SchedulerSettings scheduler_settings(const Scenario& scenario) {
  return filled<SchedulerSettings>(scenario.parameters.of("scheduler"));
}

bool fast_forwards(const Scenario& scenario) { return scheduler_settings(scenario).fast_forward > 0; }

bool detects_congestion(const Scenario& scenario) {
  return scenario.mode == Mode::flow && !scenario.flows && scenario.parameters.of("flow").text("detect_congestion") == "on";
}

ClusterState empty_cluster(const Scenario& scenario) {
  return scenario.topology != nullptr ? ClusterState(*scenario.topology) : ClusterState(scenario.hosts, scenario.gpus_per_host);
}

ClusterState serving_cluster(const Scenario& scenario) {
  ClusterState cluster = empty_cluster(scenario);
  withdraw_last_hosts(cluster, static_cast<std::uint32_t>(scenario.failures.spares()));
  for (const HostId host : scenario.storage.hosts) cluster.withdraw(cluster.gpus(host));
  return cluster;
}

std::unique_ptr<Placer> make_placer(const Scenario& scenario) {
  return make_placer(scenario, scenario.placement, scenario.parameters.of(scenario.placement));
}

std::unique_ptr<Placer> make_placer(const Scenario& scenario, std::string_view name, const ParamSet& params) {
  const auto& module = find_module(placers(), name, SourcePlace::named("placement"));
  PlacerContext context;
  for (const JobSpec& job : scenario.jobs) context.job_sizes.push_back(std::max(job.gpus, 1U));
  context.topology = scenario.topology;
  return module.make(params, context);
}

}  // namespace weft
