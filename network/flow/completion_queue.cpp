// SPDX-License-Identifier: Apache-2.0
#include "network/flow/completion_queue.hpp"

#include <algorithm>
#include <functional>

#include "core/containers/release_memory.hpp"

namespace weft {

namespace {

// After a refill one flow in 8 is near, of many flows so few that the heap stays in the cache, but
// no fewer than one in 64: a refill looks at all.
constexpr std::size_t near_share_max = 8;
constexpr std::size_t near_share_min = 64;
constexpr std::size_t near_flows_cached = 4096;
constexpr std::size_t near_flows_min = 64;  // a refill is not worth less
// Of memory for what is far, and once was: kept, even if it holds little.
constexpr std::size_t far_kept = std::size_t{1} << 20;

}  // namespace

void CompletionQueue::set(FlowSlot flow, Time finish) {
  if (items_.size() <= flow.index()) items_.resize(flow.index() + 1);
  Item& item = items_[flow.index()];
  item.finish = finish;
  switch (item.where.place()) {
    case Place::none:
      if (finish < horizon_) {
        push_near(flow);
      } else {
        push_far(flow);
      }
      return;
    case Place::near:
      if (finish < item.where.key()) push_near(flow);
      return;
    case Place::far:
      if (finish < horizon_) {
        leave_far(flow);
        push_near(flow);
      }
      return;
  }
}

void CompletionQueue::remove(FlowSlot flow) {
  Item& item = items_[flow.index()];
  if (item.where.place() == Place::far) leave_far(flow);
  // The heap entry of a near flow stays behind: its key is not the item's any more.
  item = Item{};
}

void CompletionQueue::give_back() {
  release_memory(items_);
  release_memory(heap_);
  release_memory(far_);
  release_memory(finishes_);
}

void CompletionQueue::push_near(FlowSlot flow) {
  Item& item = items_[flow.index()];
  item.where = Whereabouts::near(item.finish);
  heap_.push_back({item.finish, flow});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void CompletionQueue::push_far(FlowSlot flow) {
  items_[flow.index()].where = Whereabouts::far(far_.size());
  far_.push_back(flow);
}

void CompletionQueue::leave_far(FlowSlot flow) {
  const std::size_t position = items_[flow.index()].where.position();
  far_[position] = far_.back();
  items_[far_[position].index()].where = Whereabouts::far(position);
  far_.pop_back();
}

void CompletionQueue::pop_entry() {
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  heap_.pop_back();
}

bool CompletionQueue::clean_top() {
  while (!heap_.empty()) {
    const Entry top = heap_.front();
    Item& item = items_[top.flow.index()];
    if (item.where.is_near(top.key)) {
      if (item.finish == top.key) return true;
      pop_entry();
      if (item.finish < horizon_) {
        push_near(top.flow);
      } else {
        push_far(top.flow);
      }
    } else {
      pop_entry();
    }
  }
  return false;
}

bool CompletionQueue::refill() {
  finishes_.clear();
  for (const FlowSlot flow : far_) {
    if (const Time finish = items_[flow.index()].finish; finish < Time::max()) finishes_.push_back(finish.in_ticks());
  }
  if (finishes_.empty()) return false;
  const std::size_t flows = finishes_.size();
  const std::size_t near_max = std::max(near_flows_cached, flows / near_share_min);
  const std::size_t near = std::min(flows, std::clamp(flows / near_share_max, near_flows_min, near_max)) - 1;
  const auto nth = finishes_.begin() + static_cast<std::ptrdiff_t>(near);
  std::nth_element(finishes_.begin(), nth, finishes_.end());
  horizon_ = Time::at_ticks(*nth + 1);
  for (std::size_t i = 0; i < far_.size();) {
    const FlowSlot flow = far_[i];
    if (items_[flow.index()].finish < horizon_) {
      leave_far(flow);
      push_near(flow);
    } else {
      ++i;
    }
  }
  if (finishes_.size() > far_kept) release_memory(finishes_);
  if (far_.capacity() > far_kept && far_.size() < far_.capacity() / 8) far_.shrink_to_fit();
  return true;
}

Time CompletionQueue::next() {
  while (!clean_top()) {
    if (!refill()) return Time::max();
  }
  return heap_.front().key;
}

void CompletionQueue::take_due(std::vector<FlowSlot>& due) {
  const Time now = next();
  if (now == Time::max()) return;
  const std::size_t first = due.size();
  // All that finish now are in the heap: the horizon lies beyond.
  while (clean_top() && heap_.front().key == now) {
    const FlowSlot flow = heap_.front().flow;
    pop_entry();
    items_[flow.index()] = Item{};
    due.push_back(flow);
  }
  std::sort(due.begin() + static_cast<std::ptrdiff_t>(first), due.end());
}

}  // namespace weft
