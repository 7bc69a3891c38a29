// SPDX-License-Identifier: Apache-2.0
// Message tag: the 64 bits of a transfer by which the receiving rank knows what has arrived.
//
// Where it sits: made for every placed job from its workload and its collectives; rank runners pack
// a tag for every transfer and unpack it on arrival.
//
// Model: a collective message names the collective (communicator, ordinal among its collectives)
// and the receiving step. A point-to-point message names the communicator, the user's tag (as an
// index into the run's sorted tags) and the ordinal among equal sends. Both carry the iteration,
// modulo what the bits hold. The fields are as wide as this job needs them and the iteration gets
// the rest, 32 bits if they are there: a rank may be almost half that many iterations ahead of its
// peer before two iterations could be confused, and that is refused ([ran-ahead]).
// Thread safety: immutable after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "host/collectives/job_collectives.hpp"
#include "network/network_model.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

struct MessageTag {
  bool point_to_point = false;
  std::uint32_t iteration = 0;
  std::uint32_t communicator = 0;
  std::uint32_t ordinal = 0;  ///< RoleDag::match_ordinal
  /// Collective: step of the receiver's program, of a control message the number of slots; point to
  /// point: index of the user's tag.
  std::uint32_t detail = 0;

  friend bool operator==(const MessageTag&, const MessageTag&) = default;
};

/// Transfer::connection of messages of a communicator's collectives: a queue pair of its own for
/// every channel.
constexpr std::uint32_t connection_number(std::uint16_t communicator, std::uint8_t channel) {
  return std::uint32_t{channel} << 16 | communicator;
}
/// Of a communicator's other messages. NCCL has connections of their own for them (src/group.cc,
/// connection index 1), so that they do not wait for those of a collective.
constexpr std::uint32_t point_to_point_connection(std::uint16_t communicator) {
  return connection_number(UINT16_MAX, UINT8_MAX) + 1 + communicator;
}
static_assert(point_to_point_connection(UINT16_MAX) < control_connection);
/// Channels whose slots can be told of.
inline constexpr std::uint8_t channels_with_slots = 32;
/// Of what receivers tell senders of their slots (collectives/slots) in collectives of a type:
/// those of several types may find the same peer by several rules, which folding tells apart by
/// connection. Requires: channel < channels_with_slots.
constexpr std::uint32_t slots_connection(std::uint16_t communicator, std::uint8_t channel, CollectiveType type) {
  return control_connection | connection_number(communicator, static_cast<std::uint8_t>(channel + static_cast<std::uint8_t>(type) *
                                                                                                      channels_with_slots));
}
constexpr std::uint8_t channel_of_slots(std::uint32_t connection) {
  return static_cast<std::uint8_t>(connection >> 16) % channels_with_slots;
}
/// Of data and checkpoints on their way from or to where they lie: no communicator's.
inline constexpr std::uint32_t storage_connection = 1U << (transfer_connection_bits - 1);
static_assert(connection_number(UINT16_MAX, UINT8_MAX) < control_connection && control_connection < storage_connection);

/// How the tags of a job are packed.
class MessageTags {
 public:
  /// Fewest bits that the iteration needs.
  static constexpr int iteration_bits_min = 16;

  /// Throws InputError [too-many-messages] if the workload leaves the iteration fewer than
  /// iteration_bits_min.
  MessageTags(const Workload& workload, const JobCollectives& collectives);

  std::uint64_t pack(const MessageTag& tag) const;
  MessageTag unpack(std::uint64_t packed) const;
  /// As pack(), but equal for all messages of one collective: what its arrivals are collected
  /// under.
  std::uint64_t pack_stream(MessageTag tag) const;
  /// Whether `iteration` of a tag is `current` or a later one, as far as the bits can tell: false
  /// for half of their range and more.
  bool ahead_of(std::uint32_t iteration, std::uint64_t current) const;

  /// Position of a user's tag among the distinct ones of the workload. Requires: the workload uses
  /// it.
  std::uint32_t index_of(std::uint32_t user_tag) const;
  int iteration_bits() const { return iteration_bits_; }

 private:
  std::vector<std::uint32_t> user_tags_;
  int iteration_bits_ = 0;
  int communicator_bits_ = 0;
  int ordinal_bits_ = 0;
  int detail_bits_ = 0;
};

}  // namespace weft
