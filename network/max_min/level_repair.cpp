// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/level_repair.hpp"

#include <algorithm>
#include <cmath>

#include "core/containers/cache.hpp"

namespace weft {

namespace {

// Flows of a link that are fetched before they are looked at.
constexpr std::size_t members_fetched_ahead = 16;

/// Of the flows of a link, those that want a share of it or more, and what the others leave to
/// them. No branches, as none could be foreseen.
template <bool all_one>
class Sharing {
 public:
  explicit Sharing(double capacity) : weight_and_rest_{0, capacity} {}
  void look_at(double amount, double without, double share) {
    const TwoDoubles wants{without, without};
    const auto shares = wants >= TwoDoubles{share, share};
    weight_and_rest_ += shares ? TwoDoubles{amount, 0} : TwoDoubles{0, -(amount * without)};
    flows_ -= shares[0];
  }
  std::int64_t flows() const { return flows_; }
  double weight() const { return weight_and_rest_[0]; }
  double rest() const { return weight_and_rest_[1]; }

 private:
  /// Compilers choose between two of these without a branch.
  using TwoDoubles = double __attribute__((vector_size(16)));
  TwoDoubles weight_and_rest_;
  std::int64_t flows_ = 0;
};

/// Where all amounts are 1, a weight is a count.
template <>
class Sharing<true> {
 public:
  explicit Sharing(double capacity) : rest_(capacity) {}
  void look_at(double, double without, double share) {
    const std::uint64_t shares = std::uint64_t{0} - static_cast<std::uint64_t>(without >= share);
    rest_ -= std::bit_cast<double>(std::bit_cast<std::uint64_t>(without) & ~shares);
    flows_ -= static_cast<std::int64_t>(shares);
  }
  std::int64_t flows() const { return flows_; }
  double weight() const { return static_cast<double>(flows_); }
  double rest() const { return rest_; }

 private:
  double rest_;
  std::int64_t flows_ = 0;
};

/// Whether it is the first of its path's hops over this link.
bool is_first_over(std::span<const FlowLinkGraph::Hop> path, LinkId link, std::size_t position) {
  return std::ranges::find(path, link, &FlowLinkGraph::Hop::link)->position == position;
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
  const auto look_at = [&](std::uint32_t link, double level) {
    found.second = std::min(found.second, std::max(found.least, level));
    found.limit = level < found.least ? link : found.limit;
    found.least = std::min(found.least, level);
  };
  if (flow.repeats) {
    visit_path(slot, [&](std::uint32_t link, std::size_t) { look_at(link, link == found.limit ? infinite : links_[link].level); });
  } else {
    for (std::size_t hop = 0; hop < flow.length; ++hop) look_at(flow.links[hop], links_[flow.links[hop]].level);
  }
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
  for (const FlowLinkGraph::Member member : graph_.members(id)) {
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
    for (const FlowLinkGraph::Member member : graph_.members(link)) {
      if (member.is_first) find_least(member.flow);
    }
  }
}

bool LevelRepair::run(LevelState& state, std::span<const LinkId> links, std::uint64_t work_max, std::vector<FlowSlot>& touched) {
  return state.graph_.weights_are_one() ? run_with<true>(state, links, work_max, touched)
                                        : run_with<false>(state, links, work_max, touched);
}

template <bool all_one>
bool LevelRepair::run_with(LevelState& state, std::span<const LinkId> links, std::uint64_t work_max,
                           std::vector<FlowSlot>& touched) {
  state_ = &state;
  // Every link once, and a place that tell() may write to and not keep.
  if (marked_.size() <= state.links_.size()) marked_.resize(state.links_.size() + 1);
  const std::uint64_t work_end = counters_.flows_visited + work_max;
  for (const LinkId link : links) consider<all_one>(link.index());
  while (!queue_.empty()) {
    const Entry entry = queue_.front();
    queue_.pop();
    if (!queue_.empty()) state.graph_.fetch_members(LinkId(static_cast<std::uint32_t>(queue_.front().link)));
    LevelState::Link& link = state.links_[entry.link];
    if (!link.queued || link.key != entry.key) continue;
    link.queued = false;
    // Other links' new levels put many a link in order before its turn comes.
    if (link.is_in_order()) continue;
    if (!link.next_known) sum<all_one>(entry.link);
    if (LevelState::is_same(link.level, link.next)) continue;
    if (const double key = std::min(link.level, link.next); !queue_.empty() && key > queue_.front().key) {
      push(entry.link, key);
      continue;
    }
    publish<all_one>(entry.link, touched);
    for (std::size_t i = 0; i < marked_count_; ++i) {
      state.links_[marked_[i]].marked = false;
      consider<all_one>(marked_[i]);
    }
    marked_count_ = 0;
    if (counters_.flows_visited > work_end) {
      drop_queue();
      return false;
    }
  }
  return true;
}

/// What the flow takes of the link per unit of a level: a.
template <bool all_one>
inline double LevelRepair::amount_of(const LevelState::Flow& flow, const FlowLinkGraph::Member& member) const {
  if constexpr (all_one) return 1.0;
  return flow.weight * state_->graph_.load(member);
}

/// Queues the link unless it is in order, by a bound from below where its new level is not known.
template <bool all_one>
void LevelRepair::consider(std::uint32_t id) {
  LevelState::Link& link = state_->links_[id];
  if (link.is_in_order()) return;
  if (link.level < LevelState::infinite && link.excess_known()) {
    if (link.excess < 0) return push(id, link.level);
    // The sum is concave in the level, so that its tangent meets the capacity below the root.
    if (link.weight > 0) return push(id, std::max(0.0, link.level - link.excess / link.weight));
  }
  sum<all_one>(id);
  if (!LevelState::is_same(link.level, link.next)) push(id, std::min(link.level, link.next));
}

void LevelRepair::push(std::uint32_t id, double key) {
  LevelState::Link& link = state_->links_[id];
  if (link.queued && link.key <= key) return;
  link.queued = true;
  link.key = key;
  queue_.push({key, id});
  state_->graph_.fetch_list(LinkId(id));
}

/// Adds up excess and weight of a link afresh, and solves E for its next level.
template <bool all_one>
void LevelRepair::sum(std::uint32_t id) {
  LevelState::Link& link = state_->links_[id];
  const FlowLinkGraph::MemberList members = state_->graph_.members(LinkId(id));
  const double capacity = link.capacity;
  ++counters_.links_summed;
  counters_.flows_visited += members.size();
  if (shares_.size() < members.size()) shares_.resize(members.size());
  Share* const shares = shares_.data();
  const LevelState::Flow* const flows = state_->flows_.data();
  double share = link.level;
  Sharing<all_one> sharing(capacity);
  double wanted = 0;
  double weight = 0;
  const auto fetch = [&](std::size_t i) { cache::fetch(&flows[members[i].flow.index()], sizeof(LevelState::Flow)); };
  cache::visit_ahead(members.size(), members_fetched_ahead, fetch, [&](std::size_t i) {
    const LevelState::Flow& flow = flows[members[i].flow.index()];
    const Share of_flow{amount_of<all_one>(flow, members[i]), flow.without(id)};
    shares[i] = of_flow;
    weight += of_flow.amount;
    wanted += of_flow.amount * of_flow.without;
    sharing.look_at(of_flow.amount, of_flow.without, share);
  });
  link.set_excess(sharing.flows() > 0 ? share * sharing.weight() - sharing.rest() : wanted - capacity, sharing.weight());
  link.next_known = true;
  link.next = LevelState::infinite;
  if (wanted <= capacity * (1 + LevelState::same_level)) return;
  // Newton's method. From wherever it begins, the first step leads to the root or below, and from
  // then on the share can only grow. Rounding may lead beyond a flow that wants just as much, and
  // so the second look is from as far below as levels count as the same.
  double root = sharing.flows() > 0 ? sharing.rest() / sharing.weight() : capacity / weight;
  std::int64_t flows_before = sharing.flows() > 0 ? sharing.flows() : static_cast<std::int64_t>(members.size());
  share = root * (1 - LevelState::same_level);
  while (true) {
    sharing = Sharing<all_one>(capacity);
    for (std::size_t i = 0; i < members.size(); ++i) sharing.look_at(shares[i].amount, shares[i].without, share);
    if (sharing.flows() == flows_before) break;
    if (sharing.flows() == 0) return;
    flows_before = sharing.flows();
    root = std::max(share, sharing.rest() / sharing.weight());
    share = root;
  }
  link.next = root;
}

/// Gives the link its next level and tells its flows and their links.
template <bool all_one>
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
  const FlowLinkGraph::MemberList members = graph.members(LinkId(id));
  counters_.flows_visited += members.size();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const FlowLinkGraph::Member member = members[i];
    LevelState::Flow& flow = state_->flows_[member.flow.index()];
    const bool limits = flow.limit == id;
    const double without = limits ? flow.second : flow.least;
    const double amount = amount_of<all_one>(flow, member);
    load += amount * std::min(new_level, without);
    filling += without >= new_level ? amount : 0.0;
    if (!limits && flow.second < lower) continue;
    // A flow on which the link stands twice is told once.
    if (flow.repeats && !is_first_over(graph.hops(member.flow), LinkId(id), i)) continue;
    tell<all_one>(member.flow, id, touched);
  }
  link.marked = false;
  link.set_excess(load - link.capacity, filling);
  // The level just found stays the root until one of the flows moves for another reason.
  link.next_known = true;
}

/// A flow on a link that has a new level.
template <bool all_one>
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
  const std::span<const double> loads = all_one ? std::span<const double>() : state_->graph_.loads(slot);
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
    const bool is_news = !link.is_clear() & !link.marked;
    marked[marked_count] = id;
    marked_count += static_cast<std::size_t>(is_news);
    link.marked |= is_news;
  });
  marked_count_ = marked_count;
}

void LevelRepair::drop_queue() {
  for (const Entry& entry : queue_.entries()) state_->links_[entry.link].queued = false;
  queue_.clear();
}

}  // namespace weft
