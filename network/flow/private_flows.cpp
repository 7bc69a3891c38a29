// SPDX-License-Identifier: Apache-2.0
#include "network/flow/private_flows.hpp"

#include <algorithm>

#include "core/containers/free_slots.hpp"
#include "network/max_min/max_min_layer.hpp"

namespace weft {

FlowRequest request_of_one_way(const Transfer& transfer, bool inside_host, const FlowSettings& settings) {
  FlowRequest request;
  request.wire_bytes = settings.wire_bytes(transfer.size, inside_host);
  request.cap_bps = settings.queue_pair_cap_bps(inside_host);
  if (settings.priorities == Priorities::strict) request.priority = static_cast<std::uint8_t>(transfer.priority);
  return request;
}

PrivateFlows::PrivateFlows(const FlowSettings& settings, std::unique_ptr<AllocationPolicy> policy)
    : settings_(&settings), model_(std::move(policy)), on_link_(model_.policy().graph().link_count()) {}

void PrivateFlows::begin(const Transfer& transfer, const PrivateWay& way, Time now, PrivateFlowsObserver& observer) {
  const bool inside = way.inside_host;
  UnderWay entering;
  entering.transfer = transfer;
  entering.way = &way;
  entering.start = now - entry_latency(inside);
  const PacketTrain train = settings_->wire_format.train(transfer.size);
  if (transfer.size == Bytes::zero()) {
    entering.path_delay = way.delay.of_empty(train) + last_latency(inside);
    entering.ideal = entering.path_delay;
    // Whom it has to wait for may enter after it, at this instant.
    return is_control(transfer) ? finish(entering, now, observer) : empty_entering_.push_back(entering);
  }
  PathDelay delay = way.delay;
  if (!inside && settings_->queue_pair_rate_max) delay.limit_to(static_cast<double>(settings_->queue_pair_rate_max->in_bps()));
  entering.path_delay = (inside ? delay.fixed : delay.of(train)) + last_latency(inside);
  const FlowRequest request = request_of(entering);
  const Duration moving = fluid_transmit_time(request.wire_bytes.in_bits() / std::min(request.cap_bps, way.slowest_bps), 1.0);
  entering.ideal = moving + entering.path_delay;
  const std::optional<std::uint32_t> before = moving_before(transfer);
  if (!before) return move(take_place(entering), now, {});
  if (!goes_before(entering, places_[*before].under_way)) return wait(entering, *before);
  hold_back(*before, now);
  move(take_place(entering), now, order_.hold_back(*before, *before));
}

void PrivateFlows::settle(Time now, PrivateFlowsObserver& observer) {
  for (const UnderWay& empty : empty_entering_) {
    const std::optional<std::uint32_t> before = moving_before(empty.transfer);
    const bool waits = before && !goes_before(empty, places_[*before].under_way);
    if (waits) {
      wait(empty, *before);
    } else {
      finish(empty, now, observer);
    }
  }
  empty_entering_.clear();
  model_.settle(now);
}

void PrivateFlows::hold_back(std::uint32_t slot, Time now) {
  Place& place = places_[slot];
  for (const LinkId link : place.under_way.way->links) {
    --on_link_[link.index()].flows;
    if (place.is_alone) on_link_[link.index()].alone = 0;
  }
  if (place.is_alone) {
    --alone_;
  } else {
    model_.take_back(place.flow, now);
  }
  place.is_alone = false;
  place.waits = true;
}

void PrivateFlows::adopt(const UnderWay& under_way, const FlowProgress& progress) {
  if (const std::optional<std::uint32_t> before = moving_before(under_way.transfer)) return wait(under_way, *before);
  const std::uint32_t slot = take_place(under_way);
  order_.begin(name_of(slot), slot);
  add(slot, request_of(under_way), progress, false);
}

std::optional<std::uint32_t> PrivateFlows::moving_before(const Transfer& transfer) const {
  return order_.moving(QueuePairName(transfer, 0), [this](std::uint32_t slot) { return name_of(slot); });
}

std::uint32_t PrivateFlows::take_place(const UnderWay& under_way) {
  const std::uint32_t slot = take_slot(places_, free_places_);
  places_[slot] = Place();
  places_[slot].under_way = under_way;
  places_[slot].number = count_++;
  places_[slot].is_free = false;
  return slot;
}

void PrivateFlows::wait(const UnderWay& under_way, std::uint32_t moving) {
  const std::uint32_t slot = take_place(under_way);
  places_[slot].waits = true;
  order_.wait(moving, slot,
              [this](std::uint32_t a, std::uint32_t b) { return goes_before(places_[a].under_way, places_[b].under_way); });
}

void PrivateFlows::move(std::uint32_t slot, Time now, Fifo<std::uint32_t> line) {
  const UnderWay& under_way = places_[slot].under_way;
  places_[slot].waits = false;
  order_.begin(name_of(slot), slot, std::move(line));
  const FlowRequest request = request_of(under_way);
  FlowProgress progress;
  progress.remaining_bits = request.wire_bytes.in_bits();
  progress.rate_bps = rate_alone(request, *under_way.way);
  progress.last_change = now;
  const Duration left = fluid_transmit_time(progress.remaining_bits, progress.rate_bps);
  progress.finish = left > Time::max() - now ? Time::max() : now + left;
  add(slot, request, progress, true);
}

/// As the solver has it.
double PrivateFlows::rate_alone(const FlowRequest& request, const PrivateWay& way) {
  return rounded_rate(std::min(request.cap_bps, way.slowest_bps), request.cap_bps);
}

void PrivateFlows::add(std::uint32_t slot, const FlowRequest& request, const FlowProgress& progress, bool is_new) {
  Place& place = places_[slot];
  const PrivateWay& way = *place.under_way.way;
  bool is_alone = progress.rate_bps == rate_alone(request, way);
  for (const LinkId link : way.links) {
    OnLink& on_link = on_link_[link.index()];
    if (on_link.alone > 0) let_meet(on_link.alone - 1);
    if (on_link.flows++ > 0) is_alone = false;
  }
  place.is_alone = is_alone;
  place.progress = progress;
  if (!is_alone) return note_flow(slot, is_new ? model_.start(request) : model_.adopt(request, progress));
  for (const LinkId link : way.links) on_link_[link.index()].alone = slot + 1;
  ++alone_;
  if (progress.finish < Time::max()) ends_.emplace(progress.finish, slot);
}

void PrivateFlows::let_meet(std::uint32_t slot) {
  Place& place = places_[slot];
  place.is_alone = false;
  --alone_;
  for (const LinkId link : place.under_way.way->links) on_link_[link.index()].alone = 0;
  note_flow(slot, model_.adopt(request_of(place.under_way), place.progress));
}

FlowRequest PrivateFlows::request_of(const UnderWay& under_way) const {
  FlowRequest request = request_of_one_way(under_way.transfer, under_way.way->inside_host, *settings_);
  request.path = under_way.way->links;
  return request;
}

void PrivateFlows::note_flow(std::uint32_t slot, FlowSlot flow) {
  places_[slot].flow = flow;
  if (place_of_flow_.size() <= flow.index()) place_of_flow_.resize(flow.index() + 1);
  place_of_flow_[flow.index()] = slot;
}

bool PrivateFlows::is_end(const End& end) const {
  const Place& place = places_[end.second];
  return !place.is_free && place.is_alone && place.progress.finish == end.first;
}

Time PrivateFlows::next() {
  while (!ends_.empty() && !is_end(ends_.top())) ends_.pop();
  return ends_.empty() ? model_.next_completion() : std::min(ends_.top().first, model_.next_completion());
}

void PrivateFlows::take_left(Time now, PrivateFlowsObserver& observer) {
  if (is_moving()) busy_until_ = now;
  left_.clear();
  for (; !ends_.empty() && ends_.top().first <= now; ends_.pop()) {
    if (!is_end(ends_.top())) continue;
    const std::uint32_t slot = ends_.top().second;
    Place& place = places_[slot];
    const Bytes bytes = settings_->wire_bytes(place.under_way.transfer.size, place.under_way.way->inside_host);
    for (const LinkId link : place.under_way.way->links) {
      on_link_[link.index()].alone = 0;
      model_.add_bytes(link, bytes);
    }
    place.is_alone = false;
    --alone_;
    left_.push_back(slot);
  }
  done_.clear();
  model_.take_completions(now, done_);
  for (const FlowCompletion& completion : done_) left_.push_back(place_of_flow_[completion.flow.index()]);
  std::ranges::sort(left_, {}, [&](std::uint32_t slot) { return places_[slot].number; });
  // Links are free before others come to them.
  for (const std::uint32_t slot : left_) {
    for (const LinkId link : places_[slot].under_way.way->links) --on_link_[link.index()].flows;
  }
  for (const std::uint32_t slot : left_) leave(slot, now, observer);
}

void PrivateFlows::leave(std::uint32_t slot, Time now, PrivateFlowsObserver& observer) {
  Fifo<std::uint32_t> line = order_.end(slot);
  while (true) {
    finish(places_[slot].under_way, now, observer);
    places_[slot].is_free = true;
    free_places_.push_back(slot);
    if (line.empty()) return;
    slot = line.front();
    line.pop();
    if (places_[slot].under_way.transfer.size > Bytes::zero()) return move(slot, now, std::move(line));
  }
}

void PrivateFlows::finish(const UnderWay& under_way, Time now, PrivateFlowsObserver& observer) {
  const Time delivered = now + under_way.path_delay;
  observer.on_left(under_way.transfer, now + settings_->completion_latency, delivered);
  if (is_control(under_way.transfer)) return;
  const bool inside = under_way.way->inside_host;
  FinishedTransfer finished;
  finished.id = under_way.id;
  finished.transfer = under_way.transfer;
  finished.start = under_way.start;
  finished.end = delivered;
  finished.ideal = under_way.ideal + entry_latency(inside);
  finished.inside_host = inside;
  observer.on_transfer_finished(finished);
}

std::vector<Bytes> PrivateFlows::link_bytes(Time now) const {
  std::vector<Bytes> bytes = model_.link_bytes(now).by_link;
  for (const Place& place : places_) {
    if (place.is_free || !place.is_alone) continue;
    const Bytes all = settings_->wire_bytes(place.under_way.transfer.size, place.under_way.way->inside_host);
    const Bytes moved = moved_bytes(all, place.progress, now);
    for (const LinkId link : place.under_way.way->links) bytes[link.index()] += moved;
  }
  return bytes;
}

std::vector<std::pair<PrivateFlows::UnderWay, FlowProgress>> PrivateFlows::under_way() const {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < places_.size(); ++slot) {
    if (!places_[slot].is_free && !places_[slot].waits) slots.push_back(slot);
  }
  std::ranges::sort(slots, {}, [&](std::uint32_t slot) { return places_[slot].number; });
  std::vector<std::pair<UnderWay, FlowProgress>> all;
  for (const std::uint32_t slot : slots) {
    const Place& place = places_[slot];
    all.emplace_back(place.under_way, place.is_alone ? place.progress : model_.progress(place.flow));
  }
  for (const std::uint32_t slot : slots) {
    const Fifo<std::uint32_t>& line = order_.line_behind(slot);
    for (std::uint32_t i = 0; i < line.size(); ++i) all.emplace_back(places_[line[i]].under_way, FlowProgress());
  }
  return all;
}

}  // namespace weft
