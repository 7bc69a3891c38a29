// SPDX-License-Identifier: Apache-2.0
// Flow fabric: the network of a run in flow mode. It is one entity that all hosts send their
// transfers to.
//
// Where it sits: hosts start transfers through a FlowNetworkPort. The fabric splits a transfer into
// flows (queue pairs), chooses their paths (network/routing/ecmp, spray or adaptive), and shares
// the links among them (network/flow/flow_model). It sends transfer_sent and transfer_delivered.
//
// Timing of a transfer between hosts that is handed over at t:
//   enters     t + wqe_latency
//   leaves     when the last of its queue pairs has moved what came before and its own wire bytes
//   sent       leaves + completion_latency, at the source
//   delivered  last over all queue pairs: its leaving + the delay of its path + receive_latency
// All transfers that enter or end at one instant are one batch and one solve. Queue pairs move one
// transfer after another (network/flow/queue_pair_order). Transfers inside a host, operations in
// switches, cables that fail, stopped attempts, packets beside flows: docs/internals/flow_mode.md.
//
// Invariants
//   1. A transfer that enters gets exactly one transfer_sent and one transfer_delivered; a member
//      of an operation in switches gets the latter only. Exceptions: its attempt is stopped, or a
//      link without capacity holds it for good. The run ends without the latter; unfinished() has
//      them.
//   2. Transfers are numbered in order of entering, which depends on the order of events only.
//      Those that a resident moved (network/flow/fabric_resident) are as it tells of them.
// Threads: handle() as any entity; the observer is called from it. Counters may be read by anyone
// once the engine has stopped.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/engine/entity.hpp"
#include "network/congestion/congestion_monitor.hpp"
#include "network/flow/fabric_resident.hpp"
#include "network/flow/flow_loads.hpp"
#include "network/flow/flow_model.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/flow/inside_host.hpp"
#include "network/flow/queue_pair_order.hpp"
#include "network/flow/staging.hpp"
#include "network/flow/transfer_folding.hpp"
#include "network/in_network/switch_operations.hpp"
#include "network/network_model.hpp"
#include "network/routing/adaptive.hpp"
#include "network/routing/available_routes.hpp"
#include "network/routing/cable_outages.hpp"
#include "network/routing/ecmp.hpp"
#include "network/routing/spray.hpp"
#include "network/transfer_records.hpp"
#include "network/wide_area/wide_area_paths.hpp"

namespace weft {

class FlowTape;

/// Of flows, only those of the fabric's own: what a resident moves elsewhere counts when it comes
/// here, and again each time.
struct FlowFabricCounters {
  std::uint64_t transfers_started = 0;
  std::uint64_t transfers_finished = 0;  ///< left their source
  std::uint64_t flows_started = 0;       ///< queue pairs with at least one byte
  std::uint64_t flows_active_peak = 0;
  std::uint64_t solves = 0;        ///< batches
  std::uint64_t rate_changes = 0;  ///< rates set, over all solves
  Bytes payload_bytes;             ///< of finished transfers
};

/// A host's door to the flow fabric: a message with the latency of the work queue or of NVLink.
class FlowNetworkPort final : public NetworkPort {
 public:
  /// `fabric` is the fabric's entity. Keeps a reference to the topology. Any host may use the same
  /// port.
  FlowNetworkPort(const Topology& topology, const FlowSettings& settings, EntityId fabric);

  void start(const Transfer& transfer, EventContext& context) const override;

 private:
  InsideHost inside_host_;
  Staging staging_;
  Duration wqe_latency_;
  Duration nvlink_latency_;
  EntityId fabric_;
};

class FlowFabric final : public Entity {
 public:
  /// Keeps a reference to the topology. `policy` was made for link_capacities_bps(topology).
  /// `entity_of_host` is indexed by HostId. `observer` may be null, and so may `folding`, which
  /// outlives the fabric. `operations` is where those that transfers join are registered, and
  /// outlives the fabric; null if there are none.
  FlowFabric(const Topology& topology, const FlowSettings& settings, std::unique_ptr<AllocationPolicy> policy,
             std::vector<EntityId> entity_of_host, FlowObserver* observer = nullptr, const TransferFolding* folding = nullptr,
             const SwitchOperations* operations = nullptr);

  void handle(const Event& event, EventContext& context) override;

  /// From a change of a cable until routes change for it; at once unless told otherwise.
  void take_other_routes_after(Duration reroute) { outages_.set_reroute(reroute); }

  /// Tells it of every flow, from now on; it outlives the fabric.
  void watch_congestion(CongestionMonitor& monitor);
  /// Tells it of everything, from now on; it outlives the fabric. Requires: nobody lives here, no
  /// transfer is folded, no cable changes, and neither of the two others.
  void record(FlowTape& tape);
  using TellOfLoad = std::function<void(const FlowLoads::LinkLoad& load, double capacity_bps, EventContext& context)>;
  /// Some transfers are packets, and from now on `tell` is called at every change of what flows
  /// take of a link. Not beside watch_congestion().
  void share_with_packets(TellOfLoad tell);

  // For who lives here.
  /// From now on; it outlives the fabric.
  void take_in(FabricResident& resident) { resident_ = &resident; }
  /// The way of a transfer's only queue pair over hashed paths. Valid until the next call.
  EcmpPaths::Path hashed_path(NodeId source, NodeId destination, std::uint32_t connection) {
    return ecmp_.find(source, destination, connection, 0);
  }
  /// All links that a transfer may take. Valid until the next call.
  std::span<const LinkId> links_of(const Transfer& transfer);
  /// Whether what crosses the link is slowed down or delayed as between sites.
  bool is_wide_area(LinkId link) const { return wide_area_.act_on(link); }
  /// Whether a link carries nothing but transfers of an owner, and nothing else waits to.
  bool carries_only(LinkId link, std::uint32_t owner) const;
  bool is_stopped(AttemptId attempt) const {
    return !attempt.is_none() && attempt.index() < stopped_.size() && stopped_[attempt.index()];
  }
  /// A transfer of its that has entered, but not left.
  struct UnderWay {
    OwnedTransfer owned;
    FlowId id = FlowId::none();  ///< none: it gets one
    Time start;
    Duration path_delay;  ///< the last latency included
    Duration ideal;       ///< from entering the network
    FlowProgress progress;
    bool inside_host = false;
  };
  /// One goes on here.
  void adopt(const UnderWay& under_way);
  /// Those of an owner go on elsewhere, in order of entering. `links`: all that they may be on.
  /// Requires: the links carry nothing else.
  std::vector<UnderWay> take_out(std::span<const LinkId> links);
  /// A transfer has left elsewhere.
  void note_left(FinishedTransfer left);
  void note_carried(LinkId link, Bytes bytes) { model_.add_bytes(link, bytes); }
  /// Bytes were under way until then.
  void note_busy(Time until) { busy_until_ = std::max(busy_until_, until); }

  /// The run is over, or was cut off: all that has happened until `now` is to be known;
  /// Time::max(): nothing else happens any more.
  void catch_up(Time now);

  FlowFabricCounters counters() const;
  const WideAreaUse& wide_area_use() const { return wide_area_use_; }
  /// Until when flows have been under way, as of the last change, and as far as a resident told.
  Time busy_until() const { return busy_until_; }
  bool is_busy() const { return model_.active_flows() > 0; }
  /// By LinkId, what links have carried by `now`, which is not before the last event that the
  /// fabric handled. Utilization is over begin .. end: from the start of the first job or flow
  /// until the last has ended, and what it left behind.
  std::vector<LinkUsage> link_usage(Time begin, Time end, Time now) const;
  /// Transfers that have not left their source, in order of entering; of every operation in
  /// switches under way, the first member's.
  std::vector<UnfinishedTransfer> unfinished() const;

 private:
  struct ActiveTransfer {
    Transfer transfer;
    Time start;
    Duration ideal;  ///< from being handed over
    FlowId id;
    std::uint32_t multiplicity = 1;
    std::uint32_t flows_left : 27 = 0;  ///< 0 while the slot is free
    bool has_several : 1 = false;       ///< queue pairs
    bool inside_host : 1 = false;
    bool is_folded : 1 = false;
    bool is_of_packets : 1 = false;
    bool is_owned : 1 = false;  ///< by the resident
    std::uint32_t owner = 0;    ///< then
  };
  static_assert(sizeof(ActiveTransfer) == 64, "there may be tens of millions");
  /// Whose a flow is.
  struct FlowOwner {
    explicit FlowOwner(std::uint32_t packed) : slot(packed & ~joint), is_joint((packed & joint) != 0) {}
    static constexpr std::uint32_t joint = std::uint32_t{1} << 31;
    std::uint32_t slot;  ///< of a transfer or of a joint operation
    bool is_joint;
  };
  /// An operation in switches that members have joined.
  struct JointOperation {
    struct Joined {
      Transfer transfer;
      FlowId id = FlowId::none();  ///< none() until the member joins
      Time entered;
    };
    const SwitchOperation* operation = nullptr;  ///< null while the slot is free
    AttemptId attempt = AttemptId::none();
    std::vector<Joined> members;  ///< in the operation's order
    std::size_t joined = 0;
    Time begun;
    Duration moving_alone;
  };
  /// What members have in common: attempt, operation, tag.
  using JointKey = std::tuple<AttemptId, NodeId, std::uint64_t>;
  /// Whose packets they are: attempt, source, destination, connection, tag.
  using PacketsKey = std::tuple<AttemptId, NodeId, NodeId, std::uint32_t, std::uint64_t>;
  static PacketsKey packets_key(const Transfer& t) { return {t.attempt, t.source, t.destination, t.connection, t.tag}; }

  struct HashOfName {
    std::size_t operator()(const QueuePairName& name) const { return name.hash(); }
  };
  /// What one queue pair of a transfer crosses.
  struct FlowPath {
    std::span<const LinkId> links;
    std::span<const double> loads;  ///< empty: 1 each
    PathDelay delay;
    /// Of links that all carry all of it, each once; 0: it is not known
    double slowest_bps = 0;
    const WideAreaRate* wide_area = nullptr;  ///< null: it crosses no line between sites that acts
  };
  /// What a queue pair carries of a transfer.
  struct Part {
    std::uint32_t slot = 0;
    std::uint32_t queue_pair = 0;
  };
  struct NextPart {
    Part part;
    Fifo<Part> line;  ///< behind it
  };

  enum class Origin : std::uint8_t { host, packets, resident };
  void begin(const OwnedTransfer& entering, Origin origin, Time now, EventContext& context);
  void begin_empty(ActiveTransfer& active, const TransferFolding::FoldedPath& folded, Duration entry, Time now,
                   EventContext& context);
  /// It has entered, and nothing is before it.
  void finish_empty(const ActiveTransfer& active, Time now, EventContext& context);
  /// All with bytes that enter at this instant have done so.
  void enter_empty(const ActiveTransfer& active, Time now, EventContext& context);
  void end_packets(const Transfer& transfer, Time now);
  /// Queue pairs of the connection that it goes over.
  std::uint32_t queue_pairs_of(const ActiveTransfer& active) const { return active.inside_host ? 1 : settings_.queue_pairs; }
  /// Those that carry some of it.
  std::uint32_t parts_of(const ActiveTransfer& active) const;
  /// What one of them carries.
  Bytes wire_bytes_of(const ActiveTransfer& active, std::uint32_t queue_pair) const;
  double queue_pair_cap_bps(const ActiveTransfer& active, const FlowPath& path) const;
  /// Flows of a list are each a connection of its own.
  static bool has_order(const ActiveTransfer& active) { return !active.transfer.attempt.is_none() || active.is_of_packets; }
  QueuePairName name_of(FlowSlot flow) const {
    return QueuePairName(transfers_[owner_of(flow).slot].transfer, queue_pair_of(flow));
  }
  /// The flow that moves over the queue pair; nothing: it is free.
  std::optional<FlowSlot> moving_over(const QueuePairName& name) const;
  /// The flow that a new part of a transfer has to wait for.
  std::optional<FlowSlot> moving_before(const ActiveTransfer& active, std::uint32_t queue_pair) const;
  /// Whether it goes before what moves or waits on its queue pair: both entered at one instant.
  static bool goes_before(const ActiveTransfer& entering, const ActiveTransfer& other) {
    return entering.start == other.start && goes_first(entering.transfer, other.transfer);
  }
  /// It does not move yet, though it began to at `now`. Returns it and those that wait behind it.
  Fifo<Part> hold_back(FlowSlot moving, Time now);
  void wait(FlowSlot moving, Part part);
  /// The flow is over, or stands for others no longer.
  void leave_queue_pair(FlowSlot flow);
  void let_next_move(Time now, EventContext& context);
  /// Grows with the number of the transfer. Requires: a completion of this instant.
  std::uint64_t order_of(const FlowCompletion& completion) const;
  void join(const Transfer& transfer, Time now, EventContext& context);
  /// Ends all that belongs to attempts that have been stopped.
  void cancel_stopped(Time now);
  void change_cables(Time now);
  void change_routes(Time now);
  /// Flows whose routes have changed go on over the new ones.
  void move_flows(Time now);
  void tell_congestion(FlowSlot flow, const ActiveTransfer& active, const LinkFolding* folding);
  /// Where bytes of transfers that were folded are counted.
  std::uint32_t account_of(const TransferFolding::FoldedPath& folded);
  void add_folded(const FlowModel::CountedBytes& counted, std::vector<Bytes>& by_link) const;
  FlowOwner owner_of(FlowSlot flow) const { return FlowOwner(model_.owner(flow)); }
  std::uint32_t queue_pair_of(FlowSlot flow) const { return flow.index() < queue_pairs_.size() ? queue_pairs_[flow.index()] : 0; }
  /// Of one that begins.
  void note_flow(FlowSlot flow, Duration path_delay, std::uint32_t queue_pair);
  void begin_joint(std::uint32_t slot, Time now, EventContext& context);
  void finish_joint(std::uint32_t slot, Time now, EventContext& context);
  Duration entry_latency(bool inside_host) const { return inside_host ? settings_.nvlink_latency : settings_.wqe_latency; }
  Duration last_latency(bool inside_host) const { return inside_host ? settings_.completion_latency : settings_.receive_latency; }
  void settle(EventContext& context);
  void finish(const ActiveTransfer& active, Time arrival, Time now, EventContext& context);
  void plan_settle(Time at, EventContext& context);
  /// Valid until the next call.
  FlowPath path_of(const Transfer& transfer, std::uint32_t queue_pair, bool inside_host);
  /// By what lines between sites do to it.
  void slow_down(FlowPath& path);
  /// Later than its path has it.
  Duration jitter_of(const ActiveTransfer& active, std::uint32_t queue_pair, const FlowPath& path) const;
  /// Not before what the queue pair has carried before it.
  Time in_order(const ActiveTransfer& active, std::uint32_t queue_pair, Time arrival);
  /// With its jitter, of one without bytes that would be there at `arrival`.
  Time arrival_of_empty(const ActiveTransfer& active, Time arrival);
  void note_wide_area(const ActiveTransfer& active, const FlowPath& path);
  /// Bytes of it begin to move, and others wait behind them.
  void start_flow(const ActiveTransfer& active, Part part, const FlowPath& path, const TransferFolding::FoldedPath& folded,
                  Duration delay, Fifo<Part> line);
  TransferFolding::FoldedPath folded_path(const Transfer& transfer) const {
    return folding_ == nullptr ? TransferFolding::FoldedPath{} : folding_->path(transfer);
  }
  /// From the last byte's departure until the destination knows that it has arrived.
  Duration delay_of(const ActiveTransfer& active, PathDelay path, std::uint32_t queue_pair) const;
  Duration delay_of_empty(const ActiveTransfer& active, const TransferFolding::FoldedPath& folded);
  /// From having arrived until the destination knows.
  Duration last_delay(const ActiveTransfer& active) const;
  /// A queue pair of the transfer being started takes so much over a link.
  void load_alone(LinkId link, double wire_bits);
  /// Of the queue pairs told of since the last call: when the last of them has left if nothing else
  /// moves. The most loaded link decides, or how fast the largest of them may go.
  Duration moving_time_alone(Bytes largest, double cap_bps);
  EntityId host_entity(NodeId endpoint) const;
  /// Of a transfer that is one of its own from now on.
  FlowId new_id();

  const Topology& topology_;
  FlowSettings settings_;
  InsideHost inside_host_;
  Staging staging_;
  LinkDelays link_delays_;
  AvailableRoutes available_;
  EcmpPaths ecmp_;
  SprayPaths spray_;
  AdaptivePaths adaptive_;
  WideAreaPaths wide_area_;
  FlowModel model_;
  std::vector<EntityId> entity_of_host_;
  FlowObserver* observer_;
  const TransferFolding* folding_;
  const SwitchOperations* operations_;
  FabricResident* resident_ = nullptr;
  CongestionMonitor* congestion_ = nullptr;
  FlowTape* tape_ = nullptr;
  std::optional<FlowLoads> loads_;  ///< if some transfers are packets
  TellOfLoad tell_of_load_;
  std::uint32_t packets_account_ = 0;  ///< of bytes that are not flows'

  std::vector<CableChanges> cable_changes_;  ///< of this instant
  CableOutages outages_;
  std::deque<Transfer> entering_;           ///< transfers of this instant, perhaps millions
  std::vector<Transfer> packets_entering_;  ///< likewise, of packets
  std::vector<Transfer> packets_leaving_;
  std::vector<bool> stopped_;  ///< by AttemptId
  bool has_stopped_ = false;   ///< some attempt was, at this instant
  struct Account {
    const LinkFolding* folding = nullptr;  ///< null: of packets
    std::uint32_t relation = 0;
  };
  std::vector<Account> accounts_;  ///< from account 1 on
  /// By what they were folded by, by relation; 0: none yet
  std::unordered_map<const LinkFolding*, std::vector<std::uint32_t>> account_of_;
  std::vector<ActiveTransfer> transfers_;  ///< by slot
  std::vector<std::uint32_t> free_transfers_;
  std::vector<JointOperation> joint_;  ///< by slot
  std::vector<std::uint32_t> free_joint_;
  std::multimap<PacketsKey, std::uint32_t> packets_;  ///< slots of transfers
  /// Slots of operations that not all members have joined.
  std::map<JointKey, std::uint32_t> waiting_;
  /// By slot of a transfer of several queue pairs: the latest arrival of those that have left.
  std::vector<Time> arrivals_;
  std::vector<Duration> path_delays_;           ///< by flow slot; the last latency included
  std::vector<std::uint32_t> queue_pairs_;      ///< by flow slot, as far as one was not 0
  QueuePairOrder<Part> order_;                  ///< of flow slots
  std::vector<NextPart> next_parts_;            ///< that begin to move at this instant
  std::vector<ActiveTransfer> empty_entering_;  ///< that enter at this instant without bytes
  /// Some transfer did: flows may begin in another order than transfers.
  bool has_waited_ = false;
  /// Settle events under way, latest first.
  std::vector<Time> planned_;
  std::vector<FlowCompletion> done_;
  std::uint32_t next_id_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t finished_ = 0;
  Time busy_until_;
  Time settling_at_;  ///< the instant that settle() is at, or was at last
  Bytes payload_bytes_;
  WideAreaUse wide_area_use_;
  /// Where lines have a jitter: when the last message of a queue pair arrives.
  std::unordered_map<QueuePairName, Time, HashOfName> last_arrivals_;
  std::vector<LinkId> staged_links_;  ///< of the path that path_of() returned last
  std::vector<double> staged_loads_;
  std::optional<WideAreaRate> wide_area_rate_;  ///< likewise
  std::vector<LinkId> loaded_links_;            ///< by the transfer being started
  /// By link: wire bits of that transfer; 0 but on loaded_links_.
  std::vector<double> load_bits_;
};

}  // namespace weft
