// SPDX-License-Identifier: Apache-2.0
// Event: the plain record that everything in a run is made of, and the order in which events
// happen.
//
// Order: (time, class, source entity, that source's sequence number). The key holds nothing that
// depends on threads, partitions or memory addresses, so the order is the same in every run
// (design: "Determinism"). Payloads are plain data of at most 32 bytes and never hold a pointer
// (they enter the fingerprint).
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

/// Order among events of one instant. Messages come before timers, and `settle` after everything
/// else of the instant, so that a model can treat all arrivals of an instant as one batch.
enum class EventClass : std::uint8_t { message = 0, timer = 1, settle = 2 };

struct EventKey {
  Time time;
  std::uint64_t sequence = 0;  ///< per source entity, counts from 0
  EntityId source;
  EventClass event_class = EventClass::message;

  friend bool operator<(const EventKey& a, const EventKey& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.event_class != b.event_class) return a.event_class < b.event_class;
    if (a.source != b.source) return a.source < b.source;
    return a.sequence < b.sequence;
  }
  friend bool operator==(const EventKey& a, const EventKey& b) = default;
};

/// One cache line.
struct Event {
  EventKey key;
  EntityId target;
  std::uint16_t kind = 0;  ///< meaning belongs to the target; handlers switch on it
  std::uint16_t reserved = 0;
  std::array<std::uint64_t, 4> payload{};

  /// Stores a plain value of at most 32 bytes in the payload. Equal values have equal bits.
  template <class T>
  void set_payload(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(payload));
    static_assert(std::has_unique_object_representations_v<T>, "fingerprints take in every bit: no padding, no floating point");
    payload = {};
    std::memcpy(payload.data(), &value, sizeof(T));
  }
  /// Reads back what set_payload stored.
  template <class T>
  T payload_as() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(payload));
    T value;
    std::memcpy(static_cast<void*>(&value), payload.data(), sizeof(T));
    return value;
  }
};
static_assert(sizeof(Event) == 64);

}  // namespace weft
