// SPDX-License-Identifier: Apache-2.0
// Private flows: transfers over links that carry nothing else, numbered anew.
//
// Where it sits: inside_network has them for ranks of one host, host/across for collectives between
// hosts that nothing disturbs. The flow fabric has all other transfers.
//
// Model: as the fabric moves transfers that take one way each (network/flow/flow_fabric), with the
// same times to the tick: nothing in there depends on anything outside these links. As there, all
// that happens at one instant is one batch: take_left(), then begin() of each, then settle().
// A flow that is alone on its links gets what the slowest of them can carry, whatever others do:
// only those that meet are flows of the model. Those that wait for one of their connection are on
// no link.
// Threads: belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/flow/flow_model.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/flow/queue_pair_order.hpp"
#include "network/network_model.hpp"
#include "network/routing/path_delay.hpp"
#include "network/transfer_records.hpp"

namespace weft {

struct PrivateWay {
  std::vector<LinkId> links;  ///< numbers among the private links, from 0
  PathDelay delay;
  double slowest_bps = 0;  ///< of these links
  bool inside_host = false;
  friend bool operator==(const PrivateWay&, const PrivateWay&) = default;
};

/// What a transfer that takes one way asks of the links, but for which they are.
FlowRequest request_of_one_way(const Transfer& transfer, bool inside_host, const FlowSettings& settings);

/// Told of transfers that have left their sources.
class PrivateFlowsObserver {
 public:
  virtual ~PrivateFlowsObserver() = default;
  /// Its ends are to hear of it then; the source of a control message is not.
  virtual void on_left(const Transfer& transfer, Time sent, Time delivered) = 0;
  /// Of the same transfer, but for control messages; its id may be none.
  virtual void on_transfer_finished(const FinishedTransfer& finished) = 0;
};

class PrivateFlows {
 public:
  struct UnderWay {
    Transfer transfer;
    FlowId id = FlowId::none();  ///< none: not the fabric's so far
    const PrivateWay* way = nullptr;
    Time start;           ///< when it was handed over
    Duration path_delay;  ///< the last latency included
    Duration ideal;       ///< from entering the network
  };

  /// Keeps a reference to the settings. `policy` was made for the private links, and is max-min
  /// fair.
  PrivateFlows(const FlowSettings& settings, std::unique_ptr<AllocationPolicy> policy);

  Duration entry_latency(bool inside_host) const { return inside_host ? settings_->nvlink_latency : settings_->wqe_latency; }
  /// It enters at `now`. The way stays where it is until it has left.
  void begin(const Transfer& transfer, const PrivateWay& way, Time now, PrivateFlowsObserver& observer);
  /// It goes on with what it has done elsewhere; after those before it on its connection.
  void adopt(const UnderWay& under_way, const FlowProgress& progress);
  void take_left(Time now, PrivateFlowsObserver& observer);
  void settle(Time now, PrivateFlowsObserver& observer);
  /// When the next one leaves; Time::max(): none does.
  Time next();
  /// Since when no byte has been under way, as of the last batch.
  Time busy_until() const { return busy_until_; }

  std::size_t link_count() const { return on_link_.size(); }
  bool is_moving() const { return alone_ > 0 || model_.active_flows() > 0; }
  /// What each link has carried by `now`. Requires: that is where it is.
  std::vector<Bytes> link_bytes(Time now) const;
  /// Of what has left.
  std::span<const Bytes> bytes_of_left() const { return model_.bytes_of_ended(); }
  /// In order of entering, with how far each has come; then those whose bytes have not begun, with
  /// FlowProgress(), of a connection in order.
  std::vector<std::pair<UnderWay, FlowProgress>> under_way() const;

 private:
  Duration last_latency(bool inside_host) const { return inside_host ? settings_->completion_latency : settings_->receive_latency; }
  struct Place {
    UnderWay under_way;
    std::uint64_t number = 0;
    bool is_free = true;
    bool waits = false;  ///< for those before it on its connection
    bool is_alone = false;
    FlowSlot flow;          ///< of the model; if it is not alone
    FlowProgress progress;  ///< if it is
  };
  using End = std::pair<Time, std::uint32_t>;  ///< and a place
  struct OnLink {
    std::uint32_t flows = 0;
    std::uint32_t alone = 0;  ///< the place of one that is alone on it + 1; 0: none is
  };
  static double rate_alone(const FlowRequest& request, const PrivateWay& way);
  /// What of the connection moves; nothing: it is free.
  std::optional<std::uint32_t> moving_before(const Transfer& transfer) const;
  QueuePairName name_of(std::uint32_t slot) const { return QueuePairName(places_[slot].under_way.transfer, 0); }
  std::uint32_t take_place(const UnderWay& under_way);
  /// Whether it goes before what moves or waits on its connection: both entered at one instant.
  static bool goes_before(const UnderWay& entering, const UnderWay& other) {
    return entering.start == other.start && goes_first(entering.transfer, other.transfer);
  }
  void wait(const UnderWay& under_way, std::uint32_t moving);
  /// It does not move yet, though it began to at `now`.
  void hold_back(std::uint32_t slot, Time now);
  /// Its bytes begin to move.
  void move(std::uint32_t slot, Time now, Fifo<std::uint32_t> line);
  /// `progress`: as if it were alone, if it is new.
  void add(std::uint32_t slot, const FlowRequest& request, const FlowProgress& progress, bool is_new);
  void leave(std::uint32_t slot, Time now, PrivateFlowsObserver& observer);
  FlowRequest request_of(const UnderWay& under_way) const;
  /// Others come to its links.
  void let_meet(std::uint32_t slot);
  bool is_end(const End& end) const;
  void note_flow(std::uint32_t slot, FlowSlot flow);
  void finish(const UnderWay& under_way, Time now, PrivateFlowsObserver& observer);

  const FlowSettings* settings_;
  FlowModel model_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_places_;
  std::vector<std::uint32_t> place_of_flow_;  ///< by flow slot
  std::uint64_t count_ = 0;
  QueuePairOrder<std::uint32_t> order_;  ///< of places
  std::vector<OnLink> on_link_;
  std::size_t alone_ = 0;  ///< how many are
  /// Of those that are alone; some have met others since.
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<FlowCompletion> done_;
  std::vector<std::uint32_t> left_;
  std::vector<UnderWay> empty_entering_;  ///< that enter at this instant without bytes
  Time busy_until_;
};

}  // namespace weft
