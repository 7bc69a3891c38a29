// SPDX-License-Identifier: Apache-2.0
#include "host/inside/island.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

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

Island::Group Island::group_of(std::uint16_t communicator, GroupId id, std::span<const RankId> ranks) const {
  std::vector<std::uint32_t> places;
  for (const RankId rank : ranks)
    places.push_back(static_cast<std::uint32_t>(links_->place_of((*job_.endpoint_of_rank)[rank.index()])));
  return {communicator, id, {ranks.begin(), ranks.end()}, wiring_.replays.layout_of(links_, places)};
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

bool Island::begin(const Group& group, const CollectiveTrial::Begin& begin, std::uint64_t stream, const CollectivePlan& plan,
                   EventContext& context) {
  const auto is_this = [&] { return undisturbed_->stream == stream && undisturbed_->group == &group; };
  // What goes on may end at ranks, which begin the next one.
  while (undisturbed_ && !is_this()) go_on(context);
  if (!undisturbed_) {
    if (running_ > 0 || (network_ != nullptr && !network_->is_idle()) || !wiring_.replays.awaits_all(plan)) {
      ++running_;
      return false;
    }
    undisturbed_.emplace(stream, plan, group);
  }
  undisturbed_->begun.push_back(begin);
  if (undisturbed_->begun.size() == group.ranks.size()) foresee(context);
  return true;
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

void Island::foresee(EventContext& context) {
  Undisturbed& undisturbed = *undisturbed_;
  CollectiveReplays::Key key{undisturbed.plan, undisturbed.group->layout, std::vector<Duration>(undisturbed.begun.size())};
  for (const CollectiveTrial::Begin& begin : undisturbed.begun) key.ahead[begin.position] = undisturbed.all_begun() - begin.at;
  undisturbed.replay = wiring_.replays.find(key);
  if (undisturbed.replay == nullptr) {
    const auto trial = trial_of(undisturbed, Time::max());
    // It would end after the simulated clock does: let the run find that.
    if (!trial->is_over()) return go_on(context);
    undisturbed.replay = wiring_.replays.add(key, outcome_of(undisturbed, *trial));
  }
  if (*std::ranges::max_element(undisturbed.replay->finish) > Time::max() - undisturbed.all_begun()) {
    undisturbed.replay = nullptr;
    return go_on(context);
  }
  undisturbed.by_end.resize(undisturbed.begun.size());
  std::iota(undisturbed.by_end.begin(), undisturbed.by_end.end(), std::size_t{0});
  std::ranges::sort(undisturbed.by_end, {},
                    [&](std::size_t number) { return std::pair(undisturbed.end(number), undisturbed.begun[number].position); });
  plan_due(context);
}

CollectiveReplay Island::outcome_of(const Undisturbed& undisturbed, CollectiveTrial& trial) const {
  const Time from = undisturbed.all_begun();
  const auto ranks = static_cast<std::uint32_t>(undisturbed.group->ranks.size());
  CollectiveReplay replay;
  for (std::uint32_t position = 0; position < ranks; ++position) {
    const std::optional<Time>& finished = trial.finished(position);
    WEFT_CHECK(finished && *finished >= from, "a collective that awaits all ends when all have begun");
    replay.finish.push_back(*finished - from);
    for (const SlotHoldup& holdup : trial.rank(position).slot_holdups())
      replay.held.push_back({position, trial.position_of(holdup.peer), holdup});
  }
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

Time Island::next_end() const {
  if (!undisturbed_ || undisturbed_->replay == nullptr) return Time::max();
  return undisturbed_->end(undisturbed_->by_end[undisturbed_->told]);
}

void Island::tell_ends(EventContext& context) {
  if (next_end() > context.now()) return;
  Undisturbed& undisturbed = *undisturbed_;
  const std::shared_ptr<const CollectiveReplay> replay = undisturbed.replay;
  const Group& group = *undisturbed.group;
  std::vector<CollectiveTrial::Begin> ended;
  const std::size_t count = undisturbed.by_end.size();
  for (; undisturbed.told < count && undisturbed.end(undisturbed.by_end[undisturbed.told]) <= context.now(); ++undisturbed.told)
    ended.push_back(undisturbed.begun[undisturbed.by_end[undisturbed.told]]);
  // What ranks do next may begin the next collective.
  if (undisturbed.told == count) {
    replays_.push_back(
        {replay, job_.attempt, group.id, undisturbed.begun.front().iteration, undisturbed.stream, undisturbed.all_begun()});
    busy_until_ = std::max(busy_until_, undisturbed.all_begun() + replay->busy_until);
    undisturbed_.reset();
  }
  for (const CollectiveTrial::Begin& begun : ended) {
    RankRunner& ending = telling(member(group.ranks[begun.position]));
    note_holdups(*replay, group, begun, ending);
    ending.finish_collective(begun.op, context);
  }
}

void Island::note_holdups(const CollectiveReplay& replay, const Group& group, const CollectiveTrial::Begin& begun,
                          RankRunner& ending) const {
  for (const CollectiveReplay::Held& held : replay.held) {
    if (held.position != begun.position) continue;
    SlotHoldup holdup = held.holdup;
    holdup.attempt = job_.attempt;
    holdup.rank = group.ranks[held.position];
    holdup.op = begun.op;
    holdup.source = (*job_.endpoint_of_rank)[holdup.rank.index()];
    holdup.peer = (*job_.endpoint_of_rank)[group.ranks[held.peer].index()];
    holdup.communicator = group.communicator;
    ending.collectives().note_holdup(holdup);
  }
}

void Island::go_on(EventContext& context) {
  const Undisturbed undisturbed = std::move(*undisturbed_);
  undisturbed_.reset();
  const auto trial = trial_of(undisturbed, context.now());
  const Group& group = *undisturbed.group;
  std::vector<bool> is_told(group.ranks.size(), false);
  for (std::size_t i = 0; i < undisturbed.told; ++i) is_told[undisturbed.begun[undisturbed.by_end[i]].position] = true;
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
  for (const CollectiveTrial::Begin& begun : ended)
    telling(member(group.ranks[begun.position])).finish_collective(begun.op, context);
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
  const Time at = std::min(next_end(), network_ == nullptr ? Time::max() : network_->next());
  if (at == Time::max() || (!planned_.empty() && planned_.back() <= at)) return;
  planned_.push_back(at);
  context.schedule(at - context.now(), EventClass::timer, inside_due, InsideDue{number_});
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

void Island::stop(Time now) {
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
  if (undisturbed_) {
    adopt(*trial_of(*undisturbed_, now));
    undisturbed_.reset();
  }
  if (network_ == nullptr) return;
  Deaf deaf(transfers_);
  network_->advance(now, deaf);
  if (network_->flows().active_flows() > 0) busy_until_ = now;
}

Time Island::busy_until() const { return network_ == nullptr ? busy_until_ : std::max(busy_until_, network_->busy_until()); }

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
  records.replays.insert(records.replays.end(), replays_.begin(), replays_.end());
  add_transfers(transfers_, records);
  std::vector<Bytes> bytes = link_bytes_;
  const auto add = [&](std::span<const Bytes> carried, std::int64_t times) {
    for (std::size_t link = 0; link < bytes.size(); ++link) bytes[link] += carried[link] * times;
  };
  const auto add_network = [&](const InsideNetwork& network) { add(network.link_bytes(now), 1); };
  records.busy_until = std::max(records.busy_until, busy_until());
  std::map<const CollectiveReplay*, std::int64_t> times;
  for (const InsideRecords::Replayed& one : replays_) ++times[one.replay.get()];
  for (const auto& [replay, count] : times) add(replay->link_bytes, count);
  if (network_ != nullptr) add_network(*network_);
  if (undisturbed_) {
    const auto trial = trial_of(*undisturbed_, now);
    add_transfers(trial->transfers(), records);
    add_network(trial->network());
  }
  for (std::size_t link = 0; link < bytes.size(); ++link) records.link_bytes[links_->links()[link]] += bytes[link];
}

}  // namespace weft
