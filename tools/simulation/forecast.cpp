// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "scheduler/failures/part.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/parameter_changes.hpp"
#include "topologies/reduced_topology.hpp"

namespace weft {

namespace {

using State = ClusterSnapshot::State;

/// One of the two futures.
struct Fork {
  Scenario scenario;
  ClusterSnapshot from;
  std::shared_ptr<const KnownLinkDemands> link_demands;  ///< but in job mode
  ClusterSnapshot end = {};
};

/// What is asked about, as it applies to the second future.
struct Question {
  std::string text;
  std::vector<HostId> drained;
  JobId started = JobId::none();
  /// of a switch: running jobs whose transfers cross it, but for those on drained hosts
  std::optional<std::uint64_t> crossing;
  /// Why it cannot be done at all; "" if it can be tried.
  std::string refusal;
};

InputError unknown_node(const std::string& name, const Scenario& scenario, const ClusterState& cluster,
                        const std::vector<std::string>& host_names) {
  std::vector<std::string> known = host_names;
  if (scenario.topology != nullptr) {
    for (std::uint32_t node = 0; node < scenario.topology->node_count(); ++node)
      known.push_back(scenario.topology->node_name(NodeId(node)));
  }
  for (std::uint32_t host = 0; host_names.empty() && host < cluster.host_count(); ++host)
    known.push_back(fmt::format("host{}", host));
  return InputError({Severity::error, "unknown-node", fmt::format("the cluster has no host or switch \"{}\"", name),
                     SourcePlace::named("--drain"), suggestion(name, known, "node")});
}

/// Whether a job's transfers may cross the switch.
bool crosses(const Topology& topology, const KnownLinkDemand& known, NodeId node) {
  return known.link_demand == nullptr || std::ranges::any_of(known.link_demand->links(), [&](const LinkDemand& demand) {
           const Link& link = topology.link(demand.link);
           return link.source == node || link.destination == node;
         });
}

/// Running jobs whose transfers cross the switch, but for those on hosts that it cuts off.
std::uint64_t jobs_crossing(const Fork& fork, NodeId node, std::span<const HostId> cut_off) {
  if (fork.link_demands == nullptr) return 0;
  const Topology& topology = *fork.scenario.topology;
  const auto is_cut_off = [&](NodeId endpoint) {
    return std::ranges::find(cut_off, topology.node(endpoint).host) != cut_off.end();
  };
  std::uint64_t crossing = 0;
  for (const auto& [job, known] : *fork.link_demands) {
    if (std::ranges::none_of(*known.endpoint_of_rank, is_cut_off) && crosses(topology, known, node)) ++crossing;
  }
  return crossing;
}

/// Whether shortest paths between hosts that are not cut off lead over the switch.
bool carries_transit(const Topology& topology, NodeId node, std::span<const HostId> cut_off) {
  if (cut_off.empty()) return true;
  std::vector<LinkId> next;
  for (const LinkId out : topology.out_links(node)) {
    const NodeId neighbour = topology.link(out).destination;
    if (topology.node(neighbour).kind != NodeKind::packet_switch) continue;
    for (const NodeId endpoint : topology.endpoints()) {
      if (std::ranges::find(cut_off, topology.node(endpoint).host) != cut_off.end()) continue;
      next.clear();
      topology.routes().next_hops(topology, neighbour, endpoint, next);
      for (const LinkId link : next) {
        if (topology.link(link).destination == node) return true;
      }
    }
  }
  return false;
}

/// Jobs whose transfers took routes that are no more have to be looked at anew.
void take_switch_away(Fork& fork, NodeId node) {
  if (fork.scenario.routes != nullptr) {
    fail("fixed-routes", "flow.routes names the ways of transfers, some of them perhaps over this switch",
         SourcePlace::named("--drain"), "ask with --set=flow.routing=spray, for example");
  }
  const ReducedTopology reduced = without_switch(*fork.scenario.topology, node);
  if (fork.link_demands != nullptr) {
    auto kept = std::make_shared<KnownLinkDemands>();
    for (const auto& [job, known] : *fork.link_demands) {
      const bool is_old = crosses(*fork.scenario.topology, known, node);
      fork.from.jobs[job.index()].is_pace_old = is_old;
      if (is_old) continue;
      auto renumbered = std::make_shared<const JobLinkDemand>(known.link_demand->renumbered(reduced.link));
      kept->emplace(job, KnownLinkDemand{known.endpoint_of_rank, std::move(renumbered)});
    }
    fork.link_demands = std::move(kept);
  }
  fork.scenario.topology = reduced.topology;
}

Question ask_drain(const std::string& name, const std::vector<std::string>& host_names, Fork& fork, Time until) {
  Scenario& scenario = fork.scenario;
  const ClusterState cluster = empty_cluster(scenario);
  Question question;
  question.text = fmt::format("drain of {}", name);
  const auto named = std::ranges::find(host_names, name);
  if (named != host_names.end()) {
    question.drained = {HostId(static_cast<std::uint32_t>(named - host_names.begin()))};
  } else if (const std::optional<Part> part = parse_part(name, cluster)) {
    question.drained = {host_of(*part, cluster)};
  } else {
    const NodeId node = scenario.topology == nullptr ? NodeId::none() : node_called(*scenario.topology, name);
    if (node.is_none()) throw unknown_node(name, scenario, cluster, host_names);
    if (scenario.topology->node(node).kind != NodeKind::packet_switch) {
      question.drained = {scenario.topology->node(node).host};
    } else {
      question.drained = hosts_cut_off_without(*scenario.topology, node);
      if (fork.link_demands != nullptr) question.crossing = jobs_crossing(fork, node, question.drained);
      if (question.crossing.value_or(0) > 0 || carries_transit(*scenario.topology, node, question.drained))
        take_switch_away(fork, node);
    }
  }
  if (question.drained.size() == cluster.host_count()) {
    question.refusal = "no host would be left";
    return question;
  }
  // It lasts as long as anybody looks.
  for (const HostId host : question.drained) {
    scenario.maintenance.drains.push_back({fork.from.at, host, until - fork.from.at + Duration::s(1)});
  }
  return question;
}

ClusterState cluster_of(const Fork& fork) {
  ClusterState cluster = empty_cluster(fork.scenario);
  for (const GpuSlot gpu : fork.from.out_of_service) cluster.withdraw(std::span(&gpu, 1));
  for (std::size_t i = 0; i < fork.from.jobs.size(); ++i) {
    const ClusterSnapshot::Job& job = fork.from.jobs[i];
    if (job.state == State::runs) cluster.take(JobId(static_cast<std::uint32_t>(i)), job.placement);
  }
  return cluster;
}

Question ask_start(const std::string& name, Fork& fork) {
  const std::vector<JobSpec>& specs = fork.scenario.jobs;
  const SourcePlace place = SourcePlace::named("--start");
  const auto found = std::ranges::find(specs, name, &JobSpec::name);
  if (found == specs.end()) {
    std::vector<std::string> known;
    for (const JobSpec& spec : specs) known.push_back(spec.name);
    fail("unknown-job", fmt::format("the snapshot has no job \"{}\"", name), place, suggestion(name, known, "job"));
  }
  Question question;
  question.text = fmt::format("start of {}", name);
  question.started = JobId(static_cast<std::uint32_t>(found - specs.begin()));
  ClusterSnapshot::Job& job = fork.from.jobs[question.started.index()];
  if (job.state == State::runs || job.state == State::ended) {
    fail("already-started", fmt::format("job \"{}\" {}", name, job.state == State::runs ? "runs already" : "has ended"), place,
         "name one that waits or has not arrived");
  }
  const ClusterState cluster = cluster_of(fork);
  const std::unique_ptr<Placer> placer = make_placer(fork.scenario);
  std::optional<Placement> placement = placer->place(cluster, found->gpus);
  if (!placement && job.record.start) placement = place_smaller(*found, cluster, *placer);
  if (!placement) {
    const std::uint32_t least = job.record.start ? least_gpus(*found) : found->gpus;
    question.refusal = fmt::format("it wants {}{}, and of the {} that are free placement {} finds none that fit",
                                   least < found->gpus ? fmt::format("{} to ", least) : "", counted(found->gpus, "GPU", "GPUs"),
                                   cluster.free_gpus(), fork.scenario.placement);
    return question;
  }
  if (job.state == State::waits) job.record.wait += fork.from.at - job.queued;
  job.state = State::runs;
  job.placement = *placement;
  job.since = job.part_since = fork.from.at;
  job.fetches = true;
  job.record.placement = cluster.to_text(*placement);
  if (job.record.start) {
    ++job.record.restarts;
  } else {
    job.record.start = fork.from.at;
  }
  job.record.last_start = fork.from.at;
  return question;
}

/// What the scheduler cannot foresee stays out of both futures.
void calm(Scenario& scenario, Time from) {
  apply_changes_until(scenario, from);
  scenario.events.clear();
  scenario.changes.clear();
  scenario.handlers.clear();
  scenario.failures.mtbf_h.fill(0);
  scenario.failures.degraded_mtbf_h = scenario.failures.flap_mtbf_h = 0;
  scenario.failures.log.clear();
  scenario.failures.hot_spares = scenario.failures.cold_spares = 0;
  scenario.maintenance.drains.clear();
  scenario.maintenance.notice = Duration::zero();
  if (simulates_network(scenario.mode) && !fast_forwards(scenario))
    scenario.parameters.apply("scheduler.fast_forward", "2", SourcePlace::named("weft predict"));
}

void look_ahead(Fork& fork, Time until) {
  RunOptions options;
  options.until = until;
  options.from = std::make_shared<const ClusterSnapshot>(fork.from);
  options.link_demands = fork.link_demands;
  options.keeps_end = true;
  ResultSink nobody;
  fork.end = finish_run(fork.scenario, nobody, options).end.value();
}

void look_ahead(Fork& now, Fork& then, Time until, std::uint32_t threads) {
  if (threads == 1) {
    look_ahead(now, until);
    look_ahead(then, until);
    return;
  }
  std::exception_ptr failure;
  {
    const std::jthread beside([&] {
      try {
        look_ahead(now, until);
      } catch (...) {
        failure = std::current_exception();
      }
    });
    look_ahead(then, until);
  }
  if (failure) std::rethrow_exception(failure);
}

JobOutlook outlook_of(const ClusterSnapshot::Job& job, bool is_endless) {
  JobOutlook outlook;
  outlook.state = job.state;
  if (job.iteration_time) outlook.iteration_s = job.iteration_time->in_s();
  if (is_endless) return outlook;
  if (job.record.end) outlook.end_s = job.record.end->in_s();
  if (job.expected_end) outlook.end_s = job.expected_end->in_s();
  return outlook;
}

/// That it holds, or wants.
std::size_t gpus_of(const Fork& fork, JobId job) {
  const ClusterSnapshot::Job& from = fork.from.jobs[job.index()];
  return from.state == State::runs ? from.placement.gpus.size() : fork.scenario.jobs[job.index()].gpus;
}

/// Of a cluster that Weft has not simulated; else nothing.
struct OutsideNames {
  std::vector<std::string> hosts;
  std::vector<std::string> jobs;
  std::vector<bool> is_endless;
};

/// From the instant of the question until a job starts in this future; none: not in time.
std::optional<double> starts_after_s(const Fork& fork, std::size_t job) {
  const std::optional<Time>& before = fork.from.jobs[job].record.last_start;
  const std::optional<Time>& after = fork.end.jobs[job].record.last_start;
  if (!after || (before && *after <= *before)) return std::nullopt;
  return (*after - fork.from.at).in_s();
}

std::vector<JobForecast> compare(const Fork& now, const Fork& then, const Question& question, const OutsideNames& names) {
  const ClusterState cluster = empty_cluster(now.scenario);
  std::vector<bool> is_drained(cluster.host_count(), false);
  for (const HostId host : question.drained) is_drained[host.index()] = true;
  std::vector<JobForecast> answers;
  for (std::size_t i = 0; i < now.from.jobs.size(); ++i) {
    const ClusterSnapshot::Job& before = now.from.jobs[i];
    const ClusterSnapshot::Job& after = then.end.jobs[i];
    if (before.state == State::ended) continue;
    JobForecast answer;
    answer.job = JobId(static_cast<std::uint32_t>(i));
    answer.name = now.scenario.jobs[i].name;
    answer.gpus = gpus_of(now, answer.job);
    if (!names.jobs.empty()) answer.called = names.jobs[i];
    const bool is_endless = !names.is_endless.empty() && names.is_endless[i];
    answer.now = outlook_of(now.end.jobs[i], is_endless);
    answer.then = outlook_of(after, is_endless);
    const auto stands_still = [&](GpuSlot gpu) { return is_drained[cluster.host_of(gpu).index()]; };
    answer.is_hit = answer.job == question.started || std::ranges::any_of(before.placement.gpus, stands_still);
    answer.waited_s = question.started == answer.job ? std::optional<double>(0) : starts_after_s(then, i);
    if (answer.waited_s) answer.placement = after.record.placement;
    answers.push_back(answer);
  }
  return answers;
}

/// Asks `ask` of the second of two equal futures and looks at both.
Forecast forecast(LoadedSnapshot loaded, const ForecastOptions& options,
                  const std::function<Question(Fork& then, Time until)>& ask) {
  calm(loaded.scenario, loaded.snapshot.at);
  OutsideNames names{loaded.host_names, loaded.job_names, loaded.is_endless};
  if (simulates_network(loaded.scenario.mode) && !loaded.snapshot.slow_cables.empty())
    loaded.scenario.topology = with_less(*loaded.scenario.topology, loaded.snapshot.slow_cables);
  std::shared_ptr<const KnownLinkDemands> link_demands;
  if (simulates_network(loaded.scenario.mode)) link_demands = link_demands_of(loaded.scenario, loaded.snapshot, options.threads);
  Fork now{loaded.scenario, loaded.snapshot, link_demands};
  Fork then{std::move(loaded.scenario), std::move(loaded.snapshot), link_demands};
  const Time until = now.from.at + options.horizon;
  Question question = ask(then, until);
  const ClusterState cluster = cluster_of(now);
  Forecast forecast;
  forecast.host_names = names.hosts;
  forecast.date = loaded.date;
  forecast.name = now.scenario.name;
  forecast.at = now.from.at;
  forecast.horizon = options.horizon;
  for (const ClusterSnapshot::Job& job : now.from.jobs) {
    forecast.running += job.state == State::runs ? 1 : 0;
    forecast.waiting += job.state == State::waits ? 1 : 0;
  }
  forecast.free_gpus = cluster.free_gpus();
  forecast.gpus = cluster.gpu_count();
  forecast.slow_cables = now.from.slow_cables.size();
  forecast.is_possible = question.refusal.empty();
  if (forecast.is_possible) {
    look_ahead(now, then, until, options.threads);
    forecast.jobs = compare(now, then, question, names);
    for (const JobForecast& job : forecast.jobs)
      forecast.is_possible = forecast.is_possible && !(job.is_hit && job.then.state == State::waits);
  }
  if (!question.refusal.empty() && !question.started.is_none()) {
    forecast.waits_by_itself = now.from.jobs[question.started.index()].state == State::waits;
    if (forecast.waits_by_itself) {
      look_ahead(now, until);
      forecast.starts_by_itself_s = starts_after_s(now, question.started.index());
    }
  }
  forecast.question = std::move(question.text);
  forecast.drained = std::move(question.drained);
  forecast.started = question.started;
  forecast.crossing = question.crossing;
  forecast.refusal = std::move(question.refusal);
  return forecast;
}

double change(const std::optional<double>& now, const std::optional<double>& then) {
  return now && then && *now != 0 ? *then / *now - 1 : 0;
}

}  // namespace

double JobForecast::iteration_change() const { return change(now.iteration_s, then.iteration_s); }

bool JobForecast::differs(double at_s) const {
  constexpr double least = 1e-3;
  if (is_hit || now.state != then.state || std::abs(iteration_change()) >= least) return true;
  if (!now.end_s || !then.end_s) return false;
  return std::abs(*then.end_s - *now.end_s) >= least * std::max(*now.end_s - at_s, 1.0);
}

Duration default_horizon(const Scenario& scenario) {
  const bool has_network = simulates_network(scenario.mode) &&
                           std::ranges::any_of(scenario.jobs, [](const JobSpec& job) { return job.workload != nullptr; });
  return Duration::s(has_network ? 3600 : 30 * 86400);
}

Forecast forecast_drain(LoadedSnapshot snapshot, const std::string& node, const ForecastOptions& options) {
  const std::vector<std::string> host_names = snapshot.host_names;
  return forecast(std::move(snapshot), options, [&](Fork& then, Time until) { return ask_drain(node, host_names, then, until); });
}

Forecast forecast_start(LoadedSnapshot snapshot, const std::string& job, const ForecastOptions& options) {
  return forecast(std::move(snapshot), options, [&](Fork& then, Time) { return ask_start(job, then); });
}

}  // namespace weft
