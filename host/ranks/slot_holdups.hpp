// SPDX-License-Identifier: Apache-2.0
// Slot holdups: how long sends of collectives waited for slots while the wire stood still for them.
//
// Where it sits: rank runners note them, hosts keep them, and what a run says of its slots
// (tools/simulation/run_notes) reads them when it is over.
//
// Model: a connection (host/collectives/slots) is held up from when a send waits for slots and
// nothing else of the connection is leaving its source, until the news of free slots lets the send
// go. A send that waits behind others that are still leaving loses nothing. Whether slots are to
// blame or the receiver, who may take over late, is not told apart here.
// Threads: values.
#pragma once

#include <cstdint>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/collectives/slots.hpp"

namespace weft {

struct CollectivePlan;

/// Of one connection in all collectives of a plan that a rank took part in.
struct SlotHoldup {
  AttemptId attempt;
  RankId rank;
  OpId op;  ///< of the first of these collectives
  const CollectivePlan* plan = nullptr;
  NodeId source;  ///< endpoints of the connection
  NodeId peer;
  std::uint16_t communicator = 0;
  std::uint8_t channel = 0;
  LimitedConnection connection;
  Bytes message;                    ///< or chunk, the largest that waited, as it is moved
  std::uint32_t message_slots = 0;  ///< that it takes
  Duration take_over;               ///< from its arrival until its slots are free
  std::uint64_t times = 0;
  Duration held;
  Duration under_way;  ///< all of the collectives in which it was held up, from start to end
};

/// Adds what a connection waited in one collective to what it has waited in others of the plan.
/// Requires: all are of one rank.
void add_holdup(const SlotHoldup& holdup, std::vector<SlotHoldup>& all);

}  // namespace weft
