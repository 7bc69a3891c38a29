// SPDX-License-Identifier: Apache-2.0
// Flow tape: a record of a run that causes and, in flow mode, sensitivities can be read from.
//
// Where it sits: whoever explains a run (tools/explain) hands one to the run; the engine tells it
// of events, the flow fabric of transfers, the flow model of rates. Without one each of them tests
// a pointer.
//
// Model
//   - A node is an event that was handled. Its parent is the event whose handling posted it. What
//     the fabric posts when a transfer leaves has that transfer, and the flow that left last.
//   - A step is a batch of the flow model: flows that left, then flows whose rate or limit is
//     another from then on. A flow's limit is the link whose level its rate is, or the link that
//     would stop it even if it were alone; none where its own cap is lower.
//   - A flow starts because its transfer entered the network (the node `entry`), or because the
//     one before it on its queue pair left (`after`).
//   - origin(node): the last flow whose end the node waited for, at a constant distance in time.
//   - In packet mode (follow_packets()) there are no flows and no steps, and nobody tells of
//     transfers: one begins where its transfer_start is handled, and its notices are known by the
//     Transfer that they carry. One is `behind` the one before it on its connection.
// Limits come from the levels of max_min_solver; with other policies, and with several priority
// classes, there are none (has_limits()).
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/engine/event_watcher.hpp"
#include "network/flow/flow_model.hpp"
#include "network/flow/queue_pair_order.hpp"
#include "network/network_model.hpp"
#include "network/transfer_records.hpp"

namespace weft {

class FlowTape final : public RateObserver, public EventWatcher {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Node {
    Event event;
    std::uint32_t parent = none;
    std::uint32_t flow = none;      ///< whose leaving posted it
    std::uint32_t origin = none;    ///< of it or of its ancestors
    std::uint32_t transfer = none;  ///< whose leaving posted it
  };
  struct TransferRecord {
    Transfer transfer;
    FlowId id = FlowId::none();
    Time start;                         ///< when the host handed it over
    Time entered;                       ///< the network
    Time left;                          ///< its last flow
    Time delivered;                     ///< or will be
    Duration ideal;                     ///< from start to delivery
    std::uint32_t entry = none;         ///< node
    std::uint32_t left_by = none;       ///< its last flow
    std::uint32_t delivered_by = none;  ///< the flow that arrived last
    std::uint32_t behind = none;        ///< packet mode: a transfer
    bool is_over = false;
  };
  struct FlowRecord {
    std::uint32_t transfer = none;
    std::uint32_t first_hop = 0;
    std::uint32_t hop_count = 0;
    std::uint32_t entry = none;  ///< node that it started for; none: it waited
    std::uint32_t after = none;  ///< flow that it waited for
    std::uint32_t last_change = none;
    double weight = 1;
    double cap_bps = 0;
    Time start;
    Time end;
    bool has_left = false;
    bool is_complete = false;  ///< and moved all its bytes
  };
  /// From a step on.
  struct Change {
    std::uint32_t flow = 0;
    std::uint32_t previous = none;  ///< change of the same flow
    std::uint32_t limit = none;     ///< link
    std::uint32_t first_tied = 0;
    std::uint32_t tied_count = 0;
    double rate_bps = 0;
  };
  struct Step {
    Time at;
    std::uint32_t first_change = 0;
    std::uint32_t first_left = 0;
  };

  /// Runs with more events or changes than this stop with an InputError [too-long-to-explain].
  explicit FlowTape(std::size_t records_max);
  /// The run is one of packet mode. Before it begins.
  void follow_packets() { follows_packets_ = true; }
  /// Packet mode, after the run: what transfers take alone.
  void take_ideals(std::span<const FinishedTransfer> finished);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<TransferRecord>& transfers() const { return transfers_; }
  const std::vector<FlowRecord>& flows() const { return flows_; }
  std::span<const LinkId> hops(std::uint32_t flow) const {
    return std::span(hops_).subspan(flows_[flow].first_hop, flows_[flow].hop_count);
  }
  /// By hop.
  std::span<const double> loads(std::uint32_t flow) const {
    return std::span(loads_).subspan(flows_[flow].first_hop, flows_[flow].hop_count);
  }
  /// Of all flows.
  std::size_t hop_total() const { return hops_.size(); }
  /// Other links of its path that are full as well: the limit is one of several that are alike.
  std::span<const LinkId> tied(const Change& change) const {
    return std::span(tied_).subspan(change.first_tied, change.tied_count);
  }
  const std::vector<Change>& changes() const { return changes_; }
  std::size_t step_count() const { return steps_.size(); }
  const Step& step(std::size_t i) const { return steps_[i]; }
  std::span<const Change> changes_of(std::size_t step) const;
  /// Flows that left at the step, before rates changed.
  std::span<const std::uint32_t> left_at(std::size_t step) const;
  /// Of links, when the run began.
  std::span<const double> capacities_bps() const { return capacities_bps_; }
  bool has_limits() const { return has_limits_; }

  // --- From the engine and the model ---
  void on_handled(const Event& event) override;
  void on_posted(const Event& event) override;
  void on_flow_leaves(FlowSlot slot, Time now) override;
  void on_rates_changed(std::span<const FlowSlot> changed, Time now, const AllocationPolicy& policy) override;

  // --- From the fabric ---
  void begin(const FlowLinkGraph& graph);
  /// A transfer is to enter at the instant's end, in this order; the event is being handled.
  void on_handed_over() { entering_.push_back(current_); }
  /// The next of them does.
  void next_enters();
  /// Returns the number of the transfer, whose slot is `slot`, or nothing's.
  std::uint32_t on_begins(const Transfer& transfer, FlowId id, Time start, Time now, std::uint32_t slot);
  void set_ideal(std::uint32_t slot, Duration ideal) { transfers_[transfer_of_slot_[slot]].ideal = ideal; }
  /// A transfer without bytes waits for the end of the instant, and does not any more.
  void on_empty_waits() { empty_entering_.push_back(entry_); }
  void next_empty_enters();
  /// A flow of the transfer in `slot` begins to move; `graph` has it.
  void on_flow_starts(FlowSlot flow, std::uint32_t slot, const QueuePairName& name, const FlowLinkGraph& graph, Time now);
  /// That of an operation, whose last member enters now.
  void on_joint_starts(FlowSlot flow, std::uint32_t joint_slot, const FlowLinkGraph& graph, Time now);
  /// A member of an operation of so many has come.
  void on_joins(std::uint32_t joint_slot, std::size_t member, std::size_t members, const Transfer& transfer, FlowId id, Time start,
                Time now);
  /// It has moved all its bytes. `arrival` at its destination.
  void on_flow_done(FlowSlot flow, Time arrival);
  /// What is posted next tells of the transfer, until stop_telling().
  void tell_of(std::uint32_t slot, Time now, Time arrival);
  void tell_of_empty(const Transfer& transfer, FlowId id, Time start, Time now, Time arrival);
  void tell_of_empty_in(std::uint32_t slot, const QueuePairName& name, Time now, Time arrival);
  void tell_of_joint(std::uint32_t joint_slot, std::size_t member, Duration ideal, Time now, Time arrival);
  void stop_telling() { told_ = {}; }

 private:
  struct Key {
    std::uint64_t sequence;
    std::uint32_t source;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return mix64(key.sequence ^ std::uint64_t{key.source} << 40); }
  };
  struct NameHash {
    std::size_t operator()(const QueuePairName& name) const noexcept { return name.hash(); }
  };
  struct Told {
    std::uint32_t transfer = none;
    std::uint32_t parent = none;
    std::uint32_t sent_by = none;
    std::uint32_t delivered_by = none;
  };
  struct Posted {
    std::uint32_t parent = none;
    std::uint32_t flow = none;
    std::uint32_t transfer = none;
  };
  struct TransferHash {
    std::size_t operator()(const Transfer& transfer) const noexcept;
  };
  struct SameTransfer {
    bool operator()(const Transfer& a, const Transfer& b) const noexcept;
  };
  /// Transfers that look alike, in order.
  struct Alike {
    std::deque<std::uint32_t> to_send;
    std::deque<std::uint32_t> to_deliver;
  };
  void begin_transfer(const Event& start);
  Posted notice_of(const Event& notice);
  std::uint32_t add_flow(FlowSlot slot, const FlowLinkGraph& graph, Time now);
  void note_limit(FlowSlot slot, const AllocationPolicy& policy);
  /// Whether the link has nothing left, at the rates of this round.
  bool is_full(LinkId link, const AllocationPolicy& policy);
  void refuse_if_too_long() const;

  std::size_t records_max_;
  std::vector<Node> nodes_;
  std::vector<TransferRecord> transfers_;
  std::vector<FlowRecord> flows_;
  std::vector<LinkId> hops_;
  std::vector<double> loads_;
  std::vector<Change> changes_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> left_;
  std::vector<double> capacities_bps_;
  bool has_limits_ = true;

  std::unordered_map<Key, Posted, KeyHash> posted_;
  std::uint32_t current_ = none;  ///< node
  std::deque<std::uint32_t> entering_;
  std::deque<std::uint32_t> empty_entering_;
  std::uint32_t entry_ = none;  ///< of what enters
  std::vector<std::uint32_t> transfer_of_slot_;
  std::vector<std::uint32_t> flow_of_slot_;
  /// By slot, by member: transfers
  std::vector<std::vector<std::uint32_t>> joint_members_;
  /// By slot
  std::vector<std::uint32_t> joint_flow_;
  /// Flow
  std::unordered_map<QueuePairName, std::uint32_t, NameHash> last_on_;
  /// By transfer: the latest so far
  std::vector<Time> arrivals_;
  Told told_;
  bool follows_packets_ = false;
  std::unordered_map<Transfer, Alike, TransferHash, SameTransfer> under_way_;
  /// Transfer, by connection.
  std::unordered_map<QueuePairName, std::uint32_t, NameHash> last_of_connection_;
  /// Transfer of the member that came last, by name and attempt of an operation in switches.
  std::map<std::pair<NodeId, AttemptId>, std::uint32_t> last_member_;
  std::size_t left_before_ = 0;  ///< of the last step
  std::vector<LinkId> tied_;
  struct Load {
    std::uint64_t round = 0;
    bool is_full = false;
  };
  std::vector<Load> link_loads_;
  std::vector<std::uint64_t> seen_link_;
  std::vector<std::uint64_t> seen_flow_;
  std::uint64_t round_ = 0;
};

}  // namespace weft
