// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/data_flow.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"

namespace weft {

namespace {

/// A set of small numbers.
class NumberSet {
 public:
  NumberSet() = default;
  explicit NumberSet(std::size_t limit) : words_((limit + 63) / 64) {}

  void insert(std::uint32_t number) { words_[number / 64] |= std::uint64_t{1} << number % 64; }
  bool contains(std::uint32_t number) const { return (words_[number / 64] >> number % 64 & 1) != 0; }
  void insert_all(const NumberSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  bool is_empty() const {
    return std::all_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word == 0; });
  }

 private:
  std::vector<std::uint64_t> words_;
};

class DataFlow {
 public:
  DataFlow(const CollectivePlan& plan, std::size_t faults_max)
      : plan_(plan), faults_max_(faults_max), ranks_(plan.request.ranks()) {
    WEFT_CHECK(plan.request.type != CollectiveType::barrier && plan.request.type != CollectiveType::all_to_all_v,
               "messages without parts have no data flow");
  }

  std::vector<DataFlowFault> find() {
    check_order();
    if (faults_.empty()) execute();
    if (faults_.empty()) check_result();
    return std::move(faults_);
  }

 private:
  enum class Use : std::uint8_t { read, write, add };

  bool moves_blocks() const { return plan_.request.type == CollectiveType::all_to_all; }
  Use use_of(const CollectiveStep& step) const {
    if (step.kind == StepKind::in_network) return Use::write;
    if (step.kind == StepKind::send) return moves_blocks() ? Use::write : Use::read;
    return step.kind == StepKind::receive && !moves_blocks() ? Use::write : Use::add;
  }
  std::uint32_t owner_of(std::uint32_t part) const {
    const std::uint32_t piece_parts = plan_.parts / plan_.pieces;
    return plan_.divisions[plan_.share_order]->member_in_order(part % piece_parts / (piece_parts / ranks_));
  }
  NumberSet& held(std::uint32_t position, std::uint32_t part) { return held_[std::size_t{position} * plan_.parts + part]; }

  void fault(std::uint32_t position, std::uint32_t step, const char* code, std::string message,
             std::uint32_t other_step = DataFlowFault::at_end) {
    if (faults_.size() < faults_max_) faults_.push_back({position, step, other_step, code, std::move(message)});
  }
  static std::string rank(std::uint32_t position) { return fmt::format("rank {}", position); }
  static std::string of_part(std::uint32_t part) { return fmt::format("part {}", part); }

  static void append(const PartSpan& span, std::vector<std::uint32_t>& parts) {
    for (std::uint32_t i = 0; i < span.count; ++i) parts.push_back(span.part(i));
  }
  /// An in_network step deals with the shares of all members.
  std::vector<std::uint32_t> parts_used(std::uint32_t p, const CollectiveStep& step) const {
    std::vector<std::uint32_t> parts;
    const bool has_shares = step.kind == StepKind::in_network && (step.operation == SwitchOperationKind::reduce_scatter ||
                                                                  step.operation == SwitchOperationKind::all_gather);
    if (!has_shares) {
      append(plan_.span(step, p), parts);
    } else {
      for (const std::uint32_t member : plan_.members_of(step, p)) append(plan_.span(step, member), parts);
    }
    return parts;
  }

  /// Steps of a rank that use a part must be ordered.
  void check_order() {
    for (std::uint32_t role = 0; role < plan_.programs.size(); ++role) {
      const CollectiveProgram& program = plan_.programs[role];
      std::vector<NumberSet> earlier(program.size(), NumberSet(program.size()));
      for (std::uint32_t s = 0; s < program.size(); ++s) {
        for (const std::uint32_t next : program.successors(s)) {
          earlier[next].insert(s);
          earlier[next].insert_all(earlier[s]);
        }
      }
      for (std::uint32_t p = 0; p < ranks_; ++p) {
        if (plan_.role_at(p) == role) check_order(p, program, earlier);
      }
    }
  }

  void check_order(std::uint32_t p, const CollectiveProgram& program, const std::vector<NumberSet>& earlier) {
    std::vector<std::vector<std::uint32_t>> users(plan_.parts);
    for (std::uint32_t s = 0; s < program.size(); ++s) {
      const CollectiveStep& step = program.step(s);
      if (step.kind == StepKind::join) continue;
      bool is_ordered = true;
      for (const std::uint32_t part : parts_used(p, step)) {
        if (!is_ordered) break;
        // The last users first: where steps are in order, one look finds that those before are in
        // order as well.
        for (std::size_t k = users[part].size(); k > 0 && is_ordered; --k) {
          const std::uint32_t other = users[part][k - 1];
          const Use use = use_of(program.step(other));
          if (use == use_of(step) && use != Use::write) continue;
          if (earlier[s].contains(other)) {
            if (use == Use::write) break;
            continue;
          }
          is_ordered = false;
          fault(p, s, "unordered-steps",
                fmt::format("{} uses {} here and in another step, and neither waits for the other", rank(p), of_part(part)), other);
        }
        users[part].push_back(s);
      }
    }
  }

  void execute() {
    held_.assign(std::size_t{ranks_} * plan_.parts, NumberSet(ranks_));
    for (std::uint32_t p = 0; p < ranks_; ++p) {
      for (std::uint32_t part = 0; part < plan_.parts; ++part) {
        if (has_input(p, part)) held(p, part).insert(p);
      }
      const CollectiveProgram& program = plan_.program_of(p);
      const std::span<const std::uint32_t> counts = program.predecessor_counts();
      std::vector<std::uint32_t>& pending = pending_.emplace_back(counts.begin(), counts.end());
      arrived_.emplace_back(program.size());
      for (std::uint32_t s = 0; s < program.size(); ++s) {
        if (plan_.awaits_message(program.step(s), p)) ++pending[s];
        if (pending[s] == 0) ready_.emplace_back(p, s);
      }
    }
    while (!ready_.empty()) {
      const auto [p, s] = ready_.back();
      ready_.pop_back();
      execute(p, s);
    }
    for (const auto& [where, joined] : joined_) {
      const auto [first, s] = where;
      const std::size_t members = plan_.members_of(plan_.program_of(first).step(s), first).size();
      if (joined == members) continue;
      fault(first, s, "waits-for-ever", fmt::format("only {} of the {} ranks come to this step in switches", joined, members));
    }
    for (std::uint32_t p = 0; p < ranks_; ++p) {
      const auto stuck = std::find_if(pending_[p].begin(), pending_[p].end(), [](std::uint32_t count) { return count > 0; });
      if (stuck == pending_[p].end()) continue;
      fault(p, static_cast<std::uint32_t>(stuck - pending_[p].begin()), "waits-for-ever",
            fmt::format("{} never gets past this step: steps wait for each other in a circle", rank(p)));
    }
  }

  bool has_input(std::uint32_t p, std::uint32_t part) const {
    switch (plan_.request.type) {
      case CollectiveType::all_gather:
      case CollectiveType::gather:
        return owner_of(part) == p;
      case CollectiveType::broadcast:
      case CollectiveType::scatter:
        return p == plan_.request.root;
      default:
        return true;
    }
  }

  void release(std::uint32_t p, std::uint32_t s) {
    if (--pending_[p][s] == 0) ready_.emplace_back(p, s);
  }

  void execute(std::uint32_t p, std::uint32_t s) {
    const CollectiveProgram& program = plan_.program_of(p);
    const CollectiveStep& step = program.step(s);
    if (step.kind == StepKind::in_network) {
      join(p, s, step);
      return;
    }
    if (step.kind == StepKind::send) {
      send(p, s, step);
    } else if (step.kind != StepKind::join) {
      receive(p, s, step);
    }
    for (const std::uint32_t next : program.successors(s)) release(p, next);
  }

  void send(std::uint32_t p, std::uint32_t s, const CollectiveStep& step) {
    const PartSpan span = plan_.span(step, p);
    const std::uint32_t to = plan_.peer(step, p);
    std::vector<NumberSet>& message = arrived_[to][step.remote_step];
    for (std::uint32_t i = 0; i < span.count; ++i) {
      NumberSet& content = held(p, span.part(i));
      if (content.is_empty()) {
        fault(p, s, "sends-nothing",
              fmt::format("{} sends {} to {} but has nothing in it", rank(p), of_part(span.part(i)), rank(to)));
      }
      if (moves_blocks()) check_blocks(p, s, span.part(i), step.parts.blocks);
      message.push_back(content);
      if (moves_blocks()) content = NumberSet(ranks_);
    }
    release(to, step.remote_step);
  }

  /// The last member to come carries the operation out for all.
  void join(std::uint32_t p, std::uint32_t s, const CollectiveStep& step) {
    const std::vector<std::uint32_t> members = plan_.members_of(step, p);
    if (++joined_[{members.front(), s}] < members.size()) return;
    const std::uint32_t root = has_root(step.operation) ? plan_.peer(step, p) : 0;
    switch (step.operation) {
      case SwitchOperationKind::all_reduce:
        for (const std::uint32_t part : parts_used(p, step)) {
          const NumberSet sum = sum_of(members, s, part);
          for (const std::uint32_t member : members) held(member, part) = sum;
        }
        break;
      case SwitchOperationKind::reduce:
        for (const std::uint32_t part : parts_used(p, step)) held(root, part) = sum_of(members, s, part);
        break;
      case SwitchOperationKind::broadcast:
        for (const std::uint32_t part : parts_used(p, step)) {
          const NumberSet content = sum_of({root}, s, part);
          for (const std::uint32_t member : members) held(member, part) = content;
        }
        break;
      case SwitchOperationKind::reduce_scatter:
        for (const std::uint32_t member : members) {
          std::vector<std::uint32_t> share;
          append(plan_.span(step, member), share);
          for (const std::uint32_t part : share) held(member, part) = sum_of(members, s, part);
        }
        break;
      case SwitchOperationKind::all_gather:
        for (const std::uint32_t owner : members) {
          std::vector<std::uint32_t> share;
          append(plan_.span(step, owner), share);
          for (const std::uint32_t part : share) {
            const NumberSet content = sum_of({owner}, s, part);
            for (const std::uint32_t member : members) held(member, part) = content;
          }
        }
        break;
    }
    for (const std::uint32_t member : members) {
      for (const std::uint32_t next : plan_.program_of(member).successors(s)) release(member, next);
    }
  }

  NumberSet sum_of(const std::vector<std::uint32_t>& members, std::uint32_t s, std::uint32_t part) {
    NumberSet sum(ranks_);
    for (const std::uint32_t member : members) {
      const NumberSet& content = held(member, part);
      if (content.is_empty()) {
        fault(member, s, "sends-nothing",
              fmt::format("{} gives {} to switches but has nothing in it", rank(member), of_part(part)));
      }
      for (std::uint32_t q = 0; q < ranks_; ++q) {
        if (!content.contains(q) || !sum.contains(q)) continue;
        fault(member, s, "added-twice",
              fmt::format("{} gives the contribution of {} in {} to switches a second time", rank(member), rank(q), of_part(part)));
        break;
      }
      sum.insert_all(content);
    }
    return sum;
  }

  void check_blocks(std::uint32_t p, std::uint32_t s, std::uint32_t part, std::uint32_t expected) {
    std::uint32_t blocks = 0;
    for (std::uint32_t q = 0; q < ranks_; ++q) blocks += held(p, part).contains(q) ? 1 : 0;
    if (blocks <= expected) return;
    fault(p, s, "mixed-blocks",
          fmt::format("{} sends {} with the blocks of {} ranks, but the message has room for {}", rank(p), of_part(part), blocks,
                      expected));
  }

  void receive(std::uint32_t p, std::uint32_t s, const CollectiveStep& step) {
    const PartSpan span = plan_.span(step, p);
    const std::vector<NumberSet> message = std::exchange(arrived_[p][s], {});
    for (std::uint32_t i = 0; i < span.count; ++i) {
      NumberSet& target = held(p, span.part(i));
      if (use_of(step) == Use::write) target = NumberSet(ranks_);
      for (std::uint32_t q = 0; q < ranks_; ++q) {
        if (!message[i].contains(q) || !target.contains(q)) continue;
        fault(p, s, "added-twice",
              fmt::format("{} adds the contribution of {} to {} a second time", rank(p), rank(q), of_part(span.part(i))));
        break;
      }
      target.insert_all(message[i]);
    }
  }

  void check_result() {
    for (std::uint32_t p = 0; p < ranks_; ++p) check_result(p);
  }

  void check_result(std::uint32_t p) {
    for (std::uint32_t part = 0; part < plan_.parts; ++part) {
      const std::pair<std::uint32_t, std::uint32_t> expected = contributors(p, part);
      for (std::uint32_t q = expected.first; q < expected.second; ++q) {
        if (held(p, part).contains(q)) continue;
        fault(p, DataFlowFault::at_end, "incomplete-collective",
              fmt::format("{} ends without the contribution of {} to {}", rank(p), rank(q), of_part(part)));
        return;
      }
    }
  }

  /// Whose contributions a part must hold in the end: first, and one beyond the last.
  std::pair<std::uint32_t, std::uint32_t> contributors(std::uint32_t p, std::uint32_t part) const {
    const std::uint32_t root = plan_.request.root;
    const std::pair<std::uint32_t, std::uint32_t> none(0, 0);
    const std::pair<std::uint32_t, std::uint32_t> all(0, ranks_);
    switch (plan_.request.type) {
      case CollectiveType::all_reduce:
        return all;
      case CollectiveType::reduce:
        return p == root ? all : none;
      case CollectiveType::reduce_scatter:
      case CollectiveType::all_to_all:
        return owner_of(part) == p ? all : none;
      case CollectiveType::all_gather:
        return {owner_of(part), owner_of(part) + 1};
      case CollectiveType::gather:
        return p == root ? std::pair(owner_of(part), owner_of(part) + 1) : none;
      case CollectiveType::broadcast:
        return {root, root + 1};
      case CollectiveType::scatter:
        return owner_of(part) == p ? std::pair(root, root + 1) : none;
      case CollectiveType::barrier:
      case CollectiveType::all_to_all_v:
        break;
    }
    return none;
  }

  const CollectivePlan& plan_;
  std::size_t faults_max_;
  std::uint32_t ranks_;
  std::vector<NumberSet> held_;  ///< by position and part
  /// By position and step: what it waits for.
  std::vector<std::vector<std::uint32_t>> pending_;
  /// By position and step: a message's parts.
  std::vector<std::vector<std::vector<NumberSet>>> arrived_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>
      /// By (first member, step): members of an in_network step.
      joined_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ready_;  ///< (position, step)
  std::vector<DataFlowFault> faults_;
};

}  // namespace

std::vector<DataFlowFault> find_data_flow_faults(const CollectivePlan& plan, std::size_t faults_max) {
  return DataFlow(plan, faults_max).find();
}

}  // namespace weft
