// SPDX-License-Identifier: Apache-2.0
#include "host/across/across_group.hpp"

#include <algorithm>
#include <iterator>

#include "core/check.hpp"

namespace weft {

/// Where a rank's steps meet the group, at an instant.
class AcrossGroup::Port final : public CollectivePort {
 public:
  Port(AcrossGroup& group, std::uint32_t position, Time now) : group_(group), position_(position), now_(now) {}
  Time now() const override { return now_; }
  void start(const Transfer& transfer) override {
    group_.entering_.push({now_ + group_.entry_latency_, group_.numbers_++, position_, transfer});
  }
  void take_over_after(Duration delay, std::uint64_t stream, std::uint32_t step) override {
    RankEvent event;
    event.at = now_ + delay;
    event.kind = RankEvent::Kind::taken_over;
    event.position = position_;
    event.step = step;
    event.transfer.tag = stream;
    group_.push(event);
  }
  void finish(OpId op) override { group_.ended_.push_back({position_, op, now_}); }

 private:
  AcrossGroup& group_;
  std::uint32_t position_;
  Time now_;
};

AcrossGroup::AcrossGroup(const RunningJob& job, std::span<const RankId> ranks, const FlowSettings& settings,
                         Duration reduction_time_per_mib)
    : job_(job),
      ranks_(ranks),
      entry_latency_(settings.wqe_latency),
      ahead_(settings.fabric_to_host_min()),
      places_(std::make_shared<const AcrossPlaces>(*job.endpoint_of_rank, ranks)) {
  steps_.reserve(ranks.size());
  for (const RankId rank : ranks) steps_.emplace_back(job, rank, reduction_time_per_mib);
}

AcrossGroup::UnderWay& AcrossGroup::collective(std::uint64_t stream) {
  const auto found = std::ranges::find(collectives_, stream, &UnderWay::stream);
  WEFT_CHECK(found != collectives_.end(), "a collective that ranks tell each other of is under way");
  return *found;
}

bool AcrossGroup::begin(const CollectiveBegin& begin, std::uint64_t stream, const CollectivePlan& plan) {
  auto found = std::ranges::find(collectives_, stream, &UnderWay::stream);
  if (found == collectives_.end()) {
    found = collectives_.emplace(found);
    found->stream = stream;
    found->plan = &plan;
    found->has_begun.resize(ranks_.size(), false);
    found->ops.resize(ranks_.size());
  }
  found->has_begun[begin.position] = true;
  found->ops[begin.position] = begin.op;
  const bool is_complete = ++found->begun == ranks_.size();
  std::vector<RankEvent> arrived;
  const auto is_for_it = [&](const RankEvent& event) { return event.position == begin.position; };
  std::ranges::copy_if(found->early, std::back_inserter(arrived), is_for_it);
  std::erase_if(found->early, is_for_it);
  RankCollectives& rank = steps_[begin.position];
  Port port(*this, begin.position, begin.at);
  for (const RankEvent& event : arrived) {
    if (event.at <= begin.at) rank.on_delivered(event.transfer, port);
  }
  rank.begin(begin.op, begin.iteration, begin.op_started, port);
  for (const RankEvent& event : arrived) {
    if (event.at > begin.at) push(event);
  }
  return is_complete;
}

void AcrossGroup::push(RankEvent event) {
  event.number = numbers_++;
  rank_events_.push(event);
}

void AcrossGroup::on_left(const Transfer& transfer, Time sent, Time delivered) {
  RankEvent event;
  event.transfer = transfer;
  event.at = delivered;
  event.kind = RankEvent::Kind::delivered;
  event.position = places_->position_of(transfer.destination);
  push(event);
  if (is_control(transfer)) return;
  event.at = sent;
  event.kind = RankEvent::Kind::sent;
  event.position = places_->position_of(transfer.source);
  push(event);
}

void AcrossGroup::happen(Time now) {
  while (!rank_events_.empty() && rank_events_.top().at <= now + ahead_) {
    const RankEvent event = rank_events_.top();
    rank_events_.pop();
    RankCollectives& rank = steps_[event.position];
    Port port(*this, event.position, event.at);
    switch (event.kind) {
      case RankEvent::Kind::sent:
        rank.on_sent(event.transfer, port);
        break;
      case RankEvent::Kind::delivered: {
        UnderWay& of = collective(job_.tags->pack_stream(job_.tags->unpack(event.transfer.tag)));
        if (of.has_begun[event.position]) {
          rank.on_delivered(event.transfer, port);
        } else {
          of.early.push_back(event);
        }
        break;
      }
      case RankEvent::Kind::taken_over:
        rank.on_taken_over(event.transfer.tag, event.step, port);
        break;
    }
  }
}

void AcrossGroup::take_entering(Time now, std::vector<Entering>& entering) {
  while (!entering_.empty() && entering_.top().at <= now) {
    WEFT_CHECK(entering_.top().at == now, "no instant is left out at which a transfer enters");
    entering.push_back(entering_.top());
    entering_.pop();
  }
}

Time AcrossGroup::next() const {
  Time next = Time::max();
  if (!rank_events_.empty()) next = rank_events_.top().at - ahead_;
  if (!entering_.empty()) next = std::min(next, entering_.top().at);
  return next;
}

std::vector<AcrossGroup::Ended> AcrossGroup::take_ended() {
  for (const Ended& ended : ended_) {
    const auto is_of = [&](const UnderWay& one) { return one.has_begun[ended.position] && one.ops[ended.position] == ended.op; };
    const auto of = std::ranges::find_if(collectives_, is_of);
    WEFT_CHECK(of != collectives_.end(), "what a rank ends it has begun");
    // The rank may begin the op again, in the next iteration.
    of->ops[ended.position] = OpId::none();
    if (++of->ended == ranks_.size()) collectives_.erase(of);
  }
  return std::exchange(ended_, {});
}

}  // namespace weft
