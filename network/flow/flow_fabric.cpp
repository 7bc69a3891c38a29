// SPDX-License-Identifier: Apache-2.0
#include "network/flow/flow_fabric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.hpp"
#include "core/containers/free_slots.hpp"
#include "network/flow/flow_tape.hpp"
#include "network/flow/private_flows.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

static_assert(1U << transfer_priority_bits == priority_classes);

/// The fabric's own event.
constexpr std::uint16_t settle_event = 103;
/// More than a link of 1.6 Tb/s moves in a year.
constexpr Bytes endless = Bytes::of(std::numeric_limits<std::int64_t>::max());
/// Kept of each endpoint; in collectives ranks send by few again and again.
constexpr std::size_t hashed_paths_of_endpoint = 8;

}  // namespace

FlowNetworkPort::FlowNetworkPort(const Topology& topology, const FlowSettings& settings, EntityId fabric)
    : inside_host_(topology),
      staging_(topology, settings),
      wqe_latency_(settings.wqe_latency),
      nvlink_latency_(settings.nvlink_latency),
      fabric_(fabric) {}

void FlowNetworkPort::start(const Transfer& transfer, EventContext& context) const {
  const bool is_operation = SwitchOperationName::is_one(transfer.destination);
  const bool inside = is_operation ? SwitchOperationName::of(transfer.destination).is_inside_host()
                                   : inside_host_.joins(transfer.source, transfer.destination);
  const Duration staging = is_operation ? Duration::zero() : staging_.delay(transfer.source);
  context.send(fabric_, inside ? nvlink_latency_ : wqe_latency_ + staging, transfer_start, transfer);
}

FlowFabric::FlowFabric(const Topology& topology, const FlowSettings& settings, std::unique_ptr<AllocationPolicy> policy,
                       std::vector<EntityId> entity_of_host, FlowObserver* observer, const TransferFolding* folding,
                       const SwitchOperations* operations)
    : topology_(topology),
      settings_(settings),
      inside_host_(topology),
      staging_(topology, settings),
      link_delays_(topology, settings.switching_delay, settings.forwarding),
      available_(topology, settings.path_rule.weights),
      ecmp_(topology, settings.path_rule,
            std::max(settings.path_cache_entries, hashed_paths_of_endpoint * topology.endpoints().size()), &link_delays_),
      spray_(topology, link_delays_, settings.path_cache_entries, settings.path_rule.weights),
      adaptive_(topology, settings.path_rule.seed,
                settings.routing == Routing::adaptive_global ? AdaptiveView::whole_paths : AdaptiveView::own_links),
      wide_area_(topology, settings),
      model_(std::move(policy)),
      entity_of_host_(std::move(entity_of_host)),
      observer_(observer),
      folding_(folding),
      operations_(operations),
      outages_(topology),
      load_bits_(topology.link_count(), 0.0) {
  if (settings.path_rule.weights == PathWeights::capacity) outages_.follow_shares();
  WEFT_CHECK(entity_of_host_.size() == topology.host_count(), "every host has an entity");
  WEFT_CHECK(model_.policy().graph().link_count() == topology.link_count(), "the policy was made for this topology");
}

void FlowFabric::handle(const Event& event, EventContext& context) {
  if (event.kind == transfer_start) {
    if (tape_ != nullptr) tape_->on_handed_over();
    entering_.push_back(event.payload_as<Transfer>());
    plan_settle(context.now(), context);
    return;
  }
  if (event.kind == packets_start || event.kind == packets_end) {
    (event.kind == packets_start ? packets_entering_ : packets_leaving_).push_back(event.payload_as<Transfer>());
    plan_settle(context.now(), context);
    return;
  }
  if (event.kind == attempt_stopped) {
    const AttemptId attempt = event.payload_as<AttemptStopped>().attempt;
    if (stopped_.size() <= attempt.index()) stopped_.resize(attempt.index() + 1, false);
    stopped_[attempt.index()] = true;
    has_stopped_ = true;
    if (resident_ != nullptr) resident_->on_stopped(attempt);
    plan_settle(context.now(), context);
    return;
  }
  if (event.kind == cable_changes) {
    cable_changes_.push_back(event.payload_as<CableChanges>());
    plan_settle(context.now(), context);
    return;
  }
  if (event.kind == resident_message) {
    WEFT_CHECK(resident_ != nullptr, "somebody lives at the fabric who is told something");
    resident_->take(event);
    plan_settle(context.now(), context);
    return;
  }
  WEFT_CHECK(event.kind == settle_event, "the fabric knows the kind of every event it gets");
  WEFT_CHECK(!planned_.empty() && planned_.back() == context.now(), "settle events come when they were planned");
  planned_.pop_back();
  settle(context);
}

void FlowFabric::watch_congestion(CongestionMonitor& monitor) {
  congestion_ = &monitor;
  model_.watch(monitor);
}

void FlowFabric::share_with_packets(TellOfLoad tell) {
  WEFT_CHECK(congestion_ == nullptr, "congestion is looked for in flow mode only");
  loads_.emplace(model_.policy());
  model_.watch(*loads_);
  tell_of_load_ = std::move(tell);
  accounts_.push_back({});
  packets_account_ = static_cast<std::uint32_t>(accounts_.size());
}

void FlowFabric::plan_settle(Time at, EventContext& context) {
  // A completion that moved later leaves its old event behind; it then finds nothing to do and
  // plans the next.
  if (!planned_.empty() && planned_.back() <= at) return;
  planned_.push_back(at);
  context.schedule(at - context.now(), EventClass::settle, settle_event);
}

void FlowFabric::settle(EventContext& context) {
  const Time now = context.now();
  settling_at_ = now;
  if (resident_ != nullptr) resident_->begin_instant(entering_, now);
  if (model_.active_flows() > 0) busy_until_ = now;
  done_.clear();
  model_.take_completions(now, done_);
  if (has_waited_) std::ranges::sort(done_, {}, [this](const FlowCompletion& completion) { return order_of(completion); });
  for (const FlowCompletion& completion : done_) {
    const FlowOwner owner(completion.owner);
    if (owner.is_joint) {
      if (tape_ != nullptr) tape_->on_flow_done(completion.flow, now);
      finish_joint(owner.slot, now, context);
      continue;
    }
    ActiveTransfer& active = transfers_[owner.slot];
    WEFT_CHECK(!active.is_of_packets, "flows that stand for packets do not end by themselves");
    if (has_order(active)) leave_queue_pair(completion.flow);
    Time arrival = in_order(active, queue_pair_of(completion.flow), now + path_delays_[completion.flow.index()]);
    if (tape_ != nullptr) tape_->on_flow_done(completion.flow, arrival);
    if (active.has_several) arrival = arrivals_[owner.slot] = std::max(arrivals_[owner.slot], arrival);
    if (--active.flows_left > 0) continue;
    if (tape_ != nullptr) tape_->tell_of(owner.slot, now, arrival);
    finish(active, arrival, now, context);
    free_transfers_.push_back(owner.slot);
  }
  if (std::exchange(has_stopped_, false)) cancel_stopped(now);
  change_cables(now);
  change_routes(now);
  let_next_move(now, context);
  if (resident_ != nullptr) resident_->go_on(context);
  for (; !entering_.empty(); entering_.pop_front()) {
    const Transfer& transfer = entering_.front();
    if (tape_ != nullptr) tape_->next_enters();
    if (is_stopped(transfer.attempt)) continue;
    if (SwitchOperationName::is_one(transfer.destination)) {
      join(transfer, now, context);
    } else {
      begin({transfer}, Origin::host, now, context);
    }
  }
  if (resident_ != nullptr) {
    for (const OwnedTransfer& owned : resident_->take_entering()) begin(owned, Origin::resident, now, context);
  }
  for (const Transfer& transfer : packets_entering_) {
    if (!is_stopped(transfer.attempt)) begin({transfer}, Origin::packets, now, context);
  }
  packets_entering_.clear();
  for (const Transfer& transfer : packets_leaving_) {
    end_packets(transfer, now);
    let_next_move(now, context);
  }
  packets_leaving_.clear();
  for (const ActiveTransfer& empty : empty_entering_) {
    if (tape_ != nullptr) tape_->next_empty_enters();
    enter_empty(empty, now, context);
  }
  empty_entering_.clear();
  model_.settle(now);
  if (loads_) {
    for (const FlowLoads::LinkLoad& load : loads_->take_changes())
      tell_of_load_(load, model_.policy().graph().capacity(load.link), context);
  }
  if (resident_ != nullptr) resident_->end_instant(now);
  const Time next = std::min({model_.next_completion(), outages_.next(), resident_ == nullptr ? Time::max() : resident_->next()});
  if (next < Time::max()) plan_settle(next, context);
}

void FlowFabric::cancel_stopped(Time now) {
  const FlowLinkGraph& graph = model_.policy().graph();
  for (std::uint32_t slot = 0; slot < graph.slot_count(); ++slot) {
    if (!graph.alive(FlowSlot(slot))) continue;
    const FlowOwner owner = owner_of(FlowSlot(slot));
    if (!is_stopped(owner.is_joint ? joint_[owner.slot].attempt : transfers_[owner.slot].transfer.attempt)) continue;
    if (!owner.is_joint) leave_queue_pair(FlowSlot(slot));
    model_.cancel(FlowSlot(slot), now);
  }
  // Whoever waits on a queue pair is of the same attempt as what moves.
  std::erase_if(next_parts_, [this](const NextPart& next) { return is_stopped(transfers_[next.part.slot].transfer.attempt); });
  for (std::uint32_t slot = 0; slot < transfers_.size(); ++slot) {
    if (transfers_[slot].flows_left == 0 || !is_stopped(transfers_[slot].transfer.attempt)) continue;
    transfers_[slot].flows_left = 0;
    free_transfers_.push_back(slot);
  }
  std::erase_if(packets_, [this](const auto& entry) { return is_stopped(std::get<AttemptId>(entry.first)); });
  std::erase_if(waiting_, [this](const auto& waiting) { return is_stopped(std::get<AttemptId>(waiting.first)); });
  for (std::uint32_t slot = 0; slot < joint_.size(); ++slot) {
    if (joint_[slot].operation == nullptr || !is_stopped(joint_[slot].attempt)) continue;
    joint_[slot].operation = nullptr;
    free_joint_.push_back(slot);
  }
}

void FlowFabric::change_cables(Time now) {
  for (const CableChanges& change : cable_changes_) {
    const LinkId reverse = topology_.reverse(change.cable());
    for (const LinkId link : {change.cable(), reverse}) {
      const double rate_bps = static_cast<double>(topology_.link(link).rate.in_bps()) * change.share();
      model_.set_capacity(link, Bandwidth::bps(std::llround(rate_bps)));
    }
    outages_.change(change, now);
  }
  cable_changes_.clear();
}

void FlowFabric::change_routes(Time now) {
  if (!outages_.take(now)) return;
  available_.avoid(outages_.avoided(), outages_.shares());
  ecmp_.take(available_);
  spray_.take(available_);
  adaptive_.take(available_);
  move_flows(now);
}

void FlowFabric::move_flows(Time now) {
  const FlowLinkGraph& graph = model_.policy().graph();
  std::vector<FlowSlot> flows;
  for (std::uint32_t slot = 0; slot < graph.slot_count(); ++slot) {
    if (!graph.alive(FlowSlot(slot))) continue;
    const FlowOwner owner = owner_of(FlowSlot(slot));
    if (owner.is_joint || transfers_[owner.slot].inside_host) continue;
    const auto is_avoided = [&](const FlowLinkGraph::Hop& hop) { return outages_.avoided()[hop.link.index()]; };
    if (!is_adaptive(settings_.routing) || std::ranges::any_of(graph.hops(FlowSlot(slot)), is_avoided)) flows.emplace_back(slot);
  }
  for (const FlowSlot slot : flows) {
    const std::uint32_t owner = owner_of(slot).slot;
    const std::uint32_t queue_pair = queue_pair_of(slot);
    const ActiveTransfer& active = transfers_[owner];
    WEFT_CHECK(!active.is_folded, "ranks are not folded where ways change");
    const FlowPath path = path_of(active.transfer, queue_pair, false);
    const auto is_same_link = [](const FlowLinkGraph::Hop& hop, LinkId link) { return hop.link == link; };
    const bool is_same_way = std::ranges::equal(graph.hops(slot), path.links, is_same_link);
    if (is_same_way && graph.has_loads(slot, path.loads)) continue;
    const FlowSlot to = model_.move(slot, path.links, path.loads, queue_pair_cap_bps(active, path), now);
    if (has_order(active)) order_.renumber(QueuePairName(active.transfer, queue_pair), slot.index(), to.index());
    note_flow(to, delay_of(active, path.delay, queue_pair) + jitter_of(active, queue_pair, path), queue_pair);
    if (congestion_ != nullptr) tell_congestion(to, active, nullptr);
    if (loads_) loads_->on_flow_starts(to, !active.is_of_packets);
  }
}

void FlowFabric::tell_congestion(FlowSlot flow, const ActiveTransfer& active, const LinkFolding* folding) {
  // The links of folded transfers are those of some alike, perhaps of other hosts.
  const bool knows_hosts = !active.is_folded || active.inside_host;
  const HostId from = knows_hosts ? topology_.node(active.transfer.source).host : HostId::none();
  const HostId to = knows_hosts ? topology_.node(active.transfer.destination).host : HostId::none();
  congestion_->on_flow_starts(flow, {active.transfer.attempt, from, to, active.multiplicity, folding});
}

std::uint32_t FlowFabric::account_of(const TransferFolding::FoldedPath& folded) {
  if (folded.folding == nullptr) return 0;
  std::vector<std::uint32_t>& by_relation = account_of_[folded.folding];
  const std::uint32_t relation = folded.folding->relations_counted() > 0 ? folded.relation : 0;
  if (by_relation.size() <= relation) by_relation.resize(relation + 1, 0);
  if (by_relation[relation] == 0) {
    accounts_.push_back({folded.folding, relation});
    by_relation[relation] = static_cast<std::uint32_t>(accounts_.size());
  }
  return by_relation[relation];
}

std::optional<FlowSlot> FlowFabric::moving_over(const QueuePairName& name) const {
  const auto found = order_.moving(name, [this](std::uint32_t flow) { return name_of(FlowSlot(flow)); });
  return found ? std::optional(FlowSlot(*found)) : std::nullopt;
}

std::optional<FlowSlot> FlowFabric::moving_before(const ActiveTransfer& active, std::uint32_t queue_pair) const {
  if (!has_order(active)) return std::nullopt;
  return moving_over(QueuePairName(active.transfer, queue_pair));
}

Fifo<FlowFabric::Part> FlowFabric::hold_back(FlowSlot moving, Time now) {
  has_waited_ = true;
  Fifo<Part> line = order_.hold_back(moving.index(), {owner_of(moving).slot, queue_pair_of(moving)});
  model_.take_back(moving, now);
  return line;
}

void FlowFabric::wait(FlowSlot moving, Part part) {
  order_.wait(moving.index(), part,
              [this](const Part& a, const Part& b) { return goes_before(transfers_[a.slot], transfers_[b.slot]); });
  has_waited_ = true;
}

void FlowFabric::leave_queue_pair(FlowSlot flow) {
  Fifo<Part> line = order_.end(flow.index());
  if (line.empty()) return;
  const Part next = line.front();
  line.pop();
  next_parts_.push_back({next, std::move(line)});
}

void FlowFabric::let_next_move(Time now, EventContext& context) {
  for (NextPart& next : next_parts_) {
    while (true) {
      const std::uint32_t slot = next.part.slot;
      ActiveTransfer& active = transfers_[slot];
      const TransferFolding::FoldedPath folded = folded_path(active.transfer);
      if (active.transfer.size > Bytes::zero()) {
        const FlowPath path = path_of(active.transfer, next.part.queue_pair, active.inside_host);
        const PathDelay path_delay = active.is_folded ? folded.delay : path.delay;
        start_flow(active, next.part, path, folded, delay_of(active, path_delay, next.part.queue_pair), std::move(next.line));
        break;
      }
      active.flows_left = 0;
      const Time arrival = arrival_of_empty(active, now + delay_of_empty(active, folded));
      if (tape_ != nullptr) tape_->tell_of_empty_in(slot, QueuePairName(active.transfer, next.part.queue_pair), now, arrival);
      finish(active, arrival, now, context);
      free_transfers_.push_back(slot);
      if (next.line.empty()) break;
      next.part = next.line.front();
      next.line.pop();
    }
  }
  next_parts_.clear();
}

void FlowFabric::end_packets(const Transfer& transfer, Time now) {
  const auto found = packets_.find(packets_key(transfer));
  if (found == packets_.end()) return;  // its attempt was stopped
  const std::uint32_t slot = found->second;
  packets_.erase(found);
  ActiveTransfer& active = transfers_[slot];
  const std::uint32_t parts = parts_of(active);
  for (std::uint32_t i = 0; i < parts; ++i) {
    const FlowSlot flow = *moving_over(QueuePairName(active.transfer, i));
    if (owner_of(flow).slot == slot) {
      leave_queue_pair(flow);
      model_.cancel(flow, now);
    } else {
      order_.leave_line(flow.index(), [&](const Part& part) { return part.slot == slot; });
    }
  }
  active.flows_left = 0;
  free_transfers_.push_back(slot);
}

void FlowFabric::begin(const OwnedTransfer& entering, Origin origin, Time now, EventContext& context) {
  const Transfer& transfer = entering.transfer;
  const bool is_of_packets = origin == Origin::packets;
  WEFT_CHECK(transfer.size >= Bytes::zero() && (!is_control(transfer) || transfer.size == Bytes::zero()),
             "a transfer has zero or more bytes, a control message none");
  WEFT_CHECK(next_id_ < FlowId::none().index(), "transfers of a run are counted in 32 bits");
  ActiveTransfer active;
  active.transfer = transfer;
  active.is_of_packets = is_of_packets;
  active.is_owned = origin == Origin::resident;
  active.owner = entering.owner;
  if (!is_of_packets && !is_control(transfer)) active.id = FlowId(next_id_++);
  active.inside_host = inside_host_.joins(transfer.source, transfer.destination);
  const Duration entry =
      entry_latency(active.inside_host) + (active.inside_host ? Duration::zero() : staging_.delay(transfer.source));
  active.start = now - entry;
  const TransferFolding::FoldedPath folded = folded_path(transfer);
  active.multiplicity = folded.multiplicity;
  active.is_folded = folded.folding != nullptr;
  started_ += is_of_packets || is_control(transfer) ? 0 : folded.multiplicity;

  if (transfer.size == Bytes::zero()) return begin_empty(active, folded, entry, now, context);
  const std::uint32_t slot = take_slot(transfers_, free_transfers_);
  WEFT_CHECK(slot < FlowOwner::joint, "transfers under way are counted in 31 bits");
  const std::uint32_t parts = parts_of(active);
  active.flows_left = parts;
  active.has_several = parts > 1;
  transfers_[slot] = active;
  if (tape_ != nullptr) tape_->on_begins(transfer, active.id, active.start, now, slot);
  if (active.has_several) {
    if (arrivals_.size() <= slot) arrivals_.resize(transfers_.size());
    arrivals_[slot] = now;
  }
  if (is_of_packets) packets_.emplace(packets_key(transfer), slot);

  Duration shortest = Duration::max();
  double only_way_bps = 0;  // of its slowest link; 0: there are several ways, or it is not known
  double cap_bps = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::optional<FlowSlot> before = moving_before(active, i);
    const bool waits = before && !goes_before(active, transfers_[owner_of(*before).slot]);
    // What is held back is in nobody's way.
    Fifo<Part> line = before && !waits ? hold_back(*before, now) : Fifo<Part>();
    const FlowPath path = path_of(transfer, i, active.inside_host);
    const Duration delay = delay_of(active, active.is_folded ? folded.delay : path.delay, i);
    if (waits) {
      wait(*before, {slot, i});
    } else {
      start_flow(active, {slot, i}, path, folded, delay, std::move(line));
    }
    shortest = std::min(shortest, delay);
    cap_bps = std::min(cap_bps, queue_pair_cap_bps(active, path));
    if (i == 0) note_wide_area(active, path);
    if (parts == 1) only_way_bps = path.slowest_bps;
    if (is_of_packets || only_way_bps > 0) continue;
    const Bytes wire_bytes = wire_bytes_of(active, i);
    for (std::size_t hop = 0; hop < path.links.size(); ++hop) {
      const double load = path.loads.empty() ? 1.0 : path.loads[hop];
      load_alone(path.links[hop], wire_bytes.in_bits() * load);
    }
  }
  if (is_of_packets) return;
  const Bytes largest = wire_bytes_of(active, 0);
  const Duration moving = only_way_bps > 0 ? fluid_transmit_time(largest.in_bits() / std::min(cap_bps, only_way_bps), 1.0)
                                           : moving_time_alone(largest, cap_bps);
  transfers_[slot].ideal = entry + moving + shortest;
  if (tape_ != nullptr) tape_->set_ideal(slot, transfers_[slot].ideal);
}

void FlowFabric::begin_empty(ActiveTransfer& active, const TransferFolding::FoldedPath& folded, Duration entry, Time now,
                             EventContext& context) {
  active.ideal = entry + delay_of_empty(active, folded);
  // Whom it has to wait for may enter after it, at this instant.
  if (has_order(active) && !is_control(active.transfer)) {
    if (tape_ != nullptr) tape_->on_empty_waits();
    return empty_entering_.push_back(active);
  }
  finish_empty(active, now, context);
}

void FlowFabric::finish_empty(const ActiveTransfer& active, Time now, EventContext& context) {
  const Time arrival = arrival_of_empty(active, active.start + active.ideal);
  if (tape_ != nullptr) tape_->tell_of_empty(active.transfer, active.id, active.start, now, arrival);
  finish(active, arrival, now, context);
}

void FlowFabric::enter_empty(const ActiveTransfer& active, Time now, EventContext& context) {
  const std::optional<FlowSlot> before = moving_before(active, 0);
  if (!before || goes_before(active, transfers_[owner_of(*before).slot])) return finish_empty(active, now, context);
  const std::uint32_t slot = take_slot(transfers_, free_transfers_);
  transfers_[slot] = active;
  transfers_[slot].flows_left = 1;
  if (tape_ != nullptr) {
    tape_->on_begins(active.transfer, active.id, active.start, now, slot);
    tape_->set_ideal(slot, active.ideal);
  }
  wait(*before, {slot, 0});
}

void FlowFabric::start_flow(const ActiveTransfer& active, Part part, const FlowPath& path,
                            const TransferFolding::FoldedPath& folded, Duration delay, Fifo<Part> line) {
  const Transfer& transfer = active.transfer;
  FlowRequest request;
  request.path = active.is_folded ? folded.links : path.links;
  request.loads = active.is_folded ? folded.loads : path.loads;
  request.account = active.is_of_packets ? packets_account_ : account_of(folded);
  request.wire_bytes = active.is_of_packets ? endless : wire_bytes_of(active, part.queue_pair);
  request.weight = settings_.share == QueuePairShare::per_transfer ? 1.0 / parts_of(active) : 1.0;
  request.cap_bps = queue_pair_cap_bps(active, path);
  request.owner = part.slot;
  if (settings_.priorities == Priorities::strict) request.priority = static_cast<std::uint8_t>(transfer.priority);
  const FlowSlot flow = model_.start(request);
  note_flow(flow, delay + jitter_of(active, part.queue_pair, path), part.queue_pair);
  if (tape_ != nullptr)
    tape_->on_flow_starts(flow, part.slot, QueuePairName(transfer, part.queue_pair), model_.policy().graph(), settling_at_);
  if (has_order(active)) order_.begin(QueuePairName(transfer, part.queue_pair), flow.index(), std::move(line));
  if (congestion_ != nullptr) tell_congestion(flow, active, folded.folding);
  if (loads_) loads_->on_flow_starts(flow, !active.is_of_packets);
}

std::uint64_t FlowFabric::order_of(const FlowCompletion& completion) const {
  const FlowOwner owner(completion.owner);
  if (!owner.is_joint) return std::uint64_t{transfers_[owner.slot].id.index()} << 32 | queue_pair_of(completion.flow);
  FlowId last = joint_[owner.slot].members.front().id;
  for (const JointOperation::Joined& member : joint_[owner.slot].members) last = std::max(last, member.id);
  return std::uint64_t{last.index()} << 32;
}

void FlowFabric::note_flow(FlowSlot flow, Duration path_delay, std::uint32_t queue_pair) {
  if (path_delays_.size() <= flow.index()) path_delays_.resize(flow.index() + 1);
  path_delays_[flow.index()] = path_delay;
  if (queue_pair > 0 && queue_pairs_.size() <= flow.index()) queue_pairs_.resize(flow.index() + 1, 0);
  if (flow.index() < queue_pairs_.size()) queue_pairs_[flow.index()] = queue_pair;
}

void FlowFabric::finish(const ActiveTransfer& active, Time arrival, Time now, EventContext& context) {
  if (active.is_owned) {
    resident_->on_left({active.transfer, active.owner}, now + settings_.completion_latency, arrival);
  } else {
    const Transfer delivered = active.is_folded ? folding_->seen_by_destination(active.transfer) : active.transfer;
    context.send(host_entity(delivered.destination), arrival - now, transfer_delivered, delivered);
    if (!is_control(active.transfer))
      context.send(host_entity(active.transfer.source), settings_.completion_latency, transfer_sent, active.transfer);
  }
  if (tape_ != nullptr) tape_->stop_telling();
  if (is_control(active.transfer)) return;
  finished_ += active.multiplicity;
  payload_bytes_ += active.transfer.size * active.multiplicity;
  if (observer_ == nullptr) return;
  FinishedTransfer finished;
  finished.id = active.id;
  finished.transfer = active.transfer;
  finished.start = active.start;
  finished.end = arrival;
  finished.ideal = active.ideal;
  finished.inside_host = active.inside_host;
  finished.multiplicity = active.multiplicity;
  observer_->on_transfer_finished(finished);
}

bool FlowFabric::carries_only(LinkId link, std::uint32_t owner) const {
  const auto is_its = [&](std::uint32_t slot) { return transfers_[slot].is_owned && transfers_[slot].owner == owner; };
  return std::ranges::all_of(model_.policy().graph().members(link), [&](const FlowLinkGraph::Member& member) {
    const FlowOwner of_flow = owner_of(member.flow);
    if (of_flow.is_joint || !is_its(of_flow.slot)) return false;
    const Fifo<Part>& line = order_.line_behind(member.flow.index());
    for (std::uint32_t i = 0; i < line.size(); ++i) {
      if (!is_its(line[i].slot)) return false;
    }
    return true;
  });
}

std::vector<FlowFabric::UnderWay> FlowFabric::take_out(std::span<const LinkId> links) {
  const FlowLinkGraph& graph = model_.policy().graph();
  std::vector<FlowSlot> flows;
  for (const LinkId link : links) {
    for (const FlowLinkGraph::Member member : graph.members(link)) {
      if (member.is_first) flows.push_back(member.flow);
    }
  }
  struct Taken {
    std::uint32_t slot = 0;
    std::optional<FlowSlot> flow;  ///< nothing: it waits behind one
  };
  // What moves comes before what waits for it.
  std::vector<Taken> parts;
  for (const FlowSlot flow : flows) parts.push_back({owner_of(flow).slot, flow});
  std::ranges::sort(parts, {}, [&](const Taken& part) { return transfers_[part.slot].id; });
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const Fifo<Part> line = order_.end(parts[i].flow->index());
    for (std::uint32_t at = 0; at < line.size(); ++at) parts.push_back({line[at].slot, std::nullopt});
  }
  std::vector<UnderWay> taken;
  for (const auto& [slot, flow] : parts) {
    ActiveTransfer& active = transfers_[slot];
    UnderWay& one = taken.emplace_back();
    one.owned = {active.transfer, active.owner};
    one.id = active.id;
    one.start = active.start;
    one.ideal = active.ideal - entry_latency(active.inside_host);
    one.inside_host = active.inside_host;
    if (flow) {
      one.path_delay = path_delays_[flow->index()];
      one.progress = model_.take_out(*flow);
    } else if (active.transfer.size == Bytes::zero()) {
      one.path_delay = delay_of_empty(active, {});
    } else {
      one.path_delay = delay_of(active, path_of(active.transfer, 0, active.inside_host).delay, 0);
    }
    active.flows_left = 0;
    free_transfers_.push_back(slot);
  }
  return taken;
}

void FlowFabric::adopt(const UnderWay& under_way) {
  const Transfer& transfer = under_way.owned.transfer;
  ActiveTransfer active;
  active.transfer = transfer;
  active.id = under_way.id.is_none() ? new_id() : under_way.id;
  active.start = under_way.start;
  active.ideal = entry_latency(under_way.inside_host) + under_way.ideal;
  active.flows_left = 1;
  active.inside_host = under_way.inside_host;
  active.is_owned = true;
  active.owner = under_way.owned.owner;
  const std::uint32_t slot = take_slot(transfers_, free_transfers_);
  transfers_[slot] = active;
  const QueuePairName name(transfer, 0);
  if (const std::optional<FlowSlot> before = moving_over(name)) return wait(*before, {slot, 0});
  FlowRequest request = request_of_one_way(transfer, under_way.inside_host, settings_);
  request.path = hashed_path(transfer.source, transfer.destination, transfer.connection).links;
  request.owner = slot;
  const FlowSlot flow = model_.adopt(request, under_way.progress);
  note_flow(flow, under_way.path_delay, 0);
  order_.begin(name, flow.index());
}

FlowId FlowFabric::new_id() {
  WEFT_CHECK(next_id_ < FlowId::none().index(), "transfers of a run are counted in 32 bits");
  ++started_;
  return FlowId(next_id_++);
}

void FlowFabric::note_left(FinishedTransfer left) {
  if (left.id.is_none()) left.id = new_id();
  ++finished_;
  payload_bytes_ += left.transfer.size;
  if (observer_ != nullptr) observer_->on_transfer_finished(left);
}

void FlowFabric::catch_up(Time now) {
  if (resident_ != nullptr) resident_->catch_up(now);
}

EntityId FlowFabric::host_entity(NodeId endpoint) const { return entity_of_host_[topology_.node(endpoint).host.index()]; }

}  // namespace weft
