#include "scheduler/policies/backfill.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::unique_ptr<SchedulingPolicy> make(const ParamSet&) { return std::make_unique<Backfill>(); }

/// max() where it declares nothing.
Time declared_end(const JobView& job, Time now) {
  return job.declared_left && *job.declared_left < Time::max() - now ? now + *job.declared_left : Time::max();
}

Placement free_part(const ClusterState& cluster, const Placement& placement) {
  Placement part;
  std::copy_if(placement.gpus.begin(), placement.gpus.end(), std::back_inserter(part.gpus),
               [&](GpuSlot gpu) { return cluster.holder(gpu).is_none(); });
  return part;
}

}  // namespace

std::optional<Backfill::Reservation> Backfill::reserve(const SchedulingPass& pass, JobId head) {
  const std::uint32_t wanted = pass.job(head).gpus;
  std::vector<std::pair<Time, JobId>> ends;
  for (const JobId job : pass.running()) ends.emplace_back(declared_end(pass.job(job), pass.now()), job);
  std::sort(ends.begin(), ends.end());
  ClusterState later = pass.cluster();
  for (const auto& [end, job] : ends) {
    if (end == Time::max()) return std::nullopt;
    later.release(job, pass.placement(job));
    if (later.free_gpus() < wanted) continue;
    if (std::optional<Placement> placement = pass.place(later, head)) return Reservation{end, std::move(*placement)};
  }
  // GPUs that it needs are out of service, and nobody knows until when: nothing to keep for it.
  return Reservation{Time::max(), {}};
}

void Backfill::schedule(SchedulingPass& pass) {
  while (!pass.queue().empty() && pass.try_start(pass.queue().front())) {
  }
  if (pass.queue().size() < 2 || pass.cluster().free_gpus() == 0) return;
  const JobId head = pass.queue().front();
  const std::optional<Reservation> reservation = reserve(pass, head);
  if (!reservation) return;
  // As it would be with the reservation taken already.
  ClusterState beside = pass.cluster();
  beside.take(head, free_part(beside, reservation->placement));
  std::unordered_set<std::uint32_t> too_many;         // of GPUs, now
  std::unordered_set<std::uint32_t> too_many_beside;  // beside the reservation
  for (auto at = pass.queue().begin(); at != pass.queue().end() && pass.cluster().free_gpus() > 0;) {
    const JobId job = *at;
    ++at;
    const JobView view = pass.job(job);
    if (job == head || too_many.contains(view.gpus)) continue;
    std::optional<Placement> placement;
    if (!too_many_beside.contains(view.gpus)) {
      placement = pass.place(beside, job);
      if (!placement) too_many_beside.insert(view.gpus);
    }
    if (!placement && declared_end(view, pass.now()) <= reservation->begin) {
      placement = pass.place(pass.cluster(), job);
      if (!placement) too_many.insert(view.gpus);
    }
    if (!placement) continue;
    beside.take(job, free_part(beside, *placement));
    pass.start(job, std::move(*placement));
  }
}

Module<SchedulingPolicyFactory> backfill_module() {
  return {{"scheduler",
           "backfill",
           "EASY backfilling: first come, first served, and jobs from behind use what stands idle as long as, by declared run "
           "times, that does not "
           "delay the job at the head of the queue.",
           {}},
          make};
}

}  // namespace weft
