// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/result_rows.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "scheduler/lifecycle/elastic_restart.hpp"
#include "tools/simulation/collective_rows.hpp"
#include "tools/simulation/link_tier.hpp"

namespace weft {

namespace {

/// A communicator of a job, in all of its workloads.
struct CommunicatorExposure {
  std::string name;
  std::size_t groups = 0;
  std::size_t smallest = SIZE_MAX;  ///< of the groups, like the next
  std::size_t largest = 0;
  double per_rank_s = 0;
};

/// `exposed_s`: by communicator, over all ranks. Communicators of one name share a row, as a job
/// that is elastic runs several workloads; then it has the most groups that there were.
void add_exposure(const Workload& workload, std::span<const double> exposed_s, std::vector<CommunicatorExposure>& rows) {
  const std::vector<bool> used = communicators_in_use(workload);
  for (std::size_t c = 0; c < exposed_s.size(); ++c) {
    if (!used[c]) continue;
    const Communicator& communicator = workload.communicators[c];
    auto row = std::ranges::find(rows, communicator.name(), &CommunicatorExposure::name);
    if (row == rows.end()) row = rows.insert(rows.end(), {communicator.name()});
    row->groups = std::max<std::size_t>(row->groups, communicator.group_count());
    for (std::uint32_t group = 0; group < communicator.group_count(); ++group) {
      row->smallest = std::min(row->smallest, communicator.ranks(GroupId(group)).size());
      row->largest = std::max(row->largest, communicator.ranks(GroupId(group)).size());
    }
    row->per_rank_s += exposed_s[c] / workload.rank_count;
  }
}

}  // namespace

ResultRows::ResultRows(const Scenario& scenario, const JobTable& attempts, ResultSink& sink)
    : scenario_(scenario), attempts_(attempts), sink_(sink) {
  if (sink.needs().origins) origins_.emplace(attempts);
  if (detects_congestion(scenario)) congestion_.emplace(scenario);
}

void ResultRows::job_started(const JobSpec&, const JobRecord& record) {
  if (congestion_) congestion_->note_start(record.id, *record.last_start);
}

void ResultRows::job_fast_forwarded(const JobSpec&, const JobRecord& record, Time begin, Time end) {
  if (congestion_) congestion_->note_fast_forward(record.id, {begin, end});
}

void ResultRows::attempt_ended(const JobSpec& spec, const JobRecord& record, const AttemptRecord& attempt) {
  sink_.add_attempt({spec.name, record.restarts, attempt.start, attempt.end, to_text(attempt.why), attempt.gpus, record.placement});
}

void ResultRows::job_finished(const JobSpec& spec, const JobRecord& record) { add_job(spec, record); }

void ResultRows::job_cancelled(const JobSpec& spec, const JobRecord& record) { add_job(spec, record); }

void ResultRows::add_job(const JobSpec& spec, const JobRecord& record) {
  JobRow row;
  row.job = spec.name;
  row.gpus = record.gpus;
  row.submit = record.submit;
  row.start = record.start;
  row.end = record.end;
  if (record.start) {
    row.wait = record.wait;
    row.run = record.run;
  }
  if (record.end) row.completion = record.completion();
  row.iterations = record.iterations;
  row.mean_iteration = record.mean_iteration;
  row.exposed_communication = record.exposed_communication;
  row.restarts = record.restarts;
  row.preemptions = record.preemptions;
  row.placement = record.placement;
  row.failures = record.failures;
  row.moves = record.moves;
  row.lost = record.lost();
  row.overhead = record.overhead;
  row.checkpointing = record.checkpointing;
  if (record.end && record.iterations > 0 && *record.end > *record.start) {
    const double per_s = static_cast<double>(record.iterations) / (*record.end - *record.start).in_s();
    row.goodput_iterations_per_s = per_s;
    if (spec.samples_per_iteration > 0) row.goodput_samples_per_s = per_s * static_cast<double>(spec.samples_per_iteration);
  }
  row.elastic_restarts = record.elastic_restarts;
  row.user = spec.user;
  row.group = spec.group;
  row.model = spec.model.empty() && spec.workload != nullptr ? spec.workload->name : spec.model;
  row.priority = spec.priority;
  sink_.add_job(row);
}

void ResultRows::event_happened(const EventRecord& record) {
  sink_.add_event({record.at, record.event, record.subject, record.by});
}

void ResultRows::cluster_changed(const ClusterSample& sample) {
  sink_.add_cluster({sample.since, sample.running_jobs, sample.waiting_jobs, sample.waiting_gpus, sample.busy_gpus,
                     sample.free_gpus, sample.stranded_gpus(), sample.fragmented_gpus, sample.gpus_out, sample.draining_gpus});
}

void ResultRows::iteration_finished(const JobSpec& spec, const IterationRecord& record) {
  IterationTime& of_job = iterations_[record.job];
  of_job.sum_s += (record.end - record.start).in_s();
  ++of_job.count;
  sink_.add_iteration({spec.name, record.iteration, record.start, record.end, record.exposed_communication});
}

void ResultRows::on_transfer_finished(const FinishedTransfer& finished) {
  FlowRow row = flow_row(finished);
  if (node_names_.empty()) node_names_.resize(scenario_.topology->node_count());
  row.source = node_name(finished.transfer.source);
  row.destination = node_name(finished.transfer.destination);
  sink_.add_flow(row);
}

void ResultRows::begin_records() {
  if (origins_) origins_->begin_again();
}

void ResultRows::add_alike(const FinishedTransfer& one, std::uint64_t number, const Alike& alike) {
  FlowRow row = flow_row(one);
  row.flow = number;
  row.start = alike.first_start;
  row.end = alike.last_end;
  row.multiplicity = alike.transfers;
  if (row.iteration) row.iteration = alike.iteration;
  row.source_rank.reset();
  row.destination_rank.reset();
  sink_.add_flow(row);
}

FlowRow ResultRows::flow_row(const FinishedTransfer& finished) {
  const AttemptId attempt = finished.transfer.attempt;
  FlowRow row;
  row.flow = finished.id.index();
  if (attempt.is_none()) {
    row.input_row = finished.transfer.tag;
  } else {
    row.job_id = attempts_.at(attempt).job;
    row.job = scenario_.jobs[row.job_id.index()].name;
    if (const std::optional<TransferOrigin> origin = origins_ ? origins_->of(finished.transfer) : std::nullopt) {
      row.origin = origin->number;
      row.op = origin->op;
      row.collective = origin->kind;
      row.iteration = origin->iteration;
      row.communicator = origin->communicator;
      row.source_rank = origin->source.index();
      if (origin->destination) row.destination_rank = origin->destination->index();
    }
  }
  row.size = finished.transfer.size;
  row.start = finished.start;
  row.end = finished.end;
  row.completion = finished.end - finished.start;
  row.ideal = finished.ideal;
  if (finished.ideal > Duration::zero()) row.slowdown = row.completion.in_ns() / finished.ideal.in_ns();
  row.multiplicity = finished.multiplicity;
  return row;
}

const std::string& ResultRows::node_name(NodeId node) {
  std::string& name = node_names_.at(node.index());
  if (name.empty()) name = scenario_.topology->node_name(node);
  return name;
}

void ResultRows::add_unfinished_jobs(std::span<const JobRecord> records) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!records[i].end && !records[i].cancelled) add_job(scenario_.jobs[i], records[i]);
  }
}

void ResultRows::add_communicators(std::span<const RankExposure> given) {
  // by ranks, communicator: over all ranks
  std::map<JobId, std::map<std::uint32_t, std::vector<double>>> exposed_s;
  // Sums do not depend on which of several ranks was done first at an instant.
  std::vector<const RankExposure*> by_rank;
  for (const RankExposure& exposure : given) by_rank.push_back(&exposure);
  std::ranges::stable_sort(by_rank, {}, [](const RankExposure* one) { return std::pair(one->attempt, one->rank); });
  for (const RankExposure* const one : by_rank) {
    const RankExposure& exposure = *one;
    const RunningJob& attempt = attempts_.at(exposure.attempt);
    const double stands_for = ranks_alike(attempt, exposure.rank);
    std::vector<double>& of_workload = exposed_s[attempt.job][attempt.workload->rank_count];
    of_workload.resize(exposure.by_communicator.size());
    for (std::size_t c = 0; c < of_workload.size(); ++c) of_workload[c] += exposure.by_communicator[c].in_s() * stands_for;
  }
  for (const auto& [id, of_job] : exposed_s) {
    const JobSpec& job = scenario_.jobs[id.index()];
    std::vector<CommunicatorExposure> of_communicators;
    for (const auto& [ranks, of_workload] : of_job) add_exposure(*workload_on(job, ranks), of_workload, of_communicators);
    const IterationTime& iterations = iterations_[id];
    const double count = std::max(1.0, static_cast<double>(iterations.count));
    for (const CommunicatorExposure& one : of_communicators) {
      sink_.add_communicator({job.name, one.name, one.groups, one.smallest, one.largest, one.per_rank_s / count,
                              iterations.sum_s > 0 ? one.per_rank_s / iterations.sum_s : 0, one.per_rank_s});
    }
  }
}

void ResultRows::add_ops(const HostRecords& records) {
  std::vector<OpRecord> by_start;
  const auto add_all = [&](const InsideRecords::Replayed& replayed) {
    for (std::uint32_t position = 0; position < replayed.replay->finish.size(); ++position)
      by_start.push_back(op_record(replayed, attempts_.at(replayed.attempt), position));
  };
  records.each([&](const OpRecord& record) { by_start.push_back(record); }, add_all);
  std::ranges::stable_sort(by_start, {},
                           [](const OpRecord& one) { return std::tie(one.start, one.end, one.attempt, one.rank, one.op); });
  for (const OpRecord& record : by_start) {
    const RunningJob& attempt = attempts_.at(record.attempt);
    const RoleDag& dag = attempt.workload->dag_of(record.rank);
    const Op op = dag.op(record.op);
    const std::string label = op_label(dag, record.op);
    OpRow row;
    row.job = scenario_.jobs[attempt.job.index()].name;
    row.job_id = attempt.job;
    row.rank = record.rank.index();
    row.ranks_alike = ranks_alike(attempt, record.rank);
    row.job_ranks = attempt.workload->rank_count;
    row.iteration = record.iteration;
    row.op = label;
    row.kind = op.kind == OpKind::collective ? to_text(op.collective) : to_text(op.kind);
    row.is_compute = op.kind == OpKind::compute;
    row.is_point_to_point = op.kind == OpKind::send || op.kind == OpKind::receive;
    row.stream = op.stream;
    if (!row.is_compute) row.size = op.bytes;
    row.start = record.start;
    row.end = record.end;
    sink_.add_op(row);
  }
}

void ResultRows::add_links(std::span<const LinkUsage> usage) {
  const Topology& topology = *scenario_.topology;
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId(i));
    const std::string name = topology.link_name(LinkId(i));
    const std::string source_name = topology.node_name(link.source);
    const std::string destination_name = topology.node_name(link.destination);
    const bool is_inside = is_inside_host(topology, LinkId(i));
    const std::string tier = link_tier(topology, LinkId(i));
    sink_.add_link({name, source_name, destination_name, link.rate, usage[i].bytes, usage[i].mean_utilization, usage[i].queue_peak,
                    usage[i].ecn_marks, usage[i].paused, usage[i].drops, tier, is_inside});
  }
}

void ResultRows::add_pause_storms(std::span<const LinkStorm> storms) {
  for (const LinkStorm& of_link : storms) {
    const std::string link = scenario_.topology->link_name(of_link.link);
    sink_.add_pause_storm({of_link.storm.found, link, of_link.storm.priority, of_link.storm.packets});
  }
}

void ResultRows::add_link_pauses(std::span<const LinkPause> pauses) {
  for (const LinkPause& pause : pauses) {
    const std::string link = scenario_.topology->link_name(pause.link);
    sink_.add_link_pause({link, pause.link, pause.span.begin, pause.span.end});
  }
}

CongestionSummary ResultRows::add_congestion(const CongestionMonitor& monitor, Time end) {
  return congestion_.value().add_rows(monitor, end, sink_);
}

}  // namespace weft
