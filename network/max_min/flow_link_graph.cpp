// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/flow_link_graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "core/check.hpp"
#include "core/containers/release_memory.hpp"

namespace weft {

namespace {

/// Slots are below this: members have a bit beside theirs.
constexpr std::uint32_t slots_max = std::uint32_t{1} << 31;

bool is_one(double load) { return load == 1.0; }

}  // namespace

FlowLinkGraph::FlowLinkGraph(std::vector<double> capacities) : capacities_(std::move(capacities)), members_(capacities_.size()) {
  for (const double capacity : capacities_)
    WEFT_CHECK(std::isfinite(capacity) && capacity >= 0, "a link's capacity is finite and >= 0");
}

void FlowLinkGraph::check(const FlowDemand& demand) const {
  WEFT_CHECK(!demand.links.empty(), "a flow uses at least one link");
  WEFT_CHECK(std::ranges::all_of(demand.links, [&](LinkId link) { return link.index() < members_.size(); }),
             "a flow uses links that exist");
  WEFT_CHECK(std::isfinite(demand.weight) && demand.weight > 0, "a flow's weight is finite and > 0");
  WEFT_CHECK(demand.cap >= 0, "a flow's cap is >= 0");
  WEFT_CHECK(demand.loads.empty() || demand.loads.size() == demand.links.size(), "a flow has a load per link, or none");
  WEFT_CHECK(std::ranges::all_of(demand.loads, [](double load) { return std::isfinite(load) && load > 0; }),
             "a load is finite and > 0");
  WEFT_CHECK(demand.priority < priority_classes, "a priority is one of the classes there are");
  WEFT_CHECK(hops_.size() + demand.links.size() < none, "hops of all flows are counted in 32 bits");
  WEFT_CHECK(flow_count_ < slots_max, "flows are counted in 31 bits");
}

FlowSlot FlowLinkGraph::add(const FlowDemand& demand) {
  WEFT_CHECK(!slots_are_given_, "slots are chosen by the graph or by its user");
  check(demand);
  FlowSlot slot;
  if (free_slot_ == none) {
    slot = FlowSlot(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
  } else {
    slot = FlowSlot(free_slot_);
    free_slot_ = flows_[free_slot_].first_hop;
  }
  put(slot, demand);
  return slot;
}

void FlowLinkGraph::add_as(FlowSlot slot, const FlowDemand& demand) {
  WEFT_CHECK(!alive(slot), "a slot is free when a flow takes it");
  WEFT_CHECK(slot.index() < slots_max, "slots are counted in 31 bits");
  check(demand);
  slots_are_given_ = true;
  free_slot_ = none;
  if (flows_.size() <= slot.index()) flows_.resize(slot.index() + 1);
  put(slot, demand);
}

void FlowLinkGraph::put(FlowSlot slot, const FlowDemand& demand) {
  const std::size_t length = demand.links.size();
  const bool keeps_loads = !loads_.empty() || !std::ranges::all_of(demand.loads, is_one);
  if (words_each_ == 1 && (keeps_loads || length > short_path)) widen();
  if (free_hops_.size() <= length) free_hops_.resize(length + 1, none);
  Flow& flow = flows_[slot.index()];
  if (free_hops_[length] == none) {
    flow.first_hop = static_cast<std::uint32_t>(hops_.size());
    hops_.resize(hops_.size() + length);
  } else {
    flow.first_hop = free_hops_[length];
    free_hops_[length] = hops_[flow.first_hop].position;
  }
  flow.hop_count = static_cast<std::uint32_t>(length);
  for (std::uint32_t i = 0; i < flow.hop_count; ++i) {
    const LinkId link = demand.links[i];
    Members& members = members_[link.index()];
    hops_[flow.first_hop + i] = {link, static_cast<std::uint32_t>(members_in(members.size(), words_each_))};
    // By a quarter at a time, so that what is not used is little.
    if (members.capacity() - members.size() < words_each_)
      members.reserve(members.size() + std::max<std::size_t>(10, members.size() / 8 * 2));
    members.push_back(slot.index() << 1 | static_cast<std::uint32_t>(i == 0));
    if (words_each_ == 2) members.push_back(i);
  }
  if (keeps_loads) {
    loads_.resize(hops_.size(), 1.0);
    for (std::uint32_t i = 0; i < flow.hop_count; ++i) {
      const double load = demand.loads.empty() ? 1.0 : demand.loads[i];
      loads_[flow.first_hop + i] = load;
    }
  }
  const auto note = [&](auto& of_flows, auto usual, auto value) {
    if (value == usual && of_flows.empty()) return;
    of_flows.resize(flows_.size(), usual);
    of_flows[slot.index()] = value;
  };
  note(weights_, 1.0, demand.weight);
  note(caps_, std::numeric_limits<double>::infinity(), demand.cap);
  note(priorities_, std::uint8_t{0}, demand.priority);
  ++flow_count_;
  if (demand.weight != 1.0) ++weighted_flows_;
  if (demand.cap < std::numeric_limits<double>::infinity()) ++capped_flows_;
}

void FlowLinkGraph::widen() {
  std::vector<Members> wide(members_.size());
  for (std::size_t link = 0; link < wide.size(); ++link) wide[link].resize(2 * members_[link].size());
  for (std::uint32_t slot = 0; slot < flows_.size(); ++slot) {
    for (std::uint32_t i = 0; i < flows_[slot].hop_count; ++i) {
      const Hop& hop = hops_[flows_[slot].first_hop + i];
      wide[hop.link.index()][2 * hop.position] = members_[hop.link.index()][hop.position];
      wide[hop.link.index()][2 * hop.position + 1] = i;
    }
  }
  members_.swap(wide);
  words_each_ = 2;
}

/// Of a member that its hop is known as.
FlowLinkGraph::Hop& FlowLinkGraph::hop_of(const Member& member, Hop as) {
  Hop* hop = &hops_[flows_[member.flow.index()].first_hop];
  if (words_each_ == 2) return hop[member.last_word];
  while (hop->link != as.link || hop->position != as.position) ++hop;
  return *hop;
}

void FlowLinkGraph::remove(FlowSlot slot) {
  WEFT_CHECK(alive(slot), "only a flow that was added can be removed");
  Flow& flow = flows_[slot.index()];
  for (std::uint32_t i = 0; i < flow.hop_count; ++i) {
    Hop& hop = hops_[flow.first_hop + i];
    Members& members = members_[hop.link.index()];
    const auto last = members.end() - static_cast<std::ptrdiff_t>(words_each_);
    const auto last_position = static_cast<std::uint32_t>(members_in(members.size(), words_each_) - 1);
    if (hop.position != last_position) {
      hop_of(Member(&*last, words_each_), {hop.link, last_position}).position = hop.position;
      std::copy(last, members.end(), members.begin() + static_cast<std::ptrdiff_t>(hop.position * words_each_));
    }
    members.erase(last, members.end());
    hop.position = none;  // so that no later hop of the flow is taken for it
  }
  if (weight(slot) != 1.0) --weighted_flows_;
  if (cap(slot) < std::numeric_limits<double>::infinity()) --capped_flows_;
  hops_[flow.first_hop].position = std::exchange(free_hops_[flow.hop_count], flow.first_hop);
  flow.hop_count = 0;
  if (!slots_are_given_) flow.first_hop = std::exchange(free_slot_, slot.index());
  --flow_count_;
}

bool FlowLinkGraph::has_loads(FlowSlot flow, std::span<const double> these) const {
  const std::span<const double> own = loads(flow);
  if (own.empty()) return std::ranges::all_of(these, is_one);
  return these.empty() ? std::ranges::all_of(own, is_one) : std::ranges::equal(own, these);
}

void FlowLinkGraph::give_back() {
  WEFT_CHECK(flow_count_ == 0, "memory of flows is given back when there are none");
  for (Members& members : members_) {
    if (members.capacity() == Members().capacity()) continue;
    // Back to a place inside, which no function of it leads to.
    std::destroy_at(&members);
    std::construct_at(&members);
  }
  words_each_ = 1;
  release_memory(flows_);
  free_slot_ = none;
  release_memory(hops_);
  release_memory(loads_);
  release_memory(weights_);
  release_memory(caps_);
  release_memory(priorities_);
  release_memory(free_hops_);
}

void FlowLinkGraph::set_capacity(LinkId link, double capacity) {
  WEFT_CHECK(std::isfinite(capacity) && capacity >= 0, "a link's capacity is finite and >= 0");
  capacities_[link.index()] = capacity;
}

}  // namespace weft
