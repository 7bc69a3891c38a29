#include "scheduler/policies/backfill.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::unique_ptr<SchedulingPolicy> make(const ParamSet&) { return std::make_unique<Backfill>(); }

/// max() where it declares nothing.
Time declared_end(const SchedulingPass& pass, JobId job) {
  const std::optional<Duration> left = pass.job(job).declared_left;
  return left && *left < Time::max() - pass.now() ? pass.now() + *left : Time::max();
}

}  // namespace

std::optional<Backfill::Reservation> Backfill::reserve(const SchedulingPass& pass, JobId head) {
  std::vector<std::pair<Time, JobId>> ends;
  for (const JobId job : pass.running()) ends.emplace_back(declared_end(pass, job), job);
  std::sort(ends.begin(), ends.end());
  ClusterState later = pass.cluster();
  for (const auto& [end, job] : ends) {
    if (end == Time::max()) return std::nullopt;
    later.release(job, pass.placement(job));
    if (later.free_gpus() < pass.job(head).gpus) continue;
    if (std::optional<Placement> placement = pass.place(later, head)) return Reservation{head, end, std::move(*placement)};
  }
  return std::nullopt;
}

bool Backfill::start_head(SchedulingPass& pass) const {
  const JobId head = pass.queue().front();
  if (pass.try_start(head)) return true;
  if (!reservation_ || reservation_->head != head) return false;
  const auto is_free = [&](GpuSlot gpu) { return pass.cluster().holder(gpu).is_none(); };
  const std::vector<GpuSlot>& gpus = reservation_->placement.gpus;
  if (!std::all_of(gpus.begin(), gpus.end(), is_free)) return false;
  pass.start(head, reservation_->placement);
  return true;
}

void Backfill::schedule(SchedulingPass& pass) {
  while (!pass.queue().empty() && start_head(pass)) {
  }
  if (pass.queue().size() < 2 || pass.cluster().free_gpus() == 0) return;
  const JobId head = pass.queue().front();
  reservation_ = reserve(pass, head);
  if (!reservation_) return;
  // As it would be with the reservation taken already.
  ClusterState beside = pass.cluster();
  Placement reserved;
  for (const GpuSlot gpu : reservation_->placement.gpus) {
    if (beside.holder(gpu).is_none()) reserved.gpus.push_back(gpu);
  }
  beside.take(head, reserved);
  std::unordered_set<std::uint32_t> too_many;         // of GPUs, now
  std::unordered_set<std::uint32_t> too_many_beside;  // beside the reservation
  for (auto at = pass.queue().begin(); at != pass.queue().end() && pass.cluster().free_gpus() > 0;) {
    const JobId job = *at;
    ++at;
    const std::uint32_t gpus = pass.job(job).gpus;
    if (job == head || too_many.contains(gpus)) continue;
    std::optional<Placement> placement;
    if (!too_many_beside.contains(gpus)) {
      placement = pass.place(beside, job);
      if (!placement) too_many_beside.insert(gpus);
    }
    if (!placement && declared_end(pass, job) <= reservation_->begin) {
      placement = pass.place(pass.cluster(), job);
      if (!placement) too_many.insert(gpus);
    }
    if (!placement) continue;
    Placement new_beside;
    for (const GpuSlot gpu : placement->gpus) {
      if (beside.holder(gpu).is_none()) new_beside.gpus.push_back(gpu);
    }
    beside.take(job, new_beside);
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
