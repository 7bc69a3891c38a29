// SPDX-License-Identifier: Apache-2.0
// Parts of the scheduler put together without JobLifecycle, for tests of one of them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/fast_forward/fast_forward_control.hpp"
#include "scheduler/lifecycle/attempt_messages.hpp"
#include "scheduler/lifecycle/attempt_starts.hpp"
#include "scheduler/lifecycle/job_accounts.hpp"
#include "scheduler/lifecycle/job_states.hpp"
#include "tests/scheduler/pretend_host.hpp"
#include "tests/scheduler/recording_context.hpp"

namespace weft::testing_scheduler {

/// Hosts are entities 0, 1, ...; GPU g is node 100 + g. Messages take 10 us, and the network is
/// entity 900.
struct SchedulerParts {
  SchedulerParts(std::vector<JobSpec> of_run, std::uint32_t hosts, std::uint32_t gpus_per_host, std::uint64_t fast_forward = 0,
                 StorageSettings stored = {}, CoupledJobs* coupled = nullptr)
      : jobs(std::move(of_run)),
        cluster(hosts, gpus_per_host),
        storage(std::move(stored)),
        wiring(wire(hosts, gpus_per_host)),
        states(jobs.size()),
        accounts(jobs, cluster, states, nullptr, Time::zero()),
        messages(jobs, cluster, wiring, storage, Duration::us(10)),
        forward(fast_forward, jobs, states, accounts, messages, coupled, nullptr),
        starts(jobs, cluster, states, accounts, messages, forward, wiring, storage, nullptr, 1) {}

  void arrive(JobId job) {
    states.arrive(job);
    accounts.arrive(job, context.now());
  }
  /// On the first free GPUs.
  void start(JobId job, const StartTerms& terms = {}) {
    start_on(job, *FirstFit(false).place(cluster, jobs[job.index()].gpus), terms);
  }
  void start_on(JobId job, Placement placement, const StartTerms& terms = {}) {
    cluster.take(job, placement);
    accounts.start(job, placement, context.now());
    starts.start(job, std::move(placement), terms, context);
  }
  /// It waits again. Returns whether more is kept of it than before.
  bool leave(JobId job, AttemptEnd why) {
    const JobAttempt& attempt = states.running(job);
    const bool keeps_more = accounts.leave(attempt, context.now(), why);
    cluster.release(job, attempt.placement());
    states.stop(job);
    accounts.wait_again(job, context.now());
    return keeps_more;
  }

  std::vector<JobSpec> jobs;
  ClusterState cluster;
  StorageSettings storage;
  JobTable table;
  SchedulerWiring wiring;
  JobStates states;
  JobAccounts accounts;
  AttemptMessages messages;
  FastForwardControl forward;
  AttemptStarts starts;
  RecordingContext context;

 private:
  SchedulerWiring wire(std::uint32_t hosts, std::uint32_t gpus_per_host) {
    SchedulerWiring result;
    for (std::uint32_t host = 0; host < hosts; ++host) result.entity_of_host.emplace_back(host);
    for (std::uint32_t gpu = 0; gpu < hosts * gpus_per_host; ++gpu) result.endpoint_of_gpu.emplace_back(100 + gpu);
    result.network = EntityId(900);
    result.jobs = &table;
    return result;
  }
};

/// "start_job 0 1" where hosts 0 and 1 get that message; timers without their targets.
inline std::string text_of(const std::vector<Event>& events) {
  static const std::map<std::uint16_t, std::string> names = {
      {start_job, "start"},         {stop_job, "stop"},           {send_data, "data"},       {send_checkpoint, "checkpoint"},
      {attempt_stopped, "stopped"}, {job_ends, "ends"},           {job_moves, "moves"},      {job_resumes, "resumes"},
      {ranks_begin, "ranks"},       {launch_ranks, "launch"},     {parts_fail, "fail"},      {failure_detected, "detect"},
      {part_works, "works"},        {spare_joins, "spare joins"}, {drain_ends, "drain ends"}};
  std::string text;
  for (const Event& event : events) {
    if (!text.empty()) text += ", ";
    text += names.at(event.kind);
    if (event.target != EntityId(1000)) text += " " + std::to_string(event.target.index());
  }
  return text;
}

}  // namespace weft::testing_scheduler
