// SPDX-License-Identifier: Apache-2.0
#include "host/across/secluded_group.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace weft {

SecludedGroup::SecludedGroup(std::unique_ptr<AcrossGroup> group, std::shared_ptr<const AcrossWays> ways,
                             const FlowSettings& settings, const MakePolicy& make_policy,
                             const std::vector<FlowFabric::UnderWay>& transfers)
    : group_(std::move(group)), ways_(std::move(ways)), settings_(settings), make_policy_(make_policy) {
  make_flows(transfers);
}

void SecludedGroup::make_flows(const std::vector<FlowFabric::UnderWay>& transfers) {
  const std::span<const double> capacities = ways_->capacities_bps();
  flows_ = std::make_unique<PrivateFlows>(settings_, make_policy_({capacities.begin(), capacities.end()}));
  kept_bytes_.assign(capacities.size(), Bytes::zero());
  for (const FlowFabric::UnderWay& one : transfers) {
    flows_->adopt(
        {one.owned.transfer, one.id, &ways_->way(group_->places().position_of(one.owned.transfer.source), one.owned.transfer),
         one.start, one.path_delay, one.ideal},
        one.progress);
  }
}

void SecludedGroup::go_ahead(std::size_t transfers) {
  WEFT_CHECK(!group_->has_ended_any(), "whoever has ended is told before the group goes on");
  group_before_ = std::make_unique<AcrossGroup>(*group_);
  transfers_before_ = this->transfers();
  until_ = Time::max();
  while (left_.size() < transfers && !group_->has_ended_any()) {
    const Time now = next();
    if (now == Time::max()) {
      until_ = now;
      return;
    }
    do_instant(now);
    until_ = now;
  }
}

void SecludedGroup::do_instant(Time now) {
  flows_->take_left(now, *this);
  group_->happen(now);
  entering_.clear();
  group_->take_entering(now, entering_);
  for (const AcrossGroup::Entering& one : entering_)
    flows_->begin(one.transfer, ways_->way(one.position, one.transfer), now, *this);
  flows_->settle(now, *this);
}

void SecludedGroup::keep(FlowFabric& fabric) {
  for (const FinishedTransfer& one : left_) fabric.note_left(one);
  left_.clear();
  const std::span<const Bytes> bytes = flows_->bytes_of_left();
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    if (bytes[link] == kept_bytes_[link]) continue;
    fabric.note_carried(ways_->links()[link], bytes[link] - kept_bytes_[link]);
    kept_bytes_[link] = bytes[link];
  }
  fabric.note_busy(flows_->busy_until());
}

void SecludedGroup::take_back(Time until) {
  group_ = std::move(group_before_);
  left_.clear();
  make_flows(transfers_before_);
  for (Time now = next(); now <= until; now = next()) do_instant(now);
  until_ = until;
}

std::vector<FlowFabric::UnderWay> SecludedGroup::transfers() const {
  std::vector<FlowFabric::UnderWay> all;
  for (const auto& [one, progress] : flows_->under_way())
    all.push_back({{one.transfer, 0}, one.id, one.start, one.path_delay, one.ideal, progress, one.way->inside_host});
  return all;
}

}  // namespace weft
