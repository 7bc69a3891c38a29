// SPDX-License-Identifier: Apache-2.0
#include "core/engine/batch_process.hpp"

#include <algorithm>
#include <bit>

#include "core/containers/cache.hpp"

namespace weft {

namespace {

// So many nodes before its turn a node is fetched into the cache, and then what it points at:
// clusters are larger than caches.
constexpr std::size_t nodes_ahead = 4;
constexpr std::size_t states_ahead = 2;
// So many port messages from elsewhere before its own the end of the list that one joins is
// fetched, twice as many before it where that list is.
constexpr std::size_t messages_ahead = 8;
constexpr std::size_t node_bytes = 640;    // of a node itself, about
constexpr std::size_t insertion_max = 24;  // so few are sorted without buckets

/// Checks on the way that no two are of one port and instant. Requires: those that are come in
/// order of their places, and so end side by side.
void insertion_sort(std::span<std::uint64_t> keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const std::uint64_t key = keys[i];
    std::size_t place = i;
    for (; place > 0 && keys[place - 1] > key; --place) keys[place] = keys[place - 1];
    keys[place] = key;
    WEFT_CHECK(place == 0 || (keys[place - 1] ^ key) >> SortedPortMessages::place_bits != 0,
               "two port messages never reach one port at one instant");
  }
}

}  // namespace

void BatchNode::handle(const Event& event, EventContext&) {
  if (events_.empty()) touched_->push_back(local_);
  events_.push_back(event);
}

EventContext& BatchContext::events(Time now) { return process_.events_.act_as(process_.states_[node_].id, now); }

Fingerprint& BatchContext::chain() { return process_.states_[node_].chain; }

BatchProcess::BatchProcess(LpId lp, const EntityDirectory& directory, std::span<EntityTurns> turns,
                           std::span<const EntityId> members, Duration window_max)
    : lp_(lp),
      directory_(&directory),
      events_(lp, directory, turns),
      window_max_(std::min(window_max, window_limit)),
      slots_(members.size()),
      states_(members.size()),
      later_(window_max_),
      horizon_(Time::zero() + 2 * window_max_) {
  WEFT_CHECK(window_max > Duration::zero(), "what a batch node sends takes time");
  for (std::uint32_t local = 0; local < members.size(); ++local) {
    auto* const node = dynamic_cast<BatchNode*>(&directory.entity(members[local]));
    if (node == nullptr) continue;
    node->touched_ = &touched_;
    node->local_ = local;
    events_.set_apart(members[local]);
    slots_[local].node = node;
    states_[local].id = members[local];
  }
}

Time BatchProcess::next_event_time() const {
  const Time wakeup = wakeups_.empty() ? Time::max() : wakeups_.front().time;
  return std::min({events_.next_event_time(), earliest_next_, wakeup, later_.earliest()});
}

void BatchProcess::add_to_fingerprints(std::span<std::uint64_t> chain_of_entity) const {
  for (std::size_t local = 0; local < slots_.size(); ++local) {
    if (slots_[local].node == nullptr) continue;
    Fingerprint both = states_[local].chain;
    std::uint64_t& chain = chain_of_entity[states_[local].id.index()];
    both.add(chain);
    chain = both.value();
  }
}

void BatchProcess::receive(std::span<const PortMessageTo> port_messages) {
  // Fetched: the receiver's slot, and then the end of its list.
  const auto slot_of = [&](std::size_t i) { return &slots_[port_messages[i].local]; };
  for (std::size_t i = 0; i < port_messages.size(); ++i) {
    if (i + 2 * messages_ahead < port_messages.size()) cache::fetch(slot_of(i + 2 * messages_ahead), sizeof(NodeSlot));
    if (i + messages_ahead < port_messages.size()) {
      cache::fetch(slot_of(i + messages_ahead)->lists[(window_number_ + 1) % 2].end, sizeof(PortMessage));
    }
    put(port_messages[i].local, port_messages[i].port_message);
  }
}

std::uint64_t BatchProcess::run_window(const Window& window, Outbox& outbox) {
  outbox_ = &outbox;
  std::uint64_t handled = 0;
  while (handled < window.events_max) {
    const Time begin = next_event_time();
    if (begin >= window.end) break;
    begin_window(begin, std::min(later(begin, window_max_), window.end));
    const auto count = [&](std::uint64_t events) {
      if (events > 0) last_ = std::max(last_, events_.last_event_key());
      handled += events;
    };
    count(events_.hand_over(end_, outbox));
    for (const std::uint32_t local : touched_) list_now(local);
    touched_.clear();
    const Failure failure = run_all(handled);
    if (audits_state && failure.error == nullptr) audit();
    // Where a node failed, others may have failed before it.
    const Time end = failure.error == nullptr ? end_ : later(failure.key.time, Duration::ticks(1));
    try {
      count(events_.run_window({begin_, end}, outbox));
    } catch (...) {
      last_ = events_.last_event_key();
      if (failure.error == nullptr || last_ < failure.key) throw;
    }
    if (failure.error != nullptr) {
      last_ = failure.key;
      std::rethrow_exception(failure.error);
    }
  }
  return handled;
}

BatchProcess::Failure BatchProcess::run_all(std::uint64_t& handled) {
  Failure first;
  for (std::size_t i = 0; i < now_.size(); ++i) {
    if (i + nodes_ahead < now_.size()) {
      cache::fetch(slots_[now_[i + nodes_ahead]].node, node_bytes);
    }
    if (i + states_ahead < now_.size()) {
      prefetch_messages(now_[i + states_ahead]);
      if (const BatchNode* const node = slots_[now_[i + states_ahead]].node) node->prefetch();
    }
    try {
      handled += run_window(now_[i]);
    } catch (...) {
      EventKey key = events_.last_event_key();
      key.source = states_[now_[i]].id;
      if (first.error == nullptr || key < first.key) first = {std::current_exception(), key};
    }
  }
  return first;
}

void BatchProcess::begin_window(Time begin, Time end) {
  WEFT_CHECK(begin >= end_, "a batch node schedules nothing for itself");
  begin_ = begin;
  end_ = end;
  horizon_ = later(end, 2 * window_max_);
  earliest_next_ = Time::max();
  ++window_number_;
  now_.swap(next_);
  next_.clear();
  while (!wakeups_.empty() && wakeups_.front().time < end) {
    const Wakeup wakeup = wakeups_.front();
    std::pop_heap(wakeups_.begin(), wakeups_.end());
    wakeups_.pop_back();
    NodeState& state = states_[wakeup.local];
    if (state.work != wakeup.time) continue;
    state.work = Time::max();
    list_now(wakeup.local);
  }
  if (later_.empty()) return;
  later_.take_due(end, [&](const Later& item) {
    *place_in(slots_[item.local].lists[window_number_ % 2]) = item.port_message;
    list_now(item.local);
  });
}

void BatchProcess::list_now(std::uint32_t local) {
  NodeSlot& slot = slots_[local];
  if (slot.listed >= window_number_) return;
  slot.listed = window_number_;
  now_.push_back(local);
}

std::uint64_t BatchProcess::run_window(std::uint32_t local) {
  NodeSlot& slot = slots_[local];
  WEFT_CHECK(slot.node != nullptr, "a port message goes to a batch node");
  BatchNode& node = *slot.node;
  take(slot.lists[window_number_ % 2], local);
  const SortedPortMessages port_messages(port_messages_.data(), sort());
  events_.act_as(states_[local].id, begin_);
  BatchContext context(*this);
  context.node_ = local;
  context.now_ = begin_;
  BatchNode::WindowOutcome outcome;
  try {
    outcome = node.run_window(end_, {port_messages, node.events_}, context);
  } catch (...) {
    events_.act_as(states_[local].id, context.now_);
    events_.rethrow_with_place();
  }
  WEFT_CHECK(outcome.next >= end_, "a batch node does everything before the end of the window");
  node.events_.clear();
  if (outcome.events > 0) last_ = std::max(last_, EventKey{outcome.last, 0, states_[local].id, EventClass::message});
  if (outcome.next < horizon_) {
    earliest_next_ = std::min(earliest_next_, outcome.next);
    list_next(local);
  } else if (outcome.next < states_[local].work) {
    states_[local].work = outcome.next;
    wakeups_.push_back({outcome.next, local});
    std::push_heap(wakeups_.begin(), wakeups_.end());
  }
  return outcome.events;
}

void BatchProcess::prefetch_messages(std::uint32_t local) const {
  const Chunk* const chunk = slots_[local].lists[window_number_ % 2].oldest;
  if (chunk != nullptr) cache::fetch(chunk, sizeof(Chunk));
}

void BatchProcess::add_chunk(PortMessageList& list) {
  constexpr std::size_t slab_chunks = 64;
  if (free_chunks_ == nullptr) {
    slabs_.push_back(std::make_unique<Chunk[]>(slab_chunks));
    for (std::size_t i = 0; i < slab_chunks; ++i) slabs_.back()[i].newer = std::exchange(free_chunks_, &slabs_.back()[i]);
  }
  Chunk* const chunk = std::exchange(free_chunks_, free_chunks_->newer);
  chunk->newer = nullptr;
  (list.oldest == nullptr ? list.oldest : chunk_of(list.end - 1)->newer) = chunk;
  list.end = chunk->port_messages.data();
}

/// Conservation: what came and was not handed to its node yet stands in lists or in the calendar.
void BatchProcess::audit() const {
  std::uint64_t held = later_.size();
  for (const NodeSlot& slot : slots_) {
    for (const PortMessageList& list : slot.lists) {
      for (const Chunk* chunk = list.oldest; chunk != nullptr; chunk = chunk->newer) {
        held += chunk->newer != nullptr ? chunk->port_messages.size()
                                        : static_cast<std::size_t>(list.end - chunk->port_messages.data());
      }
    }
  }
  WEFT_CHECK(held == audited_, "every port message is on its way until its node gets it");
}

/// Copies the port messages that arrive in this window to port_messages_, with their keys; the
/// others are put off.
void BatchProcess::take(PortMessageList& list, std::uint32_t local) {
  std::size_t due = 0;
  for (Chunk* chunk = list.oldest; chunk != nullptr;) {
    if (port_messages_.size() < due + chunk->port_messages.size()) {
      port_messages_.resize(2 * (due + chunk->port_messages.size()));
      keys_.resize(port_messages_.size());
      unsorted_keys_.resize(port_messages_.size());
    }
    PortMessage* const port_messages = port_messages_.data();
    std::uint64_t* const keys = keys_.data();
    Chunk* const newer = chunk->newer;
    if (newer != nullptr) cache::fetch(newer, sizeof(Chunk));
    const PortMessage* const end = newer != nullptr ? chunk->port_messages.data() + chunk->port_messages.size() : list.end;
    if constexpr (audits_state) audited_ -= static_cast<std::uint64_t>(end - chunk->port_messages.data());
    for (const PortMessage* port_message = chunk->port_messages.data(); port_message != end; ++port_message) {
      if (port_message->time >= end_) {
        put(local, *port_message);
        continue;
      }
      const auto ticks = static_cast<std::uint64_t>(port_message->time.in_ticks() - begin_.in_ticks());
      keys[due] = ticks << (SortedPortMessages::port_bits + SortedPortMessages::place_bits) |
                  std::uint64_t{port_message->port} << SortedPortMessages::place_bits | due;
      port_messages[due++] = *port_message;
    }
    chunk->newer = std::exchange(free_chunks_, chunk);
    chunk = newer;
  }
  due_ = due;
  list = {};
}

/// Keys of port_messages_, ascending, and all different.
std::span<const std::uint64_t> BatchProcess::sort() {
  const std::span<std::uint64_t> keys = std::span(keys_).first(due_);
  if (due_ <= insertion_max) {
    insertion_sort(keys);
    return keys;
  }
  // Dealt to about as many buckets of equal spans of time as there are keys; what is left to sort
  // is small.
  const auto span = static_cast<std::uint64_t>((end_ - begin_).in_ticks());
  const int bucket_shift = std::max(0, static_cast<int>(std::bit_width(span)) - static_cast<int>(std::bit_width(due_)) + 1) +
                           SortedPortMessages::port_bits + SortedPortMessages::place_bits;
  const std::size_t bucket_count = (span << (SortedPortMessages::port_bits + SortedPortMessages::place_bits) >> bucket_shift) + 1;
  bucket_begin_.assign(bucket_count + 1, 0);
  std::uint32_t* const begins = bucket_begin_.data();
  for (const std::uint64_t key : keys) ++begins[(key >> bucket_shift) + 1];
  for (std::size_t b = 1; b <= bucket_count; ++b) begins[b] += begins[b - 1];
  std::copy(keys.begin(), keys.end(), unsorted_keys_.begin());
  for (const std::uint64_t key : std::span(unsorted_keys_).first(due_)) keys[begins[key >> bucket_shift]++] = key;
  insertion_sort(keys);
  return keys;
}

}  // namespace weft
