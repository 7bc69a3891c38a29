// SPDX-License-Identifier: Apache-2.0
// Scenario: everything a run needs, read and checked before it starts.
//
// Where it sits: made from SCENARIO.textproto (scenario.proto) or from the flags of `weft run`; the
// simulation runs it. All files it names are read here, so every mistake in any input is reported
// before simulated time begins. Mistakes of a scenario, of the files it names and of the flags are
// reported together; only once there are none, rules are applied and what fits together is checked.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/manifest.hpp"
#include "host/ranks/host_speed.hpp"
#include "host/transport/switch_profiles.hpp"
#include "network/routing/static_routes.hpp"
#include "scheduler/failures/failure_plan.hpp"
#include "scheduler/failures/maintenance_plan.hpp"
#include "scheduler/handlers/scripted_events.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/scheduler_settings.hpp"
#include "scheduler/lifecycle/storage.hpp"
#include "tools/simulation/scenario/parameters.hpp"
#include "tools/simulation/scenario/run_flags.hpp"
#include "topologies/topology.hpp"
#include "workloads/formats/flow_list.hpp"
#include "workloads/formats/workload_reader.hpp"

namespace weft {

enum class Mode : std::uint8_t { job, flow, packet };
std::string_view to_text(Mode mode);
/// Whether jobs run their workloads, over a network.
constexpr bool simulates_network(Mode mode) { return mode != Mode::job; }
/// Whether a job may be in that mode in a run in the other.
constexpr bool may_be_in(Mode of_job, Mode of_run) {
  return of_job == Mode::job || of_job == of_run || (of_job == Mode::flow && of_run == Mode::packet);
}
inline constexpr const char* other_mode_hint =
    "jobs may be in job mode in any run, and in flow mode in one in packet mode: drop it, or take another --mode";

/// Where a workload came from, for reading more of it.
struct WorkloadFile {
  std::string path;
  std::string format;
  WorkloadOptions options;
  std::shared_ptr<const Workload> workload;
};

/// A parameter that an event sets.
struct ParameterChange {
  std::string name;  ///< "module.param", "scheduler.policy" or "scheduler.placement"
  std::string value;
  SourcePlace place;  ///< of the name
  SourcePlace value_place;
};

struct Scenario {
  std::string name;
  Mode mode = Mode::flow;
  std::uint64_t seed = 1;
  std::shared_ptr<const Topology> topology;  ///< null: only a number of GPUs (job mode)
  std::uint32_t hosts = 0;                   ///< without a topology
  std::uint32_t gpus_per_host = 0;
  /// that flow.routes names; null: none, or routing is another
  std::shared_ptr<const StaticRoutes> routes;
  std::vector<JobSpec> jobs;                               ///< sorted by submission
  std::vector<std::shared_ptr<const Workload>> workloads;  ///< distinct ones
  /// those of `workloads` that were read from files
  std::vector<WorkloadFile> workload_files;
  std::optional<FlowList> flows;  ///< replayed without jobs
  std::vector<HostSpeedEntry> host_speeds;
  /// of entries of the file, before those of packet.profiles
  std::vector<SwitchProfile> switch_profiles;
  FailureSettings failures;
  MaintenanceSettings maintenance;
  StorageSettings storage;
  /// in order of time; drains, failures and jobs among them are in the lists above, too
  std::vector<ScriptedEvent> events;
  std::vector<std::string> handlers;     ///< their parameters are among `parameters`
  std::vector<ParameterChange> changes;  ///< of the events that set something, in order
  std::string policy = "fcfs";
  std::string placement = "first_fit";
  Parameters parameters;
  std::vector<std::string> assumptions;  ///< what the inputs did not say
  RunManifest manifest;
};

/// Do links carry less for a while, so that what the topology says of routes and speeds does not
/// hold throughout?
bool network_changes(const Scenario& scenario);
SchedulerSettings scheduler_settings(const Scenario& scenario);
/// Whether iterations may be left out (scheduler/fast_forward).
bool fast_forwards(const Scenario& scenario);
/// Whether a run of the scenario looks for congestion.
bool detects_congestion(const Scenario& scenario);

/// May loading run a workload to find out how long its iterations take (iteration_probe)?
enum class Probing : std::uint8_t { allowed, forbidden };

/// Reads everything. Throws InputError. Where probing is forbidden, jobs whose number of iterations
/// would follow from it have one.
Scenario load_scenario(const RunFlags& flags, Probing probing = Probing::allowed);

/// The cluster of the scenario's topology or hosts, spares among them, before anything runs.
/// Requires: there is one.
ClusterState empty_cluster(const Scenario& scenario);
/// The same with the spares out of service.
ClusterState serving_cluster(const Scenario& scenario);
/// The placer that the scenario names, with its parameters.
std::unique_ptr<Placer> make_placer(const Scenario& scenario);
/// Another, for the same jobs.
std::unique_ptr<Placer> make_placer(const Scenario& scenario, std::string_view name, const ParamSet& params);

}  // namespace weft
