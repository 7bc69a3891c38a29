// SPDX-License-Identifier: Apache-2.0
#include "network/flow/inside_network.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace weft {

InsideNetwork::InsideNetwork(std::shared_ptr<const PrivateLinks> links, const FlowSettings& settings,
                             std::unique_ptr<AllocationPolicy> policy)
    : links_(std::move(links)), flows_(settings, std::move(policy)) {
  WEFT_CHECK(flows_.link_count() == links_->links().size(), "the policy was made for these links");
}

void InsideNetwork::start(const Transfer& transfer, Time now) { entering_.push({now + flows_.entry_latency(true), transfer}); }

Time InsideNetwork::next() {
  Time next = flows_.next();
  if (!entering_.empty()) next = std::min(next, entering_.front().at);
  if (!notices_.empty()) next = std::min(next, notices_.top().at);
  return next;
}

void InsideNetwork::advance(Time to, InsideObserver& observer) {
  WEFT_CHECK(to < Time::max(), "an inside network advances to an instant");
  for (Time now = next(); now <= to; now = next()) {
    while (!notices_.empty() && notices_.top().at == now) {
      const Notice notice = notices_.top();
      notices_.pop();
      notice.is_delivered ? observer.on_delivered(notice.transfer, now) : observer.on_sent(notice.transfer, now);
    }
    settle(now, observer);
  }
}

/// What it will tell of transfers that have left.
class InsideNetwork::Notices final : public PrivateFlowsObserver {
 public:
  Notices(InsideNetwork& network, InsideObserver& observer) : network_(network), observer_(observer) {}
  void on_left(const Transfer& transfer, Time sent, Time delivered) override {
    network_.notify(delivered, true, transfer);
    if (!is_control(transfer)) network_.notify(sent, false, transfer);
  }
  void on_transfer_finished(const FinishedTransfer& finished) override { observer_.on_transfer_finished(finished); }

 private:
  InsideNetwork& network_;
  InsideObserver& observer_;
};

void InsideNetwork::settle(Time now, InsideObserver& observer) {
  now_ = now;
  Notices notices(*this, observer);
  flows_.take_left(now, notices);
  while (!entering_.empty() && entering_.front().at == now) {
    const Transfer transfer = entering_.front().transfer;
    entering_.pop();
    flows_.begin(transfer, links_->way(links_->place_of(transfer.source), links_->place_of(transfer.destination)), now, notices);
  }
  flows_.settle(now, notices);
}

std::vector<UnfinishedTransfer> InsideNetwork::unfinished() const {
  std::vector<UnfinishedTransfer> unfinished;
  for (const auto& [one, progress] : flows_.under_way()) unfinished.push_back({FlowId::none(), one.transfer, one.start});
  return unfinished;
}

}  // namespace weft
