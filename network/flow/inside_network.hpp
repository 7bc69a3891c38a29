// SPDX-License-Identifier: Apache-2.0
// Inside network: moves transfers among endpoints of one host whose links are private.
//
// Where it sits: host/inside keeps one for the ranks that a job has on a host, where those need
// nobody else's links, and gives its notices to the ranks. The flow fabric has all other transfers.
//
// Model: as the fabric moves transfers inside a host (network/flow/flow_fabric), with the same
// times to the tick: nothing in there depends on anything outside these links.
// It has no clock: whoever owns it calls advance() whenever next() has come, and before start().
// Threads: belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "core/containers/fifo.hpp"
#include "core/values/units.hpp"
#include "network/flow/flow_model.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/flow/private_links.hpp"
#include "network/network_model.hpp"
#include "network/transfer_records.hpp"

namespace weft {

/// Told of what happens in an inside network, in order of time. It may start transfers.
class InsideObserver {
 public:
  virtual ~InsideObserver() = default;
  virtual void on_sent(const Transfer& transfer, Time now) = 0;
  virtual void on_delivered(const Transfer& transfer, Time now) = 0;
  /// A transfer has left its source, and its delivery is certain; its id is none.
  virtual void on_transfer_finished(const FinishedTransfer& finished) = 0;
};

class InsideNetwork {
 public:
  /// Keeps references to the settings. `policy` was made for links->capacities_bps().
  InsideNetwork(std::shared_ptr<const PrivateLinks> links, const FlowSettings& settings, std::unique_ptr<AllocationPolicy> policy);

  /// A rank hands over a transfer. Requires: both endpoints are among the links', and all that
  /// happens before `now` has been told.
  void start(const Transfer& transfer, Time now);
  /// When something happens next; Time::max() if nothing is under way.
  Time next();
  /// Tells of all that happens until `to`, `to` included. Requires: to < Time::max().
  void advance(Time to, InsideObserver& observer);
  bool is_idle() { return next() == Time::max(); }
  /// When something happened last.
  Time now() const { return now_; }
  /// Since when no byte has been under way, as of then.
  Time busy_until() const { return flows_.busy_until(); }

  bool is_moving() const { return flows_.is_moving(); }
  /// What each private link has carried by `now`, by number. Requires: advanced to `now`.
  std::vector<Bytes> link_bytes(Time now) const { return flows_.link_bytes(now); }
  /// Transfers that have not left their sources, in order of entering.
  std::vector<UnfinishedTransfer> unfinished() const;

 private:
  struct Entering {
    Time at;
    Transfer transfer;
  };
  struct Notice {
    Time at;
    std::uint64_t number = 0;
    bool is_delivered = false;
    Transfer transfer;
    friend bool operator>(const Notice& a, const Notice& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }
  };

  class Notices;

  void settle(Time now, InsideObserver& observer);
  void notify(Time at, bool is_delivered, const Transfer& transfer) {
    notices_.push({at, notices_count_++, is_delivered, transfer});
  }

  std::shared_ptr<const PrivateLinks> links_;
  PrivateFlows flows_;
  Fifo<Entering> entering_;  ///< in order of time, as all take as long to enter
  std::priority_queue<Notice, std::vector<Notice>, std::greater<>> notices_;
  std::uint64_t notices_count_ = 0;
  Time now_;
};

}  // namespace weft
