#include "network/level_repair.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

namespace {

constexpr double kSameLevel = 1e-12;         // relative
constexpr double kClearlyBelow = 1e-9;       // of the capacity: a link so far from full is nobody's bottleneck
constexpr std::uint16_t kChangesMax = 1024;  // of an excess before it is summed afresh, so that rounding does not pile up

bool same(double a, double b) {
  return a == b || (std::max(a, b) < LevelState::infinite && std::abs(a - b) <= kSameLevel * std::max(a, b));
}

}  // namespace

void LevelState::find_least(FlowSlot slot) {
  Flow& flow = flows_[slot.index()];
  flow.least = graph_.cap(slot) / flow.weight;
  flow.limit = by_cap;
  flow.second = infinite;
  for (const FlowLinkGraph::Hop& hop : graph_.hops(slot)) {
    const std::uint32_t link = hop.link.index();
    if (link == flow.limit) continue;
    const double level = links_[link].level;
    if (level < flow.least) {
      flow.second = flow.least;
      flow.least = level;
      flow.limit = link;
    } else if (level < flow.second) {
      flow.second = level;
    }
  }
}

/// `amount` of a flow whose level without the link goes from `before` to `after`.
void LevelState::move_excess(Link& link, double amount, double before, double after) {
  link.next_known = false;
  if (!link.excess_known) return;
  const double carried_before = std::min(link.level, before);
  const double carried_after = std::min(link.level, after);
  if (carried_before == infinite || carried_after == infinite || ++link.changes > kChangesMax) {
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
  find_least(slot);
  const std::span<const FlowLinkGraph::Hop> hops = graph_.hops(slot);
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
      if (link.excess <= -kClearlyBelow * state_->graph_.capacity(LinkId(id))) return;
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
  const double capacity = graph.capacity(LinkId(id));
  ++counters_.links_summed;
  counters_.flows_visited += members.size();
  shares_.clear();
  double wanted = 0;
  double carried = 0;
  double weight_at_level = 0;
  double weight = 0;
  for (const FlowLinkGraph::Member& member : members) {
    const LevelState::Flow& flow = state_->flows_[member.flow.index()];
    const Share share{flow.weight * graph.load(member), flow.without(id)};
    shares_.push_back(share);
    weight += share.amount;
    wanted += share.amount * share.without;
    carried += share.amount * std::min(link.level, share.without);
    if (share.without >= link.level) weight_at_level += share.amount;
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
  std::size_t count = shares_.size();
  while (count > 0) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (shares_[i].without < share) {
        left -= shares_[i].amount * shares_[i].without;
      } else {
        shares_[kept++] = shares_[i];
      }
    }
    if (kept == count) break;
    count = kept;
    weight = 0;
    for (std::size_t i = 0; i < count; ++i) weight += shares_[i].amount;
    share = std::max(share, left / weight);
  }
  if (count > 0) link.next = share;
}

/// Gives the link its next level and tells its flows and their links.
void LevelRepair::publish(std::uint32_t id, std::vector<FlowSlot>& touched) {
  const FlowLinkGraph& graph = state_->graph_;
  LevelState::Link& link = state_->links_[id];
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
    if (flow.limit != id && flow.second < lower) continue;
    const std::span<const FlowLinkGraph::Hop> hops = graph.hops(member.flow);
    const auto before_member = hops.first(member.hop);
    if (std::any_of(before_member.begin(), before_member.end(), [&](const auto& hop) { return hop.link.index() == id; })) continue;
    const LevelState::Flow before = flow;
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
    if (flow.least != before.least) state_->touch(member.flow, touched);
    if (flow.least == before.least && flow.second == before.second && flow.limit == before.limit) continue;
    const std::span<const double> loads = graph.loads(member.flow);
    for (std::size_t i = 0; i < hops.size(); ++i) {
      const std::uint32_t other = hops[i].link.index();
      if (other == id) continue;
      const double was = before.without(other);
      const double is = flow.without(other);
      if (was == is) continue;
      LevelState::Link& disturbed = state_->links_[other];
      const bool was_known = disturbed.excess_known;
      const double excess = disturbed.excess;
      LevelState::move_excess(disturbed, flow.weight * (loads.empty() ? 1.0 : loads[i]), was, is);
      if (disturbed.marked || (was_known && disturbed.excess_known && disturbed.excess == excess)) continue;
      disturbed.marked = true;
      marked_.push_back(other);
    }
  }
  link.excess_known = carried < LevelState::infinite;
  link.excess = carried - graph.capacity(LinkId(id));
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
