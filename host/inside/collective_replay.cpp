// SPDX-License-Identifier: Apache-2.0
#include "host/inside/collective_replay.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/values/fingerprint.hpp"
#include "host/collectives/collective_program.hpp"

namespace weft {

namespace {

/// What ranks can do while one of them has not begun, if messages arrive at once.
class WithoutOne {
 public:
  WithoutOne(const CollectivePlan& plan, std::uint32_t ranks, std::uint32_t absent)
      : plan_(plan), absent_(absent), pending_(ranks), left_(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const CollectiveProgram& program = plan.program_of(rank);
      left_[rank] = program.size();
      for (std::uint32_t step = 0; step < program.size(); ++step) {
        pending_[rank].push_back(program.predecessor_counts()[step]);
        if (plan.awaits_message(program.step(step), rank)) ++pending_[rank][step];
        if (pending_[rank][step] == 0) ready_.emplace_back(rank, step);
      }
    }
  }

  bool lets_any_finish() {
    while (!ready_.empty()) {
      const auto [rank, step] = ready_.back();
      ready_.pop_back();
      if (rank == absent_) continue;
      const CollectiveProgram& program = plan_.program_of(rank);
      const CollectiveStep& done = program.step(step);
      if (done.kind == StepKind::send && !plan_.is_left_out(done, rank)) release(plan_.peer(done, rank), done.remote_step);
      for (const std::uint32_t next : program.successors(step)) release(rank, next);
      if (--left_[rank] == 0) return true;
    }
    return false;
  }

 private:
  void release(std::uint32_t rank, std::uint32_t step) {
    if (--pending_[rank][step] == 0) ready_.emplace_back(rank, step);
  }

  const CollectivePlan& plan_;
  std::uint32_t absent_;
  std::vector<std::vector<std::uint32_t>> pending_;  ///< by rank and step
  std::vector<std::uint32_t> left_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ready_;
};

}  // namespace

bool are_alike(const CollectivePlan& plan) {
  if (!plan.role_of.empty()) return false;
  const CollectiveProgram& program = plan.program_of(0);
  const std::uint8_t division = program.size() > 0 ? program.step(0).peer.division : 0;
  if (plan.divisions[division]->size_at(0) < plan.request.ranks()) return false;
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    const CollectiveStep& step = program.step(i);
    if (step.kind == StepKind::join) continue;
    if (step.from_splits || step.peer.kind != PeerRule::Kind::offset || step.peer.division != division) return false;
  }
  return true;
}

bool awaits_all(const CollectivePlan& plan, std::uint32_t ranks) {
  if (plan.uses_switches) return false;
  const std::uint32_t absent_end = are_alike(plan) ? 1 : ranks;
  for (std::uint32_t absent = 0; absent < absent_end; ++absent) {
    if (WithoutOne(plan, ranks, absent).lets_any_finish()) return false;
  }
  return true;
}

std::size_t CollectiveReplays::Hash::operator()(const Key& key) const {
  std::uint64_t hash = mix64(reinterpret_cast<std::uintptr_t>(key.plan)) ^ key.layout;
  for (const Duration ahead : key.ahead) hash = mix64(hash ^ static_cast<std::uint64_t>(ahead.in_ticks()));
  return hash;
}

std::uint32_t CollectiveReplays::layout_of(const std::shared_ptr<const PrivateLinks>& links,
                                           const std::vector<std::uint32_t>& places) {
  const std::scoped_lock lock(mutex_);
  auto known = std::ranges::find_if(links_, [&](const auto& one) { return one->is_like(*links); });
  if (known == links_.end()) known = links_.insert(known, links);
  const auto number = static_cast<std::uint32_t>(layouts_.size());
  return layouts_.try_emplace({static_cast<std::size_t>(std::distance(links_.begin(), known)), places}, number).first->second;
}

const CollectiveReplay* CollectiveReplays::find(const Key& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = replays_.find(key);
  return found == replays_.end() ? nullptr : &found->second;
}

const CollectiveReplay* CollectiveReplays::add(const Key& key, CollectiveReplay replay) {
  const std::scoped_lock lock(mutex_);
  return &replays_.try_emplace(key, std::move(replay)).first->second;
}

bool CollectiveReplays::awaits_all(const CollectivePlan& plan) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = awaits_all_.find(&plan); found != awaits_all_.end()) return found->second;
  }
  const bool all = weft::awaits_all(plan, plan.request.ranks());
  const std::scoped_lock lock(mutex_);
  return awaits_all_.try_emplace(&plan, all).first->second;
}

}  // namespace weft
