// Sweep node: an entity that takes all its arrivals of a window at once, sorted, and needs no event queue - a switch, a network card.
//
// Where it sits: registered with EngineBuilder like any entity, with a connection to every node that it sends parcels to; SweepProcess calls
// sweep() for windows in which there is something to do. Nodes send each other parcels (core/engine/parcel); events come from general entities
// (hosts) and go to them.
//
// Model: a window is no longer than the least delay of any connection to a node, so that all its arrivals are known when it begins. The node goes through them in order and does at each instant what it would have done with an event queue; what it starts by
// itself (a packet whose turn has come) it does up to the end of the window, and says when it goes on.
//
// What a node does must not depend on where windows begin and end:
//   1. The order of what happens at one instant is its own: events, parcels by port, what it starts by itself.
//   2. At the end of a window everything before it has been done, nothing at or after it.
// Threads: as Entity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/entity.hpp"
#include "core/engine/parcel.hpp"

namespace weft {

class SweepContext;

/// The parcels of a window, sorted by (time, port).
class SortedParcels {
 public:
  SortedParcels(const Parcel* parcels, std::span<const std::uint64_t> keys) : parcels_(parcels), keys_(keys) {}

  std::size_t size() const { return keys_.size(); }
  bool empty() const { return keys_.empty(); }
  const Parcel& operator[](std::size_t i) const { return parcels_[keys_[i] & place_mask]; }

  /// A key is time since the beginning of the window in ticks, port, place among the parcels: 21, 14 and 29 bits.
  static constexpr int place_bits = 29;
  static constexpr int port_bits = parcel_port_bits;
  static constexpr int time_bits = 21;
  static constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;

 private:
  const Parcel* parcels_;
  std::span<const std::uint64_t> keys_;
};

class SweepNode : public Entity {
 public:
  /// Keeps the event for the sweep of its window.
  void handle(const Event& event, EventContext& context) final;

  /// What arrives before `end`, in order.
  struct Arrivals {
    SortedParcels parcels;
    std::span<const Event> events;

    /// Calls one of both for each, by time; at one instant, for events first.
    template <class OnEvent, class OnParcel>
    void in_order(OnEvent on_event, OnParcel on_parcel) const {
      std::size_t parcel = 0;
      for (const Event& event : events) {
        for (; parcel < parcels.size() && parcels[parcel].time < event.key.time; ++parcel) on_parcel(parcels[parcel]);
        on_event(event);
      }
      for (; parcel < parcels.size(); ++parcel) on_parcel(parcels[parcel]);
    }
  };
  struct Swept {
    std::uint64_t events = 0;  ///< arrivals handled, for the count of the run
    Time last;                ///< when the last of them was done; counts if there were any. Arrivals only: windows do not move them
    Time next = Time::max();  ///< when the node goes on by itself, >= end; max() if only an arrival can make it
  };
  /// Does everything before `end`.
  virtual Swept sweep(Time end, const Arrivals& arrivals, SweepContext& context) = 0;
  /// It will sweep soon and has been fetched itself: may fetch what it points at (core/containers/cache).
  virtual void prefetch() const {}

 private:
  friend class SweepProcess;
  std::vector<Event> events_;                      ///< of this window
  std::vector<std::uint32_t>* touched_ = nullptr;  ///< the process's list of nodes with events
  std::uint32_t local_ = 0;
};

}  // namespace weft
