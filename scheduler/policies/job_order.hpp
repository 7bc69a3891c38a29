// SPDX-License-Identifier: Apache-2.0
// Job order: waiting jobs by rank, the best first, and the two ways of serving them - with GPUs
// that are free, or also with those of jobs that rank behind.
//
// Where it sits: policies that rank jobs by something else than submission keep one and say what
// ranks them.
//
// Model: a job's key is a value with an order, the smaller the better; of equal ones the job
// submitted first goes first. Keys of waiting jobs stay as they are, so they stand in trees, one
// for each number of GPUs (and the fewest with which an elastic job would do); running jobs are
// ranked anew where it matters, as what ranks them may change while they run.
//   serve             each waiting job in order starts if it can; where one cannot, those behind it
//                     wait or are tried (Behind)
//   serve_preempting  a job that cannot start may take the GPUs of running jobs that rank behind
//                     it: the worst go first, as many as it takes for the placer to find a place;
//                     then those that it can do without, the best first, keep their GPUs. An
//                     elastic job takes fewer GPUs only if it can have all of them in neither way
// What does not fit once does not fit later in the pass, as the GPUs that are free or held by jobs
// that rank behind become fewer; so of jobs that want as many GPUs only the best is tried.
// Invariant: a job never stops for one that ranks behind it.
// Thread safety: belongs to its policy.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/text/param_rows.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

/// What happens behind a job that has to wait.
enum class Behind : std::uint8_t { waits, is_tried };

/// What the parameter of policies that let their users choose fills.
struct BehindSettings {
  bool is_strict;
};
inline constexpr ParamSpec strict_param =
    param<&BehindSettings::is_strict>({.name = "strict",
                                       .default_text = "false",
                                       .meaning = "true keeps all jobs waiting behind one that finds no GPUs",
                                       .origin = "schedulers let smaller jobs use what the first cannot"});
inline Behind behind_by(const ParamSet& params) {
  return filled<BehindSettings>(params).is_strict ? Behind::waits : Behind::is_tried;
}

template <class Key>
class JobOrder {
 public:
  /// Takes in what has joined the queue since the last pass, and lets go of what has left it.
  template <class KeyOf>
  void update(const SchedulingPass& pass, const KeyOf& key_of) {
    for (const JobId id : pass.left()) forget(id);
    for (const JobId id : pass.arrived()) {
      const JobView job = pass.job(id);
      waiting_[size_of(job)].emplace(key_of(job), id);
    }
  }

  void serve(SchedulingPass& pass, Behind behind) {
    Heads heads = heads_of_all();
    while (!heads.empty() && pass.cluster().free_gpus() > 0) {
      const auto [best, size] = *heads.begin();
      heads.erase(heads.begin());
      if (pass.try_start(best.second)) {
        leave(best, size);
        add_head(heads, size);
      } else if (behind == Behind::waits) {
        return;
      }
    }
  }

  template <class KeyOf>
  void serve_preempting(SchedulingPass& pass, Behind behind, const KeyOf& key_of) {
    Heads heads = heads_of_all();
    std::optional<std::vector<Ranked>> running;  // those that may have to go, the worst in front
    while (!heads.empty()) {
      const auto [best, size] = *heads.begin();
      heads.erase(heads.begin());
      std::vector<Ranked> stopped;
      if (!pass.try_start_whole(best.second)) {
        if (!running) running = ranked_running(pass, key_of);
        const bool some_rank_behind = !running->empty() && best < running->front();
        if (!some_rank_behind && pass.cluster().free_gpus() == 0) return;
        if (!take_from(pass, best, size.gpus, *running, stopped) && !pass.try_start_smaller(best.second)) {
          if (behind == Behind::waits) return;
          continue;
        }
      }
      leave(best, size);
      add_head(heads, size);
      for (const Ranked& one : stopped) come_back(pass, one.second, key_of, heads);
    }
  }

 private:
  using Ranked = std::pair<Key, JobId>;
  struct Size {
    std::uint32_t gpus = 0;
    std::uint32_t least = 0;
    friend auto operator<=>(const Size&, const Size&) = default;
  };
  /// The best of each size that has not turned out too large.
  using Heads = std::set<std::pair<Ranked, Size>>;

  static Size size_of(const JobView& job) { return {job.gpus, job.least_gpus}; }

  Heads heads_of_all() const {
    Heads heads;
    for (const auto& [size, jobs] : waiting_) heads.emplace(*jobs.begin(), size);
    return heads;
  }
  void add_head(Heads& heads, Size size) const {
    const auto found = waiting_.find(size);
    if (found != waiting_.end()) heads.emplace(*found->second.begin(), size);
  }
  void leave(const Ranked& job, Size size) {
    const auto found = waiting_.find(size);
    found->second.erase(job);
    if (found->second.empty()) waiting_.erase(found);
  }

  void forget(JobId job) {
    for (auto alike = waiting_.begin(); alike != waiting_.end();) {
      std::erase_if(alike->second, [job](const Ranked& one) { return one.second == job; });
      alike = alike->second.empty() ? waiting_.erase(alike) : std::next(alike);
    }
  }

  template <class KeyOf>
  static std::vector<Ranked> ranked_running(const SchedulingPass& pass, const KeyOf& key_of) {
    std::vector<Ranked> running;
    for (const JobId job : pass.running()) running.emplace_back(key_of(pass.job(job)), job);
    std::sort(running.rbegin(), running.rend());
    return running;
  }

  /// A job that was stopped waits again. Others of its size are tried before it or not at all in
  /// this pass.
  template <class KeyOf>
  void come_back(const SchedulingPass& pass, JobId id, const KeyOf& key_of, Heads& heads) {
    const JobView job = pass.job(id);
    const Size size = size_of(job);
    std::set<Ranked>& alike = waiting_[size];
    const bool was_tried = !alike.empty() && !heads.contains({*alike.begin(), size});
    if (!alike.empty()) heads.erase({*alike.begin(), size});
    alike.emplace(key_of(job), id);
    if (!was_tried) heads.emplace(*alike.begin(), size);
  }

  /// Starts the job on GPUs of which some belong to jobs that rank behind; these are taken out of
  /// `running`. Returns whether it could be.
  static bool take_from(SchedulingPass& pass, const Ranked& job, std::uint32_t gpus, std::vector<Ranked>& running,
                        std::vector<Ranked>& stopped) {
    std::uint64_t most = pass.cluster().free_gpus();
    for (const Ranked& one : running) most += job < one ? pass.placement(one.second).gpus.size() : 0;
    if (most < gpus) return false;
    ClusterState without = pass.cluster();
    std::optional<Placement> placement;
    for (const Ranked& worst : running) {
      if (placement || worst < job) break;
      without.release(worst.second, pass.placement(worst.second));
      stopped.push_back(worst);
      if (without.free_gpus() >= gpus) placement = pass.place(without, job.second);
    }
    if (!placement) {
      stopped.clear();
      return false;
    }
    for (std::size_t i = stopped.size(); i-- > 0;) {
      const Placement& held = pass.placement(stopped[i].second);
      without.take(stopped[i].second, held);
      std::optional<Placement> other = without.free_gpus() >= gpus ? pass.place(without, job.second) : std::nullopt;
      if (other) {
        placement = std::move(other);
        stopped.erase(stopped.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        without.release(stopped[i].second, held);
      }
    }
    for (const Ranked& one : stopped) {
      pass.preempt(one.second);
      running.erase(std::find(running.begin(), running.end(), one));
    }
    pass.start(job.second, std::move(*placement));
    return true;
  }

  std::map<Size, std::set<Ranked>> waiting_;
};

}  // namespace weft
