// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/operator_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/text/beside.hpp"
#include "core/text/counted.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/text_pieces.hpp"
#include "core/text/textproto.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/input_kind.hpp"
#include "workloads/job_traces/slurm_trace.hpp"
#include "workloads/slurm/slurm_jobs.hpp"
#include "workloads/slurm/slurm_nodes.hpp"
#include "workloads/slurm/slurm_text.hpp"

namespace weft {

namespace {

using JobState = ClusterSnapshot::State;

/// The file that the state of jobs is in.
struct QueueFile {
  std::string path;
  std::string format;
  JobTraceOptions options;
  bool names_policy = false;
};

/// Where nobody names a policy.
constexpr const char* policy_of_slurm = "backfill";

bool tells_state(std::string_view format) { return format == "squeue" || format == "sacct"; }

QueueFile queue_of_scenario(const std::string& scenario_file) {
  const SourceText source = SourceText::read(scenario_file);
  scenario::Scenario message;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, message, diagnostics);
  diagnostics.throw_if_errors();
  const scenario::JobTrace* found = nullptr;
  for (const scenario::JobTrace& trace : message.jobs()) {
    if (!tells_state(trace.format())) continue;
    if (found != nullptr) {
      fail("two-queues", "the scenario names two queues, and a cluster has one", SourcePlace::named(scenario_file),
           "keep one of the two entries jobs of format squeue or sacct");
    }
    found = &trace;
  }
  if (found == nullptr) {
    fail("no-queue", "the scenario names no queue", SourcePlace::named(scenario_file),
         "add jobs { file: \"queue.json\" format: \"squeue\" }");
  }
  QueueFile queue{beside(scenario_file, found->file()), found->format(), {}, !message.scheduler().policy().empty()};
  queue.options.names = OptionNames::of_fields();
  queue.options.time_zone = found->time_zone();
  queue.options.limit_share = found->limit_share();
  return queue;
}

QueueFile queue_of(const OperatorFlags& flags) {
  if (flags.jobs.empty()) {
    if (!flags.scenario.empty()) return queue_of_scenario(flags.scenario);
    fail("missing-flag", "nodes alone do not tell what runs", SourcePlace::named("--nodes"),
         "add --jobs=queue.json:squeue, or --scenario=FILE that names the queue");
  }
  const FileAndFormat named = split_format(flags.jobs);
  const std::array<std::string, 2> formats = {"squeue", "sacct"};
  if (named.format.empty()) {
    fail("missing-format", fmt::format("nothing says which command wrote {}", named.file), SourcePlace::named("--jobs"),
         fmt::format("write --jobs={0}:squeue or --jobs={0}:sacct", named.file));
  }
  if (!tells_state(named.format)) {
    fail("unknown-format", fmt::format("format {} does not tell the state of a cluster", in_quotes(named.format)),
         SourcePlace::named("--jobs"), suggestion(named.format, formats, "format"));
  }
  return {named.file, named.format, flags.jobs_options, false};
}

SlurmJobs read_queue(const QueueFile& file, const TimeZone& zone) {
  Diagnostics diagnostics;
  DirtyRows dirty(file.options.strict, diagnostics);
  const SourceText source = SourceText::read(file.path);
  SlurmJobs jobs = file.format == "squeue" ? read_squeue_jobs(source, dirty) : read_sacct_jobs(source, zone, dirty);
  diagnostics.throw_if_errors();
  return jobs;
}

std::vector<SlurmNode> gpu_nodes(const std::string& said, std::vector<std::string>& notes) {
  const FileAndFormat named = split_format(said);
  if (!named.format.empty() && named.format != "scontrol") {
    const std::array<std::string, 1> formats = {"scontrol"};
    fail("unknown-format", fmt::format("there is no format of nodes {}", in_quotes(named.format)), SourcePlace::named("--nodes"),
         suggestion(named.format, formats, "format"));
  }
  std::vector<SlurmNode> nodes = read_slurm_nodes(SourceText::read(named.file));
  const std::size_t all = nodes.size();
  std::erase_if(nodes, [](const SlurmNode& node) { return node.gpus == 0; });
  if (nodes.empty())
    fail("no-nodes", "no node has a GPU", SourcePlace::named(named.file), "nodes tell them as Gres=gpu:8 or in CfgTRES");
  if (nodes.size() < all) {
    notes.push_back(fmt::format("{} no GPU and is no host", counted(all - nodes.size(), "node has", "nodes have")));
  }
  return nodes;
}

/// Hosts of a cluster, filled with what runs.
class Occupancy {
 public:
  Occupancy(const ClusterState& cluster, const std::vector<SlurmNode>& nodes) : cluster_(cluster), nodes_(nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) host_of_name_.emplace(nodes[i].name, static_cast<std::uint32_t>(i));
    taken_.resize(cluster.gpu_count(), false);
  }

  /// The GPUs of a job that tells their indices; nothing if they are not free.
  std::vector<GpuSlot> take(const SlurmJob& job) {
    std::vector<GpuSlot> gpus;
    const std::uint32_t known = known_gpus(job);
    std::uint32_t open =
        static_cast<std::uint32_t>(std::ranges::count_if(job.shares, [](const SlurmShare& share) { return !share.gpus; }));
    std::uint32_t rest = job.gpus > known ? job.gpus - known : 0;
    for (const SlurmShare& share : job.shares) {
      const std::uint32_t host = host_of(job, share);
      // What is not told by host is spread evenly over the hosts, the first have one more.
      const std::uint32_t count = share.gpus ? *share.gpus : (rest + open - 1) / open;
      if (!share.gpus) {
        rest -= count;
        --open;
      }
      take_on(job, host, count, share.indices.empty() ? nodes_[host].used_indices : share.indices, gpus);
    }
    return gpus;
  }
  /// What a node says is in use, less what is taken there; nothing of one that completes a job.
  std::vector<GpuSlot> take_what_lacks(HostId host) {
    const SlurmNode& node = nodes_[host.index()];
    const auto is_taken = [&](GpuSlot gpu) { return taken_[gpu.index()]; };
    const auto taken = static_cast<std::uint32_t>(std::ranges::count_if(cluster_.gpus(host), is_taken));
    const std::uint32_t used = std::min(node.gpus_used, node.gpus);
    std::vector<GpuSlot> gpus;
    if (!node.is_completing && used > taken) take_free(host, used - taken, node.used_indices, gpus);
    return gpus;
  }

 private:
  static std::uint32_t known_gpus(const SlurmJob& job) {
    std::uint32_t known = 0;
    for (const SlurmShare& share : job.shares) known += share.gpus.value_or(0);
    return known;
  }

  std::uint32_t host_of(const SlurmJob& job, const SlurmShare& share) const {
    const auto found = host_of_name_.find(share.host);
    if (found != host_of_name_.end()) return found->second;
    std::vector<std::string> names;
    for (const SlurmNode& node : nodes_) names.push_back(node.name);
    fail("unknown-node", fmt::format("job {} runs on {}, which is no node with GPUs", job.id, in_quotes(share.host)), job.place,
         suggestion(share.host, names, "node"));
  }

  /// At most `count`, those of the indices first; how many were free.
  std::uint32_t take_free(HostId host, std::uint32_t count, const std::vector<std::uint32_t>& indices, std::vector<GpuSlot>& gpus) {
    std::uint32_t found = 0;
    const auto take_one = [&](std::uint32_t local) {
      const GpuSlot gpu = cluster_.slot(host, local);
      if (found == count || taken_[gpu.index()]) return;
      taken_[gpu.index()] = true;
      gpus.push_back(gpu);
      ++found;
    };
    for (const std::uint32_t local : indices) {
      if (local < nodes_[host.index()].gpus) take_one(local);
    }
    for (std::uint32_t local = 0; local < nodes_[host.index()].gpus; ++local) take_one(local);
    return found;
  }

  void take_on(const SlurmJob& job, std::uint32_t host, std::uint32_t count, const std::vector<std::uint32_t>& indices,
               std::vector<GpuSlot>& gpus) {
    const std::uint32_t found = take_free(HostId(host), count, indices, gpus);
    if (found == count) return;
    fail("oversubscribed",
         fmt::format("job {} holds {} on {}, of which {} {} free of other jobs", job.id, counted(count, "GPU", "GPUs"),
                     nodes_[host].name, found, found == 1 ? "is" : "are"),
         job.place, "take the lists of nodes and of jobs at the same time");
  }

  const ClusterState& cluster_;
  const std::vector<SlurmNode>& nodes_;
  std::map<std::string, std::uint32_t> host_of_name_;
  std::vector<bool> taken_;
};

bool tells_indices(const SlurmJob& job) {
  return std::ranges::all_of(job.shares, [](const SlurmShare& share) { return !share.indices.empty(); });
}

RunFlags run_flags_of(const OperatorFlags& flags, const QueueFile& queue, const std::vector<SlurmNode>& nodes) {
  RunFlags run;
  run.scenario_file = flags.scenario;
  run.topology = flags.topology;
  run.scheduler = flags.scheduler;
  run.placement = flags.placement;
  run.settings = flags.settings;
  if (run.scheduler.empty() && !queue.names_policy) run.scheduler = policy_of_slurm;
  run.jobs_options.is_state = true;
  if (!flags.scenario.empty()) return run;
  run.jobs = fmt::format("{}:{}", queue.path, queue.format);
  run.jobs_options = queue.options;
  run.jobs_options.is_state = true;
  if (!flags.topology.empty()) return run;
  run.hosts = static_cast<std::uint32_t>(nodes.size());
  run.gpus_per_host = std::ranges::max(nodes, {}, &SlurmNode::gpus).gpus;
  return run;
}

void require_hosts(const ClusterState& cluster, const std::vector<SlurmNode>& nodes, const std::string& nodes_file) {
  if (cluster.host_count() != nodes.size()) {
    fail("other-cluster",
         fmt::format("the cluster has {} and the list {} with GPUs", counted(cluster.host_count(), "host", "hosts"),
                     counted(nodes.size(), "node", "nodes")),
         SourcePlace::named(nodes_file), "nodes with GPUs are the hosts of the topology, in the order of the list");
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t gpus = cluster.gpu_count(HostId(static_cast<std::uint32_t>(i)));
    if (nodes[i].gpus <= gpus) continue;
    fail("other-cluster", fmt::format("node {} has {} GPUs and host{} of the cluster {}", nodes[i].name, nodes[i].gpus, i, gpus),
         nodes[i].place, "nodes with GPUs are the hosts of the topology, in the order of the list");
  }
}

/// How a job stands at the instant.
class JobStanding {
 public:
  /// `origin`: the instant that simulated time counts from.
  JobStanding(Timestamp origin, Timestamp now, double limit_share) : origin_(origin), now_(now), limit_share_(limit_share) {}

  Time at(const Timestamp& instant) const { return Time() + between(origin_, instant).value_or(Duration::zero()); }

  ClusterSnapshot::Job of(const SlurmJob& from, JobSpec& spec, std::vector<GpuSlot> gpus) const {
    ClusterSnapshot::Job job;
    JobRecord& record = job.record;
    record.gpus = spec.gpus;
    record.submit = spec.submit;
    record.iterations = spec.workload == nullptr ? spec.iterations : 0;
    job.queued = spec.submit;
    job.priority = spec.priority;
    const auto take_start = [&] {
      record.start = record.last_start = at(*from.start);
      record.wait = *record.start - spec.submit;
    };
    switch (from.state) {
      case SlurmJob::State::waits:
        job.state = JobState::waits;
        return job;
      case SlurmJob::State::held:
        return job;
      case SlurmJob::State::ended:
        job.state = JobState::ended;
        if (from.start) take_start();
        record.end = at(*from.end);
        return job;
      case SlurmJob::State::runs:
        break;
    }
    job.state = JobState::runs;
    take_start();
    job.since = job.part_since = *record.start;
    job.placement.gpus = std::move(gpus);
    const Duration elapsed = std::max(at(now_) - job.since, Duration::zero());
    const std::optional<Duration> whole = from.time_limit ? assumed_run(from, limit_share_, now_) : elapsed + endless_run;
    if (spec.workload == nullptr) {
      if (spec.iteration_times == nullptr && spec.iterations == 0) spec.duration = DurationModel::fixed(whole.value());
      return job;
    }
    // It goes on from a whole iteration; the last is still to be done.
    const double share = whole.value() > Duration::zero() ? elapsed.in_s() / whole->in_s() : 0;
    const double done = std::floor(share * static_cast<double>(spec.iterations));
    job.past.kept.iterations = std::min(static_cast<std::uint64_t>(done), spec.iterations - 1);
    job.past.whole = job.past.kept;
    job.past.work = job.past.work_whole = elapsed;
    return job;
  }

 private:
  Timestamp origin_;
  Timestamp now_;
  double limit_share_;
};

Timestamp instant_of(const OperatorFlags& flags, const SlurmJobs& queue, const TimeZone& zone) {
  if (flags.at.empty()) return queue.now.value();
  const std::optional<Timestamp> at = parse_timestamp(flags.at, zone);
  if (!at || *at < queue.now.value()) {
    fail("bad-value",
         at ? fmt::format("the jobs tell of {}, which is later", to_utc_text(*queue.now))
            : fmt::format("this is no date: {}", in_quotes(flags.at)),
         SourcePlace::named("--at"), "write it like 2026-01-31T12:00:00, when the lists were taken");
  }
  constexpr std::int64_t later_max_s = 86'400LL * 31;
  if (at->seconds - queue.now->seconds > later_max_s) {
    fail("out-of-range",
         fmt::format("the jobs tell of nothing after {}, which is more than a month before", to_utc_text(*queue.now)),
         SourcePlace::named("--at"), "say when the lists were taken, or take them anew");
  }
  return *at;
}

}  // namespace

LoadedSnapshot read_operator_snapshot(const OperatorFlags& flags) {
  const QueueFile queue = queue_of(flags);
  std::vector<std::string> notes;
  const std::vector<SlurmNode> nodes = gpu_nodes(flags.nodes, notes);
  const TimeZone zone = queue.options.time_zone.empty()
                            ? TimeZone::utc()
                            : TimeZone::parse(queue.options.time_zone, SourcePlace::named(queue.options.names("time_zone")));
  const SlurmJobs listed = read_queue(queue, zone);
  if (!listed.now) {
    fail("no-jobs", "no job with GPUs is listed, so that nothing would change", SourcePlace::named(queue.path),
         "take the list while jobs run or wait");
  }
  LoadedSnapshot loaded{load_scenario(run_flags_of(flags, queue, nodes)), {}};
  Scenario& scenario = loaded.scenario;
  const ClusterState cluster = empty_cluster(scenario);
  require_hosts(cluster, nodes, split_format(flags.nodes).file);
  std::map<std::string, std::size_t> index_of;
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) index_of.emplace(scenario.jobs[i].name, i);

  std::optional<Timestamp> origin;
  for (const SlurmJob& job : listed.jobs) {
    const auto found = index_of.find(job.id);
    if (origin || found == index_of.end()) continue;
    const std::int64_t since = static_cast<std::int64_t>((scenario.jobs[found->second].submit - Time()).in_s());
    origin = Timestamp{job.submit.seconds - since, {}};
  }
  const Timestamp now = instant_of(flags, listed, zone);
  const JobStanding standing(origin.value_or(now), now, read_limit_share(queue.options, 1));
  loaded.snapshot.at = standing.at(now);
  loaded.snapshot.jobs.resize(scenario.jobs.size());
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    loaded.snapshot.jobs[i].record.gpus = scenario.jobs[i].gpus;
    loaded.snapshot.jobs[i].record.submit = scenario.jobs[i].submit;
    loaded.snapshot.jobs[i].priority = scenario.jobs[i].priority;
  }
  // Who tells its GPUs goes first; the others get of what is left.
  std::vector<const SlurmJob*> order;
  for (const SlurmJob& job : listed.jobs) order.push_back(&job);
  std::stable_partition(order.begin(), order.end(), [](const SlurmJob* job) { return tells_indices(*job); });
  Occupancy occupancy(cluster, nodes);
  std::vector<bool> is_out(cluster.gpu_count(), false);
  loaded.job_names.resize(scenario.jobs.size());
  loaded.is_endless.resize(scenario.jobs.size(), false);
  std::uint64_t left_out = 0;
  for (const SlurmJob* const job : order) {
    const bool runs = job->state == SlurmJob::State::runs;
    std::vector<GpuSlot> gpus = runs ? occupancy.take(*job) : std::vector<GpuSlot>();
    const auto found = index_of.find(job->id);
    if (found != index_of.end()) {
      loaded.snapshot.jobs[found->second] = standing.of(*job, scenario.jobs[found->second], std::move(gpus));
      if (job->name != job->id) loaded.job_names[found->second] = job->name;
      loaded.is_endless[found->second] = !job->time_limit;
    } else if (runs) {
      ++left_out;
      for (const GpuSlot gpu : gpus) is_out[gpu.index()] = true;
    }
  }
  std::uint64_t nodes_out = 0;
  std::uint64_t nodes_lacking = 0;
  std::size_t gpus_lacking = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const HostId host(static_cast<std::uint32_t>(i));
    nodes_out += nodes[i].is_out ? 1 : 0;
    const std::vector<GpuSlot> lacking = occupancy.take_what_lacks(host);
    nodes_lacking += lacking.empty() ? 0 : 1;
    gpus_lacking += lacking.size();
    for (const GpuSlot gpu : lacking) is_out[gpu.index()] = true;
    for (const GpuSlot gpu : cluster.gpus(host)) {
      if (nodes[i].is_out || cluster.local_index(gpu) >= nodes[i].gpus) is_out[gpu.index()] = true;
    }
    loaded.host_names.push_back(nodes[i].name);
  }
  for (std::uint32_t gpu = 0; gpu < cluster.gpu_count(); ++gpu) {
    if (is_out[gpu]) loaded.snapshot.out_of_service.emplace_back(gpu);
  }
  if (left_out > 0) {
    notes.push_back(fmt::format("{} left out, and {} GPUs stay taken", counted(left_out, "running job is", "running jobs are"),
                                left_out == 1 ? "its" : "their"));
  }
  if (nodes_lacking > 0) {
    notes.push_back(fmt::format("{} {} in use by jobs that the list lacks: {}", counted(nodes_lacking, "node has", "nodes have"),
                                counted(gpus_lacking, "GPU", "GPUs"), gpus_lacking == 1 ? "it stays taken" : "they stay taken"));
  }
  if (flags.scheduler.empty() && !queue.names_policy) {
    notes.push_back(fmt::format("waiting jobs start by {}; {}--scheduler=NAME names another", policy_of_slurm,
                                flags.scenario.empty() ? "" : "scheduler { policy: \"...\" } or "));
  }
  if (nodes_out > 0)
    notes.push_back(fmt::format("{} out of service, by the state that Slurm tells", counted(nodes_out, "node is", "nodes are")));
  loaded.date = to_iso_text(now);
  notes.push_back(fmt::format("the instant is {}{}", loaded.date,
                              flags.at.empty() ? ", the latest that the jobs tell of; --at says when the list was taken" : ""));
  scenario.assumptions.insert(scenario.assumptions.end(), notes.begin(), notes.end());
  return loaded;
}

std::string with_host_names(const std::string& placement, const std::vector<std::string>& host_names) {
  if (host_names.empty()) return placement;
  constexpr std::string_view prefix = "host";
  std::string text;
  std::string_view rest = placement;
  while (!rest.empty()) {
    const std::string_view part = next_part(rest, ",");
    const std::size_t colon = std::min(part.find(':'), part.size());
    const std::string_view range = part.substr(std::min(prefix.size(), colon), colon - std::min(prefix.size(), colon));
    const std::size_t dash = std::min(range.find('-'), range.size());
    const auto first = plain_number<std::uint32_t>(range.substr(0, dash));
    const auto last = dash == range.size() ? first : plain_number<std::uint32_t>(range.substr(dash + 1));
    if (!text.empty()) text += ',';
    if (!first || !last || *last < *first || *last >= host_names.size()) {
      text += part;
    } else {
      text += to_host_list(std::span(host_names).subspan(*first, *last - *first + 1));
      text += part.substr(colon);
    }
  }
  return text;
}

}  // namespace weft
