// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/run_figures.hpp"

#include <algorithm>

#include "host/ranks/host_entity.hpp"
#include "network/flow/flow_fabric.hpp"
#include "tools/simulation/run_notes.hpp"

namespace weft {

namespace {

Time first_flow(const Scenario& scenario) {
  return Time::zero() + std::ranges::min_element(scenario.flows->flows, {}, &ListedFlow::start)->start;
}

/// From the first submission or start to the end of the last job or delivery, however long parts
/// are repaired after it; of a run that was cut off before, until then.
TimeSpan makespan(const Assembly& parts, const CutOff& cut_off) {
  Time begin;
  Time end;
  bool is_over = false;
  if (parts.lifecycle != nullptr) {
    const JobCounters counters = parts.lifecycle->counters();
    begin = counters.first_submit;
    end = begin + counters.makespan();
    is_over = parts.lifecycle->all_finished();
  } else {
    begin = first_flow(parts.scenario);
    const std::uint64_t delivered = parts.packet_network ? parts.packet_network->delivered() : parts.flow_source->delivered();
    if (parts.flow_source != nullptr) end = parts.flow_source->last_delivery();
    for (const FlowListSink* sink : parts.flow_sinks) end = std::max(end, sink->last_delivery());
    is_over = delivered == parts.scenario.flows->flows.size();
  }
  if (cut_off.at && !is_over) end = *cut_off.at;
  return {begin, std::max(begin, end)};
}

/// Of what the scheduler counted.
void add_counters(const Assembly& parts, RunSummary& summary) {
  const JobCounters counters = parts.lifecycle->counters();
  summary.gpus = parts.lifecycle->cluster().gpu_count();
  summary.jobs_finished = counters.finished;
  summary.jobs_cancelled = counters.cancelled;
  summary.gpu_time_s = counters.busy_gpu_s;
  summary.stranded_gpu_time_s = counters.stranded_gpu_s;
  if (counters.steady) {
    const SteadyState& steady = *counters.steady;
    summary.steady = {steady.from.in_s(), steady.until.in_s(),  steady.starts,
                      steady.mean_wait_s, steady.stranded_gpus, steady.busy_gpus};
  }
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
  if (fast_forwards(parts.scenario) && simulates_network(parts.scenario.mode))
    summary.fast_forward = parts.lifecycle->fast_forward();
  const double offered_s = static_cast<double>(summary.gpus) * summary.makespan.in_s();
  summary.gpu_utilization = offered_s > 0 ? counters.busy_gpu_s / offered_s : 0;
  const double not_useful_s = counters.lost_to_preemptions_gpu_s + counters.lost_to_failures_gpu_s + counters.lost_to_moves_gpu_s +
                              counters.lost_to_cancellations_gpu_s + counters.overhead_gpu_s + counters.checkpointing_gpu_s;
  summary.goodput = offered_s > 0 ? std::max(0.0, counters.busy_gpu_s - not_useful_s) / offered_s : 0;
}

/// Of each job as it was folded when it resumed or started last.
void count_folded_ranks(const Assembly& parts, RunSummary& summary) {
  std::vector<const RunningJob*> last(parts.scenario.jobs.size(), nullptr);
  for (std::uint32_t attempt = 0; attempt < parts.attempts.size(); ++attempt)
    last[parts.attempts.at(AttemptId(attempt)).job.index()] = &parts.attempts.at(AttemptId(attempt));
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

}  // namespace

TimeSpan network_span(const Assembly& parts, const Engine& engine, const CutOff& cut_off, Time now) {
  TimeSpan span = makespan(parts, cut_off);
  if (cut_off.engine_at && cut_off.engine_at == cut_off.at && *cut_off.at <= span.end) return span;
  span.end = std::max(span.end, engine.entity_as<FlowFabric>(parts.fabric).busy_until());
  if (parts.inside != nullptr) {
    for (const EntityId host : parts.hosts)
      span.end = std::max(span.end, engine.entity_as<HostEntity>(host).inside_busy_until(now));
  }
  if (parts.packet_network) span.end = std::max(span.end, parts.packet_network->results().last_data(engine));
  return span;
}

RunSummary summarise(const Assembly& parts, const RunReport& report, const CutOff& cut_off) {
  RunSummary summary;
  summary.name = parts.scenario.name;
  summary.mode = to_text(parts.scenario.mode);
  summary.interrupted = report.interrupted;
  summary.events = report.events;
  summary.threads = static_cast<std::uint32_t>(report.workers.size());
  summary.logical_processes = report.lp_count;
  summary.lookahead = report.lookahead;
  summary.fingerprint = report.fingerprint.to_text();
  summary.makespan = makespan(parts, cut_off).length();
  summary.jobs_total = parts.scenario.jobs.size();
  if (parts.lifecycle != nullptr) {
    add_counters(parts, summary);
  } else {
    summary.gpus = parts.scenario.topology->endpoints().size();
  }
  const FoldingPlan& plan = parts.planner.plan();
  if (plan.folding != nullptr) {
    summary.ranks_simulated = plan.folding->class_count();
    for (const PlacedJob& job : plan.jobs) summary.ranks_total += job.endpoint_of_rank->size();
  }
  if (parts.coupled) count_folded_ranks(parts, summary);
  summary.ranks_simulated_if_sprayed = plan.classes_if_sprayed;
  if (!parts.coupled) summary.not_folded_because = parts.planner.not_folded_because();
  return summary;
}

std::vector<std::string> notes_on(const Assembly& parts, const Engine& engine, Time now, std::span<const LinkUsage> usage) {
  const Topology& topology = *parts.scenario.topology;
  std::vector<SlotHoldup> holdups;
  for (const EntityId host : parts.hosts) {
    const std::vector<SlotHoldup> of_host = engine.entity_as<HostEntity>(host).slot_holdups(now);
    holdups.insert(holdups.end(), of_host.begin(), of_host.end());
  }
  if (parts.across != nullptr) {
    const std::vector<SlotHoldup> between_hosts = parts.across->slot_holdups(now);
    holdups.insert(holdups.end(), between_hosts.begin(), between_hosts.end());
  }
  const auto slots = static_cast<std::uint32_t>(parts.scenario.parameters.of("collective").integer("slots"));
  std::vector<std::string> notes = slot_notes(holdups, parts.attempts, topology, *parts.flow_settings, slots);
  if (parts.flow_fabric != nullptr && parts.flow_fabric->wide_area_use().transfers > 0)
    notes.push_back(wide_area_note(parts.flow_fabric->wide_area_use(), parts.flow_settings->queue_pairs, topology));
  if (!parts.packet_network) return notes;
  if (const WideAreaUse use = parts.packet_network->results().wide_area_use(engine); use.transfers > 0)
    notes.push_back(wide_area_note(use, parts.flow_settings->queue_pairs, topology));
  if (std::string note = packets_on_lines_note(topology, usage); !note.empty()) notes.push_back(std::move(note));
  if (const auto narrowest = parts.packet_network->results().narrowest_window(engine))
    notes.push_back(window_note(*narrowest, topology));
  if (const auto shortest = parts.packet_network->results().shortest_headroom(usage))
    notes.push_back(headroom_note(*shortest, topology));
  return notes;
}

}  // namespace weft
