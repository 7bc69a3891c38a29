// SPDX-License-Identifier: Apache-2.0
// Phases: the exchanges that collective algorithms are put together from, within subgroups and on a
// slice of the buffer.
//
// Where it sits: ring, direct, pairwise and hierarchical add steps to their programs with these.
//
// Model: a phase runs inside every subgroup of a division at once, on a slice of the buffer:
// part k x stride of the slice is where member k's share begins, or the share of the member at
// position k, where results are tied to positions.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>

#include "host/collectives/collective_program.hpp"

namespace weft {

/// Where a phase takes place.
struct PhaseGround {
  std::uint8_t division = 0;
  std::uint8_t channel = 0;
  std::uint32_t members = 1;  ///< of each subgroup
  std::uint32_t stride = 1;   ///< parts from one share to the next
  std::uint32_t width = 1;    ///< parts of a share
  std::uint32_t base = 0;     ///< the slice begins at part base + outer
  PartIndex outer;
  /// Shares are ordered by the members' positions in the group instead of by their indices.
  bool by_position = false;
  std::uint32_t blocks = 1;  ///< PartRange::blocks of all messages

  /// The shares of `count` members from this index on, relative to the executing one. Unless count
  /// is 1 or width == stride, only how many bytes they are.
  PartRange shares(std::int32_t from_offset, std::uint32_t count = 1) const;
  PeerRule neighbour(std::int32_t offset) const { return {PeerRule::Kind::offset, division, offset}; }
};

/// Rounds in which every member sends to the next one and receives from the previous one. A member
/// sends one message at a time: a send waits for the previous send and for the data it forwards.
class RingRounds {
 public:
  /// Nothing of the phase starts before `entry`. `messages_max`: of a reduce_scatter or all_gather;
  /// with more rounds a message stands for several, and says nothing of which shares it carries.
  RingRounds(CollectiveProgramBuilder& builder, const PhaseGround& ground, std::optional<std::uint32_t> entry = {},
             std::optional<std::uint32_t> messages_max = {})
      : builder_(builder), ground_(ground), entry_(entry), messages_max_(messages_max) {}

  /// The member sends `count` shares from `from_offset` on; what it receives is what its left
  /// neighbour sends.
  void add(std::int32_t from_offset, std::uint32_t count, StepKind receive_kind, std::uint32_t rounds = 1);
  /// n-1 rounds that leave every member with the sum of the share `finished_offset` from it.
  void reduce_scatter(std::int32_t finished_offset);
  /// n-1 rounds that pass on the share `owned_offset` from every member.
  void all_gather(std::int32_t owned_offset);
  /// A join after all rounds so far.
  std::uint32_t join();

 private:
  /// n-1 rounds, of which round s passes on the share `first_offset` - s.
  void pass_on(std::int32_t first_offset, StepKind receive_kind);

  CollectiveProgramBuilder& builder_;
  PhaseGround ground_;
  std::optional<std::uint32_t> entry_;
  std::optional<std::uint32_t> messages_max_;
  std::optional<std::uint32_t> last_send_;  ///< its receive is the next step
};

/// All members send to all others at once.
enum class Carries : std::uint8_t {
  peers_share,  ///< the receiver's share: reduce-scatter, all-to-all
  own_share,    ///< the sender's: all-gather
  splits,       ///< what the request's split table says
};

/// Adds an exchange: steps first + 2(k-1) and first + 2(k-1) + 1 are the send to the member k on
/// and the receive from the one k back. Nothing of it starts before `entry`. Returns `first`;
/// 2(n-1) steps follow it.
std::uint32_t add_exchange(CollectiveProgramBuilder& builder, const PhaseGround& ground, Carries carries, StepKind receive_kind,
                           std::optional<std::uint32_t> entry = {});

/// Adds one operation that switches carry out for every subgroup: on each member's share of the
/// slice for reduce_scatter and all_gather, on the whole slice of members x stride parts otherwise.
/// `root` is an index in the subgroup, of reduce and broadcast. Returns the step.
std::uint32_t add_in_network(CollectiveProgramBuilder& builder, const PhaseGround& ground, SwitchOperationKind operation,
                             std::uint32_t root, std::optional<std::uint32_t> entry = {});

/// A join after the steps first..end-1.
std::uint32_t join_all(CollectiveProgramBuilder& builder, std::uint32_t first, std::uint32_t end);

}  // namespace weft
