// SPDX-License-Identifier: Apache-2.0
// Network model: moves bytes between endpoints. One interface, three fidelities.
//
// Where it sits: a host hands over a `Transfer` through NetworkPort::start(). Later its own entity
// receives `transfer_sent` (the source may reuse the buffer), and the destination's entity receives
// `transfer_delivered`.
//
//   flow    network/flow/flow_fabric: one entity; max-min rates
//   packet  host/transport/packet_network: a node for the cards of each host and one for each
//           packet switch; transfers inside a host use the flow fabric
//   job     no network at all; a job is a duration (scheduler/)
//
// Timing in flow mode of a transfer of S bytes that a host starts at t:
//   enters      t + wqe_latency, later without GPUDirect (network/flow/staging)
//   leaves      when its flows have moved wire_bytes(S) at their max-min rates, which they begin to
//               when those before it on its connection have (network/flow/queue_pair_order)
//   sent        leaves + completion_latency
//   delivered   leaves + propagation delays + switching_delay per packet switch + receive_latency
// Inside a host nvlink_latency takes the place of wqe_latency, completion_latency takes that of
// receive_latency, and there are no headers.
//
// Operations in switches (network/in_network/switch_operations): every member hands over a Transfer
// whose destination names the operation. When all have joined, the data moves; then each member
// gets transfer_delivered only.
// Threads: start() is called from the host's logical process only.
#pragma once

#include <bit>
#include <cstdint>

#include "core/engine/entity.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

/// Widths of two fields of a Transfer.
inline constexpr unsigned transfer_connection_bits = 29;
inline constexpr unsigned transfer_priority_bits = 3;

/// The name of a registered operation in switches, in place of a destination: above all nodes of a
/// topology.
class SwitchOperationName {
 public:
  static constexpr std::uint32_t count_max = 1U << 30;

  /// Requires: number < count_max.
  constexpr SwitchOperationName(std::uint32_t number, bool inside_host)
      : bits_(switch_operation_mark | (inside_host ? inside_host_mark : 0) | number) {}
  static constexpr SwitchOperationName of(NodeId destination) {
    return {destination.index() & (count_max - 1), (destination.index() & inside_host_mark) != 0};
  }
  static constexpr bool is_one(NodeId destination) {
    return !destination.is_none() && (destination.index() & switch_operation_mark) != 0;
  }

  constexpr std::uint32_t number() const { return bits_ & (count_max - 1); }
  constexpr bool is_inside_host() const { return (bits_ & inside_host_mark) != 0; }
  constexpr NodeId as_destination() const { return NodeId(bits_); }

 private:
  static constexpr std::uint32_t switch_operation_mark = 1U << 31;
  static constexpr std::uint32_t inside_host_mark = 1U << 30;
  std::uint32_t bits_;
};

/// What a host asks the network to move. 32 bytes: it travels as an event's payload.
struct Transfer {
  /// Of the job that it belongs to; none() for flows of a list.
  AttemptId attempt;
  NodeId source;  ///< endpoint
  /// Endpoint, != source; or the name of an operation in switches.
  NodeId destination;
  /// Hashed with the endpoints to choose paths; same number, same paths. With the endpoints and the
  /// priority it names the queue pairs, which move one transfer after another.
  std::uint32_t connection : transfer_connection_bits = 0;
  /// Class on the links; a higher one goes first (flow.priorities)
  std::uint32_t priority : transfer_priority_bits = 0;
  /// Belongs to the hosts: comes back unchanged in both notices.
  std::uint64_t tag = 0;
  /// Payload, >= 0; a transfer of zero bytes takes latency only.
  Bytes size;
};
static_assert(sizeof(Transfer) == 32);

/// A connection with this bit carries control messages: without bytes, their source is not told
/// that they were sent, and they are counted and listed nowhere.
inline constexpr std::uint32_t control_connection = 1U << (transfer_connection_bits - 2);
constexpr bool is_control(const Transfer& transfer) { return (transfer.connection & control_connection) != 0; }

/// The endpoint whose host gets transfer_delivered.
constexpr NodeId receiver_of(const Transfer& transfer) {
  return SwitchOperationName::is_one(transfer.destination) ? transfer.source : transfer.destination;
}

/// Event kinds between hosts and the network; the payload is the Transfer, if no other is named.
enum TransferEvent : std::uint16_t {
  transfer_start = 100,      ///< host -> network
  transfer_sent = 101,       ///< network -> source host
  transfer_delivered = 102,  ///< network -> destination host
  /// Scheduler -> flow fabric, host -> its cards; payload AttemptStopped.
  attempt_stopped = 104,
  cable_changes = 105,  ///< scheduler -> network, payload CableChanges
  port_changes = 106,   ///< scheduler -> node of packet mode, payload PortChanges
  routes_change = 107,  ///< route manager -> node of packet mode, payload RoutesChange
  /// Host -> flow fabric: its packets share links with flows from now on.
  packets_start = 108,
  packets_end = 109,        ///< network card -> flow fabric: and no longer
  flow_load_changes = 110,  ///< flow fabric -> node of packet mode, payload FlowLoadChanges
  resident_message = 112,   ///< host -> fabric, for its resident (network/flow/fabric_resident)
  /// Initial event of a network card: from then on it pauses all that comes.
  pauses_for_good = 111,
};

/// The ranks of an attempt are gone, and so are the ends of its transfers.
struct AttemptStopped {
  AttemptId attempt;
};

/// What both directions of a cable carry from now on.
class CableChanges {
 public:
  /// Either direction of the cable; its share of its speed, from 0, out, to 1.
  CableChanges(LinkId cable, double share) : cable_(cable), share_(std::bit_cast<std::uint64_t>(share)) {}
  CableChanges() = default;
  LinkId cable() const { return cable_; }
  double share() const { return std::bit_cast<double>(share_); }

 private:
  LinkId cable_;
  [[maybe_unused]] std::uint32_t reserved_ = 0;
  std::uint64_t share_ = 0;
};

/// A node's end of such a cable.
struct PortChanges {
  std::uint64_t port = 0;
  std::int64_t rate_bps = 0;  ///< of what it sends; 0: out
};

/// What flows take of what a node sends by a port.
struct FlowLoadChanges {
  std::uint64_t port = 0;
  std::int64_t load_bps = 0;
};

/// Packets take other routes from now on (network/routing/route_manager).
struct RoutesChange {
  std::uint32_t version = 0;
};

/// A host's door to the network.
class NetworkPort {
 public:
  virtual ~NetworkPort() = default;
  /// Hands over a transfer at context.now().
  virtual void start(const Transfer& transfer, EventContext& context) const = 0;
  /// What a host has handed over for an attempt goes no further, at context.now(). Where the
  /// scheduler tells the network of it (attempt_stopped) there is nothing to do.
  virtual void stop(AttemptId /*attempt*/, HostId /*host*/, EventContext& /*context*/) const {}
};

}  // namespace weft
