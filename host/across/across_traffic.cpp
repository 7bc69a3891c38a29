// SPDX-License-Identifier: Apache-2.0
#include "host/across/across_traffic.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/containers/free_slots.hpp"
#include "topologies/topology.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

namespace {

/// Ways that are known at a time; they are found again where there are more.
constexpr std::size_t ways_max = 1U << 21;
/// A secluded group goes ahead by so many transfers for each rank at first, and by no more than the
/// other number at a time, if that is more.
constexpr std::size_t first_window = 8;
constexpr std::size_t window_max = 1U << 14;
constexpr std::uint32_t patience_max = 64;

}  // namespace

AcrossTraffic::AcrossTraffic(AcrossWiring wiring, FlowFabric& fabric)
    : wiring_(std::move(wiring)), fabric_(fabric), secluded_on_(wiring_.topology.link_count(), 0) {
  const FlowSettings& settings = wiring_.settings;
  WEFT_CHECK(settings.host_to_fabric_min() > Duration::zero() && settings.fabric_to_host_min() > Duration::zero(),
             "what ranks say to the fabric takes time, and what it says to them");
}

void AcrossTraffic::take(const Event& message) { begins_.push_back(message.payload_as<CollectiveBegins>()); }

void AcrossTraffic::wake(std::uint32_t owner, Time at) {
  Running& running = *running_[owner];
  if (at >= running.planned) return;
  running.planned = at;
  wakes_.emplace(at, owner);
}

std::optional<std::uint32_t> AcrossTraffic::take_awake(Time now) {
  while (!wakes_.empty() && wakes_.top().first <= now) {
    const auto [at, owner] = wakes_.top();
    wakes_.pop();
    Running* const running = running_[owner].get();
    if (running == nullptr || running->planned != at) continue;  // it was planned anew
    running->planned = Time::max();
    return owner;
  }
  return std::nullopt;
}

void AcrossTraffic::begin_instant(const std::deque<Transfer>& entering, Time now) {
  for (const CollectiveBegins& begins : begins_) {
    if (!fabric_.is_stopped(begins.attempt)) begin(begins, now);
  }
  begins_.clear();
  for (std::uint32_t owner = 0; !stopped_.empty() && owner < running_.size(); ++owner) {
    const Running* const running = running_[owner].get();
    if (running != nullptr && running->secluded != nullptr && fabric_.is_stopped(running->job->attempt)) disturb(owner, now);
  }
  for (const Transfer& transfer : entering) look_for_disturbed(transfer, now);
  std::vector<std::uint32_t> arrived;
  while (const std::optional<std::uint32_t> owner = take_awake(now)) {
    Running& running = *running_[*owner];
    if (running.secluded != nullptr) {
      arrived.push_back(*owner);
      continue;
    }
    entering_.clear();
    running.group->take_entering(now, entering_);
    awake_.push_back(*owner);
    // Whom these disturb may have some that enter now.
    for (const AcrossGroup::Entering& one : entering_) {
      due_.push_back({one.transfer, *owner});
      look_for_disturbed(one.transfer, now);
    }
  }
  for (const std::uint32_t owner : arrived) {
    if (running_[owner]->secluded != nullptr) arrive(owner, now);
  }
}

void AcrossTraffic::look_for_disturbed(const Transfer& entering, Time now) {
  if (secluded_ == 0 || is_control(entering) || fabric_.is_stopped(entering.attempt)) return;
  // Whoever joins an operation in switches may let others' bytes begin. What has none may have to
  // wait for those of its job.
  const bool is_moving = entering.size > Bytes::zero() || SwitchOperationName::is_one(entering.destination);
  const auto is_disturbed = [&](LinkId link) {
    const std::uint32_t owner = secluded_on_[link.index()];
    return owner > 0 && (is_moving || running_[owner - 1]->job->attempt == entering.attempt);
  };
  while (true) {
    const std::span<const LinkId> links = fabric_.links_of(entering);
    const auto taken = std::ranges::find_if(links, is_disturbed);
    if (taken == links.end()) return;
    disturb(secluded_on_[taken->index()] - 1, now);
  }
}

void AcrossTraffic::begin(const CollectiveBegins& begins, Time now) {
  const RunningJob& job = wiring_.jobs.at(begins.attempt);
  const Op op = job.workload->dag_of(begins.rank).op(begins.op);
  const Communicator& communicator = job.workload->communicators[op.communicator];
  const GroupId id = communicator.group_of(begins.rank);
  const std::uint32_t position = communicator.position_of(begins.rank);
  const std::uint32_t owner = find_or_add(begins, op.communicator, id);
  Running& running = *running_[owner];
  if (running.secluded != nullptr) disturb(owner, now);
  const std::uint64_t stream = collective_stream(job, begins.rank, op, begins.op, begins.iteration);
  const CollectivePlan* const plan = job.collectives->find(op, id, position, running.recent_plans);
  if (running.group->begin({position, begins.op, begins.iteration, begins.op_started, begins.at}, stream, *plan)) {
    running.left = 0;
    consider(owner);
  }
  wake(owner, std::max(now, running.group->next()));
}

std::uint32_t AcrossTraffic::find_or_add(const CollectiveBegins& begins, std::uint16_t communicator, GroupId id) {
  const auto [known, is_new] = places_.try_emplace({begins.attempt, communicator, id}, 0);
  if (!is_new) return known->second;
  known->second = take_slot(running_, free_running_);
  running_[known->second] = std::make_unique<Running>();
  Running& running = *running_[known->second];
  running.key = known->first;
  running.job = &wiring_.jobs.at(begins.attempt);
  const std::span<const RankId> ranks = running.job->workload->communicators[communicator].ranks(id);
  running.group = std::make_unique<AcrossGroup>(*running.job, ranks, wiring_.settings, wiring_.reduction_time_per_mib);
  running.window = first_window * ranks.size();
  return known->second;
}

std::shared_ptr<const AcrossWays> AcrossTraffic::ways_of(const Running& running, const CollectivePlan& plan) {
  const auto& [attempt, communicator, group] = running.key;
  if (ways_count_ >= ways_max) {
    ways_.clear();
    ways_count_ = 0;
  }
  std::shared_ptr<const AcrossWays>& ways = ways_[{attempt, communicator, group, &plan}];
  if (ways == nullptr) {
    ways = std::make_shared<const AcrossWays>(*running.job, communicator, group, plan, wiring_.topology, fabric_);
    ways_count_ += ways->size();
  }
  return ways;
}

void AcrossTraffic::disturb(std::uint32_t owner, Time now) {
  Running& running = *running_[owner];
  running.secluded->take_back(now - Duration::ticks(1));
  running.secluded->keep(fabric_);
  hand_over(owner);
  running.window = first_window * running.group->ranks().size();
  running.patience = std::min(2 * running.patience, patience_max);
  wake(owner, std::max(now, running.group->next()));
}

void AcrossTraffic::hand_over(std::uint32_t owner) {
  Running& running = *running_[owner];
  for (FlowFabric::UnderWay& transfer : running.secluded->transfers()) {
    transfer.owned.owner = owner;
    fabric_.adopt(transfer);
  }
  for (const LinkId link : running.secluded->ways().links()) secluded_on_[link.index()] = 0;
  --secluded_;
  running.group = running.secluded->release();
  running.secluded.reset();
  running.left = 0;
  running.planned = Time::max();
}

/// The clock is where a secluded group is.
void AcrossTraffic::arrive(std::uint32_t owner, Time now) {
  Running& running = *running_[owner];
  const std::size_t most = std::max(window_max, first_window * running.ranks().ranks().size());
  while (running.secluded->until() == now) {
    running.secluded->keep(fabric_);
    running.patience = 1;
    running.window = std::min(2 * running.window, most);
    if (running.secluded->group().has_ended_any()) {
      hand_over(owner);
      awake_.push_back(owner);
      return;
    }
    running.secluded->go_ahead(running.window);
  }
  wake(owner, running.secluded->until());
}

void AcrossTraffic::on_left(const OwnedTransfer& left, Time sent, Time delivered) {
  Running& running = *running_[left.owner];
  running.group->on_left(left.transfer, sent, delivered);
  if (++running.left % (running.patience * running.group->ranks().size()) == 0) consider(left.owner);
  wake(left.owner, running.group->next());
}

/// It may be secluded when the instant is over.
void AcrossTraffic::consider(std::uint32_t owner) {
  if (std::exchange(running_[owner]->is_candidate, true)) return;
  candidates_.push_back(owner);
}

void AcrossTraffic::go_on(EventContext& context) {
  drop_stopped(context.now());
  for (const std::uint32_t owner : awake_) {
    if (running_[owner] != nullptr) run_ranks(owner, context);
  }
  awake_.clear();
  while (const std::optional<std::uint32_t> owner = take_awake(context.now())) run_ranks(*owner, context);
}

void AcrossTraffic::run_ranks(std::uint32_t owner, EventContext& context) {
  Running& running = *running_[owner];
  WEFT_CHECK(running.group != nullptr, "a secluded group is looked at before others go on");
  AcrossGroup& group = *running.group;
  group.happen(context.now());
  for (const AcrossGroup::Ended& ended : group.take_ended()) {
    const RankId rank = group.ranks()[ended.position];
    const HostId host = wiring_.topology.node((*running.job->endpoint_of_rank)[rank.index()]).host;
    context.send(wiring_.entity_of_host[host.index()], ended.at - context.now(), collective_ends,
                 CollectiveEnds{running.job->attempt, rank, ended.op});
    keep_holdups(group.take_slot_holdups(ended.position), ended.at, context.now());
  }
  if (group.is_over()) {
    close(owner);
  } else {
    wake(owner, group.next());
  }
}

void AcrossTraffic::end_instant(Time now) {
  for (const std::uint32_t owner : std::exchange(candidates_, {})) {
    if (running_[owner] == nullptr || !running_[owner]->is_candidate) continue;
    running_[owner]->is_candidate = false;
    seclude(owner, now);
  }
}

void AcrossTraffic::seclude(std::uint32_t owner, Time now) {
  Running& running = *running_[owner];
  if (running.secluded != nullptr) return;
  const CollectivePlan* const plan = running.group->plan_in_step();
  if (plan == nullptr) return;
  std::shared_ptr<const AcrossWays> ways = ways_of(running, *plan);
  const std::span<const LinkId> links = ways->links();
  // Private flows know nothing of what lines between sites do.
  if (std::ranges::any_of(links, [&](LinkId link) { return fabric_.is_wide_area(link); })) return;
  const auto is_free = [&](LinkId link) { return secluded_on_[link.index()] == 0 && fabric_.carries_only(link, owner); };
  if (!std::ranges::all_of(links, is_free)) return;
  for (const LinkId link : links) secluded_on_[link.index()] = owner + 1;
  ++secluded_;
  running.secluded = std::make_unique<SecludedGroup>(std::move(running.group), std::move(ways), wiring_.settings,
                                                     wiring_.make_policy, fabric_.take_out(links));
  running.planned = Time::max();
  running.secluded->go_ahead(running.window);
  WEFT_CHECK(running.secluded->until() >= now, "what goes ahead is not behind");
  // At this instant once more, where something comes to pass in no time.
  wake(owner, running.secluded->until());
}

Time AcrossTraffic::next() const { return wakes_.empty() ? Time::max() : wakes_.top().first; }

void AcrossTraffic::close(std::uint32_t owner) {
  Running& running = *running_[owner];
  places_.erase(running.key);
  running_[owner].reset();
  free_running_.push_back(owner);
}

void AcrossTraffic::drop_stopped(Time now) {
  if (stopped_.empty()) return;
  stopped_.clear();
  const auto is_dropped = [&](std::uint32_t owner) {
    return running_[owner] != nullptr && fabric_.is_stopped(running_[owner]->job->attempt);
  };
  std::erase_if(due_, [&](const OwnedTransfer& owned) { return is_dropped(owned.owner); });
  // What ends at this instant would come after the stop.
  std::erase_if(late_holdups_, [&](const Held& held) { return held.end >= now && fabric_.is_stopped(held.holdup.attempt); });
  for (std::uint32_t owner = 0; owner < running_.size(); ++owner) {
    if (is_dropped(owner)) close(owner);
  }
}

void AcrossTraffic::catch_up(Time now) {
  for (std::uint32_t owner = 0; owner < running_.size(); ++owner) {
    if (running_[owner] != nullptr && running_[owner]->secluded != nullptr)
      disturb(owner, now == Time::max() ? now : now + Duration::ticks(1));
  }
}

void AcrossTraffic::keep_holdups(std::vector<SlotHoldup> holdups, Time end, Time now) {
  std::erase_if(late_holdups_, [&](const Held& held) {
    if (held.end >= now) return false;
    add_holdup(held.holdup, holdups_[{held.holdup.attempt, held.holdup.rank}]);
    return true;
  });
  for (const SlotHoldup& holdup : holdups) late_holdups_.push_back({end, holdup});
}

std::vector<SlotHoldup> AcrossTraffic::slot_holdups(Time now) const {
  HoldupsOfRanks of_ranks = holdups_;
  for (const Held& held : late_holdups_) {
    if (held.end <= now) add_holdup(held.holdup, of_ranks[{held.holdup.attempt, held.holdup.rank}]);
  }
  std::vector<SlotHoldup> all;
  for (const auto& [rank, holdups] : of_ranks) all.insert(all.end(), holdups.begin(), holdups.end());
  return all;
}

}  // namespace weft
