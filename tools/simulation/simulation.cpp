#include "tools/simulation/simulation.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "core/check.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/parallel_loop.hpp"
#include "core/text/counted.hpp"
#include "core/text/out_of_memory.hpp"
#include "core/text/readable.hpp"
#include "host/collectives/collective_library.hpp"
#include "host/ranks/host_entity.hpp"
#include "host/ranks/message_tag.hpp"
#include "host/symmetry/coupled_jobs.hpp"
#include "host/symmetry/job_link_demand.hpp"
#include "host/transport/congestion_control.hpp"
#include "host/transport/flow_list_source.hpp"
#include "host/transport/packet_network.hpp"
#include "network/flow/flow_fabric.hpp"
#include "network/max_min/allocation_policy.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "scheduler/lifecycle/job_lifecycle.hpp"
#include "tools/simulation/results.hpp"
#include "tools/simulation/run_notes.hpp"
#include "tools/simulation/scenario/parameter_changes.hpp"
#include "tools/simulation/scenario/storage_entries.hpp"
#include "tools/simulation/stuck_ranks.hpp"
#include "topologies/builders/server_presets.hpp"

namespace weft {

namespace {

double mean_gpus_per_job(const Scenario& scenario) {
  double gpus = 0;
  for (const JobSpec& job : scenario.jobs) gpus += job.gpus;
  return scenario.jobs.empty() ? 0 : gpus / static_cast<double>(scenario.jobs.size());
}

PartitionChoice partition_choice(const std::string& zeta, const Scenario& scenario) {
  if (zeta == "auto") return PartitionAutomatic{};
  if (zeta == "table") return PartitionByTable{ZetaTable::standard(), mean_gpus_per_job(scenario)};
  const ParsedQuantity<Duration> given = parse_duration(zeta);
  if (!given.value) {
    fail("bad-zeta", given.error.message, SourcePlace::named("--zeta=" + zeta), "write auto, table, or a duration such as 500ns");
  }
  return PartitionByZeta{*given.value};
}

/// The solver takes no more threads than the run was given, unless told otherwise.
std::unique_ptr<AllocationPolicy> make_allocation_policy(const Scenario& scenario, std::uint32_t threads) {
  const std::string& name = scenario.parameters.of("flow").text("allocation");
  const auto& module = find_module(allocation_policies(), name, SourcePlace::named("flow.allocation"));
  ParamSet params = scenario.parameters.of(name);
  if (name == "max_min" && params.is_default("threads")) params.set("threads", std::to_string(threads), {});
  return module.make(link_capacities_bps(*scenario.topology), params);
}

CollectiveLibrary collective_library(const Scenario& scenario) {
  return {scenario.parameters.of("collective"), scenario.parameters.all()};
}

/// Which jobs are known to be placed where, and what follows from it. What a run has to know of a job's placement beforehand, it learns from
/// a run that got as far as placing it: runs are deterministic.
struct FoldingPlan {
  std::vector<PlacedJob> jobs;                 ///< by AttemptId
  std::shared_ptr<const RankFolding> folding;  ///< of these jobs; null: every rank is simulated
  std::uint32_t restarts = 0;                  ///< of the run, so far
  bool given_up = false;                       ///< every rank is simulated whatever comes
  std::uint32_t classes_if_sprayed = 0;        ///< not 0: only hashed paths tell the ranks apart
};

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

PacketSettings packet_settings(const Parameters& parameters) {
  const ParamSet& packet = parameters.of("packet");
  const std::string& name = packet.text("congestion_control");
  const auto& module = find_module(congestion_algorithms(), name, SourcePlace::named("packet.congestion_control"));
  return {packet, module.make(parameters.of(name))};
}

/// Keeps what it is told.
class TransferCollector final : public FlowObserver {
 public:
  void on_transfer_finished(const FinishedTransfer& finished) override { transfers.push_back(finished); }
  std::vector<FinishedTransfer> transfers;
};

/// A run whose plan does not hold any more. Nothing has been done yet that the new plan would have done in another way.
struct Refold {
  FoldingPlan plan;
};

/// Everything of one run, kept together because its parts refer to each other.
class Assembly {
 public:
  /// Keeps references.
  Assembly(const Scenario& scenario, SimulationOptions options, CollectiveLibrary& library, FoldingPlan plan)
      : scenario_(scenario),
        options_(std::move(options)),
        speeds_(host_speeds(scenario)),
        library_(library),
        plan_(std::move(plan)) {
    if (!simulates_network(scenario_.mode)) return;
    flow_settings_.emplace(scenario_.parameters.of("flow"), scenario_.seed);
    flow_settings_->path_rule.routes = scenario_.routes;
    if (scenario_.mode == Mode::packet) {
      packet_network_.emplace(*scenario_.topology, *flow_settings_, packet_settings(scenario_.parameters),
                              PacketTraffic{priorities_in_use(scenario_), scenario_.flows.has_value()}, scenario_.seed);
      if (options_.trace) packet_network_->keep_pauses();
      // Packet switches pass on packets of one destination; what NVSwitches do inside a host stays as it is.
      if (flow_settings_->reducing_switches == ReducingSwitches::all) {
        flow_settings_->reducing_switches = ReducingSwitches::nvswitches;
      }
    }
    operations_.emplace(*scenario_.topology, *flow_settings_);
  }

  /// Finds what is wrong before the first file is created.
  void check() {
    check_jobs_fit();
    check_flows_fit();
    if (simulates_network(scenario_.mode)) check_collectives();
    if (scenario_.mode == Mode::flow) check_folding();
    if (detects_congestion(scenario_)) check_congestion();
  }

  std::shared_ptr<const KnownLinkDemands> link_demands_of(const ClusterSnapshot& snapshot) {
    const Topology& topology = *scenario_.topology;
    std::vector<JobId> ids;
    std::vector<PlacedJob> placed;
    for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
      const JobSpec& spec = scenario_.jobs[i];
      if (snapshot.jobs[i].state != ClusterSnapshot::State::runs || spec.workload == nullptr) continue;
      auto endpoints = std::make_shared<std::vector<NodeId>>();
      for (const GpuSlot gpu : snapshot.jobs[i].placement.gpus) endpoints->push_back(topology.endpoints()[gpu.index()]);
      const auto& workload = workload_on(spec, static_cast<std::uint32_t>(endpoints->size()));
      auto collectives = library_.prepare(*workload, topology, *endpoints, &*operations_);
      ids.emplace_back(static_cast<std::uint32_t>(i));
      placed.push_back({workload, std::move(collectives), std::move(endpoints)});
    }
    std::vector<std::shared_ptr<const JobLinkDemand>> found(placed.size());
    ParallelLoop(options_.threads).run(placed.size(), [&](std::size_t, std::size_t i) {
      auto link_demand = JobLinkDemand::find(placed[i], topology, *flow_settings_, speeds_);
      if (link_demand) found[i] = std::make_shared<const JobLinkDemand>(std::move(*link_demand));
    });
    auto known = std::make_shared<KnownLinkDemands>();
    for (std::size_t i = 0; i < ids.size(); ++i) known->emplace(ids[i], KnownLinkDemand{placed[i].endpoint_of_rank, found[i]});
    return known;
  }

  /// After check(). `started`: when the first run of the scenario did.
  std::variant<RunSummary, Refold> run(std::chrono::steady_clock::time_point started, ResultsFolder& folder) {
    const PartitionChoice partition = partition_choice(options_.zeta, scenario_);
    EngineBuilder builder;
    results_.emplace(scenario_, jobs_, folder);
    if (options_.sample && packet_network_) {
      sampler_.emplace(*scenario_.topology, *packet_network_, *options_.sample, folder.result(link_samples_file), options_.trace);
    }
    if (scenario_.flows) {
      add_flow_list(builder);
    } else if (simulates_network(scenario_.mode)) {
      add_hosts(builder);
      add_scheduler(builder);
      add_network(builder, hosts_);
    } else {
      add_scheduler(builder);
    }
    EngineOptions engine_options;
    engine_options.threads = options_.threads;
    engine_options.partition = partition;
    engine_options.log = options_.log;
    Engine engine = std::move(builder).build(std::move(engine_options));

    RunControl control;
    control.interrupt = options_.interrupt;
    if (options_.progress) {
      control.progress = [this](const RunProgress& progress) {
        options_.progress(progress.sim_time, progress.events, share_done());
      };
    }
    control.abandon = &abandoned_;
    const std::optional<RunReport> finished = run_unless_abandoned(engine, control);
    if (!finished) return Refold{std::move(plan_)};
    const RunReport& report = *finished;
    const bool stopped = options_.until && report.next_event < Time::max() && report.next_event > *options_.until;
    if (report.interrupted) cut_off_at_ = report.end_time;
    if (stopped) cut_off_at_ = *options_.until;
    engine_cut_off_at_ = cut_off_at_;
    const double run_wall_time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

    std::vector<Diagnostic> standstill;
    if (lifecycle_ != nullptr && lifecycle_->standstill()) {
      cut_off_at_ = lifecycle_->standstill()->at;
      standstill = {lifecycle_->standstill()->why};
    } else if (!cut_off_at_) {
      standstill = transfers_that_stand_still(engine);
      if (standstill.empty()) standstill = require_finished(engine);
      if (!standstill.empty()) cut_off_at_ = report.end_time;
    }
    if (options_.at_end) options_.at_end(lifecycle_->snapshot(cut_off_at_.value_or(report.end_time)));
    if (cut_off_at_ && lifecycle_ != nullptr) lifecycle_->close_open_attempts(*cut_off_at_);
    RunSummary summary = summarise(report);
    summary.load_wall_time_s = options_.load_wall_time_s;
    summary.run_wall_time_s = run_wall_time_s;
    if (stopped && standstill.empty()) summary.stopped_at = *options_.until;
    summary.standstill = std::move(standstill);
    if (!cut_off_at_ && options_.complete_summary) options_.complete_summary(summary);
    write_results(engine, report, summary);
    return summary;
  }

 private:
  /// Endpoints of so many ranks on an empty cluster; none if there is no place for them.
  std::vector<NodeId> endpoints_when_alone(std::uint32_t ranks) const {
    const std::optional<Placement> placement = make_placer(scenario_)->place(empty_cluster(scenario_), ranks);
    std::vector<NodeId> endpoints;
    if (!placement) return endpoints;
    for (const GpuSlot gpu : placement->gpus) endpoints.push_back(scenario_.topology->endpoints()[gpu.index()]);
    return endpoints;
  }

  /// What cannot be carried out or told apart should not come up days into the run: every workload is prepared as if its job were alone.
  void check_collectives() {
    std::set<const Workload*> prepared;
    const auto prepare = [&](const std::shared_ptr<const Workload>& workload) {
      if (workload == nullptr || !prepared.insert(workload.get()).second) return;
      const std::vector<NodeId> endpoints = endpoints_when_alone(workload->rank_count);
      if (endpoints.empty()) return;  // a smaller workload that will never find a place
      const auto collectives = library_.prepare(*workload, *scenario_.topology, endpoints, &*operations_);
      MessageTags(*workload, *collectives);
    };
    for (const JobSpec& job : scenario_.jobs) {
      prepare(job.workload);
      std::ranges::for_each(job.smaller_workloads, prepare);
    }
  }

  static HostSpeeds host_speeds(const Scenario& scenario) {
    const ParamSet& host = scenario.parameters.of("host");
    const HostSpeeds::Stragglers stragglers{host.real("straggler_share"), host.real("straggler_speed"), scenario.seed};
    return {empty_cluster(scenario).host_count(), scenario.host_speeds, stragglers};
  }

  void check_jobs_fit() const {
    Diagnostics diagnostics;
    check_jobs(scenario_.jobs, serving_cluster(scenario_), *make_placer(scenario_), diagnostics);
    diagnostics.throw_if_errors();
    for (const SettingsChange& change : settings_changes(scenario_)) {
      if (change.placer != nullptr) check_jobs(scenario_.jobs, serving_cluster(scenario_), *change.placer, diagnostics);
      diagnostics.throw_if_errors();
    }
  }

  void check_flows_fit() const {
    if (!scenario_.flows) return;
    Diagnostics diagnostics;
    check_flow_list(*scenario_.flows, *scenario_.topology, scenario_.flows->name, diagnostics);
    diagnostics.throw_if_errors();
  }

  /// Do links carry less for a while, so that what the topology says of ways and speeds does not hold throughout?
  bool network_changes() const { return !scenario_.flows && scenario_.failures.has_network_failures(); }
  bool fast_forwards() const { return scenario_.parameters.of("scheduler").integer("fast_forward") > 0; }
  const std::string& folding_wish() const { return scenario_.parameters.of("host").text("fold_ranks"); }
  Duration fold_tolerance() const { return scenario_.parameters.of("host").duration("fold_tolerance"); }
  bool is_max_min() const { return scenario_.parameters.of("flow").text("allocation") == "max_min"; }

  void check_folding() const {
    if (folding_wish() == "on" && !is_max_min()) {
      fail("cannot-fold", "ranks are alike only as long as rates are max-min fair", SourcePlace::named("--set=host.fold_ranks=on"),
           "drop it, or take --set=flow.allocation=max_min");
    }
    if (folding_wish() == "on" && network_changes()) {
      fail("cannot-fold", "ranks are alike only as long as no switch and no link fails",
           SourcePlace::named("--set=host.fold_ranks=on"), "drop it, or leave these failures out");
    }
    if (folding_wish() == "on" && uses_storage(scenario_)) {
      fail("cannot-fold", "ranks are not alike where they fetch data or write checkpoints elsewhere",
           SourcePlace::named("--set=host.fold_ranks=on"), "drop it, or leave data and checkpoint_size of jobs out");
    }
  }

  void check_congestion() const {
    if (is_max_min()) return;
    fail("cannot-detect-congestion", "links are bottlenecks of flows only as long as rates are max-min fair",
         SourcePlace::named("flow.detect_congestion"), "drop it, or take --set=flow.allocation=max_min");
  }

  bool may_fold() const {
    // Data comes from and goes to other hosts for every rank.
    if (scenario_.mode != Mode::flow || uses_storage(scenario_) || network_changes()) return false;
    if (folding_wish() != "auto") return folding_wish() == "on";
    const auto is_large = [](const JobSpec& job) { return job.gpus >= folded_ranks_min; };
    return is_max_min() && (fold_tolerance() > Duration::zero() || std::ranges::any_of(scenario_.jobs, is_large));
  }

  void complete_placed(RunningJob& job) {
    job.collectives = library_.prepare(*job.workload, *scenario_.topology, *job.endpoint_of_rank, &*operations_);
    job.tags = std::make_shared<const MessageTags>(*job.workload, *job.collectives);
    // With fast forward the scheduler folds.
    if (plan_.given_up || !may_fold() || coupled_) return;
    const std::uint32_t attempt = job.attempt.index();
    if (attempt >= plan_.jobs.size()) {
      WEFT_CHECK(attempt == plan_.jobs.size(), "attempts are prepared in order");
      plan_.jobs.push_back({job.workload, job.collectives, job.endpoint_of_rank});
      placed_new_job_ = true;
    } else if (plan_.jobs[attempt].workload != job.workload || *plan_.jobs[attempt].endpoint_of_rank != *job.endpoint_of_rank) {
      // Folded ranks take as long as others but for the rounding of sums, and that can make a scheduler decide in another way.
      plan_.given_up = true;
      placed_new_job_ = true;
    }
    if (plan_.folding != nullptr && !placed_new_job_) job.folding = {plan_.folding, &plan_.folding->of(attempt)};
  }

  /// Why ranks were not folded where that says something; "" otherwise.
  std::string not_folded_because() const {
    if (scenario_.mode != Mode::flow || scenario_.flows || !may_fold() || plan_.folding != nullptr || coupled_) return {};
    if (plan_.given_up) return "not looked for any more, as jobs came again and again; host.fold_ranks=on goes on";
    const auto uses_switches = [](const PlacedJob& job) { return job.collectives->uses_switches(); };
    if (std::ranges::any_of(plan_.jobs, uses_switches)) return "not looked for, as switches reduce for some (nvls, sharp)";
    if (is_adaptive(flow_settings_->routing)) return "no two ranks, as adaptive routing chooses their paths while they run";
    return {};
  }

  /// Jobs that were not known before may make ranks differ that were alike, or have ranks that are alike themselves.
  /// Returns whether the run goes on as it is.
  bool fold_again() {
    if (!std::exchange(placed_new_job_, false)) return true;
    const bool was_folded = plan_.folding != nullptr;
    plan_.folding = nullptr;
    plan_.classes_if_sprayed = 0;
    if (!plan_.given_up) look_for_folding();
    if (!was_folded && plan_.folding == nullptr) return true;
    if (++plan_.restarts > new_plans_max && folding_wish() == "auto") plan_.given_up = true;
    if (plan_.given_up) {
      plan_.folding = nullptr;
      plan_.jobs.clear();
    }
    abandoned_ = true;
    return false;
  }

  /// For the jobs of the plan; or, where hashed paths are in the way, how many ranks would do without.
  void look_for_folding() {
    plan_.folding = RankFolding::find(plan_.jobs, *scenario_.topology, *flow_settings_, speeds_, fold_tolerance(), {});
    if (plan_.folding != nullptr || flow_settings_->routing != Routing::single ||
        flow_settings_->path_rule.choice != PathRule::Choice::by_hash)
      return;
    FlowSettings sprayed = *flow_settings_;
    sprayed.routing = Routing::spray;
    // Only for a hint: not worth more than a moment.
    constexpr RankFolding::Limits moment = {std::size_t{1} << 22, std::size_t{1} << 22};
    const auto alike = RankFolding::find(plan_.jobs, *scenario_.topology, sprayed, speeds_, fold_tolerance(), moment);
    plan_.classes_if_sprayed = alike == nullptr ? 0 : alike->class_count();
  }

  void add_hosts(EngineBuilder& builder) {
    const Topology& topology = *scenario_.topology;
    const auto host_count = static_cast<std::uint32_t>(topology.host_count());
    for (std::uint32_t host = 0; host < host_count; ++host) hosts_.push_back(builder.declare("host" + std::to_string(host)));
    scheduler_ = builder.declare("scheduler");
    fabric_ = builder.declare("fabric");
    if (packet_network_) packet_network_->declare(builder);
    port_ = make_port();
    // Who shares links with whom changes with the ways.
    if (scenario_.mode == Mode::flow && fast_forwards() && !network_changes()) {
      coupled_.emplace(topology, *flow_settings_, speeds_, may_fold() ? std::optional(fold_tolerance()) : std::nullopt,
                       options_.link_demands.get());
    }
    const ParamSet& params = scenario_.parameters.of("host");
    const HostWiring wiring{topology,
                            jobs_,
                            speeds_,
                            {*port_, params.duration("reduction_time_per_mib"), params.duration("kernel_launch_latency"),
                             params.real("compute_slowdown"), options_.trace ? Recording::everything : Recording::communication},
                            scheduler_,
                            scenario_.parameters.of("scheduler").duration("control_delay")};
    for (std::uint32_t host = 0; host < host_count; ++host) {
      builder.define(hosts_[host], std::make_unique<HostEntity>(HostId(host), wiring));
      for (const Time change : speeds_.changes(HostId(host))) {
        builder.post_initial(hosts_[host], change, EventClass::timer, speed_changes);
      }
    }
  }

  std::unique_ptr<SchedulingPolicy> make_policy() const {
    const auto& module = find_module(scheduling_policies(), scenario_.policy, SourcePlace::named("scheduler"));
    return module.make(scenario_.parameters.of(scenario_.policy));
  }

  void add_scheduler(EngineBuilder& builder) {
    JobLifecycleSettings settings;
    settings.policy = make_policy();
    settings.placer = make_placer(scenario_);
    const ParamSet& params = scenario_.parameters.of("scheduler");
    settings.control_delay = params.duration("control_delay");
    settings.start_overhead = params.duration("start_overhead");
    settings.round = params.duration("round");
    settings.setbacks_max = static_cast<std::uint64_t>(params.integer("setbacks_max"));
    settings.fast_forward = static_cast<std::uint64_t>(params.integer("fast_forward"));
    std::set<Time> speed_changes;
    for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
      for (const Time change : speeds_.changes(HostId(host))) speed_changes.insert(change);
    }
    settings.speed_changes.assign(speed_changes.begin(), speed_changes.end());
    settings.checkpoints = CheckpointPlan::of(scenario_.parameters.of("checkpoint"));
    settings.failures = scenario_.failures;
    settings.maintenance = scenario_.maintenance;
    settings.storage = scenario_.storage;
    settings.speeds = &speeds_;
    for (const std::string& name : scenario_.handlers) {
      const auto& module = find_module(event_handlers(), name, SourcePlace::named("handler"));
      settings.handlers.push_back({name, module.make(scenario_.parameters.of(name))});
    }
    settings.changes = settings_changes(scenario_);
    settings.events = scenario_.events;
    settings.seed = scenario_.seed;
    settings.observer = &*results_;
    settings.snapshot_at = options_.snapshot;
    settings.on_snapshot = [this](const ClusterSnapshot& snapshot) { results_->write_snapshot(options_.on_snapshot(snapshot)); };
    settings.from = options_.from;
    if (!hosts_.empty()) {
      settings.wiring.entity_of_host = hosts_;
      const std::span<const NodeId> endpoints = scenario_.topology->endpoints();
      settings.wiring.endpoint_of_gpu.assign(endpoints.begin(), endpoints.end());
      settings.wiring.jobs = &jobs_;
      settings.wiring.network = fabric_;
      settings.wiring.tell_of_cable = [this](LinkId cable, double share, Duration delay, EventContext& context) {
        if (packet_network_) packet_network_->tell_of_cable(cable, share, delay, context);
        if (!packet_network_ || has_flow_jobs_) context.send(fabric_, delay, cable_changes, CableChanges{cable, share});
      };
      settings.wiring.prepare = [this](RunningJob& job) { complete_placed(job); };
      settings.wiring.after_launch = [this] { return fold_again(); };
      if (coupled_) settings.wiring.coupled = &*coupled_;
    }
    auto lifecycle = std::make_unique<JobLifecycle>(scenario_.jobs, empty_cluster(scenario_), std::move(settings));
    lifecycle_ = lifecycle.get();
    scheduler_ = JobLifecycle::add_to(builder, std::move(lifecycle), scheduler_);
  }

  /// Requires: the fabric's entity is known, and those of the packet network.
  std::unique_ptr<NetworkPort> make_port() const {
    if (scenario_.mode == Mode::flow) return std::make_unique<FlowNetworkPort>(*scenario_.topology, *flow_settings_, fabric_);
    return std::make_unique<PacketNetworkPort>(*scenario_.topology, *flow_settings_, fabric_, packet_network_->cards(),
                                               has_flow_jobs_ ? &jobs_ : nullptr);
  }

  void add_network(EngineBuilder& builder, const std::vector<EntityId>& entity_of_host) {
    FlowObserver* observer = &*results_;
    // In packet mode it moves what stays inside hosts and is of jobs in flow mode, and other nodes move the rest at the same time.
    if (packet_network_) observer = &moved_as_flows_;
    auto fabric = std::make_unique<FlowFabric>(*scenario_.topology, *flow_settings_,
                                               make_allocation_policy(scenario_, options_.threads), entity_of_host, observer,
                                               plan_.folding != nullptr || coupled_ ? &attempt_foldings_ : nullptr, &*operations_);
    if (detects_congestion(scenario_)) {
      congestion_.emplace(*scenario_.topology, flow_settings_->congestion_gap,
                          [this](AttemptId attempt) { return jobs_.at(attempt).job; });
      fabric->watch_congestion(*congestion_);
    }
    fabric->take_other_routes_after(scenario_.failures.reroute);
    if (packet_network_ && has_flow_jobs_) {
      packet_network_->share_with_flows(fabric_);
      fabric->share_with_packets([this](const FlowLoads::LinkLoad& load, double capacity_bps, EventContext& context) {
        packet_network_->tell_of_load(load, capacity_bps, context);
      });
    }
    builder.define(fabric_, std::move(fabric));
    std::vector<EntityId> sources;
    for (std::uint32_t host = 0; host < entity_of_host.size(); ++host) {
      const bool moves_inside = scenario_.topology->endpoints_of(HostId(host)).size() > 1;
      const bool is_known = !sources.empty() && sources.back() == entity_of_host[host];
      if (!is_known && (moves_inside || !packet_network_ || has_flow_jobs_)) sources.push_back(entity_of_host[host]);
    }
    for (const EntityId host : sources) {
      builder.connect(host, fabric_, flow_settings_->host_to_fabric_min());
      builder.connect(fabric_, host, flow_settings_->fabric_to_host_min());
    }
    if (!packet_network_) return;
    if (network_changes()) packet_network_->expect_failures();
    packet_network_->add_to(builder, entity_of_host);
    if (network_changes()) {
      const Duration control_delay = scenario_.parameters.of("scheduler").duration("control_delay");
      packet_network_->watch_cables(builder, scheduler_, control_delay, scenario_.failures.reroute);
    }
  }

  void add_flow_list(EngineBuilder& builder) {
    const FlowList& flows = *scenario_.flows;
    const auto hosts = static_cast<std::uint32_t>(scenario_.topology->host_count());
    if (!packet_network_) {
      const EntityId list = builder.declare("flow list");
      fabric_ = builder.declare("fabric");
      port_ = make_port();
      auto source = std::make_unique<FlowListSource>(flows, *port_);
      flow_source_ = source.get();
      builder.define(list, std::move(source));
      builder.post_initial(list, flow_source_->first_start(), EventClass::timer, FlowListSource::start_next);
      add_network(builder, std::vector<EntityId>(hosts, list));
      return;
    }
    std::vector<EntityId> sink_of_host;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      auto sink = std::make_unique<FlowListSink>();
      flow_sinks_.push_back(sink.get());
      sink_of_host.push_back(builder.add_entity(std::move(sink), "flows of host" + std::to_string(host)));
    }
    fabric_ = builder.declare("fabric");
    packet_network_->declare(builder);
    add_network(builder, sink_of_host);
    const PacketNetworkPort port(*scenario_.topology, *flow_settings_, fabric_, packet_network_->cards());
    for (const std::uint32_t place : by_start(flows)) {
      const Transfer transfer = transfer_of(flows, place);
      const PacketNetworkPort::Entry to = port.entry(transfer);
      builder.post_initial(to.node, Time::zero() + flows.flows[place].start + to.latency, EventClass::message, transfer_start,
                           transfer);
    }
  }

  /// Share of the work that has finished. Called while other threads run the model, so it reads the result writer's counters only.
  double share_done() const {
    if (scenario_.flows)
      return static_cast<double>(packet_network_ ? packet_network_->delivered() : results_->transfers_done()) /
             static_cast<double>(scenario_.flows->flows.size());
    // Few jobs say little by their ends; their iterations say more.
    std::uint64_t rounds = 0;
    if (simulates_network(scenario_.mode)) {
      for (const JobSpec& job : scenario_.jobs) rounds += job.workload != nullptr ? job.iterations : 0;
    }
    if (rounds > 0) return static_cast<double>(results_->iterations_done()) / static_cast<double>(rounds);
    return static_cast<double>(results_->jobs_done()) / static_cast<double>(scenario_.jobs.size());
  }

  /// Of a run without events left, or one in which nothing comes of them.
  std::vector<Diagnostic> transfers_that_stand_still(const Engine& engine) const {
    Diagnostics diagnostics;
    Diagnostics standstill;
    if (fabric_ != EntityId::none()) {
      for (const UnfinishedTransfer& transfer : missed(engine.entity_as<FlowFabric>(fabric_).unfinished())) {
        const Topology& topology = *scenario_.topology;
        const std::string which = "the transfer from " + topology.node_name(transfer.transfer.source) + " to " +
                                  topology.node_name(transfer.transfer.destination);
        if (transfer.stalled_at.is_none()) {
          diagnostics.error("beyond-clock", which + " ends after the simulated clock does", SourcePlace::named("weft run"),
                            "simulated time ends after 2.9 years of 10 ps ticks: move less");
        } else {
          standstill.error(
              "stalled-transfer", which + " never ends: link " + topology.link_name(transfer.stalled_at) + " gives it no rate",
              SourcePlace::named("weft run"),
              network_changes() ? "it is out, and nothing repairs it: let it be repaired" : "give the link a rate above 0");
        }
      }
    }
    diagnostics.throw_if_errors();
    if (packet_network_) report_stuck_transfers(engine, standstill);
    return {standstill.all().begin(), standstill.all().end()};
  }

  /// A run without events left whose jobs have not finished is stuck: says which ranks wait, and for what. Returns why jobs get no GPUs any more, if that is it.
  std::vector<Diagnostic> require_finished(const Engine& engine) const {
    Diagnostics diagnostics;
    std::vector<WaitingRank> waiting;
    for (const EntityId host : hosts_) {
      for (WaitingRank& rank : engine.entity_as<HostEntity>(host).waiting_ranks()) waiting.push_back(std::move(rank));
    }
    report_stuck_ranks(scenario_, jobs_, waiting, diagnostics);
    diagnostics.throw_if_errors();
    // After a snapshot, jobs may wait for what the run leaves out.
    if (lifecycle_ == nullptr || options_.from != nullptr) return {};
    if (const std::optional<Diagnostic> never = lifecycle_->never_repaired()) return {*never};
    lifecycle_->require_all_finished();
    return {};
  }

  /// None: the run was abandoned for a new plan, whatever else happened until it ended.
  std::optional<RunReport> run_unless_abandoned(Engine& engine, RunControl& control) {
    try {
      const RunReport report = run_to_end(engine, control);
      if (!abandoned_) return report;
    } catch (...) {
      if (!abandoned_) throw;
    }
    return std::nullopt;
  }

  /// Switches that wait for each other, or for a host that pauses for good, refresh their pauses for ever, and cards send for ever what never comes: where no
  /// card gets anything between two looks, they are looked for.
  RunReport run_to_end(Engine& engine, RunControl& control) {
    const Duration step = Duration::ms(10);
    std::optional<std::uint64_t> repeats_max;
    if (packet_network_ && !network_changes()) repeats_max = packet_network_->repeats_max();
    const bool looks = packet_network_ && (packet_network_->refreshes_pauses() || repeats_max);
    Time look = looks ? Time::zero() : Time::max();
    std::uint64_t received = 0;
    std::vector<std::uint64_t> repeats;  // by host, when anything new came last
    Time new_at;
    // What a host holds up that pauses for good; others may have waited for a time-out meanwhile.
    constexpr int idle_looks_max = 100;
    int idle_looks = 0;
    while (true) {
      const Time stop = options_.until ? *options_.until + Duration::ticks(1) : Time::max();
      control.until = std::min({look, sampler_ ? sampler_->next() : Time::max(), stop});
      RunReport report = engine.run(control);
      const bool is_over = report.interrupted || report.next_event == Time::max() || control.until == stop;
      if (sampler_ && !report.interrupted && (is_over || control.until == sampler_->next())) {
        sampler_->sample(engine, has_flow_jobs_ ? &engine.entity_as<FlowFabric>(fabric_) : nullptr);
        sampler_->skip_to(report.next_event);
      }
      if (is_over) return report;
      if (control.until != look) continue;
      const std::uint64_t received_now = packet_network_->counters(engine, control.until).data_received;
      if (received_now > 0 && received_now == received && !packet_network_->deadlock(engine).empty()) return report;
      idle_looks = received_now == received ? idle_looks + 1 : 0;
      if (idle_looks >= idle_looks_max && packet_network_->is_held_by_hosts() && !packet_network_->unfinished(engine).empty())
        return report;
      if (repeats_max && (received_now != received || repeats.empty() || others_may_get_on(engine, look))) {
        repeats = packet_network_->repeats(engine);
        new_at = look;
      } else if (repeats_max) {
        const std::vector<std::uint64_t> now = packet_network_->repeats(engine);
        for (std::uint32_t host = 0; host < now.size(); ++host) {
          if (now[host] - repeats[host] >= *repeats_max) livelock_ = {HostId(host), now[host] - repeats[host], new_at};
          if (livelock_) return report;
        }
      }
      received = received_now;
      const std::int64_t steps = (report.next_event - Time::zero()).in_ticks() / step.in_ticks() + 1;
      look = steps > (Time::max() - Time::zero()).in_ticks() / step.in_ticks() ? Time::max() : Time::zero() + step * steps;
    }
  }

  /// Others than the packets on their way: flows, ranks that compute, jobs that run by the clock, what is still to come.
  bool others_may_get_on(const Engine& engine, Time now) const {
    if (engine.entity_as<FlowFabric>(fabric_).is_busy()) return true;
    if (scenario_.flows)
      return std::ranges::any_of(scenario_.flows->flows,
                                 [now](const ListedFlow& flow) { return Time::zero() + flow.start >= now; });
    if (lifecycle_ != nullptr && !lifecycle_->all_wait_for_ranks(now)) return true;
    return std::ranges::any_of(hosts_, [&](EntityId host) { return engine.entity_as<HostEntity>(host).is_computing(); });
  }

  /// Nobody waits for what a job has left behind that was stopped, or whose last checkpoints were on their way when it ended.
  std::vector<UnfinishedTransfer> missed(std::vector<UnfinishedTransfer> unfinished) const {
    if (lifecycle_ == nullptr) return unfinished;
    std::erase_if(unfinished, [this](const UnfinishedTransfer& left) { return !lifecycle_->is_under_way(left.transfer.attempt); });
    return unfinished;
  }

  void report_stuck_transfers(const Engine& engine, Diagnostics& diagnostics) const {
    const std::vector<UnfinishedTransfer> unfinished = missed(packet_network_->unfinished(engine));
    if (unfinished.empty()) return;
    const Topology& topology = *scenario_.topology;
    const Transfer& first = unfinished.front().transfer;
    if (const std::vector<LinkId> circle = packet_network_->deadlock(engine); !circle.empty()) {
      std::string links;
      for (const LinkId link : circle) links += topology.link_name(link) + ", ";
      diagnostics.error(
          "pfc-deadlock",
          "pauses wait for each other in a circle, and " + counted(unfinished.size(), "transfer stands", "transfers stand") +
              " still: " + links + "and " + topology.link_name(circle.front()) + " again",
          SourcePlace::named("weft run"),
          "what came by each of these links waits in its switch for room behind the next; take routes without such circles, more "
          "packet.buffer, or a lossy priority");
      return;
    }
    for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
      const std::optional<Time> from = packet_network_->pauses_from(HostId(host));
      if (!from || packet_network_->has_watchdog()) continue;
      diagnostics.error("pause-storm",
                        counted(unfinished.size(), "transfer stands", "transfers stand") + " still, as host" +
                            std::to_string(host) + " pauses its switch since " + to_text(*from - Time::zero()),
                        SourcePlace::named("packet.pausing_hosts"),
                        "a packet.watchdog, such as 200ms, drops what waits for that host, so that the others go on");
      return;
    }
    if (const std::vector<StoppedQueuePair> stopped = packet_network_->given_up(engine); !stopped.empty()) {
      const StoppedQueuePair& at = stopped.front();
      const WorstSwitch worst = packet_network_->worst_switch(engine, at.transfer);
      diagnostics.error("retry-exceeded",
                        counted(stopped.size(), "queue pair", "queue pairs") + " gave up, the first from " +
                            topology.node_name(at.transfer.source) + " to " + topology.node_name(at.transfer.destination) + " at " +
                            to_text(at.time - Time::zero()) + ": nothing that it sent was acknowledged for " +
                            to_text(at.without_answer) + drops_text(worst),
                        SourcePlace::named("packet.retries"), loss_help(worst) + "; packet.retries = 0 tries for ever");
      return;
    }
    if (livelock_) {
      const WorstSwitch worst = packet_network_->worst_switch(engine, first);
      diagnostics.error("livelock",
                        counted(unfinished.size(), "transfer gets", "transfers get") + " nowhere, the first from " +
                            topology.node_name(first.source) + " to " + topology.node_name(first.destination) + ": host" +
                            std::to_string(livelock_->host.index()) + " has sent " +
                            counted(livelock_->repeats, "packet", "packets") + " again since " +
                            readable((livelock_->since - Time::zero()).in_s()) + ", and nothing new has come to any card" +
                            drops_text(worst),
                        SourcePlace::named("packet.repeats_max"), loss_help(worst) + "; packet.repeats_max = 0 goes on for ever");
      return;
    }
    diagnostics.error(
        "stuck-packets",
        counted(unfinished.size(), "transfer was", "transfers were") + " never acknowledged in full, the first of them from " +
            topology.node_name(first.source) + " to " + topology.node_name(first.destination),
        SourcePlace::named("weft run"),
        network_changes() ? "no way is left between them that packets can take, and nothing repairs what is out: let it be repaired"
                          : "packets that were dropped are sent again only with packet.retransmission_timeout above 0");
  }

  /// What is said of the way of a transfer that gets nowhere, and what to do about it.
  std::string drops_text(const WorstSwitch& worst) const {
    if (worst.node.is_none()) return "; nothing was dropped on its way";
    return "; on its way, " + counted(worst.drops, "packet was", "packets were") + " dropped in " +
           scenario_.topology->node_name(worst.node);
  }
  static std::string loss_help(const WorstSwitch& worst) {
    return worst.node.is_none() ? "a longer packet.retransmission_timeout, as queues hold packets and answers for longer, or "
                                  "congestion control that keeps queues short"
                                : "more packet.buffer or packet.lossy_alpha, packet.retransmission = selective_repeat, congestion "
                                  "control, or a lossless priority";
  }

  /// Transfers in packet mode end on many nodes at a time: results get them when the run has ended, numbered by their start and in order of
  /// their end.
  void add_packet_transfers(const Engine& engine) {
    std::vector<FinishedTransfer> all = packet_network_->finished(engine);
    all.insert(all.end(), moved_as_flows_.transfers.begin(), moved_as_flows_.transfers.end());
    std::ranges::stable_sort(all, {}, &FinishedTransfer::start);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].id = FlowId(static_cast<std::uint32_t>(i));
    std::ranges::stable_sort(all, {}, &FinishedTransfer::end);
    for (const FinishedTransfer& transfer : all) results_->on_transfer_finished(transfer);
  }

  Time first_flow() const { return Time::zero() + std::ranges::min_element(scenario_.flows->flows, {}, &ListedFlow::start)->start; }

  struct Span {
    Time begin;
    Time end;
    Duration length() const { return end - begin; }
  };

  /// From the first submission or start to the end of the last job or delivery, however long parts are repaired after it; of a run that was cut off before,
  /// until then.
  Span makespan() const {
    Time begin;
    Time end;
    bool is_over = false;
    if (lifecycle_ != nullptr) {
      const JobCounters counters = lifecycle_->counters();
      begin = counters.first_submit;
      end = begin + counters.makespan();
      is_over = lifecycle_->all_finished();
    } else {
      begin = first_flow();
      const std::uint64_t delivered = packet_network_ ? packet_network_->delivered() : flow_source_->delivered();
      if (flow_source_ != nullptr) end = flow_source_->last_delivery();
      for (const FlowListSink* sink : flow_sinks_) end = std::max(end, sink->last_delivery());
      is_over = delivered == scenario_.flows->flows.size();
    }
    if (cut_off_at_ && !is_over) end = *cut_off_at_;
    return {begin, std::max(begin, end)};
  }

  /// The makespan, and after it until the network has moved what jobs left behind: the last checkpoints of jobs that have ended, packets sent again that had
  /// come after all.
  Span network_span(const Engine& engine) const {
    Span span = makespan();
    if (engine_cut_off_at_ && engine_cut_off_at_ == cut_off_at_ && *cut_off_at_ <= span.end) return span;
    span.end = std::max(span.end, engine.entity_as<FlowFabric>(fabric_).busy_until());
    if (packet_network_) span.end = std::max(span.end, packet_network_->last_data(engine));
    return span;
  }

  RunSummary summarise(const RunReport& report) const {
    RunSummary summary;
    summary.name = scenario_.name;
    summary.mode = to_text(scenario_.mode);
    summary.interrupted = report.interrupted;
    summary.events = report.events;
    summary.threads = static_cast<std::uint32_t>(report.workers.size());
    summary.logical_processes = report.lp_count;
    summary.lookahead = report.lookahead;
    summary.fingerprint = report.fingerprint.to_text();
    summary.makespan = makespan().length();
    summary.jobs_total = scenario_.jobs.size();
    if (lifecycle_ != nullptr) {
      const JobCounters counters = lifecycle_->counters();
      summary.gpus = lifecycle_->cluster().gpu_count();
      summary.jobs_finished = counters.finished;
      summary.jobs_cancelled = counters.cancelled;
      summary.gpu_time_s = counters.busy_gpu_s;
      summary.stranded_gpu_time_s = counters.stranded_gpu_s;
      summary.preemptions = counters.preempted;
      summary.failures = counters.failures;
      summary.flaps = counters.flaps;
      summary.out_of_service_gpu_time_s = counters.out_gpu_s;
      summary.draining_gpu_time_s = counters.draining_gpu_s;
      summary.lost_to_preemptions_gpu_time_s = counters.lost_to_preemptions_gpu_s;
      summary.moves = counters.moved;
      summary.elastic_restarts = counters.elastic_restarts;
      summary.lost_to_moves_gpu_time_s = counters.lost_to_moves_gpu_s;
      summary.lost_to_failures_gpu_time_s = counters.lost_to_failures_gpu_s;
      summary.lost_to_cancellations_gpu_time_s = counters.lost_to_cancellations_gpu_s;
      summary.overhead_gpu_time_s = counters.overhead_gpu_s;
      summary.checkpoint_gpu_time_s = counters.checkpointing_gpu_s;
      summary.effective_time_ratio = counters.effective_time_ratio;
      if (fast_forwards() && simulates_network(scenario_.mode)) summary.fast_forward = lifecycle_->fast_forward();
      const double offered_s = static_cast<double>(summary.gpus) * summary.makespan.in_s();
      summary.gpu_utilization = offered_s > 0 ? counters.busy_gpu_s / offered_s : 0;
      const double not_useful_s = counters.lost_to_preemptions_gpu_s + counters.lost_to_failures_gpu_s +
                                  counters.lost_to_moves_gpu_s + counters.lost_to_cancellations_gpu_s + counters.overhead_gpu_s +
                                  counters.checkpointing_gpu_s;
      summary.goodput = offered_s > 0 ? std::max(0.0, counters.busy_gpu_s - not_useful_s) / offered_s : 0;
    } else {
      summary.gpus = scenario_.topology->endpoints().size();
    }
    if (plan_.folding != nullptr) {
      summary.ranks_simulated = plan_.folding->class_count();
      for (const PlacedJob& job : plan_.jobs) summary.ranks_total += job.endpoint_of_rank->size();
    }
    if (coupled_) count_folded_ranks(summary);
    summary.ranks_simulated_if_sprayed = plan_.classes_if_sprayed;
    summary.not_folded_because = not_folded_because();
    return summary;
  }

  /// Of each job as it was folded when it resumed or started last.
  void count_folded_ranks(RunSummary& summary) const {
    std::vector<const RunningJob*> last(scenario_.jobs.size(), nullptr);
    for (std::uint32_t attempt = 0; attempt < jobs_.size(); ++attempt)
      last[jobs_.at(AttemptId(attempt)).job.index()] = &jobs_.at(AttemptId(attempt));
    bool some_are_folded = false;
    for (const RunningJob* const job : last) {
      if (job == nullptr) continue;
      const auto ranks = static_cast<std::uint32_t>(job->endpoint_of_rank->size());
      summary.ranks_total += ranks;
      summary.ranks_simulated += job->folding == nullptr ? ranks : job->folding->class_count();
      some_are_folded |= job->folding != nullptr;
    }
    if (!some_are_folded) summary.ranks_total = summary.ranks_simulated = 0;
  }

  std::vector<std::string> notes(const Engine& engine, const std::vector<LinkUsage>& usage) const {
    const Topology& topology = *scenario_.topology;
    std::vector<SlotHoldup> holdups;
    for (const EntityId host : hosts_) {
      const std::vector<SlotHoldup> of_host = engine.entity_as<HostEntity>(host).slot_holdups();
      holdups.insert(holdups.end(), of_host.begin(), of_host.end());
    }
    const auto slots = static_cast<std::uint32_t>(scenario_.parameters.of("collective").integer("slots"));
    std::vector<std::string> notes = slot_notes(holdups, jobs_, topology, *flow_settings_, slots);
    if (!packet_network_) return notes;
    if (const auto narrowest = packet_network_->narrowest_window(engine)) notes.push_back(window_note(*narrowest, topology));
    if (const auto shortest = packet_network_->shortest_headroom(usage)) notes.push_back(headroom_note(*shortest, topology));
    return notes;
  }

  void write_results(const Engine& engine, const RunReport& report, RunSummary& summary) {
    if (lifecycle_ != nullptr) {
      for (std::size_t i = 0; i < scenario_.jobs.size(); ++i) {
        const JobRecord& record = lifecycle_->records()[i];
        if (!record.end && !record.cancelled) results_->add_unfinished(scenario_.jobs[i], record);
      }
    }
    std::vector<OpRecord> records;
    for (const EntityId host : hosts_) {
      const std::vector<OpRecord>& of_host = engine.entity_as<HostEntity>(host).records();
      records.insert(records.end(), of_host.begin(), of_host.end());
    }
    results_->write_collectives(records);
    std::vector<RankExposure> exposures;
    for (const EntityId host : hosts_) {
      const std::vector<RankExposure> of_host = engine.entity_as<HostEntity>(host).exposures();
      exposures.insert(exposures.end(), of_host.begin(), of_host.end());
    }
    results_->write_communicators(exposures);
    if (sampler_) sampler_->close();
    if (options_.trace) {
      const std::vector<LinkPause> pauses =
          packet_network_ ? packet_network_->pauses(engine, report.end_time) : std::vector<LinkPause>();
      results_->write_trace(records, sampler_ ? std::span(sampler_->samples()) : std::span<const LinkSample>(), pauses);
    }
    if (fabric_ != EntityId::none()) {
      const Span span = network_span(engine);
      summary.link_utilization_over = span.length();
      const Time now = engine_cut_off_at_.value_or(report.end_time);
      std::vector<LinkUsage> usage = engine.entity_as<FlowFabric>(fabric_).link_usage(span.begin, span.end, now);
      if (packet_network_) {
        packet_network_->add_usage(engine, span.begin, span.end, now, usage);
        add_packet_transfers(engine);
        summary.packets = packet_network_->counters(engine, now);
        if (packet_network_->has_watchdog()) results_->write_storms(*scenario_.topology, packet_network_->storms(engine));
      }
      summary.notes = notes(engine, usage);
      results_->write_links(*scenario_.topology, usage);
      if (congestion_) summary.congestion = results_->write_congestion(*congestion_, report.end_time);
    }
    results_->fill(summary);
    results_->finish(summary);
  }

  /// Below this, `auto` simulates every rank: it takes seconds, and results have a row for each.
  static constexpr std::uint32_t folded_ranks_min = 512;
  /// So often `auto` starts a run again because jobs were placed; then it simulates every rank. Long lists of jobs come in many small steps.
  static constexpr std::uint32_t new_plans_max = 16;

  const Scenario& scenario_;
  /// Packet mode: does any job put flows on the network?
  const bool has_flow_jobs_ = std::ranges::any_of(scenario_.jobs, &JobSpec::is_in_flow_mode);
  SimulationOptions options_;
  JobTable jobs_;
  AttemptFoldings attempt_foldings_{jobs_};
  HostSpeeds speeds_;
  CollectiveLibrary& library_;
  FoldingPlan plan_;
  bool placed_new_job_ = false;                  ///< in this pass of the scheduler, and the plan did not foresee it
  std::atomic<bool> abandoned_ = false;          ///< for a run by the plan as it is now
  std::optional<FlowSettings> flow_settings_;    ///< but in job mode
  std::optional<SwitchOperations> operations_;   ///< but in job mode
  std::optional<CoupledJobs> coupled_;           ///< in flow mode with fast forward
  std::optional<PacketNetwork> packet_network_;  ///< in packet mode
  std::optional<CongestionMonitor> congestion_;  ///< if it is looked for
  std::unique_ptr<NetworkPort> port_;
  TransferCollector moved_as_flows_;  ///< in packet mode
  std::optional<ResultsWriter> results_;
  std::optional<LinkSampler> sampler_;
  std::vector<EntityId> hosts_;
  EntityId scheduler_ = EntityId::none();
  EntityId fabric_ = EntityId::none();
  JobLifecycle* lifecycle_ = nullptr;
  std::optional<Time> cut_off_at_;         ///< of runs that were told to stop, or stand still
  std::optional<Time> engine_cut_off_at_;  ///< of those that were told to, which may have had events left
  /// Packets are sent again and again, and do not come.
  struct Livelock {
    HostId host;
    std::uint64_t repeats;
    Time since;
  };
  std::optional<Livelock> livelock_;
  FlowListSource* flow_source_ = nullptr;
  std::vector<FlowListSink*> flow_sinks_;
};

}  // namespace

void check_simulation(const Scenario& scenario) {
  CollectiveLibrary library = collective_library(scenario);
  Assembly(scenario, {}, library, {}).check();
}

std::shared_ptr<const KnownLinkDemands> link_demands_of(const Scenario& scenario, const ClusterSnapshot& snapshot,
                                                        std::uint32_t threads) {
  CollectiveLibrary library = collective_library(scenario);
  SimulationOptions options;
  options.threads = threads;
  return Assembly(scenario, std::move(options), library, {}).link_demands_of(snapshot);
}

RunSummary finish_simulation(Scenario& scenario, const SimulationOptions& options) {
  RunSummary summary = run_simulation(scenario, options);
  if (!summary.standstill.empty()) throw InputError(std::move(summary.standstill));
  return summary;
}

RunSummary run_simulation(Scenario& scenario, const SimulationOptions& options) {
  scenario.manifest.set("name", scenario.name);
  scenario.manifest.set("mode", std::string(to_text(scenario.mode)));
  scenario.manifest.set("seed", scenario.seed);
  scenario.manifest.set("policy", scenario.policy);
  scenario.manifest.set("placement", scenario.placement);
  scenario.manifest.set("threads", options.threads);
  scenario.manifest.set("zeta", options.zeta);
  for (const ParamSet& set : scenario.parameters.all()) {
    if (!set.table().empty()) scenario.manifest.add_params(with_named_server(set, {}));
  }
  CollectiveLibrary library = collective_library(scenario);
  Assembly(scenario, {}, library, {}).check();
  const auto started = std::chrono::steady_clock::now();
  ResultsFolder folder(options.out, scenario.manifest,
                       result_names(scenario, {options.trace, options.sample.has_value(), options.snapshot.has_value()}));
  FoldingPlan plan;
  while (true) {
    std::variant<RunSummary, Refold> result = naming_memory_use(
        "while simulating " + scenario.name, [&] { return Assembly(scenario, options, library, plan).run(started, folder); });
    if (auto* finished = std::get_if<RunSummary>(&result)) return std::move(*finished);
    plan = std::move(std::get<Refold>(result).plan);
  }
}

}  // namespace weft
