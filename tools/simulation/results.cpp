#include "tools/simulation/results.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/text/diagnostics.hpp"
#include "host/collectives/collective_library.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "tools/simulation/snapshot_file.hpp"

namespace weft {

namespace {

bool has_events(const Scenario& scenario) { return !scenario.events.empty() || !scenario.handlers.empty(); }

/// nccl-tests' factor from algorithm bandwidth to bus bandwidth; the bytes it applies to are those of the whole operation.
double bus_factor(CollectiveType type, double ranks) {
  switch (type) {
    case CollectiveType::all_reduce:
      return 2 * (ranks - 1) / ranks;
    case CollectiveType::all_gather:
    case CollectiveType::gather:
      return ranks - 1;  // (n-1)/n of the gathered n shards
    case CollectiveType::reduce_scatter:
    case CollectiveType::all_to_all:
    case CollectiveType::all_to_all_v:
    case CollectiveType::scatter:
      return (ranks - 1) / ranks;
    case CollectiveType::broadcast:
    case CollectiveType::reduce:
    case CollectiveType::barrier:
      return 1;
  }
  return 1;
}

/// What the members of a host send to other hosts, flags of the protocol included.
double bits_to_other_hosts(const CollectivePlan& plan, std::uint32_t host) {
  const GroupLayout& layout = *plan.request.layout;
  double bits = 0;
  for (std::uint32_t k = 0; k < layout.members_of_host(host); ++k) {
    const std::uint32_t position = layout.member_of_host(host, k);
    const CollectiveProgram& program = plan.program_of(position);
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const CollectiveStep& step = program.step(i);
      const auto is_elsewhere = [&](std::uint32_t member) { return layout.seat(member).host != host; };
      const bool leaves =
          (step.kind == StepKind::in_network && std::ranges::any_of(plan.members_of(step, position), is_elsewhere)) ||
          (step.kind == StepKind::send && is_elsewhere(plan.peer(step, position)));
      if (leaves) bits += plan.moved_bytes(step, position).in_bits();
    }
  }
  return bits;
}

/// Of the host that sends most; where all ranks do alike, of this one.
double most_bits_to_other_hosts(const CollectivePlan& plan, std::uint32_t host) {
  if (plan.role_of.empty()) return bits_to_other_hosts(plan, host);
  double most = 0;
  for (std::uint32_t any = 0; any < plan.request.layout->host_count(); ++any) most = std::max(most, bits_to_other_hosts(plan, any));
  return most;
}

std::string op_label(const RoleDag& dag, OpId op) {
  const std::string_view name = dag.name(op);
  return name.empty() ? "op" + std::to_string(op.index()) : std::string(name);
}

/// Which communicators any op uses.
std::vector<bool> communicators_used(const Workload& workload) {
  std::vector<bool> used(workload.communicators.size());
  for (const RoleDag& role : workload.roles) {
    for (std::uint32_t op = 0; op < role.size(); ++op) {
      if (role.kind(OpId(op)) != OpKind::compute) used[role.op(OpId(op)).communicator] = true;
    }
  }
  return used;
}

/// Of communicators.csv.
struct CommunicatorRow {
  std::string name;
  std::size_t groups = 0;
  std::size_t smallest = SIZE_MAX;  ///< of the groups, like the next
  std::size_t largest = 0;
  double per_rank_s = 0;
};

/// `exposed_s`: by communicator, over all ranks. Communicators of one name share a row, as a job that is elastic runs several workloads; then it has the
/// most groups that there were.
void add_exposure(const Workload& workload, std::span<const double> exposed_s, std::vector<CommunicatorRow>& rows) {
  const std::vector<bool> used = communicators_used(workload);
  for (std::size_t c = 0; c < exposed_s.size(); ++c) {
    if (!used[c]) continue;
    const Communicator& communicator = workload.communicators[c];
    auto row = std::ranges::find(rows, communicator.name(), &CommunicatorRow::name);
    if (row == rows.end()) row = rows.insert(rows.end(), {communicator.name()});
    row->groups = std::max<std::size_t>(row->groups, communicator.group_count());
    for (std::uint32_t group = 0; group < communicator.group_count(); ++group) {
      row->smallest = std::min(row->smallest, communicator.ranks(GroupId(group)).size());
      row->largest = std::max(row->largest, communicator.ranks(GroupId(group)).size());
    }
    row->per_rank_s += exposed_s[c] / workload.rank_count;
  }
}

/// The groups of a communicator whose members are of the same classes, by class.
class GroupKinds {
 public:
  GroupKinds(const Communicator& communicator, const JobFolding& folding) {
    std::map<std::vector<std::uint32_t>, std::pair<GroupId, std::uint32_t>> kinds;  // sorted classes -> first group, how many
    for (std::uint32_t group = 0; group < communicator.group_count(); ++group) {
      std::vector<std::uint32_t> classes;
      for (const RankId rank : communicator.ranks(GroupId(group))) classes.push_back(folding.class_of(rank));
      std::sort(classes.begin(), classes.end());
      ++kinds.try_emplace(std::move(classes), GroupId(group), 0).first->second.second;
    }
    by_class_.resize(folding.class_count());
    for (const auto& [classes, kind] : kinds) {
      for (std::size_t i = 0; i < classes.size(); ++i) {
        if (i == 0 || classes[i] != classes[i - 1]) by_class_[classes[i]].push_back(kind);
      }
    }
  }

  /// The first group of each kind that has a member of the class, and how many groups are of that kind.
  const std::vector<std::pair<GroupId, std::uint32_t>>& with_class(std::uint32_t rank_class) const { return by_class_[rank_class]; }

 private:
  std::vector<std::vector<std::pair<GroupId, std::uint32_t>>> by_class_;
};

/// Ranks that a simulated rank stands for, itself included.
std::uint32_t alike(const RunningJob& attempt, RankId rank) {
  return attempt.folding == nullptr ? 1 : attempt.folding->alike(rank);
}

void write_job_row(CsvFile& file, const JobSpec& spec, const JobRecord& record) {
  const auto seconds = [&file](std::optional<Time> time) { time ? file.number(time->in_s()) : file.text(""); };
  const bool ended = record.end.has_value();
  file.text(spec.name).number(std::uint64_t{record.gpus}).number(record.submit.in_s());
  seconds(record.start);
  seconds(record.end);
  record.start ? file.number(record.wait.in_s()) : file.text("");
  record.start ? file.number(record.run.in_s()) : file.text("");
  ended ? file.number(record.completion().in_s()) : file.text("");
  file.number(record.iterations);
  record.mean_iteration ? file.number(record.mean_iteration->in_s()) : file.text("");
  file.number(record.exposed_communication.in_s());
  file.number(std::uint64_t{record.restarts}).number(std::uint64_t{record.preemptions}).text(record.placement);
  file.number(std::uint64_t{record.failures}).number(std::uint64_t{record.moves});
  for (const Duration of_run : {record.lost(), record.overhead, record.checkpointing}) file.number(of_run.in_s());
  const bool has_goodput = ended && record.iterations > 0 && *record.end > *record.start;
  const double per_s = has_goodput ? static_cast<double>(record.iterations) / (*record.end - *record.start).in_s() : 0;
  has_goodput ? file.number(per_s) : file.text("");
  has_goodput&& spec.samples_per_iteration > 0 ? file.number(per_s * static_cast<double>(spec.samples_per_iteration))
                                               : file.text("");
  file.number(std::uint64_t{record.elastic_restarts});
  file.end_row();
}

}  // namespace

std::vector<std::string> result_names(const Scenario& scenario, const MoreResults& more) {
  std::vector<std::string> names = {"jobs.csv",        "cluster.csv", "iterations.csv", "communicators.csv",
                                    "collectives.csv", "flows.csv",   "links.csv",      summary_file};
  if (scenario.mode == Mode::packet) names.emplace_back(pause_storms_file);
  if (has_events(scenario)) names.emplace_back(events_file);
  if (detects_congestion(scenario)) names.insert(names.end(), {congestion_file, congested_jobs_file});
  if (more.trace) names.emplace_back(trace_file);
  if (more.samples) names.emplace_back(link_samples_file);
  if (more.snapshot) names.emplace_back(snapshot_file);
  return names;
}

ResultsWriter::ResultsWriter(const Scenario& scenario, const JobTable& jobs, ResultsFolder& folder)
    : scenario_(scenario),
      attempts_(jobs),
      folder_(folder),
      jobs_(folder_.result("jobs.csv"),
            "job,gpus,submit_s,start_s,end_s,wait_s,run_s,jct_s,iterations,mean_iteration_s,exposed_comm_s,restarts,preemptions,"
            "placement,failures,moves,lost_s,overhead_s,checkpoint_s,goodput_iterations_per_s,"
            "goodput_samples_per_s,elastic_restarts"),
      cluster_(
          folder_.result("cluster.csv"),
          "time_s,running_jobs,waiting_jobs,waiting_gpus,busy_gpus,free_gpus,stranded_gpus,fragmented_gpus,gpus_out,draining_gpus"),
      iterations_(folder_.result("iterations.csv"), "job,iteration,start_s,end_s,duration_s,exposed_comm_s"),
      communicators_(folder_.result("communicators.csv"),
                     "job,communicator,groups,group_size_min,group_size_max,exposed_s,exposed_share"),
      collectives_(folder_.result("collectives.csv"),
                   "job,iteration,op,kind,communicator,group,ranks,size_bytes,algorithm,protocol,start_ns,end_ns,duration_ns,"
                   "bus_bandwidth_gbps,multiplicity,channels,bus_bandwidth_gbytes_per_s,nic_share"),
      flows_(folder_.result("flows.csv"),
             "flow_id,job,src,dst,size_bytes,start_ns,end_ns,fct_ns,ideal_fct_ns,slowdown,multiplicity"),
      links_(folder_.result("links.csv"),
             "link,src,dst,rate_bps,bytes,mean_utilization,peak_queue_bytes,ecn_marks,pause_ns,drops") {
  if (has_events(scenario)) events_.emplace(folder_.result(events_file), "time_s,event,subject,by");
  if (detects_congestion(scenario)) congestion_.emplace(scenario, folder_);
}

void ResultsWriter::job_started(const JobSpec&, const JobRecord& record) {
  if (congestion_) congestion_->note_start(record.id, *record.last_start);
}

void ResultsWriter::job_fast_forwarded(const JobSpec&, const JobRecord& record, Time begin, Time end) {
  if (congestion_) congestion_->note_fast_forward(record.id, {begin, end});
}

void ResultsWriter::job_finished(const JobSpec& spec, const JobRecord& record) {
  jobs_done_.fetch_add(1, std::memory_order_relaxed);
  wait_s_.add(record.wait.in_s());
  jct_s_.add(record.completion().in_s());
  write_job_row(jobs_, spec, record);
}

void ResultsWriter::job_cancelled(const JobSpec& spec, const JobRecord& record) { write_job_row(jobs_, spec, record); }

void ResultsWriter::event_happened(const EventRecord& record) {
  events_->number(record.at.in_s()).text(std::string(record.event)).text(std::string(record.subject)).text(std::string(record.by));
  events_->end_row();
}

void ResultsWriter::cluster_changed(const ClusterSample& sample) {
  cluster_.number(sample.since.in_s()).number(sample.running_jobs).number(sample.waiting_jobs).number(sample.waiting_gpus);
  cluster_.number(std::uint64_t{sample.busy_gpus}).number(std::uint64_t{sample.free_gpus});
  cluster_.number(std::uint64_t{sample.stranded_gpus()})
      .number(std::uint64_t{sample.fragmented_gpus})
      .number(std::uint64_t{sample.gpus_out})
      .number(std::uint64_t{sample.draining_gpus})
      .end_row();
}

void ResultsWriter::add_unfinished(const JobSpec& spec, const JobRecord& record) { write_job_row(jobs_, spec, record); }

void ResultsWriter::iteration_finished(const JobSpec& spec, const IterationRecord& record) {
  const double duration_s = (record.end - record.start).in_s();
  iterations_done_.fetch_add(1, std::memory_order_relaxed);
  iteration_s_.add(duration_s);
  iteration_s_by_job_[record.job].add(duration_s);
  exposed_s_ += record.exposed_communication.in_s();
  iterations_.text(spec.name)
      .number(std::uint64_t{record.iteration})
      .number(record.start.in_s())
      .number(record.end.in_s())
      .number(duration_s)
      .number(record.exposed_communication.in_s())
      .end_row();
}

void ResultsWriter::write_communicators(std::span<const RankExposure> exposures) {
  std::map<JobId, std::map<std::uint32_t, std::vector<double>>> exposed_s;  // by ranks, communicator: over all ranks
  for (const RankExposure& exposure : exposures) {
    const RunningJob& attempt = attempts_.at(exposure.attempt);
    const double stands_for = alike(attempt, exposure.rank);
    std::vector<double>& of_workload = exposed_s[attempt.job][attempt.workload->rank_count];
    of_workload.resize(exposure.by_communicator.size());
    for (std::size_t c = 0; c < of_workload.size(); ++c) of_workload[c] += exposure.by_communicator[c].in_s() * stands_for;
  }
  for (const auto& [id, of_job] : exposed_s) {
    const JobSpec& job = scenario_.jobs[id.index()];
    std::vector<CommunicatorRow> rows;
    for (const auto& [ranks, of_workload] : of_job) add_exposure(*workload_on(job, ranks), of_workload, rows);
    const Mean& iterations = iteration_s_by_job_[id];
    const double count = std::max(1.0, static_cast<double>(iterations.count));
    for (const CommunicatorRow& row : rows) {
      exposed_by_communicator_s_[row.name] += row.per_rank_s;
      communicators_.text(job.name)
          .text(row.name)
          .number(std::uint64_t{row.groups})
          .number(std::uint64_t{row.smallest})
          .number(std::uint64_t{row.largest})
          .number(row.per_rank_s / count)
          .number(iterations.sum > 0 ? row.per_rank_s / iterations.sum : 0)
          .end_row();
    }
  }
}

void ResultsWriter::write_collectives(std::span<const OpRecord> records) {
  // One row per collective of a group: from the first member's start to the last member's end. Sends and receives: one row each. Where ranks
  // were folded, one row per kind of group.
  struct Row {
    Time start = Time::max();
    Time end;
    const OpRecord* sample = nullptr;
    GroupId group;
    std::uint32_t multiplicity = 1;
  };
  using Key = std::tuple<AttemptId, std::uint32_t, std::uint16_t, GroupId, std::uint32_t, std::uint32_t>;
  std::map<Key, Row> rows;
  std::map<std::pair<AttemptId, std::uint16_t>, GroupKinds> kinds;
  for (const OpRecord& record : records) {
    const Workload& workload = *attempts_.at(record.attempt).workload;
    const RoleDag& dag = workload.dag_of(record.rank);
    if (dag.kind(record.op) == OpKind::compute) continue;
    const Op op = dag.op(record.op);
    const Communicator& communicator = workload.communicators[op.communicator];
    const bool is_collective = op.kind == OpKind::collective;
    const auto note = [&](GroupId group, std::uint32_t multiplicity) {
      // Collectives of a group match by their ordinal; a point-to-point op stands for itself.
      const std::uint32_t number = is_collective ? dag.match_ordinal(record.op) : record.op.index();
      Row& row = rows[{record.attempt, record.iteration, op.communicator, group, number,
                       is_collective ? UINT32_MAX : record.rank.index()}];
      row.start = std::min(row.start, record.start);
      row.end = std::max(row.end, record.end);
      row.group = group;
      row.multiplicity = multiplicity;
      if (row.sample == nullptr || record.rank < row.sample->rank) row.sample = &record;
    };
    const JobFolding* folding = attempts_.at(record.attempt).folding.get();
    if (folding == nullptr) {
      note(communicator.group_of(record.rank), 1);
    } else if (!is_collective) {
      note(communicator.group_of(record.rank), folding->alike(record.rank));
    } else {
      const std::pair key(record.attempt, op.communicator);
      auto of_communicator = kinds.find(key);
      if (of_communicator == kinds.end()) of_communicator = kinds.try_emplace(key, communicator, *folding).first;
      for (const auto& [group, multiplicity] : of_communicator->second.with_class(folding->class_of(record.rank)))
        note(group, multiplicity);
    }
  }
  std::vector<std::pair<const Key*, const Row*>> ordered;
  for (const auto& [key, row] : rows) ordered.emplace_back(&key, &row);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.second->start < b.second->start; });
  const ParamSet& choices = scenario_.parameters.of("collective");
  for (const auto& [key, row] : ordered) {
    const RunningJob& attempt = attempts_.at(row->sample->attempt);
    const Workload& workload = *attempt.workload;
    const RoleDag& dag = workload.dag_of(row->sample->rank);
    const Op op = dag.op(row->sample->op);
    const Communicator& communicator = workload.communicators[op.communicator];
    const GroupId group = row->group;
    const auto ranks = static_cast<std::uint32_t>(communicator.ranks(group).size());
    const Duration duration = row->end - row->start;
    std::string kind(to_text(op.kind));
    std::string algorithm;
    std::string protocol;
    double factor = 1;
    std::uint64_t channels = 1;
    double nic_bits = 0;  // that the NICs of the busiest host send
    double nic_bps = 0;
    if (op.kind == OpKind::collective) {
      kind = to_text(op.collective);
      const std::uint32_t position = communicator.position_of(row->sample->rank);
      const CollectivePlan* plan = attempt.collectives->find(op, group, position);
      if (plan != nullptr) {
        algorithm = plan->algorithm;
        protocol = plan->protocol.name;
        channels = plan->channels;
        const GroupLayout& layout = *plan->request.layout;
        if (layout.host_count() > 1) {
          nic_bps = static_cast<double>(layout.hardware().nic_bps) * layout.hardware().nics;
          const std::uint32_t host = layout.seat(position).host;
          const auto [known, is_new] = nic_bits_.try_emplace({plan, plan->role_of.empty() ? host : 0}, 0.0);
          if (is_new) known->second = most_bits_to_other_hosts(*plan, host);
          nic_bits = known->second;
        }
        if (CollectiveLibrary::is_auto(choices, kind)) {
          algorithms_picked_[kind][algorithm] += row->multiplicity;
          RunSummary::PickedCollective& largest = picked_because_[{kind, algorithm, protocol}];
          if (largest.ranks == 0 || op.bytes.count() > largest.size_bytes) {
            largest = {op.bytes.count(), ranks, plan->channels, plan->reason};
          }
        }
      }
      factor = bus_factor(op.collective, ranks);
    }
    const double bus_gbps = duration > Duration::zero() ? op.bytes.in_bits() * factor / duration.in_ns() : 0;
    collectives_.text(scenario_.jobs[attempt.job.index()].name)
        .number(std::uint64_t{row->sample->iteration})
        .text(op_label(dag, row->sample->op))
        .text(kind)
        .text(communicator.name())
        .number(std::uint64_t{group.index()})
        .number(std::uint64_t{op.kind == OpKind::collective ? ranks : 2})
        .number(op.bytes.count())
        .text(algorithm)
        .text(protocol)
        .nanoseconds(row->start.since_start())
        .nanoseconds(row->end.since_start())
        .nanoseconds(duration)
        .number(bus_gbps)
        .number(std::uint64_t{row->multiplicity})
        .number(channels)
        .number(bus_gbps / 8);
    if (nic_bps > 0 && duration > Duration::zero()) {
      collectives_.number(nic_bits * 1e9 / duration.in_ns() / nic_bps);
    } else {
      collectives_.text("");
    }
    collectives_.end_row();
  }
}

void ResultsWriter::on_transfer_finished(const FinishedTransfer& finished) {
  const Duration fct = finished.end - finished.start;
  const double slowdown = finished.ideal > Duration::zero() ? fct.in_ns() / finished.ideal.in_ns() : 1;
  fct_s_.add(fct.in_s(), finished.multiplicity);
  ++flows_simulated_;
  slowdown_.add(slowdown, finished.multiplicity);
  payload_bytes_ += static_cast<double>(finished.transfer.size.count()) * finished.multiplicity;
  transfers_done_.fetch_add(finished.multiplicity, std::memory_order_relaxed);
  const AttemptId attempt = finished.transfer.attempt;
  flows_.number(std::uint64_t{finished.id.index()})
      .text(attempt.is_none() ? "" : scenario_.jobs[job_of(attempt).index()].name)
      .text(node_name(finished.transfer.source))
      .text(node_name(finished.transfer.destination))
      .number(finished.transfer.size.count())
      .nanoseconds(finished.start.since_start())
      .nanoseconds(finished.end.since_start())
      .nanoseconds(fct)
      .nanoseconds(finished.ideal)
      .number(slowdown)
      .number(std::uint64_t{finished.multiplicity})
      .end_row();
}

const std::string& ResultsWriter::node_name(NodeId node) {
  if (node_names_.size() <= node.index()) node_names_.resize(scenario_.topology->node_count());
  std::string& name = node_names_[node.index()];
  if (name.empty()) name = scenario_.topology->node_name(node);
  return name;
}

void ResultsWriter::write_links(const Topology& topology, std::span<const LinkUsage> usage) {
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId(i));
    const double utilization = usage[i].mean_utilization;
    if (scenario_.mode == Mode::packet) add_to_tier(topology, link, usage[i]);
    if (utilization > link_utilization_max_) {
      link_utilization_max_ = utilization;
      busiest_link_ = topology.link_name(LinkId(i));
    }
    links_.text(topology.link_name(LinkId(i)))
        .text(topology.node_name(link.source))
        .text(topology.node_name(link.destination))
        .number(link.rate.in_bps())
        .number(usage[i].bytes.count())
        .number(utilization)
        .number(usage[i].queue_peak.count())
        .number(usage[i].ecn_marks)
        .nanoseconds(usage[i].paused)
        .number(usage[i].drops)
        .end_row();
  }
}

void ResultsWriter::write_storms(const Topology& topology, std::span<const LinkStorm> storms) {
  storms_.emplace(folder_.result(pause_storms_file), "time_ns,link,priority,drops");
  for (const LinkStorm& of_link : storms) {
    storms_->nanoseconds(of_link.storm.found - Time::zero())
        .text(topology.link_name(of_link.link))
        .number(std::uint64_t{of_link.storm.priority})
        .number(of_link.storm.packets)
        .end_row();
  }
}

CongestionSummary ResultsWriter::write_congestion(const CongestionMonitor& monitor, Time end) {
  return congestion_->write(monitor, end);
}

void ResultsWriter::add_to_tier(const Topology& topology, const Link& link, const LinkUsage& usage) {
  const auto tier_of = [&](NodeId id) -> std::string {
    const Node& node = topology.node(id);
    if (!node.host.is_none()) return "host";
    constexpr std::array<const char*, 4> names = {"switch", "leaf", "agg", "spine"};
    return names[node.level < names.size() ? node.level : 0];
  };
  const HostId inside = topology.node(link.source).host;
  if (!inside.is_none() && inside == topology.node(link.destination).host) return;
  const std::string tiers = tier_of(link.source) + "->" + tier_of(link.destination);
  auto tier = std::ranges::find(tiers_, tiers, &TierUsage::tiers);
  if (tier == tiers_.end()) {
    tiers_.push_back({});
    tier = std::prev(tiers_.end());
    tier->tiers = tiers;
  }
  ++tier->links;
  tier->queue_peak = std::max(tier->queue_peak, usage.queue_peak);
  tier->ecn_marks += usage.ecn_marks;
  tier->paused += usage.paused;
  tier->paused_link_max = std::max(tier->paused_link_max, usage.paused);
  tier->drops += usage.drops;
}

void ResultsWriter::write_trace(std::span<const OpRecord> records, std::span<const LinkSample> samples,
                                std::span<const LinkPause> pauses) {
  trace_.emplace(folder_.result(trace_file));
  trace_->write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  bool first = true;
  const auto add = [&](const nlohmann::ordered_json& event) {
    trace_->write(first ? "\n" : ",\n");
    trace_->write(event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    first = false;
  };
  for (std::size_t job = 0; job < scenario_.jobs.size(); ++job) {
    add({{"ph", "M"}, {"name", "process_name"}, {"pid", job}, {"args", {{"name", scenario_.jobs[job].name}}}});
  }
  std::set<std::pair<JobId, std::uint32_t>> named;
  for (const OpRecord& record : records) {
    const RunningJob& attempt = attempts_.at(record.attempt);
    const RoleDag& dag = attempt.workload->dag_of(record.rank);
    const Op op = dag.op(record.op);
    // Computation and communication of a rank overlap: two tracks per rank keep them apart.
    const bool is_compute = op.kind == OpKind::compute;
    const std::uint32_t track = 2 * record.rank.index() + (is_compute ? 0 : 1);
    if (named.emplace(attempt.job, track).second) {
      const std::uint32_t stands_for = alike(attempt, record.rank);
      const std::string name = "rank " + std::to_string(record.rank.index()) + (is_compute ? "" : " communication") +
                               (stands_for == 1 ? "" : " (for " + std::to_string(stands_for) + " alike)");
      add({{"ph", "M"}, {"name", "thread_name"}, {"pid", attempt.job.index()}, {"tid", track}, {"args", {{"name", name}}}});
    }
    const std::string_view category = op.kind == OpKind::collective ? to_text(op.collective) : to_text(op.kind);
    nlohmann::ordered_json arguments = {{"iteration", record.iteration}};
    if (!is_compute) arguments["size_bytes"] = op.bytes.count();
    add({{"ph", "X"},
         {"name", op_label(dag, record.op)},
         {"cat", category},
         {"pid", attempt.job.index()},
         {"tid", track},
         {"ts", record.start.in_ns() / 1e3},
         {"dur", (record.end - record.start).in_us()},
         {"args", arguments}});
  }
  const std::size_t links = scenario_.jobs.size();
  if (!samples.empty() || !pauses.empty())
    add({{"ph", "M"}, {"name", "process_name"}, {"pid", links}, {"args", {{"name", "links"}}}});
  struct Known {
    Time until;
    std::array<double, 2> values{};
  };
  std::map<LinkId, Known> known;
  // A counter keeps its value until the next; a link is idle where it has no sample.
  const auto count = [&](LinkId link, Known& last, Time at, const std::array<double, 2>& values) {
    static constexpr std::array<const char*, 2> names = {" Gb/s", " queued bytes"};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == last.values[i]) continue;
      const std::string name = scenario_.topology->link_name(link) + names[i];
      add({{"ph", "C"}, {"name", name}, {"pid", links}, {"ts", at.since_start().in_us()}, {"args", {{"value", values[i]}}}});
    }
    last.values = values;
  };
  for (const LinkSample& sample : samples) {
    Known& last = known[sample.link];
    if (last.until < sample.begin) count(sample.link, last, last.until, {});
    count(sample.link, last, sample.begin, {sample.rate_bps / 1e9, static_cast<double>(sample.queue.count())});
    last.until = sample.end;
  }
  for (auto& [link, last] : known) count(link, last, last.until, {});
  // A track per link that was paused.
  LinkId named_link = LinkId::none();
  for (const LinkPause& pause : pauses) {
    if (pause.link != named_link) {
      named_link = pause.link;
      const std::string& name = scenario_.topology->link_name(pause.link);
      add({{"ph", "M"}, {"name", "thread_name"}, {"pid", links}, {"tid", pause.link.index()}, {"args", {{"name", name}}}});
    }
    add({{"ph", "X"},
         {"name", "paused"},
         {"cat", "pfc"},
         {"pid", links},
         {"tid", pause.link.index()},
         {"ts", pause.span.begin.since_start().in_us()},
         {"dur", (pause.span.end - pause.span.begin).in_us()}});
  }
  trace_->write("\n]}\n");
}

void ResultsWriter::fill(RunSummary& summary) const {
  summary.mean_wait_s = wait_s_.value();
  summary.mean_jct_s = jct_s_.value();
  summary.iterations = iteration_s_.count;
  summary.mean_iteration_s = iteration_s_.value();
  summary.exposed_comm_share = iteration_s_.sum > 0 ? exposed_s_ / iteration_s_.sum : 0;
  for (const auto& [communicator, exposed_s] : exposed_by_communicator_s_) {
    summary.exposed_comm_share_by_communicator.emplace_back(communicator, iteration_s_.sum > 0 ? exposed_s / iteration_s_.sum : 0);
  }
  summary.algorithms_picked = algorithms_picked_;
  summary.picked_because = picked_because_;
  summary.flows_finished = fct_s_.count;
  summary.flows_simulated = flows_simulated_;
  summary.payload_bytes = payload_bytes_;
  summary.mean_fct_s = fct_s_.value();
  summary.mean_slowdown = slowdown_.value();
  summary.max_link_utilization = link_utilization_max_;
  summary.busiest_link = busiest_link_;
  summary.tiers = tiers_;
}

void ResultsWriter::write_snapshot(std::string_view text) {
  OutputFile snapshot(folder_.result(snapshot_file));
  snapshot.write(text);
  snapshot.close();
}

void ResultsWriter::finish(const RunSummary& summary) {
  OutputFile headline(folder_.result(summary_file));
  headline.write(summary.to_json());
  headline.close();
  for (CsvFile* table : {&jobs_, &cluster_, &iterations_, &communicators_, &collectives_, &flows_, &links_}) table->close();
  if (storms_) storms_->close();
  if (events_) events_->close();
  if (congestion_) congestion_->close();
  if (trace_) trace_->close();
  folder_.publish();
}

}  // namespace weft
