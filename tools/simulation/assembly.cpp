// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/assembly.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/text/param_rows.hpp"
#include "host/ranks/host_entity.hpp"
#include "host/ranks/host_settings.hpp"
#include "host/ranks/message_tag.hpp"
#include "host/transport/congestion_control.hpp"
#include "network/flow/flow_fabric.hpp"
#include "network/max_min/allocation_policy.hpp"
#include "scheduler/handlers/event_handler.hpp"
#include "scheduler/lifecycle/progress_model.hpp"
#include "scheduler/policies/policy.hpp"
#include "tools/simulation/run_recording.hpp"
#include "tools/simulation/scenario/parameter_changes.hpp"

namespace weft {

namespace {

/// The solver takes no more threads than the run was given, unless told otherwise.
std::unique_ptr<AllocationPolicy> make_allocation_policy(const Scenario& scenario, std::uint32_t threads,
                                                         std::vector<double> capacities_bps) {
  const std::string& name = scenario.parameters.of("flow").text("allocation");
  const auto& module = find_module(allocation_policies(), name, SourcePlace::named("flow.allocation"));
  ParamSet params = scenario.parameters.of(name);
  if (name == "max_min" && params.is_default("threads")) params.set("threads", fmt::to_string(threads), {});
  return module.make(std::move(capacities_bps), params);
}

std::unique_ptr<SchedulingPolicy> make_policy(const Scenario& scenario) {
  const auto& module = find_module(scheduling_policies(), scenario.policy, SourcePlace::named("scheduler"));
  return module.make(scenario.parameters.of(scenario.policy));
}

/// One more than the highest priority that any transfer of the run may have.
std::uint32_t priorities_in_use(const Scenario& scenario) {
  std::uint32_t highest = 0;
  if (scenario.flows) {
    for (const ListedFlow& flow : scenario.flows->flows) highest = std::max<std::uint32_t>(highest, flow.priority);
  }
  for (const std::shared_ptr<const Workload>& workload : scenario.workloads) {
    for (const RoleDag& role : workload->roles) {
      for (std::uint32_t op = 0; op < role.size(); ++op) highest = std::max<std::uint32_t>(highest, role.op(OpId(op)).priority);
    }
  }
  return highest + 1;
}

PacketSettings packet_settings(const Scenario& scenario) {
  const Parameters& parameters = scenario.parameters;
  const ParamSet& packet = parameters.of("packet");
  const std::string& name = packet.text("congestion_control");
  const auto& module = find_module(congestion_algorithms(), name, SourcePlace::named("packet.congestion_control"));
  PacketSettings settings(packet, module.make(parameters.of(name)));
  // What parameters say of a switch stands.
  settings.profiles.insert(settings.profiles.begin(), scenario.switch_profiles.begin(), scenario.switch_profiles.end());
  return settings;
}

HostSpeeds host_speeds(const Scenario& scenario) {
  const auto host = filled<HostSettings>(scenario.parameters.of("host"));
  const HostSpeeds::Draws draws{host.straggler_share, host.straggler_speed, host.speed_spread, scenario.seed};
  return {empty_cluster(scenario).host_count(), scenario.host_speeds, draws};
}

std::optional<FlowSettings> flow_settings_of(const Scenario& scenario) {
  if (!simulates_network(scenario.mode)) return std::nullopt;
  FlowSettings settings(scenario.parameters.of("flow"), scenario.seed);
  settings.path_rule.routes = scenario.routes;
  settings.wide_area = WideAreaSettings(scenario.parameters.of("wan"), scenario.seed);
  return settings;
}

}  // namespace

CollectiveLibrary collective_library(const Scenario& scenario) {
  return {scenario.parameters.of("collective"), scenario.parameters.all()};
}

Assembly::Assembly(const Scenario& of, const RunOptions& how, CollectiveLibrary& collectives, FoldingPlan plan)
    : scenario(of),
      options(how),
      library(collectives),
      has_flow_jobs(std::ranges::any_of(scenario.jobs, &JobSpec::is_in_flow_mode)),
      speeds(host_speeds(scenario)),
      flow_settings(flow_settings_of(scenario)),
      planner(scenario, flow_settings ? &*flow_settings : nullptr, speeds, std::move(plan), options.on_note) {
  if (!flow_settings) return;
  if (scenario.mode == Mode::packet) {
    packet_network.emplace(*scenario.topology, *flow_settings, packet_settings(scenario),
                           PacketTraffic{priorities_in_use(scenario), scenario.flows.has_value()}, scenario.seed);
    // Packet switches pass on packets of one destination; what NVSwitches do inside a host stays as
    // it is.
    if (flow_settings->reducing_switches == ReducingSwitches::all) {
      flow_settings->reducing_switches = ReducingSwitches::nvswitches;
    }
  }
  operations.emplace(*scenario.topology, *flow_settings);
}

void Assembly::add_entities(EngineBuilder& builder, const Observers& observers) {
  if (packet_network && observers.records_pauses) packet_network->keep_pauses();
  if (packet_network && options.queue_blame != nullptr) packet_network->keep_ledgers();
  if (scenario.flows) {
    add_flow_list(builder, observers);
  } else if (simulates_network(scenario.mode)) {
    add_hosts(builder, observers);
    add_scheduler(builder, observers);
    add_network(builder, hosts, observers);
  } else {
    add_scheduler(builder, observers);
  }
}

void Assembly::complete_placed(RunningJob& job) {
  const Topology& carried_out_on = options.collectives_as_on == nullptr ? *scenario.topology : *options.collectives_as_on;
  job.collectives = library.prepare(*job.workload, carried_out_on, *job.endpoint_of_rank, &*operations);
  job.tags = std::make_shared<const MessageTags>(*job.workload, *job.collectives);
  // With fast forward the scheduler folds.
  if (planner.may_fold() && !coupled) planner.note_placed(job);
}

bool Assembly::goes_on_after_launch() {
  if (planner.still_holds()) return true;
  abandoned = true;
  return false;
}

/// Whether nothing in the run may take or change links inside hosts but ranks of the jobs there.
bool Assembly::has_private_links(PrivateLinksUse use) const {
  if (use == PrivateLinksUse::off) return false;
  // Adaptive paths depend on which of the transfers of an instant begins first.
  if (detects_congestion(scenario) || network_changes(scenario) || is_adaptive(flow_settings->routing)) return false;
  if (scenario.parameters.of("flow").text("allocation") != "max_min") return false;
  const auto is_stored = [](const JobSpec& job) { return job.data > Bytes::zero() || job.checkpoint > Bytes::zero(); };
  if (std::ranges::any_of(scenario.jobs, is_stored)) return false;
  return use == PrivateLinksUse::on || std::ranges::any_of(scenario.jobs, [](const JobSpec& job) { return job.gpus >= 512; });
}

/// Whether a collective between hosts can be carried out at the fabric, where links can be private.
const FlowFabric* Assembly::flows_on_cables(const Engine& engine) const {
  return packet_network && !has_flow_jobs ? nullptr : &engine.entity_as<FlowFabric>(fabric);
}

bool Assembly::may_carry_out_across() const {
  const FlowSettings& flow = *flow_settings;
  // What goes ahead of the clock is known of links when it has been caught up with.
  if (options.samples_tiers) return false;
  return scenario.mode == Mode::flow && flow.routing == Routing::single && flow.queue_pairs == 1 && flow.gpudirect &&
         !fast_forwards(scenario) && flow.host_to_fabric_min() > Duration::zero() && flow.fabric_to_host_min() > Duration::zero();
}

void Assembly::add_hosts(EngineBuilder& builder, const Observers& observers) {
  const Topology& topology = *scenario.topology;
  const auto host_count = static_cast<std::uint32_t>(topology.host_count());
  // Messages of an instant come in this order: that a job is stopped, what a host itself has moved
  // until then, what the network has.
  scheduler = builder.declare("scheduler");
  for (std::uint32_t host = 0; host < host_count; ++host) hosts.push_back(builder.declare(fmt::format("host{}", host)));
  fabric = builder.declare("fabric");
  if (packet_network) packet_network->declare(builder);
  port = make_port();
  // Who shares links with whom changes with the routes.
  if (scenario.mode == Mode::flow && fast_forwards(scenario) && !network_changes(scenario)) {
    coupled.emplace(topology, *flow_settings, speeds, planner.may_fold() ? std::optional(planner.tolerance()) : std::nullopt,
                    options.link_demands.get());
  }
  const auto host_settings = filled<HostSettings>(scenario.parameters.of("host"));
  if (has_private_links(host_settings.private_links)) {
    const auto& module = find_module(allocation_policies(), "max_min", SourcePlace::named("flow.allocation"));
    ParamSet params = scenario.parameters.of("max_min");
    params.set("threads", "1", {});
    const auto make = [make_policy = module.make, params](std::vector<double> capacities_bps) {
      return make_policy(std::move(capacities_bps), params);
    };
    inside = std::make_unique<InsideWiring>(topology, *flow_settings, host_settings.reduction_time_per_mib, make);
    if (may_carry_out_across())
      across_door = std::make_unique<AcrossDoor>(topology, inside->replays, fabric, flow_settings->host_to_fabric_min());
  }
  const HostWiring wiring{topology,
                          attempts,
                          speeds,
                          {*port, host_settings.reduction_time_per_mib, host_settings.kernel_launch_latency,
                           host_settings.compute_slowdown, observers.recording, across_door.get()},
                          scheduler,
                          scheduler_settings(scenario).control_delay,
                          inside.get()};
  for (std::uint32_t host = 0; host < host_count; ++host) {
    builder.define(hosts[host], std::make_unique<HostEntity>(HostId(host), wiring));
    for (const Time change : speeds.changes(HostId(host))) {
      builder.post_initial(hosts[host], change, EventClass::timer, speed_changes);
    }
  }
}

SchedulerWiring Assembly::scheduler_wiring() {
  SchedulerWiring wiring;
  if (hosts.empty()) return wiring;
  wiring.entity_of_host = hosts;
  const std::span<const NodeId> endpoints = scenario.topology->endpoints();
  wiring.endpoint_of_gpu.assign(endpoints.begin(), endpoints.end());
  wiring.jobs = &attempts;
  wiring.network = fabric;
  wiring.tell_of_cable = [this](LinkId cable, double share, Duration delay, EventContext& context) {
    if (packet_network) packet_network->tell_of_cable(cable, share, delay, context);
    if (!packet_network || has_flow_jobs) context.send(fabric, delay, cable_changes, CableChanges{cable, share});
  };
  wiring.prepare = [this](RunningJob& job) { complete_placed(job); };
  wiring.after_launch = [this] { return goes_on_after_launch(); };
  if (coupled) wiring.coupled = &*coupled;
  return wiring;
}

void Assembly::add_scheduler(EngineBuilder& builder, const Observers& observers) {
  JobLifecycleSettings settings;
  settings.policy = make_policy(scenario);
  settings.placer = make_placer(scenario);
  static_cast<SchedulerSettings&>(settings) = scheduler_settings(scenario);
  std::set<Time> changes_of_speed;
  for (std::uint32_t host = 0; host < hosts.size(); ++host) {
    for (const Time change : speeds.changes(HostId(host))) changes_of_speed.insert(change);
  }
  settings.speed_changes.assign(changes_of_speed.begin(), changes_of_speed.end());
  settings.checkpoints = filled<CheckpointPlan>(scenario.parameters.of("checkpoint"));
  settings.failures = scenario.failures;
  settings.maintenance = scenario.maintenance;
  settings.storage = scenario.storage;
  settings.speeds = &speeds;
  for (const std::string& name : scenario.handlers) {
    const auto& module = find_module(event_handlers(), name, SourcePlace::named("handler"));
    settings.handlers.push_back({name, module.make(scenario.parameters.of(name))});
  }
  settings.changes = settings_changes(scenario);
  settings.events = scenario.events;
  settings.seed = scenario.seed;
  settings.observer = &observers.jobs;
  settings.snapshot_at = options.snapshot_at;
  settings.on_snapshot = options.on_snapshot;
  settings.from = options.from;
  settings.wiring = scheduler_wiring();
  auto made = std::make_unique<JobLifecycle>(scenario.jobs, empty_cluster(scenario), std::move(settings));
  lifecycle = made.get();
  scheduler = JobLifecycle::add_to(builder, std::move(made), scheduler);
}

/// Requires: the fabric's entity is known, and those of the packet network.
std::unique_ptr<NetworkPort> Assembly::make_port() const {
  if (scenario.mode == Mode::flow) return std::make_unique<FlowNetworkPort>(*scenario.topology, *flow_settings, fabric);
  return std::make_unique<PacketNetworkPort>(*scenario.topology, *flow_settings, fabric, packet_network->cards(),
                                             has_flow_jobs ? &attempts : nullptr);
}

void Assembly::add_network(EngineBuilder& builder, const std::vector<EntityId>& entity_of_host, const Observers& observers) {
  // In packet mode the fabric moves what stays inside hosts and what is of jobs in flow mode, while
  // other nodes move the rest.
  FlowObserver* const observer = packet_network ? &moved_as_flows : &observers.transfers;
  auto made = std::make_unique<FlowFabric>(
      *scenario.topology, *flow_settings,
      make_allocation_policy(scenario, options.threads, link_capacities_bps(*scenario.topology)), entity_of_host, observer,
      planner.plan().folding != nullptr || coupled ? &attempt_foldings : nullptr, &*operations);
  if (detects_congestion(scenario)) {
    congestion.emplace(*scenario.topology, flow_settings->congestion_gap,
                       [this](AttemptId attempt) { return attempts.at(attempt).job; });
    made->watch_congestion(*congestion);
  }
  made->take_other_routes_after(scenario.failures.reroute);
  if (packet_network && has_flow_jobs) {
    packet_network->share_with_flows(fabric);
    made->share_with_packets([this](const FlowLoads::LinkLoad& load, double capacity_bps, EventContext& context) {
      packet_network->tell_of_load(load, capacity_bps, context);
    });
  }
  if (options.recording != nullptr && !packet_network) made->record(options.recording->tape);
  flow_fabric = made.get();
  if (across_door != nullptr) {
    const AcrossWiring wiring{
        *scenario.topology, *flow_settings, attempts, inside->make_policy, inside->reduction_time_per_mib, hosts};
    across = std::make_unique<AcrossTraffic>(wiring, *made);
    made->take_in(*across);
  }
  builder.define(fabric, std::move(made));
  std::vector<EntityId> sources;
  for (std::uint32_t host = 0; host < entity_of_host.size(); ++host) {
    const bool moves_inside = scenario.topology->endpoints_of(HostId(host)).size() > 1;
    const bool is_known = !sources.empty() && sources.back() == entity_of_host[host];
    if (!is_known && (moves_inside || !packet_network || has_flow_jobs)) sources.push_back(entity_of_host[host]);
  }
  for (const EntityId host : sources) {
    builder.connect(host, fabric, flow_settings->host_to_fabric_min());
    builder.connect(fabric, host, flow_settings->fabric_to_host_min());
  }
  if (!packet_network) return;
  if (network_changes(scenario)) packet_network->expect_failures();
  packet_network->add_to(builder, entity_of_host);
  if (network_changes(scenario)) {
    packet_network->watch_cables(builder, scheduler, scheduler_settings(scenario).control_delay, scenario.failures.reroute);
  }
}

void Assembly::add_flow_list(EngineBuilder& builder, const Observers& observers) {
  const FlowList& flows = *scenario.flows;
  const auto host_count = static_cast<std::uint32_t>(scenario.topology->host_count());
  if (!packet_network) {
    const EntityId list = builder.declare("flow list");
    fabric = builder.declare("fabric");
    port = make_port();
    auto source = std::make_unique<FlowListSource>(flows, *port);
    flow_source = source.get();
    builder.define(list, std::move(source));
    builder.post_initial(list, flow_source->first_start(), EventClass::timer, FlowListSource::start_next);
    add_network(builder, std::vector<EntityId>(host_count, list), observers);
    return;
  }
  std::vector<EntityId> sink_of_host;
  for (std::uint32_t host = 0; host < host_count; ++host) {
    auto sink = std::make_unique<FlowListSink>();
    flow_sinks.push_back(sink.get());
    sink_of_host.push_back(builder.add_entity(std::move(sink), fmt::format("flows of host{}", host)));
  }
  fabric = builder.declare("fabric");
  packet_network->declare(builder);
  add_network(builder, sink_of_host, observers);
  const PacketNetworkPort to_cards(*scenario.topology, *flow_settings, fabric, packet_network->cards());
  for (const std::uint32_t place : by_start(flows)) {
    const Transfer transfer = transfer_of(flows, place);
    const PacketNetworkPort::Entry to = to_cards.entry(transfer);
    builder.post_initial(to.node, Time::zero() + flows.flows[place].start + to.latency, EventClass::message, transfer_start,
                         transfer);
  }
}

}  // namespace weft
