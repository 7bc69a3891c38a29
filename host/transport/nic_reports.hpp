// SPDX-License-Identifier: Apache-2.0
// NIC reports: what a host's network cards count, and what they tell hosts and the flow fabric.
//
// Where it sits: the sending and the receiving side of host/transport/nic write it; results are
// read from it after the run.
//
// Invariant: hosts hear of everything in order of (time, port, order of the calls), whatever order
// the ports were brought forward in. So it does not matter where windows begin and end.
// Threads: belongs to its node.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/engine/batch_process.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/ranks/holdups.hpp"
#include "host/transport/nic_settings.hpp"
#include "network/network_model.hpp"

namespace weft {

/// A transfer that has arrived.
struct DeliveredTransfer {
  Transfer transfer;
  Time entered;  ///< when the sending node got it
  Time delivered;
};

/// A queue pair that gave up: it sent, and nothing was acknowledged for too long.
struct GivenUp {
  Transfer transfer;  ///< the first that it did not finish
  std::uint32_t queue_pair = 0;
  Time time;
  Time progress_at;  ///< when something was acknowledged last, or sending began
};

struct NicPortCounters {
  std::uint64_t bytes = 0;
  std::uint64_t pauses = 0;  ///< received
  Duration paused;           ///< while the other end paused any priority
  HoldupTimes holdups;
};

struct NicCounters {
  std::uint64_t data_sent = 0;
  std::uint64_t data_repeated = 0;  ///< of data_sent, packets that were sent before
  Duration sending;                 ///< of data, all ports together
  Duration sending_again;           ///< of that, packets that were sent before
  std::uint64_t data_received = 0;  ///< in order
  Time last_data;                   ///< when the last packet of data came, in order or not
  std::uint64_t acks_sent = 0;      ///< negative ones included
  std::uint64_t notifications_sent = 0;
};

class NicReports {
 public:
  explicit NicReports(const NicWiring& wiring) : wiring_(wiring) {}

  /// The last bit of a transfer leaves `delay` after `begun`, by the port with number `order` - 1.
  void tell_sent(const Transfer& transfer, Time begun, std::uint32_t order, Duration delay);
  /// A transfer was acknowledged in full: the flow fabric hears of it where flows share the cables.
  void tell_end(const Transfer& transfer, Time now);
  /// A transfer has arrived: its host hears of it `latency` later.
  void tell_delivered(const Transfer& transfer, Time entered, Time now, Duration latency);
  void note_given_up(const GivenUp& given_up) { given_up_.push_back(given_up); }

  /// Sends what was told in this window.
  void send_notices(BatchContext& context) {
    if (!notices_.empty()) send_all(context);
  }

  const std::vector<DeliveredTransfer>& delivered() const { return delivered_; }
  const std::vector<GivenUp>& given_up() const { return given_up_; }

  NicCounters counters;

 private:
  /// A message to a host or to the flow fabric.
  struct Notice {
    Time now;
    /// At one instant: 0 for what an arrival causes, then ports by number.
    std::uint32_t order = 0;
    EntityId target;
    Duration delay;
    TransferEvent kind = transfer_sent;
    Transfer transfer;
  };

  void send_all(BatchContext& context);

  const NicWiring& wiring_;
  std::vector<DeliveredTransfer> delivered_;
  std::vector<Notice> notices_;  ///< of the window at hand
  std::vector<GivenUp> given_up_;
};

}  // namespace weft
