#include "core/engine/sweep_process.hpp"

#include <algorithm>
#include <bit>

#include "core/containers/cache.hpp"

namespace weft {

namespace {

// So many nodes before its turn a node is fetched into the cache, and then what it points at: clusters are larger than caches.
constexpr std::size_t kNodesAhead = 4;
constexpr std::size_t kStatesAhead = 2;
// So many parcels from elsewhere before its own the end of the list that one joins is fetched, twice as many before it where that list is.
constexpr std::size_t kParcelsAhead = 8;
constexpr std::size_t kNodeBytes = 640;    // of a node itself, about
constexpr std::size_t kInsertionMax = 24;  // so few are sorted without buckets

/// Checks on the way that no two are of one port and instant. Requires: those that are come in order of their places, and so end side by side.
void insertion_sort(std::span<std::uint64_t> keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const std::uint64_t key = keys[i];
    std::size_t place = i;
    for (; place > 0 && keys[place - 1] > key; --place) keys[place] = keys[place - 1];
    keys[place] = key;
    WEFT_CHECK(place == 0 || (keys[place - 1] ^ key) >> SortedParcels::place_bits != 0,
               "two parcels never reach one port at one instant");
  }
}

}  // namespace

void SweepNode::handle(const Event& event, EventContext&) {
  if (events_.empty()) touched_->push_back(local_);
  events_.push_back(event);
}

EventContext& SweepContext::events(Time now) { return process_.events_.act_as(node_, now); }

Fingerprint& SweepContext::chain() { return process_.states_[node_].chain; }

SweepProcess::SweepProcess(LpId lp, const EntityDirectory& directory, std::span<const EntityId> members, Duration window_max)
    : lp_(lp),
      directory_(&directory),
      events_(lp, directory, members),
      window_max_(std::min(window_max, window_limit)),
      slots_(members.size()),
      states_(members.size()),
      later_(window_max_),
      horizon_(Time::zero() + 2 * window_max_) {
  WEFT_CHECK(window_max > Duration::zero(), "what a sweep node sends takes time");
  for (std::uint32_t local = 0; local < members.size(); ++local) {
    auto* const node = dynamic_cast<SweepNode*>(&directory.entity(members[local]));
    if (node == nullptr) continue;
    node->touched_ = &touched_;
    node->local_ = local;
    events_.set_apart(local);
    slots_[local].node = node;
    states_[local].id = members[local];
  }
}

Time SweepProcess::next_event_time() const {
  const Time wakeup = wakeups_.empty() ? Time::max() : wakeups_.front().time;
  return std::min({events_.next_event_time(), earliest_next_, wakeup, later_.earliest()});
}

void SweepProcess::write_fingerprints(std::span<std::uint64_t> chain_of_entity) const {
  events_.write_fingerprints(chain_of_entity);
  for (std::size_t local = 0; local < slots_.size(); ++local) {
    if (slots_[local].node == nullptr) continue;
    Fingerprint both = states_[local].chain;
    std::uint64_t& chain = chain_of_entity[states_[local].id.index()];
    both.add(chain);
    chain = both.value();
  }
}

void SweepProcess::receive(std::span<const ParcelTo> parcels) {
  // Fetched: the receiver's slot, and then the end of its list.
  const auto slot_of = [&](std::size_t i) { return &slots_[parcels[i].local]; };
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    if (i + 2 * kParcelsAhead < parcels.size()) cache::fetch(slot_of(i + 2 * kParcelsAhead), sizeof(NodeSlot));
    if (i + kParcelsAhead < parcels.size()) {
      cache::fetch(slot_of(i + kParcelsAhead)->lists[(window_number_ + 1) % 2].end, sizeof(Parcel));
    }
    put(parcels[i].local, parcels[i].parcel);
  }
}

std::uint64_t SweepProcess::run_window(const Window& window, Outbox& outbox) {
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
    const Failure failure = sweep_all(handled);
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

SweepProcess::Failure SweepProcess::sweep_all(std::uint64_t& handled) {
  Failure first;
  for (std::size_t i = 0; i < now_.size(); ++i) {
    if (i + kNodesAhead < now_.size()) {
      cache::fetch(slots_[now_[i + kNodesAhead]].node, kNodeBytes);
    }
    if (i + kStatesAhead < now_.size()) {
      prefetch_parcels(now_[i + kStatesAhead]);
      if (const SweepNode* const node = slots_[now_[i + kStatesAhead]].node) node->prefetch();
    }
    try {
      handled += sweep(now_[i]);
    } catch (...) {
      EventKey key = events_.last_event_key();
      key.source = states_[now_[i]].id;
      if (first.error == nullptr || key < first.key) first = {std::current_exception(), key};
    }
  }
  return first;
}

void SweepProcess::begin_window(Time begin, Time end) {
  WEFT_CHECK(begin >= end_, "a sweep node schedules nothing for itself");
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
    *place_in(slots_[item.local].lists[window_number_ % 2]) = item.parcel;
    list_now(item.local);
  });
}

void SweepProcess::list_now(std::uint32_t local) {
  NodeSlot& slot = slots_[local];
  if (slot.listed >= window_number_) return;
  slot.listed = window_number_;
  now_.push_back(local);
}

std::uint64_t SweepProcess::sweep(std::uint32_t local) {
  NodeSlot& slot = slots_[local];
  WEFT_CHECK(slot.node != nullptr, "a parcel goes to a sweep node");
  SweepNode& node = *slot.node;
  take(slot.lists[window_number_ % 2], local);
  const SortedParcels parcels(parcels_.data(), sort());
  events_.act_as(local, begin_);
  SweepContext context(*this);
  context.node_ = local;
  context.now_ = begin_;
  SweepNode::Swept swept;
  try {
    swept = node.sweep(end_, {parcels, node.events_}, context);
  } catch (...) {
    events_.act_as(local, context.now_);
    events_.rethrow_with_place();
  }
  WEFT_CHECK(swept.next >= end_, "a sweep node does everything before the end of the window");
  node.events_.clear();
  if (swept.events > 0) last_ = std::max(last_, EventKey{swept.last, 0, states_[local].id, EventClass::message});
  if (swept.next < horizon_) {
    earliest_next_ = std::min(earliest_next_, swept.next);
    list_next(local);
  } else if (swept.next < states_[local].work) {
    states_[local].work = swept.next;
    wakeups_.push_back({swept.next, local});
    std::push_heap(wakeups_.begin(), wakeups_.end());
  }
  return swept.events;
}

void SweepProcess::prefetch_parcels(std::uint32_t local) const {
  const Chunk* const chunk = slots_[local].lists[window_number_ % 2].oldest;
  if (chunk != nullptr) cache::fetch(chunk, sizeof(Chunk));
}

void SweepProcess::add_chunk(ParcelList& list) {
  constexpr std::size_t slab_chunks = 64;
  if (free_chunks_ == nullptr) {
    slabs_.push_back(std::make_unique<Chunk[]>(slab_chunks));
    for (std::size_t i = 0; i < slab_chunks; ++i) slabs_.back()[i].newer = std::exchange(free_chunks_, &slabs_.back()[i]);
  }
  Chunk* const chunk = std::exchange(free_chunks_, free_chunks_->newer);
  chunk->newer = nullptr;
  (list.oldest == nullptr ? list.oldest : chunk_of(list.end - 1)->newer) = chunk;
  list.end = chunk->parcels.data();
}

/// Conservation: what came and was not handed to its node yet stands in lists or in the calendar.
void SweepProcess::audit() const {
  std::uint64_t held = later_.size();
  for (const NodeSlot& slot : slots_) {
    for (const ParcelList& list : slot.lists) {
      for (const Chunk* chunk = list.oldest; chunk != nullptr; chunk = chunk->newer) {
        held += chunk->newer != nullptr ? chunk->parcels.size() : static_cast<std::size_t>(list.end - chunk->parcels.data());
      }
    }
  }
  WEFT_CHECK(held == audited_, "every parcel is on its way until its node gets it");
}

/// Copies the parcels that arrive in this window to parcels_, with their keys; the others are put off.
void SweepProcess::take(ParcelList& list, std::uint32_t local) {
  std::size_t due = 0;
  for (Chunk* chunk = list.oldest; chunk != nullptr;) {
    if (parcels_.size() < due + chunk->parcels.size()) {
      parcels_.resize(2 * (due + chunk->parcels.size()));
      keys_.resize(parcels_.size());
      unsorted_keys_.resize(parcels_.size());
    }
    Parcel* const parcels = parcels_.data();
    std::uint64_t* const keys = keys_.data();
    Chunk* const newer = chunk->newer;
    if (newer != nullptr) cache::fetch(newer, sizeof(Chunk));
    const Parcel* const end = newer != nullptr ? chunk->parcels.data() + chunk->parcels.size() : list.end;
    if constexpr (audits_state) audited_ -= static_cast<std::uint64_t>(end - chunk->parcels.data());
    for (const Parcel* parcel = chunk->parcels.data(); parcel != end; ++parcel) {
      if (parcel->time >= end_) {
        put(local, *parcel);
        continue;
      }
      const auto ticks = static_cast<std::uint64_t>(parcel->time.in_ticks() - begin_.in_ticks());
      keys[due] = ticks << (SortedParcels::port_bits + SortedParcels::place_bits) |
                  std::uint64_t{parcel->port} << SortedParcels::place_bits | due;
      parcels[due++] = *parcel;
    }
    chunk->newer = std::exchange(free_chunks_, chunk);
    chunk = newer;
  }
  due_ = due;
  list = {};
}

/// Keys of parcels_, ascending, and all different.
std::span<const std::uint64_t> SweepProcess::sort() {
  const std::span<std::uint64_t> keys = std::span(keys_).first(due_);
  if (due_ <= kInsertionMax) {
    insertion_sort(keys);
    return keys;
  }
  // Dealt to about as many buckets of equal spans of time as there are keys; what is left to sort is small.
  const auto span = static_cast<std::uint64_t>((end_ - begin_).in_ticks());
  const int bucket_shift = std::max(0, static_cast<int>(std::bit_width(span)) - static_cast<int>(std::bit_width(due_)) + 1) +
                           SortedParcels::port_bits + SortedParcels::place_bits;
  const std::size_t bucket_count = (span << (SortedParcels::port_bits + SortedParcels::place_bits) >> bucket_shift) + 1;
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
