// SPDX-License-Identifier: Apache-2.0
#include "network/flow/flow_tape.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "network/max_min/max_min_solver.hpp"

namespace weft {

namespace {

template <class T>
T& at_slot(std::vector<T>& all, std::size_t slot, const T& missing) {
  if (all.size() <= slot) all.resize(slot + 1, missing);
  return all[slot];
}

}  // namespace

FlowTape::FlowTape(std::size_t records_max) : records_max_(records_max) {}

void FlowTape::begin(const FlowLinkGraph& graph) {
  capacities_bps_.clear();
  for (std::uint32_t link = 0; link < graph.link_count(); ++link) capacities_bps_.push_back(graph.capacity(LinkId(link)));
  seen_link_.assign(graph.link_count(), 0);
  link_loads_.assign(graph.link_count(), {});
}

std::span<const FlowTape::Change> FlowTape::changes_of(std::size_t step) const {
  const std::size_t end = step + 1 < steps_.size() ? steps_[step + 1].first_change : changes_.size();
  return std::span(changes_).subspan(steps_[step].first_change, end - steps_[step].first_change);
}

std::span<const std::uint32_t> FlowTape::left_at(std::size_t step) const {
  const std::size_t end = step + 1 < steps_.size() ? steps_[step + 1].first_left : left_before_;
  return std::span(left_).subspan(steps_[step].first_left, end - steps_[step].first_left);
}

void FlowTape::refuse_if_too_long() const {
  if (nodes_.size() < records_max_ && changes_.size() < records_max_) return;
  fail("too-long-to-explain",
       fmt::format("the run takes more than {} events or changes of rates, all of which would be kept in memory", records_max_),
       SourcePlace::named("the run"),
       "explain one of fewer iterations, microbatches, flows or GPUs, or on a machine with more memory");
}

void FlowTape::on_handled(const Event& event) {
  refuse_if_too_long();
  Node node{event};
  const auto found = posted_.find({event.key.sequence, event.key.source.index()});
  if (found != posted_.end()) {
    node.parent = found->second.parent;
    node.flow = found->second.flow;
    node.transfer = found->second.transfer;
    posted_.erase(found);
  }
  node.origin = node.flow != none ? node.flow : node.parent != none ? nodes_[node.parent].origin : none;
  current_ = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(node);
  if (follows_packets_ && event.kind == transfer_start) begin_transfer(event);
}

void FlowTape::on_posted(const Event& event) {
  Posted posted{current_};
  if (told_.transfer != none && (event.kind == transfer_delivered || event.kind == transfer_sent)) {
    posted = {told_.parent, event.kind == transfer_sent ? told_.sent_by : told_.delivered_by, told_.transfer};
  } else if (follows_packets_ && (event.kind == transfer_delivered || event.kind == transfer_sent)) {
    posted = notice_of(event);
  }
  posted_[{event.key.sequence, event.key.source.index()}] = posted;
}

std::size_t FlowTape::TransferHash::operator()(const Transfer& transfer) const noexcept {
  return mix64(QueuePairName(transfer, 0).hash() ^ transfer.tag << 32 ^ static_cast<std::uint64_t>(transfer.size.count()));
}

bool FlowTape::SameTransfer::operator()(const Transfer& a, const Transfer& b) const noexcept {
  return QueuePairName(a, 0) == QueuePairName(b, 0) && a.tag == b.tag && a.size == b.size;
}

void FlowTape::begin_transfer(const Event& start) {
  const auto transfer = start.payload_as<Transfer>();
  entry_ = current_;
  const std::uint32_t poster = nodes_[current_].parent;
  const Time handed_over = nodes_[poster == none ? current_ : poster].event.key.time;
  const std::uint32_t number = on_begins(transfer, FlowId::none(), handed_over, start.key.time, none);
  const auto [last, is_first] = last_of_connection_.try_emplace(QueuePairName(transfer, 0), number);
  if (!is_first) transfers_[number].behind = std::exchange(last->second, number);
  Alike& alike = under_way_[transfer];
  if (!is_control(transfer)) alike.to_send.push_back(number);
  alike.to_deliver.push_back(number);
  if (SwitchOperationName::is_one(transfer.destination)) last_member_[{transfer.destination, transfer.attempt}] = number;
}

FlowTape::Posted FlowTape::notice_of(const Event& notice) {
  const auto transfer = notice.payload_as<Transfer>();
  const auto alike = under_way_.find(transfer);
  if (alike == under_way_.end()) return {};
  const bool is_delivery = notice.kind == transfer_delivered;
  std::deque<std::uint32_t>& waiting = is_delivery ? alike->second.to_deliver : alike->second.to_send;
  if (waiting.empty()) return {};
  std::uint32_t number = waiting.front();
  waiting.pop_front();
  if (alike->second.to_send.empty() && alike->second.to_deliver.empty()) under_way_.erase(alike);
  if (is_delivery) {
    transfers_[number].delivered = notice.key.time;
    transfers_[number].is_over = true;
  } else {
    transfers_[number].left = notice.key.time;
  }
  // All members of an operation wait for the last one.
  if (const auto last = last_member_.find({transfer.destination, transfer.attempt});
      last != last_member_.end() && transfers_[last->second].start < notice.key.time)
    number = last->second;
  return {transfers_[number].entry, none, number};
}

void FlowTape::take_ideals(std::span<const FinishedTransfer> finished) {
  std::unordered_map<Transfer, std::deque<Duration>, TransferHash, SameTransfer> ideals;
  for (const FinishedTransfer& one : finished) ideals[one.transfer].push_back(one.ideal);
  for (TransferRecord& record : transfers_) {
    const auto found = ideals.find(record.transfer);
    if (!record.is_over || found == ideals.end() || found->second.empty()) continue;
    record.ideal = found->second.front();
    found->second.pop_front();
  }
}

void FlowTape::next_enters() {
  entry_ = entering_.front();
  entering_.pop_front();
}

void FlowTape::next_empty_enters() {
  entry_ = empty_entering_.front();
  empty_entering_.pop_front();
}

std::uint32_t FlowTape::on_begins(const Transfer& transfer, FlowId id, Time start, Time now, std::uint32_t slot) {
  const auto number = static_cast<std::uint32_t>(transfers_.size());
  TransferRecord record;
  record.transfer = transfer;
  record.id = id;
  record.start = start;
  record.entered = now;
  record.entry = entry_;
  transfers_.push_back(record);
  arrivals_.push_back(now);
  if (slot != none) at_slot(transfer_of_slot_, slot, none) = number;
  return number;
}

std::uint32_t FlowTape::add_flow(FlowSlot slot, const FlowLinkGraph& graph, Time now) {
  const auto number = static_cast<std::uint32_t>(flows_.size());
  FlowRecord flow;
  const std::span<const FlowLinkGraph::Hop> hops = graph.hops(slot);
  const std::span<const double> loads = graph.loads(slot);
  flow.first_hop = static_cast<std::uint32_t>(hops_.size());
  flow.hop_count = static_cast<std::uint32_t>(hops.size());
  flow.weight = graph.weight(slot);
  flow.cap_bps = graph.cap(slot);
  flow.start = now;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    hops_.push_back(hops[i].link);
    loads_.push_back(loads.empty() ? 1.0 : loads[i]);
  }
  flows_.push_back(flow);
  seen_flow_.push_back(0);
  at_slot(flow_of_slot_, slot.index(), none) = number;
  return number;
}

void FlowTape::on_flow_starts(FlowSlot slot, std::uint32_t transfer_slot, const QueuePairName& name, const FlowLinkGraph& graph,
                              Time now) {
  const std::uint32_t number = add_flow(slot, graph, now);
  FlowRecord& flow = flows_[number];
  flow.transfer = transfer_of_slot_[transfer_slot];
  const auto [last, is_first] = last_on_.try_emplace(name, number);
  if (transfers_[flow.transfer].entered == now || is_first || !flows_[last->second].is_complete) {
    flow.entry = transfers_[flow.transfer].entry;
  } else {
    flow.after = last->second;
  }
  last->second = number;
}

void FlowTape::on_joins(std::uint32_t joint_slot, std::size_t member, std::size_t members, const Transfer& transfer, FlowId id,
                        Time start, Time now) {
  std::vector<std::uint32_t>& of_slot = at_slot(joint_members_, joint_slot, {});
  of_slot.resize(members, none);
  of_slot[member] = on_begins(transfer, id, start, now, none);
}

void FlowTape::on_joint_starts(FlowSlot slot, std::uint32_t joint_slot, const FlowLinkGraph& graph, Time now) {
  const std::uint32_t number = add_flow(slot, graph, now);
  flows_[number].transfer = static_cast<std::uint32_t>(transfers_.size() - 1);
  flows_[number].entry = entry_;
  at_slot(joint_flow_, joint_slot, none) = number;
}

void FlowTape::on_flow_done(FlowSlot slot, Time arrival) {
  const std::uint32_t number = flow_of_slot_[slot.index()];
  FlowRecord& flow = flows_[number];
  flow.is_complete = true;
  TransferRecord& transfer = transfers_[flow.transfer];
  transfer.left_by = number;
  if (arrival > arrivals_[flow.transfer] || transfer.delivered_by == none) {
    arrivals_[flow.transfer] = arrival;
    transfer.delivered_by = number;
  }
}

void FlowTape::tell_of(std::uint32_t slot, Time now, Time arrival) {
  const std::uint32_t number = transfer_of_slot_[slot];
  TransferRecord& transfer = transfers_[number];
  transfer.left = now;
  transfer.delivered = arrival;
  transfer.is_over = true;
  told_ = {number, none, transfer.left_by, transfer.delivered_by};
}

void FlowTape::tell_of_empty(const Transfer& transfer, FlowId id, Time start, Time now, Time arrival) {
  const std::uint32_t number = on_begins(transfer, id, start, now, none);
  transfers_[number].left = now;
  transfers_[number].delivered = arrival;
  transfers_[number].ideal = arrival - start;
  transfers_[number].is_over = true;
  told_ = {number, entry_, none, none};
}

void FlowTape::tell_of_empty_in(std::uint32_t slot, const QueuePairName& name, Time now, Time arrival) {
  tell_of(slot, now, arrival);
  const std::uint32_t flow = last_on_.at(name);
  transfers_[told_.transfer].left_by = transfers_[told_.transfer].delivered_by = flow;
  told_ = {told_.transfer, none, flow, flow};
}

void FlowTape::tell_of_joint(std::uint32_t joint_slot, std::size_t member, Duration ideal, Time now, Time arrival) {
  const std::uint32_t number = joint_members_[joint_slot][member];
  const std::uint32_t flow = joint_slot < joint_flow_.size() ? joint_flow_[joint_slot] : none;
  TransferRecord& transfer = transfers_[number];
  transfer.left = now;
  transfer.delivered = arrival;
  transfer.left_by = transfer.delivered_by = flow;
  transfer.ideal = ideal;
  transfer.is_over = true;
  told_ = {number, flow == none ? entry_ : none, flow, flow};
  if (member + 1 < joint_members_[joint_slot].size()) return;
  joint_members_[joint_slot].clear();
  at_slot(joint_flow_, joint_slot, none) = none;
}

void FlowTape::on_flow_leaves(FlowSlot slot, Time now) {
  const std::uint32_t number = flow_of_slot_[slot.index()];
  flows_[number].end = now;
  flows_[number].has_left = true;
  left_.push_back(number);
}

void FlowTape::note_limit(FlowSlot slot, const AllocationPolicy& policy) {
  const std::uint32_t number = flow_of_slot_[slot.index()];
  if (std::exchange(seen_flow_[number], round_) == round_) return;
  FlowRecord& flow = flows_[number];
  Change change{.flow = number, .previous = flow.last_change, .rate_bps = policy.rate(slot)};
  const auto* const solver = dynamic_cast<const MaxMinSolver*>(&policy);
  if (solver == nullptr || solver->layer_count() > 1) {
    has_limits_ = false;
  } else {
    const FlowLinkGraph& graph = policy.graph();
    double least = flow.cap_bps / flow.weight;
    for (std::uint32_t i = flow.first_hop; i < flow.first_hop + flow.hop_count; ++i) {
      const double alone = graph.capacity(hops_[i]) / (flow.weight * loads_[i]);
      const double level = std::min(solver->layer(0).level(hops_[i]), alone);
      if (level >= least) continue;
      least = level;
      change.limit = hops_[i].index();
    }
  }
  change.first_tied = static_cast<std::uint32_t>(tied_.size());
  for (std::uint32_t i = flow.first_hop; change.limit != none && i < flow.first_hop + flow.hop_count; ++i) {
    if (hops_[i].index() != change.limit && is_full(hops_[i], policy)) tied_.push_back(hops_[i]);
  }
  change.tied_count = static_cast<std::uint32_t>(tied_.size()) - change.first_tied;
  if (flow.last_change != none) {
    const Change& before = changes_[flow.last_change];
    if (before.rate_bps == change.rate_bps && before.limit == change.limit && std::ranges::equal(tied(before), tied(change))) {
      tied_.resize(change.first_tied);
      return;
    }
  }
  flow.last_change = static_cast<std::uint32_t>(changes_.size());
  changes_.push_back(change);
}

bool FlowTape::is_full(LinkId link, const AllocationPolicy& policy) {
  constexpr double rounding = 1e-9;  // of the capacity
  Load& known = link_loads_[link.index()];
  if (std::exchange(known.round, round_) == round_) return known.is_full;
  const FlowLinkGraph& graph = policy.graph();
  double load = 0;
  for (const FlowLinkGraph::Member member : graph.members(link)) load += policy.rate(member.flow) * graph.load(member);
  known.is_full = load >= graph.capacity(link) * (1 - rounding);
  return known.is_full;
}

void FlowTape::on_rates_changed(std::span<const FlowSlot> changed, Time now, const AllocationPolicy& policy) {
  refuse_if_too_long();
  steps_.push_back({now, static_cast<std::uint32_t>(changes_.size()), static_cast<std::uint32_t>(left_before_)});
  const FlowLinkGraph& graph = policy.graph();
  ++round_;
  for (const FlowSlot slot : changed) note_limit(slot, policy);
  // Others on their links may have another limit at the same rate.
  const auto look_at = [&](LinkId link) {
    if (std::exchange(seen_link_[link.index()], round_) == round_) return;
    for (const FlowLinkGraph::Member member : graph.members(link)) note_limit(member.flow, policy);
  };
  for (const FlowSlot slot : changed) {
    for (const FlowLinkGraph::Hop& hop : graph.hops(slot)) look_at(hop.link);
  }
  for (; left_before_ < left_.size(); ++left_before_) {
    for (const LinkId link : hops(left_[left_before_])) look_at(link);
  }
}

}  // namespace weft
