// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/run.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/engine/parallel_loop.hpp"
#include "core/text/out_of_memory.hpp"
#include "host/ranks/host_entity.hpp"
#include "host/ranks/message_tag.hpp"
#include "network/flow/flow_fabric.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "tools/results/summary_statistics.hpp"
#include "tools/results/tee_sink.hpp"
#include "tools/simulation/assembly.hpp"
#include "tools/simulation/collective_rows.hpp"
#include "tools/simulation/inside_rows.hpp"
#include "tools/simulation/result_rows.hpp"
#include "tools/simulation/run_figures.hpp"
#include "tools/simulation/run_loop.hpp"
#include "tools/simulation/run_recording.hpp"
#include "tools/simulation/scenario/parameter_changes.hpp"
#include "tools/simulation/standstill.hpp"
#include "tools/simulation/transfer_count.hpp"
#include "topologies/builders/server_presets.hpp"

namespace weft {

namespace {

using WallClock = std::chrono::steady_clock;

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
    fail("bad-zeta", given.error.message, SourcePlace::named(fmt::format("--zeta={}", zeta)),
         "write auto, table, or a duration such as 500ns");
  }
  return PartitionByZeta{*given.value};
}

void check_jobs_fit(const Scenario& scenario) {
  Diagnostics diagnostics;
  check_jobs(scenario.jobs, serving_cluster(scenario), *make_placer(scenario), diagnostics);
  diagnostics.throw_if_errors();
  for (const SettingsChange& change : settings_changes(scenario)) {
    if (change.placer != nullptr) check_jobs(scenario.jobs, serving_cluster(scenario), *change.placer, diagnostics);
    diagnostics.throw_if_errors();
  }
}

void check_flows_fit(const Scenario& scenario) {
  if (!scenario.flows) return;
  Diagnostics diagnostics;
  check_flow_list(*scenario.flows, *scenario.topology, scenario.flows->name, diagnostics);
  diagnostics.throw_if_errors();
}

/// Endpoints of so many ranks on an empty cluster; none if there is no place for them.
std::vector<NodeId> endpoints_when_alone(const Scenario& scenario, std::uint32_t ranks) {
  const std::optional<Placement> placement = make_placer(scenario)->place(empty_cluster(scenario), ranks);
  std::vector<NodeId> endpoints;
  if (!placement) return endpoints;
  for (const GpuSlot gpu : placement->gpus) endpoints.push_back(scenario.topology->endpoints()[gpu.index()]);
  return endpoints;
}

/// What cannot be carried out or told apart should not come up days into the run: every workload is
/// prepared as if its job were alone.
/// Returns transfers of all jobs; some number above `enough` where there are more than that, which
/// are not counted if that is UINT64_MAX.
std::uint64_t check_collectives(Assembly& parts, std::uint64_t enough) {
  std::map<const Workload*, std::uint64_t> prepared;  // transfers of an iteration
  const auto prepare = [&](const std::shared_ptr<const Workload>& workload) {
    if (workload == nullptr || !prepared.try_emplace(workload.get(), 0).second) return;
    const std::vector<NodeId> endpoints = endpoints_when_alone(parts.scenario, workload->rank_count);
    if (endpoints.empty()) return;  // a smaller workload that will never find a place
    const auto collectives = parts.library.prepare(*workload, *parts.scenario.topology, endpoints, &*parts.operations);
    MessageTags(*workload, *collectives);
    if (enough < UINT64_MAX) prepared[workload.get()] = transfers_of(*workload, *collectives, enough);
  };
  std::uint64_t transfers = 0;
  for (const JobSpec& job : parts.scenario.jobs) {
    prepare(job.workload);
    std::ranges::for_each(job.smaller_workloads, prepare);
    if (job.workload == nullptr) continue;
    const std::uint64_t of_iteration = prepared[job.workload.get()];
    const bool is_enough = transfers > enough || (of_iteration > 0 && job.iterations > enough / of_iteration);
    transfers = is_enough ? enough + 1 : transfers + of_iteration * job.iterations;
  }
  return transfers;
}

void check_congestion(const Scenario& scenario) {
  if (!detects_congestion(scenario) || scenario.parameters.of("flow").text("allocation") == "max_min") return;
  fail("cannot-detect-congestion", "links are bottlenecks of flows only as long as rates are max-min fair",
       SourcePlace::named("flow.detect_congestion"), "drop it, or take --set=flow.allocation=max_min");
}

/// Throws InputError for what cannot be simulated. Collectives are prepared in `library`. Returns
/// what check_collectives() does.
std::uint64_t check(const Scenario& scenario, CollectiveLibrary& library, std::uint64_t enough) {
  Assembly parts(scenario, {}, library, {});
  std::uint64_t transfers = 0;
  check_jobs_fit(scenario);
  check_flows_fit(scenario);
  if (simulates_network(scenario.mode)) transfers = check_collectives(parts, enough);
  if (scenario.mode == Mode::flow) parts.planner.check();
  check_congestion(scenario);
  return transfers;
}

/// How much of the work has finished. Called while other threads run the model.
RunState state_of(const Assembly& parts, const SummaryStatistics& statistics, const RunProgress& progress) {
  const Scenario& scenario = parts.scenario;
  RunState state{progress.sim_time, progress.events};
  if (scenario.flows) {
    state.done = parts.packet_network ? parts.packet_network->delivered() : statistics.transfers_done();
    state.total = scenario.flows->flows.size();
    state.what = "transfers";
    return state;
  }
  // Few jobs say little by their ends; their iterations say more, unless most of them are left out.
  if (simulates_network(scenario.mode) && !fast_forwards(scenario)) {
    for (const JobSpec& job : scenario.jobs) state.total += job.workload != nullptr ? job.iterations : 0;
    state.done = statistics.iterations_done();
    state.what = "iterations";
  }
  if (state.total == 0) {
    state.done = statistics.jobs_done();
    state.total = scenario.jobs.size();
    state.what = "jobs";
  }
  return state;
}

/// Transfers in packet mode end on many nodes at a time: rows come when the run has ended, numbered
/// by their start and in order of their end. Returns how many.
std::size_t add_packet_transfers(const Assembly& parts, const Engine& engine, ResultRows& rows) {
  std::vector<FinishedTransfer> all = parts.packet_network->results().finished(engine);
  all.insert(all.end(), parts.moved_as_flows.transfers.begin(), parts.moved_as_flows.transfers.end());
  std::ranges::stable_sort(all, {}, &FinishedTransfer::start);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].id = FlowId(static_cast<std::uint32_t>(i));
  std::ranges::stable_sort(all, {}, &FinishedTransfer::end);
  for (const FinishedTransfer& transfer : all) rows.on_transfer_finished(transfer);
  return all.size();
}

/// What each host has, one after the other.
template <class Record, class OfHost>
std::vector<Record> of_all_hosts(const Assembly& parts, const Engine& engine, const OfHost& of_host) {
  std::vector<Record> all;
  for (const EntityId host : parts.hosts) {
    const auto& records = of_host(engine.entity_as<HostEntity>(host));
    all.insert(all.end(), records.begin(), records.end());
  }
  return all;
}

/// A run that is over, or was cut off.
struct EndedRun {
  const Assembly& parts;
  const Engine& engine;
  Time end;  ///< of its last event
  CutOff cut_off;
  bool has_many_flows = false;
};

/// What hosts moved on links of their own. Its transfers are numbered behind those `by_network`.
void add_inside(const EndedRun& run, const TimeSpan& span, Time now, std::uint64_t by_network, ResultRows& rows,
                std::vector<LinkUsage>& usage) {
  const auto& [parts, engine, end, cut_off, has_many_flows] = run;
  if (parts.inside == nullptr) return;
  InsideRows inside(parts.attempts, !has_many_flows, by_network, rows);
  for (const EntityId host : parts.hosts) {
    const InsideRecords records = engine.entity_as<HostEntity>(host).inside_records(now);
    for (const auto& [link, bytes] : records.link_bytes) {
      LinkUsage& of_link = usage[link.index()];
      of_link.bytes += bytes;
      of_link.mean_utilization = mean_utilization(of_link.bytes, parts.scenario.topology->link(link).rate, span.length());
    }
    inside.add(records);
  }
  inside.finish();
}

void add_network_rows(const EndedRun& run, ResultRows& rows, RunSummary& summary) {
  const auto& [parts, engine, end, cut_off, has_many_flows] = run;
  const Time now = cut_off.engine_at.value_or(end);
  const TimeSpan span = network_span(parts, engine, cut_off, now);
  summary.link_utilization_over = span.length();
  const auto& fabric = engine.entity_as<FlowFabric>(parts.fabric);
  std::uint64_t by_network = fabric.counters().transfers_started;
  std::vector<LinkUsage> usage = fabric.link_usage(span.begin, span.end, now);
  if (parts.packet_network) {
    parts.packet_network->results().add_usage(engine, span.begin, span.end, now, usage);
    by_network = add_packet_transfers(parts, engine, rows);
    summary.packets = parts.packet_network->results().counters(engine, now);
    if (parts.packet_network->has_watchdog()) rows.add_pause_storms(parts.packet_network->results().storms(engine));
  }
  add_inside(run, span, now, by_network, rows, usage);
  summary.notes = notes_on(parts, engine, now, usage);
  rows.add_links(usage);
  if (parts.congestion) summary.congestion = rows.add_congestion(*parts.congestion, end);
}

/// Of ops, for the rows that a sink asks for.
Recording recording(const ResultSink::Needs& needs) {
  if (needs.ops) return Recording::everything;
  return needs.collectives ? Recording::communication : Recording::nothing;
}

/// What entities have recorded.
void add_last_rows(const EndedRun& run, ResultRows& rows, ResultSink& sink, RunSummary& summary) {
  const auto& [parts, engine, end, cut_off, has_many_flows] = run;
  const ResultSink::Needs needs = sink.needs();
  if (parts.lifecycle != nullptr) rows.add_unfinished_jobs(parts.lifecycle->records());
  const Time now = cut_off.engine_at.value_or(end);
  std::vector<const HostEntity*> hosts;
  for (const EntityId host : parts.hosts) hosts.push_back(&engine.entity_as<HostEntity>(host));
  const HostRecords records(std::move(hosts), now);
  if (needs.collectives) add_collective_rows(parts.scenario, parts.attempts, records, sink);
  rows.add_communicators(of_all_hosts<RankExposure>(parts, engine, [now](const HostEntity& host) { return host.exposures(now); }));
  if (needs.ops) rows.add_ops(records);
  if (needs.pauses && parts.packet_network) rows.add_link_pauses(parts.packet_network->results().pauses(engine, end));
  if (parts.fabric != EntityId::none()) add_network_rows(run, rows, summary);
}

/// Requires: what RunOptions says.
void begin_recording(const Assembly& parts, EngineOptions& options) {
  const Scenario& scenario = parts.scenario;
  WEFT_CHECK(simulates_network(scenario.mode) && !fast_forwards(scenario) && !network_changes(scenario) &&
                 !detects_congestion(scenario) && !parts.planner.may_fold() && parts.across == nullptr && parts.inside == nullptr,
             "runs are recorded rank by rank, on a network that does not change");
  options.watcher = &parts.options.recording->tape;
  if (parts.packet_network) parts.options.recording->tape.follow_packets();
}

/// Keeps what others are told: in packet mode, of transfers inside hosts.
struct KeptTransfers final : FlowObserver {
  explicit KeptTransfers(FlowObserver& other) : others(other) {}
  void on_transfer_finished(const FinishedTransfer& transfer) override {
    finished.push_back(transfer);
    others.on_transfer_finished(transfer);
  }
  FlowObserver& others;
  std::vector<FinishedTransfer> finished;
};

void end_recording(const Assembly& parts, const Engine& engine, std::vector<FinishedTransfer> finished, RunRecording& recording) {
  if (parts.packet_network) {
    const std::vector<FinishedTransfer> between_hosts = parts.packet_network->results().finished(engine);
    finished.insert(finished.end(), between_hosts.begin(), between_hosts.end());
    recording.tape.take_ideals(finished);
  }
  recording.attempts = std::make_unique<JobTable>();
  for (std::uint32_t i = 0; i < parts.attempts.size(); ++i) recording.attempts->publish(parts.attempts.at(AttemptId(i)));
  recording.hosts = parts.hosts;
  recording.scheduler = parts.scheduler;
}

void take_queue_blame(const Assembly& parts, const Engine& engine, std::vector<JobQueueBlame>& into) {
  const auto job_of = [&](AttemptId attempt) { return attempt.is_none() ? JobId::none() : parts.attempts.at(attempt).job; };
  into.clear();
  for (const QueueBlame& blame : parts.packet_network->results().queue_blame(engine))
    into.push_back({blame.link, job_of(blame.waits), job_of(blame.blamed), blame.paused_by, blame.is_pause, blame.lost_s});
}

/// A run whose plan does not hold any more. Nothing has been done yet that the new plan would have
/// done in another way.
struct Refold {
  FoldingPlan plan;
};

/// `has_many_flows`: more than the sink wants to list. `started`: when the first run of the
/// scenario did.
std::variant<RunOutcome, Refold> run_by_plan(const Scenario& scenario, ResultSink& user_sink, const RunOptions& options,
                                             CollectiveLibrary& library, FoldingPlan plan, bool has_many_flows,
                                             WallClock::time_point started) {
  const PartitionChoice partition = partition_choice(options.zeta, scenario);
  Assembly parts(scenario, options, library, std::move(plan));
  SummaryStatistics statistics;
  TeeSink sink(statistics, user_sink);
  sink.begin();
  if (has_many_flows) sink.expect_many_flows();
  ResultRows rows(scenario, parts.attempts, sink);
  const ResultSink::Needs needs = sink.needs();
  EngineBuilder builder;
  KeptTransfers inside_hosts(rows);
  const bool keeps_transfers = options.recording != nullptr && scenario.mode == Mode::packet;
  FlowObserver& transfers = keeps_transfers ? static_cast<FlowObserver&>(inside_hosts) : rows;
  parts.add_entities(builder, {rows, transfers, recording(needs), needs.pauses});
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.partition = partition;
  engine_options.log = options.log;
  if (options.recording != nullptr) begin_recording(parts, engine_options);
  Engine engine = std::move(builder).build(std::move(engine_options));

  RunControl control;
  control.interrupt = options.interrupt;
  if (options.progress) {
    control.progress = [&](const RunProgress& progress) { options.progress(state_of(parts, statistics, progress)); };
  }
  control.abandon = &parts.abandoned;
  std::optional<LinkSampler> sampler;
  if (options.sample_links && parts.packet_network)
    sampler.emplace(*scenario.topology, *parts.packet_network, *options.sample_links, sink);
  std::optional<TierSampler> tiers;
  if (options.samples_tiers && parts.fabric != EntityId::none())
    tiers.emplace(*scenario.topology, parts.packet_network ? &*parts.packet_network : nullptr);
  const std::optional<LoopResult> result =
      run_to_end(parts, engine, {sampler ? &*sampler : nullptr, tiers ? &*tiers : nullptr}, std::move(control));
  if (!result) return Refold{parts.planner.plan()};

  const RunReport& report = result->report;
  if (options.queue_blame != nullptr && parts.packet_network) take_queue_blame(parts, engine, *options.queue_blame);
  // What is planned may come to nothing, where all jobs are over.
  const bool is_over = parts.lifecycle != nullptr && parts.lifecycle->all_finished();
  const bool stopped = options.until && report.next_event < Time::max() && report.next_event > *options.until && !is_over;
  CutOff cut_off;
  if (report.interrupted) cut_off.at = report.end_time;
  if (stopped) cut_off.at = *options.until;
  cut_off.engine_at = cut_off.at;
  // Where nothing is under way any more, all that has begun has come as far as it can.
  if (parts.flow_fabric != nullptr) {
    const bool is_idle = !report.interrupted && report.next_event == Time::max();
    parts.flow_fabric->catch_up(is_idle ? Time::max() : stopped ? *options.until : report.end_time);
  }
  if (options.recording != nullptr) end_recording(parts, engine, std::move(inside_hosts.finished), *options.recording);
  if (tiers) {
    const Time now = cut_off.engine_at.value_or(report.end_time);
    tiers->finish(now, network_span(parts, engine, cut_off, now).end, engine, parts.flows_on_cables(engine), sink);
  }
  const double run_wall_time_s = std::chrono::duration<double>(WallClock::now() - started).count();
  std::vector<Diagnostic> standstill;
  if (parts.lifecycle != nullptr && parts.lifecycle->standstill()) {
    cut_off.at = parts.lifecycle->standstill()->at;
    standstill = {parts.lifecycle->standstill()->why};
  } else if (!cut_off.at) {
    standstill = why_nothing_gets_on(parts, engine, result->livelock);
    if (!standstill.empty()) cut_off.at = report.end_time;
  }
  RunOutcome outcome;
  if (options.keeps_end && parts.lifecycle != nullptr)
    outcome.end = parts.lifecycle->snapshot(cut_off.at.value_or(report.end_time));
  if (cut_off.at && parts.lifecycle != nullptr) parts.lifecycle->close_open_attempts(*cut_off.at);
  RunSummary& summary = outcome.summary;
  summary = summarise(parts, report, cut_off);
  summary.run_wall_time_s = run_wall_time_s;
  if (stopped && standstill.empty()) summary.stopped_at = *options.until;
  summary.standstill = std::move(standstill);
  add_last_rows({parts, engine, report.end_time, cut_off, has_many_flows}, rows, sink, summary);
  statistics.fill(summary);
  return outcome;
}

}  // namespace

void check_run(const Scenario& scenario) {
  CollectiveLibrary library = collective_library(scenario);
  check(scenario, library, 0);
}

RunOutcome run(const Scenario& scenario, ResultSink& sink, const RunOptions& options) {
  CollectiveLibrary library = collective_library(scenario);
  const std::uint64_t listed_max = sink.needs().flows_listed_max;
  const bool is_whole = !options.until && options.from == nullptr && !fast_forwards(scenario);
  const bool has_many_flows = check(scenario, library, listed_max) > listed_max && is_whole;
  const auto started = WallClock::now();
  FoldingPlan plan;
  while (true) {
    std::variant<RunOutcome, Refold> result = naming_memory_use(fmt::format("while simulating {}", scenario.name), [&] {
      return run_by_plan(scenario, sink, options, library, std::move(plan), has_many_flows, started);
    });
    if (auto* finished = std::get_if<RunOutcome>(&result)) return std::move(*finished);
    plan = std::move(std::get<Refold>(result).plan);
  }
}

RunOutcome finish_run(const Scenario& scenario, ResultSink& sink, const RunOptions& options) {
  RunOutcome outcome = run(scenario, sink, options);
  if (!outcome.summary.standstill.empty()) throw InputError(std::move(outcome.summary.standstill));
  return outcome;
}

std::shared_ptr<const KnownLinkDemands> link_demands_of(const Scenario& scenario, const ClusterSnapshot& snapshot,
                                                        std::uint32_t threads) {
  CollectiveLibrary library = collective_library(scenario);
  Assembly parts(scenario, {}, library, {});
  const Topology& topology = *scenario.topology;
  std::vector<JobId> ids;
  std::vector<PlacedJob> placed;
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const JobSpec& spec = scenario.jobs[i];
    if (snapshot.jobs[i].state != ClusterSnapshot::State::runs || spec.workload == nullptr) continue;
    auto endpoints = std::make_shared<std::vector<NodeId>>();
    for (const GpuSlot gpu : snapshot.jobs[i].placement.gpus) endpoints->push_back(topology.endpoints()[gpu.index()]);
    const auto& workload = workload_on(spec, static_cast<std::uint32_t>(endpoints->size()));
    auto collectives = library.prepare(*workload, topology, *endpoints, &*parts.operations);
    ids.emplace_back(static_cast<std::uint32_t>(i));
    placed.push_back({workload, std::move(collectives), std::move(endpoints)});
  }
  std::vector<std::shared_ptr<const JobLinkDemand>> found(placed.size());
  ParallelLoop(threads).run(placed.size(), [&](std::size_t, std::size_t i) {
    auto link_demand = JobLinkDemand::find(placed[i], topology, *parts.flow_settings, parts.speeds);
    if (link_demand) found[i] = std::make_shared<const JobLinkDemand>(std::move(*link_demand));
  });
  auto known = std::make_shared<KnownLinkDemands>();
  for (std::size_t i = 0; i < ids.size(); ++i) known->emplace(ids[i], KnownLinkDemand{placed[i].endpoint_of_rank, found[i]});
  return known;
}

RunManifest manifest_of(const Scenario& scenario, const RunOptions& options) {
  RunManifest manifest = scenario.manifest;
  manifest.set("name", scenario.name);
  manifest.set("mode", std::string(to_text(scenario.mode)));
  manifest.set("seed", scenario.seed);
  manifest.set("policy", scenario.policy);
  manifest.set("placement", scenario.placement);
  manifest.set("threads", options.threads);
  manifest.set("zeta", options.zeta);
  manifest.set_assumptions(scenario.assumptions);
  for (const ParamSet& set : scenario.parameters.all()) {
    if (!set.table().empty()) manifest.add_params(with_named_server(set, {}));
  }
  return manifest;
}

FolderContents folder_contents(const Scenario& scenario) {
  FolderContents contents;
  contents.pause_storms = scenario.mode == Mode::packet && scenario.parameters.of("packet").duration("watchdog") > Duration::zero();
  contents.events = !scenario.events.empty() || !scenario.handlers.empty();
  contents.congestion = detects_congestion(scenario);
  return contents;
}

}  // namespace weft
