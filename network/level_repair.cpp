#include "network/level_repair.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

namespace {

constexpr double kSameLevel = 1e-12;  // relative

bool same(double a, double b) {
  return a == b || (std::max(a, b) < LevelState::infinite && std::abs(a - b) <= kSameLevel * std::max(a, b));
}

}  // namespace

void LevelState::find_least(FlowSlot slot) {
  Flow& flow = flows_[slot.index()];
  flow.least = graph_.cap(slot) / flow.weight;
  flow.limit = by_cap;
  flow.second = infinite;
  for (const std::uint32_t link : path(slot)) {
    const double level = link == flow.limit ? infinite : links_[link].level;
    const bool is_less = level < flow.least;
    flow.second = is_less ? flow.least : std::min(flow.second, level);
    flow.limit = is_less ? link : flow.limit;
    flow.least = is_less ? level : flow.least;
  }
}

/// `amount` of a flow whose level without the link goes from `before` to `after`.
inline void LevelState::move_excess(Link& link, double amount, double before, double after) {
  link.next_known = false;
  if (!link.excess_known) return;
  const double carried_before = std::min(link.level, before);
  const double carried_after = std::min(link.level, after);
  if (carried_before == infinite || carried_after == infinite || ++link.changes > changes_max) {
    link.excess_known = false;
    return;
  }
  link.excess += amount * (carried_after - carried_before);
  if (before < link.level && after >= link.level) link.weight += amount;
  if (before >= link.level && after < link.level) link.weight -= amount;
}

void LevelState::on_added(FlowSlot slot) {
  if (flows_.size() < graph_.slot_count()) flows_.resize(graph_.slot_count());
  Flow& flow = flows_[slot.index()];
  flow.weight = graph_.weight(slot);
  flow.touched = false;
  const std::span<const FlowLinkGraph::Hop> hops = graph_.hops(slot);
  flow.length = static_cast<std::uint32_t>(hops.size());
  if (hops.size() > links_inside) {
    if (long_paths_.size() <= slot.index()) long_paths_.resize(slot.index() + 1);
    long_paths_[slot.index()].resize(hops.size());
  }
  std::uint32_t* const links = hops.size() > links_inside ? long_paths_[slot.index()].data() : flow.links.data();
  // Not worth finding out for a long path.
  flow.repeats = hops.size() > links_inside;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    links[i] = hops[i].link.index();
    flow.repeats = flow.repeats || std::find(links, links + i, links[i]) != links + i;
  }
  find_least(slot);
  const std::span<const double> loads = graph_.loads(slot);
  for (std::size_t i = 0; i < hops.size(); ++i) {
    Link& link = links_[hops[i].link.index()];
    // A flow that is not there has as much as one that is limited to nothing.
    move_excess(link, flow.weight * (loads.empty() ? 1.0 : loads[i]), 0.0, flow.without(hops[i].link.index()));
    if (link.level == 0) link.excess_known = false;
  }
}

void LevelState::on_removed(FlowSlot slot) {
  const Flow& flow = flows_[slot.index()];
  const std::span<const FlowLinkGraph::Hop> hops = graph_.hops(slot);
  const std::span<const double> loads = graph_.loads(slot);
  for (std::size_t i = 0; i < hops.size(); ++i) {
    Link& link = links_[hops[i].link.index()];
    move_excess(link, flow.weight * (loads.empty() ? 1.0 : loads[i]), flow.without(hops[i].link.index()), 0.0);
    if (link.level == 0) link.excess_known = false;
  }
}

void LevelState::take_over(std::span<const LinkId> links, std::span<const double> levels) {
  for (const LinkId link : links) {
    links_[link.index()].level = levels[link.index()];
    links_[link.index()].excess_known = false;
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
  const std::uint64_t work_end = counters_.flows_visited + work_max;
  for (const LinkId link : links) consider(link.index());
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end());
    const Entry entry = queue_.back();
    queue_.pop_back();
    LevelState::Link& link = state.links_[entry.link];
    if (!link.queued || link.version != entry.version) continue;
    link.queued = false;
    if (!link.next_known) sum(entry.link);
    if (same(link.level, link.next)) continue;
    if (const double key = std::min(link.level, link.next); !queue_.empty() && key > queue_.front().key) {
      push(entry.link, key);
      continue;
    }
    publish(entry.link, touched);
    for (const std::uint32_t other : marked_) {
      state.links_[other].marked = false;
      consider(other);
    }
    marked_.clear();
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
  if (link.excess_known) {
    if (link.level == LevelState::infinite) {
      if (link.is_clear()) return;
    } else {
      if (std::abs(link.excess) <= kSameLevel * link.level * link.weight) return;
      if (link.excess < 0) return push(id, link.level);
      // The sum is concave in the level, so that its tangent meets the capacity below the root.
      if (link.weight > 0) return push(id, std::max(0.0, link.level - link.excess / link.weight));
    }
  }
  sum(id);
  if (!same(link.level, link.next)) push(id, std::min(link.level, link.next));
}

void LevelRepair::push(std::uint32_t id, double key) {
  LevelState::Link& link = state_->links_[id];
  if (link.queued && link.key <= key) return;
  link.queued = true;
  link.key = key;
  queue_.push_back({key, id, ++link.version});
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
  shares_.resize(std::max(shares_.size(), members.size()));
  double wanted = 0;
  double carried = 0;
  double weight_at_level = 0;
  double weight = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const LevelState::Flow& flow = state_->flows_[members[i].flow.index()];
    const Share share{flow.weight * graph.load(members[i]), flow.without(id)};
    shares_[i] = share;
    weight += share.amount;
    wanted += share.amount * share.without;
    carried += share.amount * std::min(link.level, share.without);
    weight_at_level += share.without >= link.level ? share.amount : 0.0;
  }
  link.excess_known = carried < LevelState::infinite;
  link.excess = carried - capacity;
  link.weight = weight_at_level;
  link.changes = 0;
  link.next_known = true;
  link.next = LevelState::infinite;
  if (wanted <= capacity * (1 + kSameLevel)) return;
  // Flows that want less than an equal share leave the rest to the others, whose share can only grow.
  double left = capacity;
  double share = left / weight;
  std::size_t count = members.size();
  while (count > 0) {
    std::size_t kept = 0;
    weight = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Share other = shares_[i];
      const bool stays = !(other.without < share);
      shares_[kept] = other;
      kept += stays ? 1 : 0;
      weight += stays ? other.amount : 0.0;
      left -= stays ? 0.0 : other.amount * other.without;
    }
    if (kept == count) break;
    count = kept;
    share = std::max(share, left / weight);
  }
  if (count > 0) link.next = share;
}

/// Gives the link its next level and tells its flows and their links.
void LevelRepair::publish(std::uint32_t id, std::vector<FlowSlot>& touched) {
  const FlowLinkGraph& graph = state_->graph_;
  LevelState::Link* const links = state_->links_.data();
  LevelState::Link& link = links[id];
  const double old_level = link.level;
  const double new_level = link.next;
  const double lower = std::min(old_level, new_level);
  link.level = new_level;
  ++counters_.links_set;
  double carried = 0;
  double weight_at_level = 0;
  const std::span<const FlowLinkGraph::Member> members = graph.members(LinkId(id));
  counters_.flows_visited += members.size();
  for (const FlowLinkGraph::Member& member : members) {
    LevelState::Flow& flow = state_->flows_[member.flow.index()];
    const double without = flow.without(id);
    const double amount = flow.weight * graph.load(member);
    carried += amount * std::min(new_level, without);
    if (without >= new_level) weight_at_level += amount;
    const LevelState::Limits before = flow;
    if (before.limit != id && before.second < lower) continue;
    const std::span<const std::uint32_t> path = state_->path(member.flow);
    // A link that stands twice in a path is told once.
    if (flow.repeats && std::find(path.begin(), path.begin() + member.hop, id) != path.begin() + member.hop) continue;
    if (flow.limit == id && new_level <= flow.second) {
      flow.least = new_level;
    } else if (flow.limit != id && new_level < flow.least) {
      flow.second = flow.least;
      flow.least = new_level;
      flow.limit = id;
    } else if (flow.limit != id && new_level <= flow.second) {
      flow.second = new_level;
    } else {
      state_->find_least(member.flow);
    }
    const std::span<const double> loads = graph.loads(member.flow);
    // What the flow would get without the link at position i goes from `was` to `is`.
    const auto disturb = [&](std::size_t i, double was, double is) {
      if (was == is) return;
      LevelState::Link& other = links[path[i]];
      const bool was_known = other.excess_known;
      const double excess = other.excess;
      LevelState::move_excess(other, flow.weight * (loads.empty() ? 1.0 : loads[i]), was, is);
      if (other.marked) return;
      if (other.excess_known) {
        if (was_known && other.excess == excess) return;
        if (other.level == LevelState::infinite && other.is_clear()) return;
      }
      other.marked = true;
      marked_.push_back(path[i]);
    };
    if (flow.least != before.least) {
      state_->touch(member.flow, touched);
      for (std::size_t i = 0; i < path.size(); ++i) disturb(i, before.without(path[i]), flow.without(path[i]));
    } else if (flow.second != before.second || flow.limit != before.limit) {
      // Only the links that limit the flow, or did, see the second least.
      for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] == flow.limit || path[i] == before.limit) disturb(i, before.without(path[i]), flow.without(path[i]));
      }
    }
  }
  link.excess_known = carried < LevelState::infinite;
  link.excess = carried - link.capacity;
  link.weight = weight_at_level;
  link.changes = 0;
  // Its own flows do not count for its equation: the level just found stays the root until one of them moves for another reason.
  link.next_known = true;
}

void LevelRepair::drop_queue() {
  for (const Entry& entry : queue_) state_->links_[entry.link].queued = false;
  queue_.clear();
}

}  // namespace weft
