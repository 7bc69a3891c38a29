// SPDX-License-Identifier: Apache-2.0
#include "host/inside/island.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/check.hpp"
#include "host/ranks/rank_runner.hpp"

namespace weft {

const std::vector<bool>& CommunicatorsInUse::of(const Workload& workload) {
  const std::scoped_lock lock(mutex_);
  const auto [known, is_new] = known_.try_emplace(&workload);
  if (is_new) known->second = communicators_in_use(workload);
  return known->second;
}

/// Tells ranks what happens in the island's network.
class Island::Observer final : public InsideObserver {
 public:
  Observer(Island& island, EventContext& context) : island_(island), context_(context) {}
  void on_sent(const Transfer& transfer, Time) override {
    island_.telling(island_.member_at(transfer.source)).on_sent(transfer, context_);
  }
  void on_delivered(const Transfer& transfer, Time) override {
    island_.telling(island_.member_at(transfer.destination)).on_delivered(transfer, context_);
  }
  void on_transfer_finished(const FinishedTransfer& finished) override { island_.transfers_.push_back(finished); }

 private:
  Island& island_;
  EventContext& context_;
};

Island::Island(std::uint64_t number, InsideWiring& wiring, const RunningJob& job, std::vector<Member> members,
               std::shared_ptr<const PrivateLinks> links, const Runners& runners, std::vector<std::uint32_t>& told)
    : number_(number),
      wiring_(wiring),
      job_(job),
      members_(std::move(members)),
      ranks_left_(members_.size()),
      links_(std::move(links)),
      runners_(runners),
      told_(told),
      link_bytes_(links_->links().size()) {}

bool Island::has(NodeId endpoint) const { return std::ranges::find(members_, endpoint, &Member::endpoint) != members_.end(); }

const Island::Group& Island::add_group(std::uint16_t communicator, GroupId id, std::span<const RankId> ranks) {
  std::vector<std::uint32_t> places;
  for (const RankId rank : ranks)
    places.push_back(static_cast<std::uint32_t>(links_->place_of((*job_.endpoint_of_rank)[rank.index()])));
  Group group{communicator, id, {ranks.begin(), ranks.end()}, wiring_.replays.layout_of(links_, places)};
  return *groups_.emplace_back(std::make_unique<const Group>(std::move(group)));
}

const Island::Member& Island::member(RankId rank) const { return *std::ranges::find(members_, rank, &Member::rank); }

const Island::Member& Island::member_at(NodeId endpoint) const { return *std::ranges::find(members_, endpoint, &Member::endpoint); }

RankRunner& Island::telling(const Member& member) {
  told_.push_back(member.slot);
  return runner(member);
}

InsideNetwork Island::make_network() const {
  const std::span<const double> capacities = links_->capacities_bps();
  return {links_, wiring_.settings, wiring_.make_policy({capacities.begin(), capacities.end()})};
}

InsideAnswer Island::begin(const Group& group, const CollectiveTrial::Begin& begin, std::uint64_t stream,
                           const CollectivePlan& plan, EventContext& context) {
  const bool begins_now = begin.at == context.now();
  const auto is_this = [&] { return undisturbed_->stream == stream && undisturbed_->group == &group; };
  // What goes on may end at ranks, which begin the next one.
  while (undisturbed_ && !is_this()) {
    if (!begins_now) return InsideAnswer::ask_then;
    go_on(context);
  }
  if (!undisturbed_) {
    if (running_ > 0 || (network_ != nullptr && !network_->is_idle()) || !wiring_.replays.awaits_all(plan)) {
      if (!begins_now) return InsideAnswer::ask_then;
      ++running_;
      return InsideAnswer::run_steps;
    }
    WEFT_CHECK(replays_.empty() || replays_.back().end() <= begin.at, "collectives that are told ahead come one after the other");
    undisturbed_.emplace(stream, plan, group);
  }
  undisturbed_->begun.push_back(begin);
  foresee_all(context);
  return InsideAnswer::will_tell;
}

std::unique_ptr<CollectiveTrial> Island::trial_of(const Undisturbed& undisturbed, Time until) const {
  auto trial = std::make_unique<CollectiveTrial>(job_, undisturbed.group->ranks, make_network(), wiring_.reduction_time_per_mib);
  // Of those that begin at one instant, any may be first; so that trials are alike, by position.
  std::vector<CollectiveTrial::Begin> begun = undisturbed.begun;
  std::ranges::sort(begun, {}, [](const CollectiveTrial::Begin& one) { return std::pair(one.at, one.position); });
  for (const CollectiveTrial::Begin& begin : begun) trial->begin(begin);
  trial->advance(until);
  return trial;
}

void Island::foresee_all(EventContext& context) {
  // Ranks that are told ahead begin the next one; this loop, not recursion, goes on with it.
  if (foresees_) return;
  foresees_ = true;
  while (undisturbed_ && undisturbed_->is_complete() && undisturbed_->replay == nullptr) foresee(context);
  foresees_ = false;
}

void Island::foresee(EventContext& context) {
  Undisturbed& undisturbed = *undisturbed_;
  std::ranges::sort(undisturbed.begun, {}, &CollectiveTrial::Begin::position);
  undisturbed.all_begun = std::ranges::max(undisturbed.begun, {}, &CollectiveTrial::Begin::at).at;
  CollectiveReplays::Key key{undisturbed.plan, undisturbed.group->layout, {}};
  for (const CollectiveTrial::Begin& begin : undisturbed.begun) key.ahead.push_back(undisturbed.all_begun - begin.at);
  undisturbed.replay = wiring_.replays.find(key);
  if (undisturbed.replay == nullptr) {
    const auto trial = trial_of(undisturbed, Time::max());
    // It would end after the simulated clock does: let the run find that.
    if (!trial->is_over()) return go_on(context);
    undisturbed.replay = wiring_.replays.add(key, outcome_of(undisturbed, *trial));
  }
  if (undisturbed.replay->last_finish > Time::max() - undisturbed.all_begun) {
    undisturbed.replay = nullptr;
    return go_on(context);
  }
  if (is_certain(undisturbed)) {
    tell_ahead(context);
  } else {
    plan_due(context);
  }
}

/// Whether nothing can begin before its last end.
bool Island::is_certain(const Undisturbed& undisturbed) const {
  if (!goes_ahead_ || undisturbed.group->ranks.size() < members_.size()) return false;
  const Duration last = undisturbed.replay->last_finish;
  return std::ranges::all_of(undisturbed.begun, [&](const CollectiveTrial::Begin& begun) {
    const Duration gap = runner(member(undisturbed.group->ranks[begun.position])).gap_after(begun.op);
    return last - undisturbed.replay->finish[begun.position] <= gap;
  });
}

void Island::tell_ahead(EventContext& context) {
  // What ranks do next may begin the next collective.
  const Undisturbed ended = std::move(*undisturbed_);
  undisturbed_.reset();
  keep(ended);
  for (const std::uint32_t position : ended.replay->by_finish) tell_end(ended, position, context);
}

CollectiveReplay Island::outcome_of(const Undisturbed& undisturbed, CollectiveTrial& trial) const {
  const Time from = undisturbed.all_begun;
  const auto ranks = static_cast<std::uint32_t>(undisturbed.group->ranks.size());
  CollectiveReplay replay;
  replay.plan = undisturbed.plan;
  for (std::uint32_t position = 0; position < ranks; ++position) {
    replay.ahead.push_back(from - undisturbed.begun[position].at);
    const std::optional<Time>& finished = trial.finished(position);
    WEFT_CHECK(finished && *finished >= from, "a collective that awaits all ends when all have begun");
    replay.finish.push_back(*finished - from);
    for (const SlotHoldup& holdup : trial.rank(position).slot_holdups())
      replay.held.push_back({position, trial.position_of(holdup.peer), holdup});
  }
  replay.last_finish = std::ranges::max(replay.finish);
  replay.by_finish.resize(ranks);
  std::iota(replay.by_finish.begin(), replay.by_finish.end(), 0U);
  std::ranges::stable_sort(replay.by_finish, {}, [&](std::uint32_t position) { return replay.finish[position]; });
  for (const FinishedTransfer& one : trial.transfers()) {
    CollectiveReplay::Moved moved;
    moved.source = trial.position_of(one.transfer.source);
    moved.destination = trial.position_of(one.transfer.destination);
    moved.connection = one.transfer.connection;
    moved.detail = job_.tags->unpack(one.transfer.tag).detail;
    moved.size = one.transfer.size;
    moved.start = one.start - from;
    moved.end = one.end - from;
    moved.ideal = one.ideal;
    replay.transfers.push_back(moved);
  }
  replay.busy_until = trial.network().busy_until() - from;
  replay.link_bytes = trial.network().link_bytes(trial.network().now());
  return replay;
}

void Island::tell_ends(EventContext& context) {
  if (!undisturbed_ || undisturbed_->replay == nullptr || undisturbed_->next_end() > context.now()) return;
  Undisturbed& undisturbed = *undisturbed_;
  const std::vector<std::uint32_t>& by_finish = undisturbed.replay->by_finish;
  const std::size_t first = undisturbed.told;
  while (undisturbed.told < by_finish.size() && undisturbed.next_end() <= context.now()) ++undisturbed.told;
  // What ranks do next may begin the next collective.
  const Undisturbed ending = undisturbed;
  if (ending.told == by_finish.size()) {
    keep(ending);
    undisturbed_.reset();
  }
  for (std::size_t i = first; i < ending.told; ++i) tell_end(ending, by_finish[i], context);
}

/// It is over at all ranks.
void Island::keep(const Undisturbed& ended) {
  const CollectiveTrial::Begin& first = ended.begun.front();
  replays_.push_back({ended.replay, ended.stream, ended.all_begun, job_.attempt, ended.group->id,
                      static_cast<std::uint32_t>(first.iteration), first.op});
}

void Island::tell_end(const Undisturbed& undisturbed, std::uint32_t position, EventContext& context) {
  const Group& group = *undisturbed.group;
  const OpId op = undisturbed.begun[position].op;
  const Time end = undisturbed.end(position);
  RankRunner& ending = telling(member(group.ranks[position]));
  for (const CollectiveReplay::Held& held : undisturbed.replay->held) {
    if (held.position != position) continue;
    SlotHoldup holdup = held.holdup;
    holdup.attempt = job_.attempt;
    holdup.rank = group.ranks[position];
    holdup.op = op;
    holdup.source = (*job_.endpoint_of_rank)[holdup.rank.index()];
    holdup.peer = (*job_.endpoint_of_rank)[group.ranks[held.peer].index()];
    holdup.communicator = group.communicator;
    ending.note_holdup(holdup, end, context.now());
  }
  ending.finish_collective(op, end, context);
}

OpRecord Island::record_of(const Group& group, const CollectiveTrial::Begin& begun, Time end) const {
  return {job_.attempt, group.ranks[begun.position], static_cast<std::uint32_t>(begun.iteration), begun.op, begun.op_started, end};
}

void Island::begin_later_again(Undisturbed& undisturbed, EventContext& context) {
  for (const CollectiveTrial::Begin& begun : undisturbed.begun) {
    if (begun.at > context.now()) runner(member(undisturbed.group->ranks[begun.position])).begin_again(begun.op, begun.at, context);
  }
  std::erase_if(undisturbed.begun, [&](const CollectiveTrial::Begin& begun) { return begun.at > context.now(); });
}

void Island::go_on(EventContext& context) {
  Undisturbed undisturbed = std::move(*undisturbed_);
  undisturbed_.reset();
  begin_later_again(undisturbed, context);
  if (undisturbed.begun.empty()) return;
  const auto trial = trial_of(undisturbed, context.now());
  const Group& group = *undisturbed.group;
  std::vector<bool> is_told(group.ranks.size(), false);
  for (std::size_t i = 0; i < undisturbed.told; ++i) {
    const std::uint32_t position = undisturbed.replay->by_finish[i];
    is_told[position] = true;
    ops_.push_back(record_of(group, undisturbed.begun[position], undisturbed.end(position)));
  }
  for (std::uint32_t position = 0; position < group.ranks.size(); ++position) {
    if (!is_told[position]) runner(member(group.ranks[position])).collectives().take_over(trial->rank(position));
  }
  std::vector<CollectiveTrial::Begin> ended;
  for (const CollectiveTrial::Begin& begun : undisturbed.begun) {
    if (is_told[begun.position]) continue;
    RankRunner& going_on = runner(member(group.ranks[begun.position]));
    if (trial->finished(begun.position)) {
      ended.push_back(begun);
      for (const SlotHoldup& holdup : trial->rank(begun.position).slot_holdups()) going_on.collectives().note_holdup(holdup);
    } else {
      ++running_;
      going_on.go_on_with(begun.op);
    }
  }
  adopt(*trial);
  for (const CollectiveTrial::Timer& timer : trial->timers()) {
    runner(member(group.ranks[timer.position])).take_over_after(timer.at - context.now(), timer.stream, timer.step, context);
  }
  plan_due(context);
  for (const CollectiveTrial::Begin& begun : ended) {
    ops_.push_back(record_of(group, begun, context.now()));
    telling(member(group.ranks[begun.position])).finish_collective(begun.op, context.now(), context);
  }
}

void Island::adopt(CollectiveTrial& trial) {
  transfers_.insert(transfers_.end(), trial.transfers().begin(), trial.transfers().end());
  if (network_ != nullptr) {
    const std::vector<Bytes> carried = network_->link_bytes(network_->now());
    for (std::size_t link = 0; link < carried.size(); ++link) link_bytes_[link] += carried[link];
    busy_until_ = std::max(busy_until_, network_->busy_until());
    retired_.push_back(std::move(network_));
  }
  network_ = std::make_unique<InsideNetwork>(std::move(trial.network()));
}

void Island::start(const Transfer& transfer, EventContext& context) {
  while (undisturbed_) go_on(context);
  if (network_ == nullptr) network_ = std::make_unique<InsideNetwork>(make_network());
  network_->start(transfer, context.now());
  plan_due(context);
}

void Island::plan_due(EventContext& context) {
  const bool has_end = undisturbed_ && undisturbed_->replay != nullptr;
  const Time at = std::min(has_end ? undisturbed_->next_end() : Time::max(), network_ == nullptr ? Time::max() : network_->next());
  if (at == Time::max() || (!planned_.empty() && planned_.back() <= at)) return;
  planned_.push_back(at);
  // As notices of the network come: before timers of the instant, and after the stop of a job.
  context.schedule(at - context.now(), EventClass::message, inside_due, InsideDue{number_});
}

void Island::on_due(EventContext& context) {
  WEFT_CHECK(!planned_.empty() && planned_.back() == context.now(), "an island's events come when they were planned");
  planned_.pop_back();
  tell_ends(context);
  if (InsideNetwork* const network = network_.get()) {
    Observer observer(*this, context);
    network->advance(context.now(), observer);
  }
  retired_.clear();
  plan_due(context);
}

void Island::stop(Time now, Time ended) {
  /// Keeps what is moved.
  class Deaf final : public InsideObserver {
   public:
    explicit Deaf(std::vector<FinishedTransfer>& transfers) : transfers_(transfers) {}
    void on_sent(const Transfer&, Time) override {}
    void on_delivered(const Transfer&, Time) override {}
    void on_transfer_finished(const FinishedTransfer& finished) override { transfers_.push_back(finished); }

   private:
    std::vector<FinishedTransfer>& transfers_;
  };
  stopped_at_ = now;
  if (const std::optional<Undisturbed> stopped = under_way(ended, now)) {
    add_ends(*stopped, ended, ops_);
    adopt(*trial_of(*stopped, now));
  }
  replays_.resize(replays_until(ended));
  undisturbed_.reset();
  if (network_ == nullptr) return;
  Deaf deaf(transfers_);
  network_->advance(now, deaf);
  if (network_->is_moving()) busy_until_ = now;
}

std::size_t Island::replays_until(Time now) const {
  const auto first = std::ranges::partition_point(replays_, [&](const InsideRecords::Replayed& one) { return one.end() <= now; });
  return static_cast<std::size_t>(std::distance(replays_.begin(), first));
}

/// What has not ended by an instant, as far as it has begun by another; at most one collective is
/// so.
std::optional<Island::Undisturbed> Island::under_way(Time not_ended, Time begun) const {
  std::optional<Undisturbed> found = undisturbed_;
  if (const std::size_t first = replays_until(not_ended); first < replays_.size()) {
    const InsideRecords::Replayed& replayed = replays_[first];
    const std::uint16_t communicator = job_.tags->unpack(replayed.stream).communicator;
    const auto group = std::ranges::find_if(
        groups_, [&](const auto& one) { return one->communicator == communicator && one->id == replayed.group; });
    found.emplace(replayed.stream, *replayed.replay->plan, **group);
    for (std::uint32_t position = 0; position < (*group)->ranks.size(); ++position) {
      const OpRecord record = op_record(replayed, job_, position);
      found->begun.push_back(
          {position, record.op, record.iteration, record.start, replayed.begun - replayed.replay->ahead[position]});
    }
    found->replay = replayed.replay;
    found->all_begun = replayed.begun;
  }
  if (!found) return found;
  if (std::erase_if(found->begun, [&](const CollectiveTrial::Begin& one) { return one.at > begun; }) > 0) found->replay = nullptr;
  if (found->begun.empty()) return std::nullopt;
  return found;
}

void Island::add_ends(const Undisturbed& undisturbed, Time until, std::vector<OpRecord>& records) const {
  if (undisturbed.replay == nullptr) return;
  for (const CollectiveTrial::Begin& begun : undisturbed.begun) {
    const Time end = undisturbed.end(begun.position);
    if (end <= until) records.push_back(record_of(*undisturbed.group, begun, end));
  }
}

Time Island::busy_until(Time now) const {
  Time until = network_ == nullptr ? busy_until_ : std::max(busy_until_, network_->busy_until());
  if (const std::size_t count = replays_until(now); count > 0)
    until = std::max(until, replays_[count - 1].begun + replays_[count - 1].replay->busy_until);
  return until;
}

std::vector<UnfinishedTransfer> Island::unfinished() const {
  if (undisturbed_) return trial_of(*undisturbed_, Time::max())->network().unfinished();
  return network_ == nullptr ? std::vector<UnfinishedTransfer>() : network_->unfinished();
}

void Island::add_transfers(const std::vector<FinishedTransfer>& transfers, InsideRecords& records) const {
  for (const FinishedTransfer& one : transfers) {
    // A network that is stopped takes in nothing more.
    const bool enters_at_stop =
        stopped_at_ && one.transfer.size == Bytes::zero() && one.start + wiring_.settings.nvlink_latency == *stopped_at_;
    if (!enters_at_stop) records.transfers.push_back(one);
  }
}

void Island::add_to(InsideRecords& records, Time now) const {
  const std::span<const InsideRecords::Replayed> replays(replays_.data(), replays_until(now));
  records.replays.insert(records.replays.end(), replays.begin(), replays.end());
  records.ops.insert(records.ops.end(), ops_.begin(), ops_.end());
  add_transfers(transfers_, records);
  std::vector<Bytes> bytes = link_bytes_;
  const auto add = [&](std::span<const Bytes> carried, std::int64_t times) {
    for (std::size_t link = 0; link < bytes.size(); ++link) bytes[link] += carried[link] * times;
  };
  const auto add_network = [&](const InsideNetwork& network) { add(network.link_bytes(now), 1); };
  records.busy_until = std::max(records.busy_until, busy_until(now));
  std::unordered_map<const CollectiveReplay*, std::int64_t> times;
  for (const InsideRecords::Replayed& one : replays) ++times[one.replay];
  // order-free: sums of whole bytes
  for (const auto& [replay, count] : times) add(replay->link_bytes, count);
  if (network_ != nullptr) add_network(*network_);
  if (const std::optional<Undisturbed> going_on = under_way(now, now)) {
    add_ends(*going_on, now, records.ops);
    const auto trial = trial_of(*going_on, now);
    add_transfers(trial->transfers(), records);
    add_network(trial->network());
  }
  for (std::size_t link = 0; link < bytes.size(); ++link) records.link_bytes[links_->links()[link]] += bytes[link];
}

}  // namespace weft
