// SPDX-License-Identifier: Apache-2.0
// Slots: how much a rank may have on its way to a peer that the peer has not taken over yet.
//
// Where it sits: the collective library gives every plan its slots; rank runners keep their
// accounts of them.
//
// Model (NCCL: NCCL_STEPS slots of NCCL_BUFFSIZE / NCCL_STEPS bytes for every channel and peer): a
// connection is what goes from one rank to another over one channel. A message takes a slot for
// every `size` of its bytes, at least one and at most half of all, as longer ones stream through.
// They are taken from when the message is handed over until the receiver has taken it over, that is
// when its receive step is done, and the sender has been told. The receiver tells it by a message
// of its own without bytes, once half of the slots are free again, or as many as a message needs. A
// message that finds too few slots waits, and those of the connection after it.
//
// Chunks (NCCL: chunkSteps of slots, half of all, for rings of the Simple protocol): a message
// longer than a chunk may be cut into equal parts of no more than that, which go one after the
// other: each is handed over when the one before has left, and takes slots of its own. All but the
// last of a message are taken over when they have arrived. So no more is ever under way than slots
// hold; of a message that is not cut all of it is. Messages of an all_to_all_v are not cut. Chunks
// are not posted ahead: where slots do not bind, each costs the 1.2 us from one to the next (a ring
// of 1 GiB among 16 ranks on two hosts of H100, in chunks of 2 MiB: 2.6 %, and 32 times the
// messages).
//
// A connection over which no more goes than there are slots needs no accounts. Sizes are taken as
// those of equal parts, so that both ends count alike. A collective begins with all slots free.
// Thread safety: immutable after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/units.hpp"

namespace weft {

struct CollectivePlan;
struct CollectiveStep;

/// A connection of one position with more to carry than there are slots.
struct LimitedConnection {
  std::uint32_t peer = 0;  ///< position
  std::uint8_t channel = 0;
  bool sends = false;         ///< or receives
  std::uint32_t slots = 0;    ///< of all its messages
  std::uint32_t largest = 0;  ///< of the largest chunk
};

class CollectiveSlots {
 public:
  /// A message is cut into no more than so many.
  static constexpr std::int64_t chunks_max = 65536;

  /// No limit.
  CollectiveSlots() = default;
  /// Requires: count >= 1, size > 0. The plan is complete but for its slots. `chunk`: zero cuts no
  /// message.
  CollectiveSlots(const CollectivePlan& plan, std::uint32_t count, Bytes size, Bytes chunk = Bytes::zero());

  std::uint32_t count() const { return count_; }
  Bytes size() const { return size_; }
  /// Into how many the message of a send or receive is cut, at least 1.
  std::uint32_t chunks_of(const CollectivePlan& plan, const CollectiveStep& step) const;
  /// Whether any message is.
  bool cuts() const { return cuts_; }
  /// Of each chunk.
  std::uint32_t taken_by(const CollectivePlan& plan, const CollectiveStep& step) const;
  /// Of all chunks of a message.
  std::uint32_t taken_by_all(const CollectivePlan& plan, const CollectiveStep& step) const {
    return chunks_of(plan, step) * taken_by(plan, step);
  }
  /// Whether any position may have limited connections: none has if not.
  bool limits() const { return limits_; }
  /// In no particular order, but the same at every call.
  std::vector<LimitedConnection> limited(const CollectivePlan& plan, std::uint32_t position) const;
  /// What a receiver tells its sender of, once so many slots of a connection are free that it does
  /// not know of.
  std::uint32_t told_from(const LimitedConnection& connection) const;

 private:
  /// Steps of a program that exchange with a peer by one rule.
  struct Use {
    std::uint32_t step = 0;  ///< one of them
    std::uint8_t channel = 0;
    bool sends = false;
    std::uint32_t slots = 0;
    std::uint32_t largest = 0;
  };

  std::uint32_t count_ = 0;
  Bytes size_;
  Bytes chunk_;
  bool cuts_ = false;
  bool limits_ = false;
  std::vector<std::vector<Use>> uses_;  ///< by role
};

}  // namespace weft
