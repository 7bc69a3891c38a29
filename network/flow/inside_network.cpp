// SPDX-License-Identifier: Apache-2.0
#include "network/flow/inside_network.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/containers/free_slots.hpp"

namespace weft {

InsideNetwork::InsideNetwork(std::shared_ptr<const PrivateLinks> links, const FlowSettings& settings,
                             std::unique_ptr<AllocationPolicy> policy)
    : links_(std::move(links)), settings_(&settings), model_(std::move(policy)) {
  WEFT_CHECK(model_.policy().graph().link_count() == links_->links().size(), "the policy was made for these links");
}

void InsideNetwork::start(const Transfer& transfer, Time now) { entering_.push({now + settings_->nvlink_latency, transfer}); }

Time InsideNetwork::next() {
  Time next = model_.next_completion();
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

void InsideNetwork::settle(Time now, InsideObserver& observer) {
  now_ = now;
  if (model_.active_flows() > 0) busy_until_ = now;
  done_.clear();
  model_.take_completions(now, done_);
  for (const FlowCompletion& completion : done_) {
    const std::uint32_t slot = transfer_of_flow_[completion.flow.index()];
    Active& active = transfers_[slot];
    finish(active, now, observer);
    active.is_free = true;
    free_transfers_.push_back(slot);
  }
  while (!entering_.empty() && entering_.front().at == now) {
    const Entering entering = entering_.front();
    entering_.pop();
    begin(entering, observer);
  }
  model_.settle(now);
}

void InsideNetwork::begin(const Entering& entering, InsideObserver& observer) {
  const Transfer& transfer = entering.transfer;
  const PrivateLinks::Way& way = links_->way(links_->place_of(transfer.source), links_->place_of(transfer.destination));
  Active active;
  active.transfer = transfer;
  active.start = entering.at - settings_->nvlink_latency;
  active.number = transfers_count_++;
  active.is_free = false;
  if (transfer.size == Bytes::zero()) {
    active.path_delay = way.delay.of_empty(settings_->wire_format.train(Bytes::zero())) + settings_->completion_latency;
    active.ideal = active.path_delay;
    finish(active, entering.at, observer);
    return;
  }
  active.path_delay = way.delay.fixed + settings_->completion_latency;
  FlowRequest request;
  request.path = way.links;
  request.wire_bytes = settings_->wire_bytes(transfer.size, true);
  request.cap_bps = settings_->queue_pair_cap_bps(true);
  if (settings_->priorities == Priorities::strict) request.priority = static_cast<std::uint8_t>(transfer.priority);
  double slowest_bps = request.cap_bps;
  for (const LinkId link : way.links) slowest_bps = std::min(slowest_bps, links_->capacities_bps()[link.index()]);
  active.ideal = fluid_transmit_time(request.wire_bytes.in_bits() / slowest_bps, 1.0) + active.path_delay;
  const std::uint32_t slot = take_slot(transfers_, free_transfers_);
  const FlowSlot flow = model_.start(request);
  if (transfer_of_flow_.size() <= flow.index()) transfer_of_flow_.resize(flow.index() + 1);
  transfer_of_flow_[flow.index()] = slot;
  transfers_[slot] = active;
}

void InsideNetwork::finish(const Active& active, Time now, InsideObserver& observer) {
  const Time delivered = now + active.path_delay;
  notify(delivered, true, active.transfer);
  if (is_control(active.transfer)) return;
  notify(now + settings_->completion_latency, false, active.transfer);
  FinishedTransfer finished;
  finished.transfer = active.transfer;
  finished.start = active.start;
  finished.end = delivered;
  finished.ideal = active.ideal + settings_->nvlink_latency;
  finished.inside_host = true;
  observer.on_transfer_finished(finished);
}

std::vector<UnfinishedTransfer> InsideNetwork::unfinished() const {
  std::vector<const Active*> under_way;
  for (const Active& active : transfers_) {
    if (!active.is_free) under_way.push_back(&active);
  }
  std::ranges::sort(under_way, {}, &Active::number);
  std::vector<UnfinishedTransfer> unfinished;
  for (const Active* const active : under_way) unfinished.push_back({FlowId::none(), active->transfer, active->start});
  return unfinished;
}

}  // namespace weft
