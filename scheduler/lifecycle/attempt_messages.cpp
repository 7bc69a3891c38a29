// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/attempt_messages.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "scheduler/lifecycle/elastic_restart.hpp"

namespace weft {

AttemptMessages::AttemptMessages(const std::vector<JobSpec>& jobs, const ClusterState& cluster, const SchedulerWiring& wiring,
                                 const StorageSettings& storage, Duration control_delay)
    : jobs_(jobs), cluster_(cluster), wiring_(wiring), storage_(storage), control_delay_(control_delay) {}

RunningJob AttemptMessages::describe(const JobAttempt& attempt, std::uint64_t first_iteration) const {
  const JobSpec& spec = jobs_[attempt.job().index()];
  const std::uint32_t ranks = attempt.gpus();
  RunningJob described;
  described.job = attempt.job();
  described.workload = workload_on(spec, ranks);
  described.is_in_flow_mode = spec.is_in_flow_mode;
  described.first_iteration = first_iteration;
  described.iterations = spec.iterations;
  described.checkpoint_every = attempt.checkpoints().every;
  described.checkpoint_write = attempt.checkpoints().write;
  const std::vector<GpuSlot> stores =
      spec.checkpoint == Bytes::zero() ? std::vector<GpuSlot>() : stores_on(storage_.hosts, cluster_);
  if (!stores.empty()) {
    auto parts = std::make_shared<std::vector<StoredData>>();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const Bytes part = part_of(spec.checkpoint, ranks, rank);
      if (part > Bytes::zero())
        parts->push_back({RankId(rank), wiring_.endpoint_of_gpu[stores[rank % stores.size()].index()], part});
    }
    described.checkpoint = std::move(parts);
  }
  auto endpoints = std::make_shared<std::vector<NodeId>>();
  for (const GpuSlot gpu : attempt.placement().gpus) endpoints->push_back(wiring_.endpoint_of_gpu[gpu.index()]);
  described.endpoint_of_rank = std::move(endpoints);
  return described;
}

RunningJob AttemptMessages::prepare(const JobAttempt& attempt, std::uint64_t first_iteration, std::uint32_t ahead) const {
  RunningJob described = describe(attempt, first_iteration);
  described.attempt = AttemptId(wiring_.jobs->next().index() + ahead);
  if (wiring_.prepare) wiring_.prepare(described);
  return described;
}

const RunningJob& AttemptMessages::publish(RunningJob attempt) {
  const AttemptId number = wiring_.jobs->next();
  attempt.attempt = number;
  wiring_.jobs->publish(std::move(attempt));
  return wiring_.jobs->at(number);
}

void AttemptMessages::start_ranks(const JobAttempt& attempt, const RunningJob& published, EventContext& context) const {
  for (const HostId host : hosts_of(published, attempt.placement()))
    context.send(wiring_.entity_of_host[host.index()], control_delay_, start_job, StartJob{published.attempt});
}

std::vector<HostId> AttemptMessages::hosts_of(const RunningJob& published, const Placement& placement) const {
  std::vector<HostId> hosts;
  for (std::uint32_t rank = 0; rank < placement.gpus.size(); ++rank) {
    if (published.folding != nullptr && !published.folding->is_representative(RankId(rank))) continue;
    hosts.push_back(cluster_.host_of(placement.gpus[rank]));
  }
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

void AttemptMessages::stop(const JobAttempt& attempt, bool is_over, EventContext& context) const {
  const AttemptId number = attempt.published();
  const auto tell = [&](HostId host) {
    context.send(wiring_.entity_of_host[host.index()], control_delay_, stop_job, StopJob{number, is_over ? 1U : 0U});
  };
  if (attempt.is<JobAttempt::Fetching>()) {
    std::ranges::for_each(attempt.as<JobAttempt::Fetching>().stores, tell);
  } else {
    std::ranges::for_each(hosts_of(published(attempt), attempt.placement()), tell);
  }
  if (wiring_.network != EntityId::none()) context.send(wiring_.network, control_delay_, attempt_stopped, AttemptStopped{number});
}

std::vector<RankData> AttemptMessages::data_to_fetch(const JobAttempt& attempt, const KeptWork& kept) const {
  const JobSpec& spec = jobs_[attempt.job().index()];
  if (spec.data == Bytes::zero() && spec.checkpoint == Bytes::zero()) return {};
  const bool has_checkpoint = kept.iterations > 0 || kept.work > Duration::zero();
  return weft::data_to_fetch(spec, attempt.placement(), has_checkpoint, storage_, cluster_);
}

void AttemptMessages::fetch(JobAttempt& attempt, const KeptWork& kept, const std::vector<RankData>& data, EventContext& context) {
  RunningJob fetching = describe(attempt, kept.iterations);
  auto parts = std::make_shared<std::vector<StoredData>>();
  std::set<HostId> stores;
  for (const RankData& part : data) {
    parts->push_back({part.rank, wiring_.endpoint_of_gpu[part.store.index()], part.size});
    stores.insert(cluster_.host_of(part.store));
  }
  fetching.data = std::move(parts);
  const AttemptId number = publish(std::move(fetching)).attempt;
  attempt.fetch(number, static_cast<std::uint32_t>(data.size()), {stores.begin(), stores.end()});
  for (const HostId host : stores) context.send(wiring_.entity_of_host[host.index()], control_delay_, send_data, StartJob{number});
}

bool AttemptMessages::send_last_checkpoint(JobAttempt& attempt, std::uint64_t iterations, EventContext& context) {
  RunningJob last = describe(attempt, iterations);
  if (last.checkpoint == nullptr) return false;
  last.is_last_checkpoint = true;
  const RunningJob& published = publish(std::move(last));
  attempt.send_last_checkpoint(published.attempt, static_cast<std::uint32_t>(published.checkpoint->size()));
  for (const HostId host : hosts_of(published, attempt.placement()))
    context.send(wiring_.entity_of_host[host.index()], control_delay_, send_checkpoint, StartJob{published.attempt});
  return true;
}

}  // namespace weft
