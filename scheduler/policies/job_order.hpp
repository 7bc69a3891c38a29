// Job order: waiting jobs by rank, the best first, and the two ways of serving them - with GPUs that are free, or also with those of jobs that rank
// behind.
//
// Where it sits: policies that rank jobs by something else than submission keep one and say what ranks them.
//
// Model: a job's key is a value with an order, the smaller the better; of equal ones the job submitted first goes first. Keys of waiting jobs stay as
// they are, so they stand in a tree; running jobs are ranked anew in each pass, as what ranks them may change while they run.
//   serve             each waiting job in order starts if it can; where one cannot, those behind it are `passed_over` or tried
//   serve_preempting  a job that cannot start may take the GPUs of running jobs that rank behind it: the worst go first, as many as it takes for
//                     the placer to find a place, and of them only those stop whose GPUs it really gets
// What does not fit once does not fit later in the pass, as free GPUs and jobs that rank behind become fewer; so of jobs that want as many GPUs
// only the best is tried.
// Invariant: a job never stops for one that ranks behind it.
// Thread safety: belongs to its policy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "scheduler/policy.hpp"

namespace weft {

/// What happens behind a job that has to wait.
enum class Behind : std::uint8_t { waits, is_tried };

template <class Key>
class JobOrder {
 public:
  /// Takes in what has joined the queue since the last pass.
  template <class KeyOf>
  void update(const SchedulingPass& pass, const KeyOf& key_of) {
    for (const JobId job : pass.arrived()) waiting_.emplace(key_of(pass.job(job)), job);
  }

  void serve(SchedulingPass& pass, Behind behind) {
    std::unordered_set<std::uint32_t> too_many;
    for (auto at = waiting_.begin(); at != waiting_.end() && pass.cluster().free_gpus() > 0;) {
      const std::uint32_t gpus = pass.job(at->second).gpus;
      if (!too_many.contains(gpus) && pass.try_start(at->second)) {
        at = waiting_.erase(at);
        continue;
      }
      if (behind == Behind::waits) return;
      too_many.insert(gpus);
      ++at;
    }
  }

  template <class KeyOf>
  void serve_preempting(SchedulingPass& pass, Behind behind, const KeyOf& key_of) {
    std::vector<std::pair<Key, JobId>> running;  // the worst in front
    for (const JobId job : pass.running()) running.emplace_back(key_of(pass.job(job)), job);
    std::sort(running.rbegin(), running.rend());
    std::unordered_set<std::uint32_t> too_many;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const bool some_rank_behind = !running.empty() && *at < running.front();
      if (pass.cluster().free_gpus() == 0 && !some_rank_behind) return;
      const std::uint32_t gpus = pass.job(at->second).gpus;
      if (!too_many.contains(gpus) &&
          (pass.try_start(at->second) || (some_rank_behind && take_from(pass, *at, gpus, running, key_of)))) {
        at = waiting_.erase(at);
        continue;
      }
      if (behind == Behind::waits) return;
      too_many.insert(gpus);
      ++at;
    }
  }

 private:
  using Ranked = std::pair<Key, JobId>;

  /// Starts the job on GPUs of which some belong to jobs that rank behind. Returns whether it could be.
  template <class KeyOf>
  bool take_from(SchedulingPass& pass, const Ranked& job, std::uint32_t gpus, std::vector<Ranked>& running, const KeyOf& key_of) {
    std::uint32_t free = pass.cluster().free_gpus();
    ClusterState without = pass.cluster();
    std::optional<Placement> placement;
    for (auto worst = running.begin(); worst != running.end() && job < *worst && !placement; ++worst) {
      without.release(worst->second, pass.placement(worst->second));
      free += pass.job(worst->second).gpus;
      if (free >= gpus) placement = pass.place(without, job.second);
    }
    if (!placement) return false;
    std::vector<JobId> stopped;
    for (const GpuSlot gpu : placement->gpus) {
      const JobId holder = pass.cluster().holder(gpu);
      if (holder.is_none()) continue;
      pass.preempt(holder);
      stopped.push_back(holder);
    }
    pass.start(job.second, std::move(*placement));
    for (const JobId other : stopped) waiting_.emplace(key_of(pass.job(other)), other);
    std::erase_if(running,
                  [&](const Ranked& one) { return std::find(stopped.begin(), stopped.end(), one.second) != stopped.end(); });
    return true;
  }

  std::set<Ranked> waiting_;
};

}  // namespace weft
