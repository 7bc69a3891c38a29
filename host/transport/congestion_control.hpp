// SPDX-License-Identifier: Apache-2.0
// Congestion control: how fast a queue pair sends, and how much of what it sent may be
// unacknowledged, by what comes back.
//
// Where it sits: chosen by name from congestion_algorithms(). A network card keeps a
// CongestionState for each queue pair that it opens, and tells the algorithm what happens to the
// queue pair.
//
//   dcqcn   rates by congestion notifications (host/transport/dcqcn)
//   dctcp   windows by marks that acknowledgements echo (host/transport/dctcp)
//   hpcc    windows by what switches tell of the ports on the way (host/transport/hpcc)
//   swift   windows by round-trip times (host/transport/swift)
//   none    line rate: pauses alone hold queue pairs back
//
// All that an algorithm knows of a queue pair is in that state, a plain value: what it does is a
// function of the state and of what it is told.
//
// Threads: algorithms are immutable; a CongestionState belongs to its card.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "core/text/params.hpp"
#include "core/values/units.hpp"
#include "network/packet/telemetry.hpp"

namespace weft {

/// How the receiver's card tells of packets that switches have marked (ECN).
enum class MarkFeedback : std::uint8_t {
  none,
  notifications,  ///< congestion notification packets (CNP), spaced
  echoes,         ///< in acknowledgements: whether the packet that each answers was marked
};

/// What an algorithm asks to be measured of packets that are acknowledged; what nobody asks for
/// costs nothing. Requires that it has a window.
struct Measures {
  bool round_trips = false;
  /// Of every hop (network/packet/telemetry); routes are to be one per queue pair.
  bool telemetry = false;
};

/// What a new queue pair can do.
struct QueuePairLimits {
  Bandwidth line;  ///< of its port, or less where something else limits it
  /// Of a full packet and its acknowledgement where nothing else is under way.
  Duration round_trip;
  Bytes full_packet;  ///< on the wire
  /// Bytes that it may have under way whatever the algorithm says; 0: any.
  std::int64_t window_max = 0;
  std::uint32_t switches = 0;  ///< on its route
};

/// An answer came. Bytes on the wire, each packet counted as a full one. What was asked for is of
/// the last packet that it acknowledges, if that was sent once.
struct Acknowledgement {
  /// With a window: of the packet that was answered; else what was acknowledged for the first time.
  std::int64_t bytes = 0;
  std::int64_t in_flight = 0;  ///< sent and not acknowledged, now
  bool marked = false;         ///< the packet that was answered
  Time now = {};
  /// Packets of the queue pair, from its first one on.
  std::uint64_t acknowledged = 0;
  std::uint64_t next = 0;                          ///< number of the packet that goes out next
  Duration round_trip = {};                        ///< zero: not known
  std::span<const HopTelemetry> hops = {};         ///< empty: not known
  std::span<const HopTelemetry> hops_before = {};  ///< those of the last time that they were known
};

/// A congestion notification came.
struct Notification {
  Time now = {};
  std::uint64_t sent = 0;          ///< packets of the queue pair, from its first one on
  std::uint64_t acknowledged = 0;  ///< of them, all before this one
};

/// Something was found missing, or nothing was acknowledged for too long.
struct Loss {
  std::int64_t in_flight = 0;
  Time now = {};
  bool is_timeout = false;
};

/// Of one queue pair, at its sender: a plain value of the algorithm's own, of at most 112 bytes.
class CongestionState {
 public:
  CongestionState() = default;
  template <class T>
  explicit CongestionState(const T& state) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(bytes_) && alignof(T) <= alignof(CongestionState));
    std::memcpy(bytes_.data(), &state, sizeof(T));
  }
  /// Requires: it was made from a T.
  template <class T>
  T& as() {
    return *std::launder(reinterpret_cast<T*>(bytes_.data()));
  }
  template <class T>
  const T& as() const {
    return *std::launder(reinterpret_cast<const T*>(bytes_.data()));
  }

 private:
  alignas(8) std::array<std::byte, 112> bytes_{};
};

/// What is handed over: a state that its own begin() has made, and times that never go back for it.
class CongestionAlgorithm {
 public:
  static constexpr std::int64_t no_window = std::numeric_limits<std::int64_t>::max();

  virtual ~CongestionAlgorithm() = default;
  virtual MarkFeedback feedback() const = 0;
  virtual Measures measures() const { return {}; }
  /// The least time between notifications of a queue pair.
  virtual Duration notification_interval() const { return Duration::zero(); }

  /// A queue pair is opened.
  virtual CongestionState begin(const QueuePairLimits& limits) const = 0;
  /// A packet of so many bytes on the wire goes out. Returns the rate that paces it, in bits per
  /// second.
  virtual double on_sent(CongestionState& state, std::int64_t bytes, Time now) const = 0;
  /// Bytes that may be sent and not acknowledged; a packet may be in any case. Where there is a
  /// window, every packet asks for an answer. Either always or never no_window.
  virtual std::int64_t window(const CongestionState&) const { return no_window; }
  virtual void on_notification(CongestionState&, const Notification&) const {}
  virtual void on_acknowledged(CongestionState&, const Acknowledgement&) const {}
  virtual void on_loss(CongestionState&, const Loss&) const {}
};

/// Makes an algorithm, with parameters from its module's table. Throws InputError [bad-value] for
/// texts that are no sizes.
using CongestionAlgorithmFactory = std::shared_ptr<const CongestionAlgorithm> (*)(const ParamSet& params);

/// Every algorithm there is.
std::span<const Module<CongestionAlgorithmFactory>> congestion_algorithms();

}  // namespace weft
