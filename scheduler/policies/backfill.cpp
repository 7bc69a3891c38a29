// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies/backfill.hpp"

#include <optional>
#include <unordered_set>
#include <utility>

#include "scheduler/policies/reservation.hpp"

namespace weft {
namespace {

std::unique_ptr<SchedulingPolicy> make_backfill(const ParamSet&) { return std::make_unique<Backfill>(); }

}  // namespace

void Backfill::schedule(SchedulingPass& pass) {
  while (!pass.queue().empty() && pass.try_start(pass.queue().front())) {
  }
  if (pass.queue().size() < 2 || pass.cluster().free_gpus() == 0) return;
  const JobId head = pass.queue().front();
  const std::optional<Reservation> reservation =
      reserve(pass, pass.job(head).least_gpus, [&](const ClusterState& later) { return pass.place_any(later, head); });
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
    const bool is_elastic = view.least_gpus < view.gpus;
    if (job == head || (too_many.contains(view.gpus) && !is_elastic)) continue;
    std::optional<Placement> placement;
    if (!too_many_beside.contains(view.gpus)) {
      placement = pass.place(beside, job);
      if (!placement) too_many_beside.insert(view.gpus);
    }
    if (!placement && !too_many.contains(view.gpus) && declared_end(view, pass.now()) <= reservation->begin) {
      placement = pass.place(pass.cluster(), job);
      if (!placement) too_many.insert(view.gpus);
    }
    // On fewer GPUs it takes longer than declared.
    if (!placement && is_elastic) placement = pass.place_smaller(beside, job);
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
          make_backfill};
}

}  // namespace weft
