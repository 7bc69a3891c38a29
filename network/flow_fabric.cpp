#include "network/flow_fabric.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

/// The fabric's own event.
constexpr std::uint16_t kSettle = 103;

}  // namespace

FlowNetworkPort::FlowNetworkPort(const Topology& topology, const FlowSettings& settings, EntityId fabric)
    : inside_host_(topology), wqe_latency_(settings.wqe_latency), nvlink_latency_(settings.nvlink_latency), fabric_(fabric) {}

void FlowNetworkPort::start(const Transfer& transfer, EventContext& context) const {
  const bool inside = inside_host_.joins(transfer.source, transfer.destination);
  context.send(fabric_, inside ? nvlink_latency_ : wqe_latency_, transfer_start, transfer);
}

FlowFabric::FlowFabric(const Topology& topology, const FlowSettings& settings, std::unique_ptr<AllocationPolicy> policy,
                       std::vector<EntityId> entity_of_host, FlowObserver* observer)
    : topology_(topology),
      settings_(settings),
      inside_host_(topology),
      paths_(topology, settings.ecmp_seed, settings.path_cache_entries),
      model_(std::move(policy)),
      entity_of_host_(std::move(entity_of_host)),
      observer_(observer) {
  WEFT_CHECK(entity_of_host_.size() == topology.host_count(), "every host has an entity");
  WEFT_CHECK(model_.policy().graph().link_count() == topology.link_count(), "the policy was made for this topology");
}

void FlowFabric::handle(const Event& event, EventContext& context) {
  if (event.kind == transfer_start) {
    entering_.push_back(event.payload_as<Transfer>());
    plan_settle(context.now(), context);
    return;
  }
  WEFT_CHECK(event.kind == kSettle, "the fabric knows the kind of every event it gets");
  WEFT_CHECK(!planned_.empty() && planned_.back() == context.now(), "settle events come when they were planned");
  planned_.pop_back();
  settle(context);
}

void FlowFabric::plan_settle(Time at, EventContext& context) {
  // A completion that moved later leaves its old event behind; it then finds nothing to do and plans the next.
  if (!planned_.empty() && planned_.back() <= at) return;
  planned_.push_back(at);
  context.schedule(at - context.now(), EventClass::settle, kSettle);
}

void FlowFabric::settle(EventContext& context) {
  const Time now = context.now();
  done_.clear();
  model_.take_completions(now, done_);
  for (const FlowCompletion& completion : done_) {
    const ActiveFlow flow = flows_[completion.flow.index()];
    ActiveTransfer& active = transfers_[flow.transfer];
    active.arrival = std::max(active.arrival, now + flow.path_delay);
    if (--active.flows_left > 0) continue;
    finish(active, now, context);
    free_transfers_.push_back(flow.transfer);
  }
  for (const Transfer& transfer : entering_) begin(transfer, now, context);
  entering_.clear();
  model_.settle(now);
  if (const Time next = model_.next_completion(); next < Time::max()) plan_settle(next, context);
}

void FlowFabric::begin(const Transfer& transfer, Time now, EventContext& context) {
  WEFT_CHECK(transfer.size >= Bytes::zero(), "a transfer has zero or more bytes");
  WEFT_CHECK(next_id_ < FlowId::none().index(), "transfers of a run are counted in 32 bits");
  ActiveTransfer active;
  active.transfer = transfer;
  active.id = FlowId(next_id_++);
  active.inside_host = inside_host_.joins(transfer.source, transfer.destination);
  active.start = now - (active.inside_host ? settings_.nvlink_latency : settings_.wqe_latency);
  const Duration last_latency = active.inside_host ? settings_.completion_latency : settings_.receive_latency;

  if (transfer.size == Bytes::zero()) {
    const Duration delay = path_delay(paths_.path(transfer.source, transfer.destination, transfer.connection, 0)) + last_latency;
    active.arrival = now + delay;
    active.ideal = delay;
    finish(active, now, context);
    return;
  }
  std::uint32_t slot = 0;
  if (free_transfers_.empty()) {
    slot = static_cast<std::uint32_t>(transfers_.size());
    transfers_.emplace_back();
  } else {
    slot = free_transfers_.back();
    free_transfers_.pop_back();
  }

  const std::uint32_t queue_pairs = active.inside_host ? 1 : settings_.queue_pairs;
  const auto flows = static_cast<std::uint32_t>(std::min<std::int64_t>(queue_pairs, transfer.size.count()));
  link_load_.clear();
  Duration shortest = Duration::max();
  for (std::uint32_t i = 0; i < flows; ++i) {
    const Bytes part = part_of(transfer.size, queue_pairs, i);
    FlowRequest request;
    request.path = paths_.path(transfer.source, transfer.destination, transfer.connection, i);
    request.wire_bytes = active.inside_host ? part : settings_.wire_format.wire_bytes(part);
    request.weight = settings_.share == QueuePairShare::per_transfer ? 1.0 / flows : 1.0;
    request.owner = slot;
    const FlowSlot flow = model_.start(request);
    if (flows_.size() <= flow.index()) flows_.resize(flow.index() + 1);
    const Duration delay = path_delay(request.path) + last_latency;
    flows_[flow.index()] = {slot, delay};
    shortest = std::min(shortest, delay);
    for (const LinkId link : request.path) link_load_.emplace_back(link, request.wire_bytes);
  }
  active.flows_left = flows;
  active.ideal = moving_time_alone() + shortest;
  transfers_[slot] = active;
}

Duration FlowFabric::moving_time_alone() {
  std::sort(link_load_.begin(), link_load_.end());
  Duration longest;
  for (std::size_t i = 0; i < link_load_.size();) {
    const LinkId link = link_load_[i].first;
    Bytes load;
    for (; i < link_load_.size() && link_load_[i].first == link; ++i) load += link_load_[i].second;
    longest = std::max(longest, fluid_transmit_time(load.in_bits(), static_cast<double>(topology_.link(link).rate.in_bps())));
  }
  return longest;
}

void FlowFabric::finish(const ActiveTransfer& active, Time now, EventContext& context) {
  ++finished_;
  payload_bytes_ += active.transfer.size;
  context.send(host_entity(active.transfer.source), settings_.completion_latency, transfer_sent, active.transfer);
  context.send(host_entity(active.transfer.destination), active.arrival - now, transfer_delivered, active.transfer);
  if (observer_ == nullptr) return;
  FinishedTransfer finished;
  finished.id = active.id;
  finished.transfer = active.transfer;
  finished.start = active.start;
  finished.end = active.arrival;
  finished.ideal = active.ideal + (active.inside_host ? settings_.nvlink_latency : settings_.wqe_latency);
  finished.inside_host = active.inside_host;
  observer_->on_transfer_finished(finished);
}

Duration FlowFabric::path_delay(std::span<const LinkId> path) const {
  Duration delay;
  for (const LinkId id : path) {
    const Link& link = topology_.link(id);
    delay += link.propagation_delay;
    if (topology_.node(link.destination).kind == NodeKind::packet_switch) delay += settings_.switching_delay;
  }
  return delay;
}

EntityId FlowFabric::host_entity(NodeId endpoint) const { return entity_of_host_[topology_.node(endpoint).host.index()]; }

FlowFabricCounters FlowFabric::counters() const {
  FlowFabricCounters counters;
  counters.transfers_started = next_id_;
  counters.transfers_finished = finished_;
  counters.flows_started = model_.flows_started();
  counters.flows_active_peak = model_.active_flows_peak();
  counters.solves = model_.solves();
  counters.rate_changes = model_.rate_changes();
  counters.payload_bytes = payload_bytes_;
  return counters;
}

std::vector<LinkUsage> FlowFabric::link_usage(Time begin, Time end) const {
  const std::vector<Bytes> bytes = model_.link_bytes(end);
  std::vector<LinkUsage> usage(bytes.size());
  for (std::uint32_t i = 0; i < bytes.size(); ++i) {
    usage[i].bytes = bytes[i];
    const double rate_bps = static_cast<double>(topology_.link(LinkId(i)).rate.in_bps());
    const double capacity_bits = fluid_bits(rate_bps, end - begin);
    if (capacity_bits > 0) usage[i].mean_utilization = bytes[i].in_bits() / capacity_bits;
  }
  return usage;
}

std::vector<UnfinishedTransfer> FlowFabric::unfinished() const {
  std::vector<LinkId> stalled_at(transfers_.size(), LinkId::none());
  for (const StalledFlow& flow : model_.stalled_flows()) stalled_at[flow.owner] = flow.link;
  std::vector<UnfinishedTransfer> unfinished;
  for (std::size_t slot = 0; slot < transfers_.size(); ++slot) {
    const ActiveTransfer& active = transfers_[slot];
    if (active.flows_left > 0) unfinished.push_back({active.id, active.transfer, active.start, stalled_at[slot]});
  }
  std::sort(unfinished.begin(), unfinished.end(),
            [](const UnfinishedTransfer& a, const UnfinishedTransfer& b) { return a.id < b.id; });
  return unfinished;
}

}  // namespace weft
