// SPDX-License-Identifier: Apache-2.0
#include "network/flow/flow_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.hpp"
#include "core/containers/cache.hpp"
#include "core/containers/release_memory.hpp"
#include "topologies/topology.hpp"

namespace weft {

std::vector<double> link_capacities_bps(const Topology& topology) {
  std::vector<double> capacities;
  capacities.reserve(topology.link_count());
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    capacities.push_back(static_cast<double>(topology.link(LinkId(i)).rate.in_bps()));
  }
  return capacities;
}

namespace {

constexpr std::size_t changed_ahead = 8;  // flows fetched before their turn comes

double left_bits(double bits, double rate_bps, Duration since) { return std::max(0.0, bits - fluid_bits(rate_bps, since)); }

}  // namespace

Bytes moved_bytes(Bytes wire_bytes, const FlowProgress& progress, Time now) {
  const double left = left_bits(progress.remaining_bits, progress.rate_bps, now - progress.last_change);
  return Bytes::of(static_cast<std::int64_t>(std::floor((wire_bytes.in_bits() - left) / Bytes::of(1).in_bits())));
}

FlowModel::FlowModel(std::unique_ptr<AllocationPolicy> policy, std::size_t slots_kept)
    : policy_(std::move(policy)),
      slots_kept_(slots_kept),
      link_bytes_{std::vector<Bytes>(policy_->graph().link_count()), {}, {}, {}} {}

FlowSlot FlowModel::start(const FlowRequest& request) { return add(request, std::numeric_limits<double>::quiet_NaN()); }

FlowSlot FlowModel::add(const FlowRequest& request, double rate_before) {
  WEFT_CHECK(request.wire_bytes > Bytes::zero(), "a flow has bytes to move");
  const FlowDemand demand{request.path, request.weight, request.cap_bps, request.loads, request.priority, rate_before};
  const FlowSlot slot = policy_->add_flow(demand);
  queue_.notes(slot) = {
      request.wire_bytes.in_bits(), 0, settled_at_, request.wire_bytes, next_serial_++, request.owner, request.account};
  active_flows_peak_ = std::max(active_flows_peak_, active_flows());
  changed_ = true;
  return slot;
}

FlowSlot FlowModel::adopt(const FlowRequest& request, const FlowProgress& progress) {
  const FlowSlot slot = add(request, progress.rate_bps);
  Flow& flow = queue_.notes(slot);
  flow.remaining_bits = progress.remaining_bits;
  flow.rate_bps = progress.rate_bps;
  flow.last_change = progress.last_change;
  queue_.set(slot, progress.finish);
  return slot;
}

FlowProgress FlowModel::take_out(FlowSlot slot) {
  const FlowProgress taken = progress(slot);
  queue_.remove(slot);
  policy_->remove_flow(slot);
  changed_ = true;
  return taken;
}

FlowProgress FlowModel::progress(FlowSlot slot) const {
  const Flow& flow = queue_.notes(slot);
  return {flow.remaining_bits, flow.rate_bps, flow.last_change, queue_.finish(slot)};
}

void FlowModel::set_capacity(LinkId link, Bandwidth capacity) {
  policy_->set_capacity(link, static_cast<double>(capacity.in_bps()));
  changed_ = true;
}

void FlowModel::cancel(FlowSlot slot, Time now) {
  WEFT_CHECK(queue_.finish(slot) > now, "a flow that ends is not cancelled");
  const Flow& flow = queue_.notes(slot);
  link_bytes_.add(flow.account, policy_->graph().hops(slot), policy_->graph().loads(slot), moved_bytes(flow, now));
  queue_.remove(slot);
  if (observer_ != nullptr) observer_->on_flow_leaves(slot, now);
  policy_->remove_flow(slot);
  changed_ = true;
}

void FlowModel::take_back(FlowSlot slot, Time now) {
  cancel(slot, now);
  ++taken_back_;
}

FlowSlot FlowModel::move(FlowSlot slot, std::span<const LinkId> path, std::span<const double> loads, double cap_bps, Time now) {
  WEFT_CHECK(queue_.finish(slot) > now, "a flow that ends goes nowhere else");
  const FlowLinkGraph& graph = policy_->graph();
  Flow flow = queue_.notes(slot);
  const Bytes moved = moved_bytes(flow, now);
  link_bytes_.add(flow.account, graph.hops(slot), graph.loads(slot), moved);
  flow.remaining_bits = remaining_bits(flow, now);
  flow.wire_bytes = flow.wire_bytes - moved;
  flow.rate_bps = 0;
  flow.last_change = now;
  const FlowDemand demand{path, graph.weight(slot), cap_bps, loads, graph.priority(slot)};
  queue_.remove(slot);
  if (observer_ != nullptr) observer_->on_flow_leaves(slot, now);
  policy_->remove_flow(slot);
  const FlowSlot to = policy_->add_flow(demand);
  queue_.notes(to) = flow;
  changed_ = true;
  return to;
}

void FlowModel::take_completions(Time now, std::vector<FlowCompletion>& done) {
  WEFT_CHECK(now <= queue_.next(), "no completion is missed");
  if (queue_.next() > now || now == Time::max()) return;
  due_.clear();
  queue_.take_due(due_);
  for (const FlowSlot slot : due_) {
    const Flow& flow = queue_.notes(slot);
    link_bytes_.add(flow.account, policy_->graph().hops(slot), policy_->graph().loads(slot), flow.wire_bytes);
    if (observer_ != nullptr) observer_->on_flow_leaves(slot, now);
    policy_->remove_flow(slot);
  }
  flows_finished_ += due_.size();
  changed_ = true;
  // Before `done` grows, so that the two do not add up.
  const bool gives_back = active_flows() == 0 && queue_.slot_count() > slots_kept_;
  if (gives_back) policy_->give_back();
  std::ranges::sort(due_, {}, [&](FlowSlot slot) { return queue_.notes(slot).serial; });
  for (const FlowSlot slot : due_) done.push_back({slot, queue_.notes(slot).owner});
  if (!gives_back) return;
  queue_.give_back();
  release_memory(due_);
}

void FlowModel::LinkBytes::add(std::uint32_t account, std::span<const FlowLinkGraph::Hop> hops, std::span<const double> loads,
                               Bytes moved) {
  if (account > 0) {
    if (by_account.size() < account) {
      by_account.resize(account);
      moved_by_account.resize(account);
    }
    moved_by_account[account - 1] += moved;
    for (std::size_t i = 0; i < hops.size(); ++i) {
      OfLink& of_link = by_account[account - 1][hops[i].link];
      if (loads.empty() || loads[i] == 1.0) {
        of_link.whole += moved;
      } else {
        of_link.parts += static_cast<double>(moved.count()) * loads[i];
      }
    }
    return;
  }
  if (!loads.empty() && parts.empty()) parts.resize(whole.size());
  for (std::size_t i = 0; i < hops.size(); ++i) {
    if (loads.empty() || loads[i] == 1.0) {
      whole[hops[i].link.index()] += moved;
    } else {
      parts[hops[i].link.index()] += static_cast<double>(moved.count()) * loads[i];
    }
  }
}

double FlowModel::remaining_bits(const Flow& flow, Time now) const {
  return left_bits(flow.remaining_bits, flow.rate_bps, now - flow.last_change);
}

void FlowModel::settle(Time now) {
  if (!changed_) return;
  WEFT_CHECK(now >= settled_at_, "time does not go back");
  changed_ = false;
  settled_at_ = now;
  ++solves_;
  const std::span<const FlowSlot> changed = policy_->update();
  rate_changes_ += changed.size();
  const auto fetch = [&](std::size_t i) { queue_.fetch(changed[i]); };
  cache::visit_ahead(changed.size(), changed_ahead, fetch, [&](std::size_t i) {
    const FlowSlot slot = changed[i];
    Flow& flow = queue_.notes(slot);
    // A flow not yet moving started somewhere between the last batch and now: its clock starts
    // here.
    flow.remaining_bits = remaining_bits(flow, now);
    flow.last_change = now;
    flow.rate_bps = policy_->rate(slot);
    // Its finish was rounded to a tick after now, so that something remains, whatever rounding
    // says.
    const double bits = std::max(flow.remaining_bits, 1e-6);
    const Duration left = fluid_transmit_time(bits, flow.rate_bps);
    queue_.set(slot, left > Time::max() - now ? Time::max() : now + left);
  });
  if (observer_ != nullptr) observer_->on_rates_changed(changed, now, *policy_);
}

std::vector<StalledFlow> FlowModel::stalled_flows() const {
  std::vector<StalledFlow> stalled;
  const FlowLinkGraph& graph = policy_->graph();
  const auto is_full = [&](const FlowLinkGraph::Hop& hop) {
    double load = 0;
    for (const FlowLinkGraph::Member member : graph.members(hop.link)) load += policy_->rate(member.flow) * graph.load(member);
    return load >= graph.capacity(hop.link) * (1 - 1e-9);
  };
  for (std::uint32_t i = 0; i < graph.slot_count(); ++i) {
    const FlowSlot slot(i);
    if (!graph.alive(slot) || policy_->rate(slot) > 0) continue;
    const std::span<const FlowLinkGraph::Hop> hops = graph.hops(slot);
    auto blocked =
        std::find_if(hops.begin(), hops.end(), [&](const FlowLinkGraph::Hop& hop) { return graph.capacity(hop.link) == 0; });
    if (blocked == hops.end()) blocked = std::find_if(hops.begin(), hops.end(), is_full);
    const LinkId link = blocked == hops.end() ? hops.front().link : blocked->link;
    stalled.push_back({queue_.notes(slot).owner, queue_.notes(slot).serial, link});
  }
  std::sort(stalled.begin(), stalled.end(), [](const StalledFlow& a, const StalledFlow& b) { return a.serial < b.serial; });
  return stalled;
}

Bytes FlowModel::moved_bytes(const Flow& flow, Time now) const {
  return weft::moved_bytes(flow.wire_bytes, {flow.remaining_bits, flow.rate_bps, flow.last_change, {}}, now);
}

FlowModel::CountedBytes FlowModel::link_bytes(Time now) const {
  LinkBytes bytes = link_bytes_;
  const FlowLinkGraph& graph = policy_->graph();
  for (std::uint32_t i = 0; i < graph.slot_count(); ++i) {
    if (!graph.alive(FlowSlot(i))) continue;
    const Flow& flow = queue_.notes(FlowSlot(i));
    bytes.add(flow.account, graph.hops(FlowSlot(i)), graph.loads(FlowSlot(i)), moved_bytes(flow, now));
  }
  for (std::size_t link = 0; link < bytes.parts.size(); ++link) bytes.whole[link] += Bytes::of(std::llround(bytes.parts[link]));
  CountedBytes counted{std::move(bytes.whole), {}, std::move(bytes.moved_by_account)};
  // order-free: accounts stand in a list, and links of one go into a map
  for (const auto& account : bytes.by_account) {
    std::map<LinkId, Bytes>& of_account = counted.by_account.emplace_back();
    for (const auto& [link, of_link] : account) of_account[link] = of_link.whole + Bytes::of(std::llround(of_link.parts));
  }
  return counted;
}

}  // namespace weft
