// SPDX-License-Identifier: Apache-2.0
#include "tools/explain/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "core/engine/parallel_loop.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "host/ranks/host_settings.hpp"
#include "host/ranks/host_speed.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/simulation/link_tier.hpp"
#include "tools/simulation/run.hpp"

namespace weft {

namespace {

/// How much faster links are that never limit anything. Switches of packet mode need headroom that
/// grows with the rates of their ports, so that they could not have as much.
double never_limits(const Scenario& scenario) { return scenario.mode == Mode::packet ? 10 : 1000; }

constexpr double longer_than_the_mean = 1.001;

/// Another op in the place of each.
template <class Change>
std::shared_ptr<const Workload> with_ops(const Workload& workload, const Change& change) {
  auto changed = std::make_shared<Workload>(workload);
  for (std::size_t role = 0; role < workload.roles.size(); ++role) {
    const RoleDag& dag = workload.roles[role];
    RoleBuilder builder;
    builder.reserve(dag.size(), dag.edge_count());
    for (std::uint32_t i = 0; i < dag.size(); ++i) builder.add(change(role, dag.op(OpId(i))), dag.name(OpId(i)));
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      for (const OpId next : dag.successors(OpId(i))) builder.depend(next.index(), i);
    }
    changed->roles[role] = std::move(builder).finish().dag;
  }
  return changed;
}

template <class Change>
void change_ops(Scenario& scenario, const Change& change) {
  std::map<const Workload*, std::shared_ptr<const Workload>> changed;
  for (JobSpec& job : scenario.jobs) {
    if (job.workload == nullptr) continue;
    std::shared_ptr<const Workload>& other = changed[job.workload.get()];
    if (other == nullptr)
      other = with_ops(*job.workload, [&](std::size_t role, const Op& op) { return change(*job.workload, role, op); });
    job.workload = other;
  }
  for (std::shared_ptr<const Workload>& workload : scenario.workloads) {
    if (const auto found = changed.find(workload.get()); found != changed.end()) workload = found->second;
  }
}

Ideal free_compute() {
  return {"ops", "compute", [](Scenario& scenario) {
            change_ops(scenario, [](const Workload&, std::size_t, Op op) {
              if (op.kind == OpKind::compute) op.duration = Duration::zero();
              return op;
            });
          }};
}

Ideal free_collective(CollectiveType type) {
  return {"ops", std::string(to_text(type)), [type](Scenario& scenario) {
            change_ops(scenario, [type](const Workload&, std::size_t, Op op) {
              if (op.kind != OpKind::collective || op.collective != type) return op;
              Op barrier;
              barrier.kind = OpKind::collective;
              barrier.collective = CollectiveType::barrier;
              barrier.communicator = op.communicator;
              barrier.stream = op.stream;
              barrier.priority = op.priority;
              return barrier;
            });
          }};
}

Ideal free_sends() {
  return {"ops", "send and receive", [](Scenario& scenario) {
            change_ops(scenario, [](const Workload&, std::size_t, Op op) {
              if (op.kind == OpKind::send || op.kind == OpKind::receive) op.bytes = Bytes::zero();
              return op;
            });
          }};
}

void add_ops(const Scenario& scenario, std::vector<Ideal>& ideals) {
  bool computes = false;
  bool sends = false;
  std::set<CollectiveType> collectives;
  for (const JobSpec& job : scenario.jobs) {
    if (job.workload == nullptr) continue;
    for (const RoleDag& dag : job.workload->roles) {
      for (std::uint32_t i = 0; i < dag.size(); ++i) {
        const Op op = dag.op(OpId(i));
        computes = computes || op.kind == OpKind::compute;
        sends = sends || op.kind == OpKind::send;
        if (op.kind == OpKind::collective && op.collective != CollectiveType::barrier) collectives.insert(op.collective);
      }
    }
  }
  if (computes) ideals.push_back(free_compute());
  for (const CollectiveType type : collectives) ideals.push_back(free_collective(type));
  if (sends) ideals.push_back(free_sends());
}

HostSpeeds speeds_of(const Scenario& scenario, std::size_t hosts) {
  const auto settings = filled<HostSettings>(scenario.parameters.of("host"));
  return {hosts, scenario.host_speeds, {settings.straggler_share, settings.straggler_speed, settings.speed_spread, scenario.seed}};
}

void add_hosts(const Scenario& scenario, std::vector<Ideal>& ideals) {
  const std::size_t hosts = scenario.topology->host_count();
  const HostSpeeds speeds = speeds_of(scenario, hosts);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const HostId id(host);
    std::vector<Time> instants{Time::zero()};
    const std::vector<Time> changes = speeds.changes(id);
    instants.insert(instants.end(), changes.begin(), changes.end());
    std::vector<HostSpeedEntry> entries;
    for (std::size_t i = 0; i < instants.size(); ++i) {
      const double speed = speeds.at(id, instants[i]);
      if (speed >= 1) continue;
      entries.push_back({{id}, 1 / speed, instants[i], i + 1 < instants.size() ? instants[i + 1] : Time::max()});
    }
    if (entries.empty()) continue;
    ideals.push_back({"host", fmt::format("host {}", host), [entries](Scenario& changed) {
                        changed.host_speeds.insert(changed.host_speeds.end(), entries.begin(), entries.end());
                      }});
  }
}

double compute_s(const RoleDag& dag) {
  double sum = 0;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (dag.kind(OpId(i)) == OpKind::compute) sum += dag.op(OpId(i)).duration.in_s();
  }
  return sum;
}

void add_roles(const Scenario& scenario, std::vector<Ideal>& ideals) {
  std::set<const Workload*> seen;
  for (const JobSpec& job : scenario.jobs) {
    if (job.workload == nullptr || !seen.insert(job.workload.get()).second) continue;
    const Workload& workload = *job.workload;
    std::vector<double> of_role;
    for (const RoleDag& dag : workload.roles) of_role.push_back(compute_s(dag));
    double mean = 0;
    for (const std::uint16_t role : workload.role_of) mean += of_role[role] / static_cast<double>(workload.role_of.size());
    for (std::size_t role = 0; role < workload.roles.size(); ++role) {
      if (of_role[role] <= mean * longer_than_the_mean) continue;
      const double factor = mean / of_role[role];
      const std::string name = workload.role_names[role].empty() ? fmt::format("role {}", role) : workload.role_names[role];
      ideals.push_back(
          {"role", job.name.empty() ? name : job.name + ": " + name, [role, factor, original = job.workload](Scenario& changed) {
             change_ops(changed, [&](const Workload& of, std::size_t number, Op op) {
               if (&of == original.get() && number == role && op.kind == OpKind::compute)
                 op.duration = Duration::from_seconds(op.duration.in_s() * factor);
               return op;
             });
           }});
    }
  }
}

void add_tiers(const Scenario& scenario, std::vector<Ideal>& ideals) {
  std::map<std::string, std::vector<LinkId>> tiers;
  for (std::uint32_t link = 0; link < scenario.topology->link_count(); ++link)
    tiers[tier_name(*scenario.topology, LinkId(link))].emplace_back(link);
  std::vector<LinkId> inside;
  std::vector<LinkId> outside;
  for (const auto& [tier, links] : tiers) {
    std::vector<LinkId>& side = tier.starts_with("host ") ? inside : outside;
    side.insert(side.end(), links.begin(), links.end());
  }
  if (!outside.empty()) ideals.push_back(ideal_links(scenario, outside, "tier", "all between hosts"));
  if (!inside.empty()) ideals.push_back(ideal_links(scenario, inside, "tier", "all inside hosts"));
  for (const auto& [tier, links] : tiers) ideals.push_back(ideal_links(scenario, links, "tier", tier));
}

/// Where they run, other jobs stay where they were: only what it sends is gone.
void send_nothing(JobSpec& job, Duration held) {
  job.workload = nullptr;
  job.smaller_workloads.clear();
  job.iterations = 1;
  job.duration = DurationModel::fixed(held);
  job.data = Bytes::zero();
  job.checkpoint = Bytes::zero();
}

void add_jobs(const Scenario& scenario, const JobTimes& as_it_is, std::vector<Ideal>& ideals) {
  // What fails once more would hold its GPUs longer than it did.
  if (scenario.jobs.size() < 2 || !scenario.events.empty() || scenario.failures.has_failures()) return;
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const double held_s = as_it_is.of(scenario.jobs[i].name);
    if (scenario.jobs[i].workload == nullptr || std::isnan(held_s)) continue;
    ideals.push_back({"job", scenario.jobs[i].name,
                      [i, held = Duration::from_seconds(held_s)](Scenario& changed) { send_nothing(changed.jobs[i], held); }});
  }
}

/// Keeps the times of jobs or listed flows.
class TimesSink final : public ResultSink {
 public:
  Needs needs() const override { return {.collectives = false}; }
  void begin() override { *this = {}; }
  void add_job(const JobRow& row) override {
    const bool has_run = row.start && row.end;
    jobs_.emplace_back(row.job, has_run ? (*row.end - *row.start).in_s() : std::numeric_limits<double>::quiet_NaN());
  }
  void add_flow(const FlowRow& row) override {
    if (!row.job.empty()) return;
    first_ = std::min(first_, row.start);
    last_ = std::max(last_, row.end);
    sum_s_ += row.completion.in_s() * static_cast<double>(row.multiplicity);
    transfers_ += static_cast<double>(row.multiplicity);
  }
  JobTimes times(const Scenario& scenario) const {
    if (!scenario.flows) return {jobs_};
    if (transfers_ == 0) return {};
    return {{{scenario.flows->name, (last_ - first_).in_s()}, {mean_transfer, sum_s_ / transfers_}}};
  }

 private:
  std::vector<std::pair<std::string, double>> jobs_;
  Time first_ = Time::max();
  Time last_;
  double sum_s_ = 0;
  double transfers_ = 0;
};

}  // namespace

std::string tier_name(const Topology& topology, LinkId link) {
  const std::string tier = link_tier(topology, link);
  if (tier != "host") return tier;
  const Link& ends = topology.link(link);
  return fmt::format("host {}->{}", to_text(topology.node(ends.source).kind), to_text(topology.node(ends.destination).kind));
}

Ideal faster_links(const Scenario& scenario, std::span<const LinkId> links, double times, std::string kind, std::string what) {
  std::vector<std::pair<LinkId, Bandwidth>> rates;
  for (const LinkId link : links) {
    const double bps = static_cast<double>(scenario.topology->link(link).rate.in_bps()) * times;
    rates.emplace_back(link, Bandwidth::bps(std::llround(bps)));
  }
  return {std::move(kind), std::move(what), [rates](Scenario& changed) { changed.topology = with_rates(changed.topology, rates); }};
}

Ideal ideal_links(const Scenario& scenario, std::span<const LinkId> links, std::string kind, std::string what) {
  return faster_links(scenario, links, never_limits(scenario), std::move(kind), std::move(what));
}

std::vector<Ideal> ideals_of(const Scenario& scenario, const JobTimes& as_it_is) {
  std::vector<Ideal> ideals;
  add_ops(scenario, ideals);
  if (scenario.topology != nullptr) add_hosts(scenario, ideals);
  add_roles(scenario, ideals);
  if (scenario.topology != nullptr) add_tiers(scenario, ideals);
  add_jobs(scenario, as_it_is, ideals);
  return ideals;
}

double JobTimes::of(const std::string& job) const {
  for (const auto& [name, time] : seconds) {
    if (name == job) return time;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

JobTimes job_times(const Scenario& scenario, const std::shared_ptr<const Topology>& collectives_as_on,
                   const std::atomic<bool>* interrupt) {
  TimesSink sink;
  RunOptions options;
  options.collectives_as_on = collectives_as_on;
  options.interrupt = interrupt;
  finish_run(scenario, sink, options);
  return sink.times(scenario);
}

std::vector<WhatIfOutcome> run_what_ifs(const Scenario& scenario, std::span<const Ideal> ideals, const WhatIfOptions& options) {
  std::vector<WhatIfOutcome> outcomes(ideals.size());
  std::mutex telling;
  std::size_t done = 0;
  ParallelLoop(options.threads).run(ideals.size(), [&](std::size_t /*worker*/, std::size_t i) {
    if (options.interrupt != nullptr && *options.interrupt) {
      outcomes[i].error = "interrupted";
      return;
    }
    try {
      Scenario changed = scenario;
      ideals[i].apply(changed);
      outcomes[i].times = job_times(changed, scenario.topology, options.interrupt);
    } catch (const InputError& error) {
      outcomes[i].error = error.diagnostics().front().message + " [" + error.diagnostics().front().code + "]";
    }
    const std::lock_guard lock(telling);
    if (options.progress) options.progress(++done, ideals.size());
  });
  return outcomes;
}

}  // namespace weft
