#include "core/sweep_process.hpp"

#include <algorithm>
#include <bit>

namespace weft {

namespace {

constexpr std::size_t kInsertionMax = 24;  // so few are sorted without buckets
/// Longer windows gain nothing, and times in them would not fit a key.
constexpr Duration kWindowMax = Duration::ticks((std::int64_t{1} << SortedParcels::time_bits) - 1);

Time later(Time begin, Duration span) { return Time::max() - begin > span ? begin + span : Time::max(); }

void insertion_sort(std::span<std::uint64_t> keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const std::uint64_t key = keys[i];
    std::size_t place = i;
    for (; place > 0 && keys[place - 1] > key; --place) keys[place] = keys[place - 1];
    keys[place] = key;
  }
}

}  // namespace

void SweepNode::handle(const Event& event, EventContext&) {
  if (events_.empty()) touched_->push_back(local_);
  events_.push_back(event);
}

EventContext& SweepContext::events(Time now) { return process_.events_.act_as(node_, now); }

Fingerprint& SweepContext::chain() { return process_.slots_[node_].chain; }

SweepProcess::SweepProcess(LpId lp, const EntityDirectory& directory, std::span<const EntityId> members, Duration window_max)
    : lp_(lp),
      directory_(&directory),
      events_(lp, directory, members),
      window_max_(std::min(window_max, kWindowMax)),
      slots_(members.size()),
      later_(window_max_),
      horizon_(Time::zero() + window_max_) {
  WEFT_CHECK(window_max > Duration::zero(), "what a sweep node sends takes time");
  for (std::uint32_t local = 0; local < members.size(); ++local) {
    auto* const node = dynamic_cast<SweepNode*>(&directory.entity(members[local]));
    if (node == nullptr) continue;
    node->touched_ = &touched_;
    node->local_ = local;
    slots_[local].node = node;
    slots_[local].id = members[local];
  }
}

Time SweepProcess::next_event_time() const {
  const Time wakeup = wakeups_.empty() ? Time::max() : wakeups_.front().time;
  return std::min({events_.next_event_time(), earliest_next_, wakeup, later_.earliest()});
}

void SweepProcess::write_fingerprints(std::span<std::uint64_t> chain_of_entity) const {
  events_.write_fingerprints(chain_of_entity);
  for (const NodeSlot& slot : slots_) {
    if (slot.node == nullptr) continue;
    Fingerprint both = slot.chain;
    both.add(chain_of_entity[slot.id.index()]);
    chain_of_entity[slot.id.index()] = both.value();
  }
}

std::uint64_t SweepProcess::run_window(const Window& window, Inbox inbox, Outbox& outbox) {
  outbox_ = &outbox;
  events_.receive(inbox.events);
  for (const ParcelTo& parcel : inbox.parcels) put(directory_->place(parcel.target).local, parcel.parcel);
  std::uint64_t handled = 0;
  while (handled < window.events_max) {
    const Time begin = next_event_time();
    if (begin >= window.end) break;
    begin_window(begin, std::min(later(begin, window_max_), window.end));
    handled += events_.run_window({begin_, end_}, {}, outbox);
    if (const EventKey last = events_.last_event_key(); last_.time < last.time) last_ = last;
    for (const std::uint32_t local : touched_) list_now(local);
    touched_.clear();
    for (const std::uint32_t local : now_) handled += sweep(local);
  }
  return handled;
}

void SweepProcess::begin_window(Time begin, Time end) {
  begin_ = begin;
  end_ = end;
  horizon_ = later(end, window_max_);
  earliest_next_ = Time::max();
  ++window_number_;
  now_.swap(next_);
  next_.clear();
  for (const std::uint32_t local : now_) slots_[local].now.swap(slots_[local].next);
  while (!wakeups_.empty() && wakeups_.front().time < end) {
    const Wakeup wakeup = wakeups_.front();
    std::pop_heap(wakeups_.begin(), wakeups_.end());
    wakeups_.pop_back();
    NodeSlot& slot = slots_[wakeup.local];
    if (slot.work != wakeup.time) continue;
    slot.work = Time::max();
    list_now(wakeup.local);
  }
  if (later_.empty()) return;
  later_.take_due(end, [&](const Later& item) {
    slots_[item.local].now.push_back(item.parcel);
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
  SweepNode& node = *slot.node;
  const SortedParcels parcels(slot.now.data(), sort(slot));
  events_.act_as(local, begin_);
  WEFT_CHECK(node.events_.empty() || node.events_.front().key.time >= begin_, "a sweep node schedules nothing for itself");
  SweepContext context(*this);
  context.node_ = local;
  SweepNode::Swept swept;
  try {
    swept = node.sweep(end_, {parcels, node.events_}, context);
  } catch (...) {
    last_ = events_.last_event_key();
    events_.rethrow_with_place();
  }
  WEFT_CHECK(swept.next >= end_, "a sweep node does everything before the end of the window");
  slot.now.clear();
  node.events_.clear();
  if (swept.events > 0 && last_.time < swept.last) last_ = {swept.last, 0, slot.id, EventClass::message};
  if (swept.next < horizon_) {
    earliest_next_ = std::min(earliest_next_, swept.next);
    list_next(local);
  } else if (swept.next < slot.work) {
    slot.work = swept.next;
    wakeups_.push_back({swept.next, local});
    std::push_heap(wakeups_.begin(), wakeups_.end());
  }
  return swept.events;
}

/// Keys of the parcels that arrive in this window, ascending; the others are put off.
std::span<const std::uint64_t> SweepProcess::sort(NodeSlot& slot) {
  const std::size_t count = slot.now.size();
  if (keys_.size() < count) keys_.resize(2 * count);
  std::size_t due = 0;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Parcel& parcel = slot.now[i];
    if (parcel.time >= end_) {
      put(static_cast<std::uint32_t>(&slot - slots_.data()), parcel);
      continue;
    }
    const auto ticks = static_cast<std::uint64_t>((parcel.time - begin_).in_ticks());
    last = std::max(last, ticks);
    keys_[due++] = ticks << (SortedParcels::port_bits + SortedParcels::place_bits) |
                   std::uint64_t{parcel.port} << SortedParcels::place_bits | i;
  }
  const std::span<std::uint64_t> keys = std::span(keys_).first(due);
  if (due <= kInsertionMax) {
    insertion_sort(keys);
    return keys;
  }
  // Dealt to about as many buckets of equal spans of time as there are keys; what is left to sort is small.
  const int bucket_shift = std::max(0, static_cast<int>(std::bit_width(last)) - static_cast<int>(std::bit_width(due)) + 1) +
                           SortedParcels::port_bits + SortedParcels::place_bits;
  const std::size_t bucket_count = (last << (SortedParcels::port_bits + SortedParcels::place_bits) >> bucket_shift) + 1;
  bucket_begin_.assign(bucket_count + 1, 0);
  for (const std::uint64_t key : keys) ++bucket_begin_[(key >> bucket_shift) + 1];
  for (std::size_t b = 1; b <= bucket_count; ++b) bucket_begin_[b] += bucket_begin_[b - 1];
  if (unsorted_keys_.size() < due) unsorted_keys_.resize(keys_.size());
  std::copy(keys.begin(), keys.end(), unsorted_keys_.begin());
  for (std::size_t i = 0; i < due; ++i) {
    const std::uint64_t key = unsorted_keys_[i];
    keys[bucket_begin_[key >> bucket_shift]++] = key;
  }
  insertion_sort(keys);
  return keys;
}

}  // namespace weft
