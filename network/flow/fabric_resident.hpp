// SPDX-License-Identifier: Apache-2.0
// Fabric resident: who lives at the flow fabric and hands over transfers there, without messages
// from hosts.
//
// Where it sits: host/across carries out collectives between hosts there. The fabric asks it at
// every instant of its own or of the resident's, in this order:
//
//   begin_instant    before anything of the instant happens
//   on_left          of each of its transfers that leaves
//   go_on            when all that leave or are cancelled have gone
//   take_entering    its transfers that enter at the instant
//   end_instant      when rates are those of the instant
//
// begin_instant may hand over transfers that have entered before (FlowFabric::adopt), end_instant
// may take some out. Several such rounds may come at one instant, and a message without bytes
// leaves as soon as it enters: on_left comes after go_on then.
// Threads: as the fabric.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/engine/entity.hpp"
#include "core/values/units.hpp"
#include "network/network_model.hpp"

namespace weft {

/// A transfer of the resident's; `owner` comes back when it has left.
struct OwnedTransfer {
  Transfer transfer;
  std::uint32_t owner = 0;
};

class FabricResident {
 public:
  virtual ~FabricResident() = default;
  /// A host's message for it (resident_message).
  virtual void take(const Event& message) = 0;
  /// The ranks of an attempt are gone, at the instant that comes next.
  virtual void on_stopped(AttemptId attempt) = 0;
  /// `entering`: what hosts hand over for this instant.
  virtual void begin_instant(const std::deque<Transfer>& entering, Time now) = 0;
  /// The fabric does not tell the ends.
  virtual void on_left(const OwnedTransfer& left, Time sent, Time delivered) = 0;
  virtual void go_on(EventContext& context) = 0;
  virtual std::vector<OwnedTransfer> take_entering() = 0;
  /// Everything of the instant has happened.
  virtual void end_instant(Time now) = 0;
  /// When it wants an instant; Time::max(): never.
  virtual Time next() const = 0;
  /// The run is over, or was cut off: what has happened until `now`, `now` included, is to be the
  /// fabric's. Time::max(): nothing else happens any more.
  virtual void catch_up(Time now) = 0;
};

}  // namespace weft
