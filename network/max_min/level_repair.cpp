// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/level_repair.hpp"

#include <algorithm>
#include <cmath>

#include "core/containers/cache.hpp"

namespace weft {

namespace {

constexpr std::size_t members_ahead = 16;  // flows of a link fetched before they are looked at

/// Compilers choose between two of these without a branch.
using TwoDoubles = double __attribute__((vector_size(16)));

bool stands_before(std::span<const FlowLinkGraph::Hop> path, std::uint32_t hop) {
  const auto before = path.first(hop);
  return std::any_of(before.begin(), before.end(), [&](const FlowLinkGraph::Hop& other) { return other.link == path[hop].link; });
}

}  // namespace

bool LevelState::is_same(double a, double b) {
  return a == b || (std::max(a, b) < infinite && std::abs(a - b) <= same_level * std::max(a, b));
}

LevelState::LevelState(const FlowLinkGraph& graph) : graph_(graph) {
  for (std::uint32_t link = 0; link < graph.link_count(); ++link) {
    links_.emplace_back(graph.capacity(LinkId(link)));
    highest_.push_back(graph.capacity(LinkId(link)));
  }
}

/// By the highest capacities, so that it holds whatever capacities do below them.
void LevelState::find_bound(FlowSlot slot) {
  double bound = infinite;
  const std::span<const double> loads = graph_.loads(slot);
  visit_path(slot, [&](std::uint32_t link, std::size_t hop) {
    const double highest = highest_[link];
    bound = std::min(bound, loads.empty() ? highest : highest / loads[hop]);
  });
  Flow& flow = flows_[slot.index()];
  flow.bound = std::min(graph_.cap(slot), bound) / flow.weight;
}

void LevelState::find_least(FlowSlot slot) {
  Flow& flow = flows_[slot.index()];
  Limits found{flow.bound, infinite, by_itself};
  visit_path(slot, [&](std::uint32_t link, std::size_t) {
    const double level = link == found.limit ? infinite : links_[link].level;
    found.second = std::min(found.second, std::max(found.least, level));
    found.limit = level < found.least ? link : found.limit;
    found.least = std::min(found.least, level);
  });
  flow.least = found.least;
  flow.second = found.second;
  flow.limit = found.limit;
}

/// What the flow gets comes to its links, or leaves them if the sign is -1.
void LevelState::add_loads(FlowSlot slot, double sign) {
  const Flow& flow = flows_[slot.index()];
  const std::span<const double> loads = graph_.loads(slot);
  visit_path(slot, [&](std::uint32_t id, std::size_t hop) {
    Link& link = links_[id];
    const double amount = sign * flow.weight * (loads.empty() ? 1.0 : loads[hop]);
    link.add_load(amount * flow.least, flow.fills(id, link.level) ? amount : 0.0);
  });
}

void LevelState::on_added(FlowSlot slot) {
  if (flows_.size() < graph_.slot_count()) flows_.resize(graph_.slot_count());
  Flow& flow = flows_[slot.index()];
  flow.weight = graph_.weight(slot);
  flow.touched = false;
  const std::span<const FlowLinkGraph::Hop> hops = graph_.hops(slot);
  flow.length = hops.size() > links_inside ? is_long : static_cast<std::uint8_t>(hops.size());
  // Not worth finding out for a long path.
  flow.repeats = flow.length == is_long;
  for (std::size_t i = 0; i < hops.size() && flow.length != is_long; ++i) {
    const auto end = flow.links.begin() + static_cast<std::ptrdiff_t>(i);
    *end = hops[i].link.index();
    flow.repeats = flow.repeats || std::find(flow.links.begin(), end, *end) != end;
  }
  find_bound(slot);
  find_least(slot);
  add_loads(slot, 1);
}

void LevelState::on_removed(FlowSlot slot) { add_loads(slot, -1); }

bool LevelState::on_capacity_changed(LinkId id) {
  Link& link = links_[id.index()];
  link.set_capacity(graph_.capacity(id));
  link.changes = unknown;
  link.next_known = false;
  if (link.capacity <= highest_[id.index()]) return false;
  highest_[id.index()] = link.capacity;
  for (const FlowLinkGraph::Member& member : graph_.members(id)) {
    add_loads(member.flow, -1);
    find_bound(member.flow);
    find_least(member.flow);
    add_loads(member.flow, 1);
  }
  return true;
}

void LevelState::take_over(std::span<const LinkId> links, std::span<const double> levels) {
  for (const LinkId link : links) {
    links_[link.index()].set_level(levels[link.index()]);
    links_[link.index()].changes = unknown;
    links_[link.index()].next_known = false;
  }
  for (const LinkId link : links) {
    for (const FlowLinkGraph::Member& member : graph_.members(link)) {
      if (member.hop == 0) find_least(member.flow);
    }
  }
}

bool LevelRepair::run(LevelState& state, std::span<const LinkId> links, std::uint64_t work_max, std::vector<FlowSlot>& touched) {
  state_ = &state;
  // Every link once, and a place that tell() may write to and not keep.
  if (marked_.size() <= state.links_.size()) marked_.resize(state.links_.size() + 1);
  const std::uint64_t work_end = counters_.flows_visited + work_max;
  for (const LinkId link : links) consider(link.index());
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end());
    const Entry entry = queue_.back();
    queue_.pop_back();
    LevelState::Link& link = state.links_[entry.link];
    if (!link.queued || link.key != entry.key) continue;
    link.queued = false;
    // Other links' new levels put many a link in order before its turn comes.
    if (link.is_in_order()) continue;
    if (!link.next_known) sum(entry.link);
    if (LevelState::is_same(link.level, link.next)) continue;
    if (const double key = std::min(link.level, link.next); !queue_.empty() && key > queue_.front().key) {
      push(entry.link, key);
      continue;
    }
    publish(entry.link, touched);
    for (std::size_t i = 0; i < marked_count_; ++i) {
      state.links_[marked_[i]].marked = false;
      consider(marked_[i]);
    }
    marked_count_ = 0;
    if (counters_.flows_visited > work_end) {
      drop_queue();
      return false;
    }
  }
  return true;
}

/// Queues the link unless it is in order, by a bound from below where its new level is not known.
void LevelRepair::consider(std::uint32_t id) {
  LevelState::Link& link = state_->links_[id];
  if (link.is_in_order()) return;
  if (link.level < LevelState::infinite && link.excess_known()) {
    if (link.excess < 0) return push(id, link.level);
    // The sum is concave in the level, so that its tangent meets the capacity below the root.
    if (link.weight > 0) return push(id, std::max(0.0, link.level - link.excess / link.weight));
  }
  sum(id);
  if (!LevelState::is_same(link.level, link.next)) push(id, std::min(link.level, link.next));
}

void LevelRepair::push(std::uint32_t id, double key) {
  LevelState::Link& link = state_->links_[id];
  if (link.queued && link.key <= key) return;
  link.queued = true;
  link.key = key;
  queue_.push_back({key, id});
  std::push_heap(queue_.begin(), queue_.end());
}

/// Adds up excess and weight of a link afresh, and solves E for its next level.
void LevelRepair::sum(std::uint32_t id) {
  LevelState::Link& link = state_->links_[id];
  const FlowLinkGraph& graph = state_->graph_;
  const std::span<const FlowLinkGraph::Member> members = graph.members(LinkId(id));
  const double capacity = link.capacity;
  ++counters_.links_summed;
  counters_.flows_visited += members.size();
  if (shares_.size() < members.size()) shares_.resize(members.size());
  Share* const shares = shares_.data();
  const LevelState::Flow* const flows = state_->flows_.data();
  // Of the flows that want less than a share, which leave the rest to the others. No branches, as
  // none could be foreseen.
  double share = link.level;
  std::int64_t sharing = 0;
  TwoDoubles weight_and_rest{0, capacity};
  const auto look_at = [&](Share of_flow) {
    const TwoDoubles without{of_flow.without, of_flow.without};
    const auto shares_rest = without >= TwoDoubles{share, share};
    weight_and_rest += shares_rest ? TwoDoubles{of_flow.amount, 0} : TwoDoubles{0, -(of_flow.amount * of_flow.without)};
    sharing -= shares_rest[0];
  };
  double wanted = 0;
  double weight = 0;
  const auto fetch = [&](std::size_t i) { cache::fetch(&flows[members[i].flow.index()], sizeof(LevelState::Flow)); };
  cache::visit_ahead(members.size(), members_ahead, fetch, [&](std::size_t i) {
    const LevelState::Flow& flow = flows[members[i].flow.index()];
    const Share of_flow{flow.weight * graph.load(members[i]), flow.without(id)};
    shares[i] = of_flow;
    weight += of_flow.amount;
    wanted += of_flow.amount * of_flow.without;
    look_at(of_flow);
  });
  link.set_excess(sharing > 0 ? share * weight_and_rest[0] - weight_and_rest[1] : wanted - capacity, weight_and_rest[0]);
  link.next_known = true;
  link.next = LevelState::infinite;
  if (wanted <= capacity * (1 + LevelState::same_level)) return;
  // Newton's method. From wherever it begins, the first step leads to the root or below, and from
  // then on the share can only grow. Rounding may lead beyond a flow that wants just as much, and
  // so the second look is from as far below as levels count as the same.
  double root = sharing > 0 ? weight_and_rest[1] / weight_and_rest[0] : capacity / weight;
  if (sharing == 0) sharing = static_cast<std::int64_t>(members.size());
  share = root * (1 - LevelState::same_level);
  while (true) {
    const std::int64_t sharing_before = sharing;
    sharing = 0;
    weight_and_rest = TwoDoubles{0, capacity};
    for (std::size_t i = 0; i < members.size(); ++i) look_at(shares[i]);
    if (sharing == sharing_before) break;
    if (sharing == 0) return;
    root = std::max(share, weight_and_rest[1] / weight_and_rest[0]);
    share = root;
  }
  link.next = root;
}

/// Gives the link its next level and tells its flows and their links.
void LevelRepair::publish(std::uint32_t id, std::vector<FlowSlot>& touched) {
  const FlowLinkGraph& graph = state_->graph_;
  LevelState::Link* const links = state_->links_.data();
  LevelState::Link& link = links[id];
  const double new_level = link.next;
  const double lower = std::min(link.level, new_level);
  link.set_level(new_level);
  link.marked = true;  // what its own level does to its flows does not count for its equation
  ++counters_.links_set;
  double load = 0;
  double filling = 0;
  const std::span<const FlowLinkGraph::Member> members = graph.members(LinkId(id));
  counters_.flows_visited += members.size();
  for (const FlowLinkGraph::Member& member : members) {
    LevelState::Flow& flow = state_->flows_[member.flow.index()];
    const double without = flow.without(id);
    const double amount = flow.weight * graph.load(member);
    load += amount * std::min(new_level, without);
    filling += without >= new_level ? amount : 0.0;
    if (flow.limit != id && flow.second < lower) continue;
    // A flow on which the link stands twice is told once.
    if (flow.repeats && stands_before(graph.hops(member.flow), member.hop)) continue;
    tell(member.flow, id, touched);
  }
  link.marked = false;
  link.set_excess(load - link.capacity, filling);
  // The level just found stays the root until one of the flows moves for another reason.
  link.next_known = true;
}

/// A flow on a link that has a new level.
inline void LevelRepair::tell(FlowSlot slot, std::uint32_t id, std::vector<FlowSlot>& touched) {
  LevelState::Link* const links = state_->links_.data();
  LevelState::Flow& flow = state_->flows_[slot.index()];
  const LevelState::Limits before = flow;
  const double level = links[id].level;
  if (flow.limit == id && level <= flow.second) {
    flow.least = level;
  } else if (flow.limit != id && level < flow.least) {
    flow.second = flow.least;
    flow.least = level;
    flow.limit = id;
  } else if (flow.limit != id && level <= flow.second) {
    flow.second = level;
  } else {
    state_->find_least(slot);
  }
  if (flow.least == before.least) {
    // Only the link that limits the flow may see another u, which is no lower than its level before
    // and after.
    if (flow.limit != LevelState::by_itself && flow.limit != id) links[flow.limit].next_known = false;
    return;
  }
  state_->touch(slot, touched);
  const std::span<const double> loads = state_->graph_.loads(slot);
  if (loads.empty()) {
    tell_links(slot, before.least, [](std::size_t) { return 1.0; });
  } else {
    tell_links(slot, before.least, [&](std::size_t hop) { return loads[hop]; });
  }
}

/// What the flow gets of its links has moved from `before` to its least.
template <typename LoadOf>
inline void LevelRepair::tell_links(FlowSlot slot, double before, LoadOf load_of) {
  // Copies, so that nothing is read again after each write to a link; and no branches, as none
  // could be foreseen.
  LevelState::Link* const links = state_->links_.data();
  const LevelState::Flow& flow = state_->flows_[slot.index()];
  const double after = flow.least;
  const double weight = flow.weight;
  const double more = weight * (after - before);
  std::uint32_t* const marked = marked_.data();
  std::size_t marked_count = marked_count_;
  state_->visit_path(slot, [&](std::uint32_t id, std::size_t hop) {
    LevelState::Link& link = links[id];
    const double load = load_of(hop);
    const double amount = weight * load;
    // The flow's limit has a level of its least, so that Limits::fills() says no more; but for the
    // link that is published, which does not count.
    const double filled = before >= link.level ? amount : 0.0;
    const double fills = after >= link.level ? amount : 0.0;
    // Not held against excess_max: a link with so much more than its capacity is summed before its
    // excess counts.
    link.excess += more * load;
    link.weight += fills - filled;
    ++link.changes;
    link.next_known = false;
    const bool is_news = !(link.marked | link.is_clear());
    marked[marked_count] = id;
    marked_count += is_news ? 1 : 0;
    link.marked |= is_news;
  });
  marked_count_ = marked_count;
}

void LevelRepair::drop_queue() {
  for (const Entry& entry : queue_) state_->links_[entry.link].queued = false;
  queue_.clear();
}

}  // namespace weft
