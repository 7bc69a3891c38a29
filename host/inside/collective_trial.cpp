// SPDX-License-Identifier: Apache-2.0
#include "host/inside/collective_trial.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/check.hpp"

namespace weft {

/// Where a rank's steps meet the trial, at an instant.
class CollectiveTrial::Port final : public CollectivePort {
 public:
  Port(CollectiveTrial& trial, std::uint32_t position, Time now) : trial_(trial), position_(position), now_(now) {}
  Time now() const override { return now_; }
  void start(const Transfer& transfer) override { trial_.network_.start(transfer, now_); }
  void take_over_after(Duration delay, std::uint64_t stream, std::uint32_t step) override {
    trial_.timers_.push({now_ + delay, trial_.timers_count_++, position_, step, stream});
  }
  void finish(OpId) override { trial_.finished_[position_] = now_; }

 private:
  CollectiveTrial& trial_;
  std::uint32_t position_;
  Time now_;
};

CollectiveTrial::CollectiveTrial(const RunningJob& job, std::span<const RankId> ranks, InsideNetwork network,
                                 Duration reduction_time_per_mib)
    : network_(std::move(network)), finished_(ranks.size()) {
  ranks_.reserve(ranks.size());
  for (const RankId rank : ranks) {
    ranks_.emplace_back(job, rank, reduction_time_per_mib);
    endpoints_.push_back((*job.endpoint_of_rank)[rank.index()]);
  }
}

void CollectiveTrial::begin(const Begin& rank) {
  advance(rank.at);
  Port port(*this, rank.position, rank.at);
  ranks_[rank.position].begin(rank.op, rank.iteration, rank.op_started, port);
}

Time CollectiveTrial::next() { return timers_.empty() ? network_.next() : std::min(network_.next(), timers_.top().at); }

void CollectiveTrial::advance(Time to) {
  for (Time now = next(); now <= to && now < Time::max(); now = next()) {
    network_.advance(now, *this);
    while (!timers_.empty() && timers_.top().at == now) {
      const Timer timer = timers_.top();
      timers_.pop();
      Port port(*this, timer.position, now);
      ranks_[timer.position].on_taken_over(timer.stream, timer.step, port);
    }
  }
}

std::uint32_t CollectiveTrial::position_of(NodeId endpoint) const {
  const auto found = std::ranges::find(endpoints_, endpoint);
  WEFT_CHECK(found != endpoints_.end(), "a trial's messages stay among its ranks");
  return static_cast<std::uint32_t>(std::distance(endpoints_.begin(), found));
}

void CollectiveTrial::on_sent(const Transfer& transfer, Time now) {
  const std::uint32_t position = position_of(transfer.source);
  Port port(*this, position, now);
  ranks_[position].on_sent(transfer, port);
}

void CollectiveTrial::on_delivered(const Transfer& transfer, Time now) {
  const std::uint32_t position = position_of(transfer.destination);
  Port port(*this, position, now);
  ranks_[position].on_delivered(transfer, port);
}

std::vector<CollectiveTrial::Timer> CollectiveTrial::timers() const {
  std::vector<Timer> pending;
  for (auto left = timers_; !left.empty(); left.pop()) pending.push_back(left.top());
  return pending;
}

}  // namespace weft
