// Congestion control: how fast a queue pair sends, and how much of what it sent may be unacknowledged, by what comes back.
//
// Where it sits: chosen by name from congestion_algorithms(); a network card asks it for one CongestionControl per queue pair that it opens, and tells
// that of what happens to the queue pair.
//
//   dcqcn   rates by congestion notifications (host/dcqcn)
//   dctcp   windows by marks that acknowledgements echo (host/dctcp)
//   none    line rate: pauses alone hold queue pairs back
//
// Threads: algorithms are immutable; a CongestionControl belongs to its card.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "core/params.hpp"
#include "core/units.hpp"

namespace weft {

/// How the receiver's card tells of packets that switches have marked (ECN).
enum class MarkFeedback : std::uint8_t {
  none,
  notifications,  ///< congestion notification packets (CNP), spaced
  echoes,         ///< in acknowledgements: whether the packet that each answers was marked
};

/// What a new queue pair can do.
struct QueuePairLimits {
  Bandwidth line;       ///< of its port, or less where something else limits it
  Duration round_trip;  ///< of a full packet and its acknowledgement where nothing else is under way
  Bytes full_packet;    ///< on the wire
};

/// An answer came. Bytes on the wire, each packet counted as a full one.
struct Acknowledgement {
  std::int64_t bytes = 0;      ///< with a window: of the packet that was answered; else what was acknowledged for the first time
  std::int64_t in_flight = 0;  ///< sent and not acknowledged, now
  bool marked = false;         ///< the packet that was answered
};

/// Of one queue pair, at its sender. Times that are handed over never go back.
class CongestionControl {
 public:
  static constexpr std::int64_t no_window = std::numeric_limits<std::int64_t>::max();

  virtual ~CongestionControl() = default;
  /// A packet of so many bytes on the wire goes out. Returns the rate that paces it, in bits per second.
  virtual double on_sent(std::int64_t bytes, Time now) = 0;
  /// Bytes that may be sent and not acknowledged; a packet may be in any case. Where there is a window, every packet asks for an answer.
  /// Either always or never no_window.
  virtual std::int64_t window() const { return no_window; }
  virtual void on_notification(Time) {}
  virtual void on_acknowledged(const Acknowledgement&) {}
  /// Something was found missing, or nothing was acknowledged for too long.
  virtual void on_loss(std::int64_t /*in_flight*/) {}
};

class CongestionAlgorithm {
 public:
  virtual ~CongestionAlgorithm() = default;
  virtual MarkFeedback feedback() const = 0;
  /// The least time between notifications of a queue pair.
  virtual Duration notification_interval() const { return Duration::zero(); }
  /// Requires: the algorithm outlives what it begins.
  virtual std::unique_ptr<CongestionControl> begin(const QueuePairLimits& limits) const = 0;
};

/// Makes an algorithm, with parameters from its module's table. Throws InputError [bad-value] for texts that are no sizes.
using CongestionAlgorithmFactory = std::shared_ptr<const CongestionAlgorithm> (*)(const ParamSet& params);

/// Every algorithm there is.
std::span<const Module<CongestionAlgorithmFactory>> congestion_algorithms();

}  // namespace weft
