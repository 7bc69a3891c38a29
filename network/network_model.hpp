// Network model: moves bytes between endpoints. One interface, three fidelities.
//
// Where it sits: a host hands over a `Transfer` through NetworkPort::start(); later its own entity receives `transfer_sent`
// (the source may reuse the buffer) and the destination's entity `transfer_delivered`. The two instants differ by latency.
//
//   flow    network/flow_fabric: one entity; max-min rates; messages to and from hosts travel with the latencies below
//   packet  NICs and switches as logical processes (a later change)
//   job     network/: none at all; a job is a duration (scheduler/)
//
// Timing of a transfer of S bytes in flow mode, started at t by the host:
//   enters the network    t + wqe_latency
//   leaves the source     when its flows have moved wire_bytes(S) at their max-min rates
//   source is told        + completion_latency                                                                -> transfer_sent
//   arrives               leaves + propagation delays + switching_delay per packet switch + receive_latency   -> transfer_delivered
// Inside a host nvlink_latency takes the place of wqe_latency, completion_latency that of receive_latency, and there are no headers.
//
// Threads: start() is called from the host's logical process only.
#pragma once

#include <cstdint>

#include "core/entity.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"

namespace weft {

/// Widths of two fields of a Transfer.
inline constexpr unsigned transfer_connection_bits = 29;
inline constexpr unsigned transfer_priority_bits = 3;

/// What a host asks the network to move. 32 bytes: it travels as an event's payload.
struct Transfer {
  JobId job;
  NodeId source;                                            ///< endpoint
  NodeId destination;                                       ///< endpoint, != source
  std::uint32_t connection : transfer_connection_bits = 0;  ///< hashed with the endpoints to choose paths; same number, same paths
  std::uint32_t priority : transfer_priority_bits = 0;      ///< class on the links; a higher one goes first (flow.priorities)
  std::uint64_t tag = 0;                                    ///< belongs to the hosts: comes back unchanged in both notices
  Bytes size;                                               ///< payload, >= 0; a transfer of zero bytes takes latency only
};
static_assert(sizeof(Transfer) == 32);

/// Event kinds between hosts and the network. Payload of all three: the Transfer.
enum TransferEvent : std::uint16_t {
  transfer_start = 100,      ///< host -> network
  transfer_sent = 101,       ///< network -> source host
  transfer_delivered = 102,  ///< network -> destination host
};

/// A host's door to the network.
class NetworkPort {
 public:
  virtual ~NetworkPort() = default;
  /// Hands over a transfer at context.now().
  virtual void start(const Transfer& transfer, EventContext& context) const = 0;
};

}  // namespace weft
