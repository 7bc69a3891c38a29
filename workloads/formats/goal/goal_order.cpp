// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/goal/goal_order.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "workloads/dag/topological_order.hpp"

namespace weft {

namespace {

using GoalEdges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  ///< (from, to)

/// Edges by one of their ends: for each op the other ends.
class Neighbours {
 public:
  /// `by_op`: for each op those that it waits for; else those that wait for it.
  Neighbours(std::size_t count, const GoalRank& rank, bool by_op) : begin_(count + 1, 0) {
    for (const GoalEdges* edges : {&rank.after_end, &rank.after_start}) {
      for (const auto& [dependency, op] : *edges) ++begin_[(by_op ? op : dependency) + 1];
    }
    for (std::size_t i = 0; i < count; ++i) begin_[i + 1] += begin_[i];
    others_.resize(begin_.back());
    // `begin_` doubles as the place to write next and is shifted back afterwards.
    for (const GoalEdges* edges : {&rank.after_end, &rank.after_start}) {
      for (const auto& [dependency, op] : *edges) others_[begin_[by_op ? op : dependency]++] = by_op ? dependency : op;
    }
    for (std::size_t i = count; i > 0; --i) begin_[i] = begin_[i - 1];
    begin_[0] = 0;
  }
  std::span<const std::uint32_t> of(std::uint32_t op) const {
    return {others_.data() + begin_[op], static_cast<std::size_t>(begin_[op + 1] - begin_[op])};
  }

 private:
  std::vector<std::uint64_t> begin_;
  std::vector<std::uint32_t> others_;
};

bool runs_forward(const GoalRank& rank) {
  const auto forward = [](const auto& edge) { return edge.first < edge.second; };
  return std::all_of(rank.after_end.begin(), rank.after_end.end(), forward) &&
         std::all_of(rank.after_start.begin(), rank.after_start.end(), forward);
}

/// Finds out which ops come before others.
class Precedence {
 public:
  explicit Precedence(const GoalRank& rank)
      : rank_(rank),
        count_(static_cast<std::uint32_t>(rank.ops.size())),
        dependencies_(count_, rank, true),
        steps_left_(steps_per_element * (rank.ops.size() + rank.after_end.size() + rank.after_start.size())) {
    if (!runs_forward(rank)) {
      order_ = dependency_order(rank);
      has_cycle_ = order_.size() < count_;
      if (has_cycle_) return;
      position_.resize(count_);
      for (std::uint32_t i = 0; i < count_; ++i) position_[order_[i]] = i;
    }
    divide_into_chains();
  }

  bool has_cycle() const { return has_cycle_; }
  std::uint32_t position_of(std::uint32_t op) const { return position_.empty() ? op : position_[op]; }

  /// Is `a` issued no later than `b`? Requires: `a` stands before `b` in the order of positions.
  bool settles(std::uint32_t a, std::uint32_t b) {
    if (!rank_.after_start.empty()) return precedes(a, b);
    const auto waits_for = dependencies_.of(a);
    return std::all_of(waits_for.begin(), waits_for.end(), [&](std::uint32_t dependency) { return precedes(dependency, b); });
  }

 private:
  /// How much of the rank may be searched, in ops and edges, per op and edge of it.
  static constexpr std::uint64_t steps_per_element = 4;
  static constexpr std::uint32_t no_op = UINT32_MAX;

  /// Of all that wait for an op, the one that the longest path follows continues its chain.
  void divide_into_chains() {
    std::vector<std::uint32_t> height(count_, 0);
    std::vector<std::uint32_t> next(count_, no_op);
    const auto op_at = [this](std::uint32_t i) { return order_.empty() ? i : order_[i]; };
    for (std::uint32_t i = count_; i-- > 0;) {
      const std::uint32_t op = op_at(i);
      for (const std::uint32_t dependency : dependencies_.of(op)) {
        if (height[dependency] > height[op]) continue;
        height[dependency] = height[op] + 1;
        next[dependency] = op;
      }
    }
    chain_.assign(count_, no_op);
    std::uint32_t chains = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const std::uint32_t op = op_at(i);
      std::uint32_t before = no_op;
      for (const std::uint32_t dependency : dependencies_.of(op)) {
        const bool is_later = before == no_op || position_of(before) < position_of(dependency);
        if (next[dependency] == op && is_later) before = dependency;
      }
      chain_[op] = before == no_op ? chains++ : chain_[before];
    }
  }

  /// Is there a path from `a` to `b`? Goes backwards from `b`: an op of `a`'s chain that is not
  /// before `a` comes after it.
  bool precedes(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t stop = position_of(a);
    if (stop >= position_of(b)) return false;
    if (chain_[a] == chain_[b]) return true;
    if (seen_.empty()) seen_.assign(count_, 0);
    ++searches_;
    stack_.assign(1, b);
    while (!stack_.empty()) {
      const std::uint32_t op = stack_.back();
      stack_.pop_back();
      for (const std::uint32_t dependency : dependencies_.of(op)) {
        if (steps_left_ == 0) return false;
        --steps_left_;
        if (position_of(dependency) < stop || seen_[dependency] == searches_) continue;
        if (chain_[dependency] == chain_[a]) return true;
        seen_[dependency] = searches_;
        stack_.push_back(dependency);
      }
    }
    return false;
  }

  const GoalRank& rank_;
  std::uint32_t count_;
  Neighbours dependencies_;
  std::uint64_t steps_left_;
  bool has_cycle_ = false;
  std::vector<std::uint32_t> order_;     ///< empty: that of the file
  std::vector<std::uint32_t> position_;  ///< inverse of order_
  std::vector<std::uint32_t> chain_;     ///< by op
  std::vector<std::uint64_t> seen_;      ///< by op: the latest search that came here
  std::uint64_t searches_ = 0;
  std::vector<std::uint32_t> stack_;
};

/// The ops of a kind that share peer and tag with another one, sorted by these.
std::vector<std::pair<std::uint64_t, std::uint32_t>> equal_messages(const GoalRank& rank, OpKind kind) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> messages;
  for (std::uint32_t op = 0; op < rank.ops.size(); ++op) {
    const GoalOp& what = rank.ops[op];
    if (what.kind == kind) messages.emplace_back(std::uint64_t{what.peer} << 32 | what.tag, op);
  }
  std::sort(messages.begin(), messages.end());
  std::size_t kept = 0;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::uint64_t key = messages[i].first;
    const bool is_equal = (i > 0 && before == key) || (i + 1 < messages.size() && messages[i + 1].first == key);
    before = key;
    if (is_equal) messages[kept++] = messages[i];
  }
  messages.resize(kept);
  return messages;
}

}  // namespace

std::uint64_t count_open_orders(const GoalRank& rank) {
  auto sends = equal_messages(rank, OpKind::send);
  auto receives = equal_messages(rank, OpKind::receive);
  if (sends.empty() && receives.empty()) return 0;
  Precedence precedence(rank);
  if (precedence.has_cycle()) return 0;
  std::uint64_t open = 0;
  for (auto* messages : {&sends, &receives}) {
    std::sort(messages->begin(), messages->end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : precedence.position_of(a.second) < precedence.position_of(b.second);
    });
    for (std::size_t i = 1; i < messages->size(); ++i) {
      const auto& [key_before, before] = (*messages)[i - 1];
      const auto& [key, op] = (*messages)[i];
      if (key_before == key && !precedence.settles(before, op)) ++open;
    }
  }
  return open;
}

std::vector<std::uint32_t> dependency_order(const GoalRank& rank) {
  const auto count = static_cast<std::uint32_t>(rank.ops.size());
  if (!runs_forward(rank)) {
    const Neighbours successors(count, rank, false);
    return topological_order(count, [&](std::uint32_t op) { return successors.of(op); }).order;
  }
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace weft
