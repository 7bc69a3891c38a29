// SPDX-License-Identifier: Apache-2.0
// Executes the programs of a collective's plan without a network, with messages that arrive in
// random order, and follows the data: whose contributions each part of each buffer holds.
// expect_carried_out() holds the result to what the collective means.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "host/collectives/collective.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

class CollectiveMachine {
 public:
  using Contributors = std::set<std::uint32_t>;

  CollectiveMachine(const CollectivePlan& plan, std::uint64_t seed)
      : plan_(plan),
        order_(seed, 0, 0),
        bytes_sent_(ranks()),
        knows_(ranks()),
        buffers_(ranks(), std::vector<Contributors>(plan.parts)) {
    for (std::uint32_t p = 0; p < ranks(); ++p) {
      knows_[p] = {p};
      const CollectiveProgram& program = plan.program_of(p);
      pending_.emplace_back(program.predecessor_counts().begin(), program.predecessor_counts().end());
      for (std::uint32_t s = 0; s < program.size(); ++s) {
        if (plan.awaits_message(program.step(s), p)) ++pending_[p][s];
      }
    }
  }

  std::uint32_t ranks() const { return plan_.request.ranks(); }
  Contributors& part(std::uint32_t position, std::uint32_t index) { return buffers_[position][index]; }
  /// Who is known to have started, directly or by hearsay.
  const Contributors& known_to(std::uint32_t position) const { return knows_[position]; }
  Bytes bytes_sent(std::uint32_t position) const { return bytes_sent_[position]; }
  Bytes bytes_sent() const {
    Bytes sum;
    for (const Bytes bytes : bytes_sent_) sum += bytes;
    return sum;
  }
  /// By (source, destination).
  const std::map<std::pair<std::uint32_t, std::uint32_t>, Bytes>& bytes_between() const { return bytes_between_; }

  void run() {
    for (std::uint32_t p = 0; p < ranks(); ++p) {
      std::vector<std::uint32_t> startable;
      for (std::uint32_t s = 0; s < plan_.program_of(p).size(); ++s) {
        if (pending_[p][s] == 0) startable.push_back(s);
      }
      for (const std::uint32_t s : startable) execute(p, s);
    }
    while (!wire_.empty()) {
      std::swap(wire_[order_.below(wire_.size())], wire_.back());
      const Message message = std::move(wire_.back());
      wire_.pop_back();
      arrived_[{message.to, message.step}] = message;
      release(message.to, message.step);
    }
    for (std::uint32_t p = 0; p < ranks(); ++p) {
      EXPECT_EQ(steps_done_[p], plan_.program_of(p).size()) << "position " << p << " ran every step once";
    }
  }

 private:
  struct Message {
    std::uint32_t to = 0;
    std::uint32_t step = 0;
    PartSpan parts;
    Contributors news;
    std::vector<Contributors> content;
  };

  bool moves_blocks() const {
    return plan_.request.type == CollectiveType::all_to_all || plan_.request.type == CollectiveType::all_to_all_v;
  }
  void release(std::uint32_t p, std::uint32_t s) {
    ASSERT_GT(pending_[p][s], 0u);
    if (--pending_[p][s] == 0) execute(p, s);
  }

  void execute(std::uint32_t p, std::uint32_t s) {
    const CollectiveProgram& program = plan_.program_of(p);
    const CollectiveStep& step = program.step(s);
    if (step.kind == StepKind::in_network) {
      join(p, s, step);
      return;
    }
    if (step.kind == StepKind::send && !plan_.is_left_out(step, p)) send(p, step);
    if (plan_.awaits_message(step, p)) receive(p, s, step);
    ++steps_done_[p];
    for (const std::uint32_t next : program.successors(s)) release(p, next);
  }

  void send(std::uint32_t p, const CollectiveStep& step) {
    const std::uint32_t to = plan_.peer(step, p);
    ASSERT_LT(to, ranks());
    ASSERT_LT(step.remote_step, plan_.program_of(to).size());
    const CollectiveStep& receiving = plan_.program_of(to).step(step.remote_step);
    EXPECT_TRUE(plan_.awaits_message(receiving, to)) << p << " -> " << to << " step " << step.remote_step;
    EXPECT_EQ(plan_.peer(receiving, to), p) << "the receiver expects this sender";
    EXPECT_EQ(receiving.channel, step.channel);
    EXPECT_EQ(plan_.message_bytes(receiving, to), plan_.message_bytes(step, p)) << "both sides agree on the size";
    std::size_t blocks = 0;
    Message message{to, step.remote_step, plan_.span(step, p), knows_[p], {}};
    for (std::uint32_t i = 0; i < message.parts.count; ++i) {
      Contributors& content = buffers_[p][message.parts.part(i)];
      blocks += content.size();
      message.content.push_back(content);
      if (step.parts.blocks > 1 && !content.empty()) {
        EXPECT_EQ(content.size(), step.parts.blocks) << p << " -> " << to << ": as many blocks as the message has bytes for";
      }
      // Blocks of an all-to-all travel; everything else is copied.
      if (moves_blocks()) content.clear();
    }
    if (message.parts.run > 0) {
      EXPECT_EQ(blocks, message.parts.count) << "a message has the size of its blocks";
    }
    bytes_sent_[p] += plan_.message_bytes(step, p);
    bytes_between_[{p, to}] += plan_.message_bytes(step, p);
    wire_.push_back(std::move(message));
  }

  /// The last member to come carries an operation in switches out for all.
  void join(std::uint32_t p, std::uint32_t s, const CollectiveStep& step) {
    const std::vector<std::uint32_t> members = plan_.members_of(step, p);
    ASSERT_GE(members.size(), 2u);
    bytes_sent_[p] += plan_.message_bytes(step, p);
    if (++joined_[{members.front(), s}] < members.size()) return;
    Contributors news;
    std::vector<std::vector<Contributors>> before;
    for (const std::uint32_t member : members) {
      const CollectiveStep& same = plan_.program_of(member).step(s);
      EXPECT_EQ(same.kind, StepKind::in_network) << "members have the step at the same index";
      EXPECT_EQ(same.operation, step.operation);
      news.insert(knows_[member].begin(), knows_[member].end());
      before.push_back(buffers_[member]);
    }
    for (const std::uint32_t member : members) knows_[member] = news;
    const auto sum = [&](std::uint32_t part) {
      Contributors all;
      for (const auto& buffer : before) {
        for (const std::uint32_t contributor : buffer[part]) EXPECT_TRUE(all.insert(contributor).second) << "added twice";
      }
      return all;
    };
    for (std::size_t k = 0; k < members.size(); ++k) {
      const PartSpan span = plan_.span(plan_.program_of(members[k]).step(s), members[k]);
      for (std::uint32_t i = 0; i < span.count; ++i) {
        const std::uint32_t index = span.part(i);
        switch (step.operation) {
          case SwitchOperationKind::all_reduce:
          case SwitchOperationKind::reduce_scatter:
            part(members[k], index) = sum(index);
            break;
          case SwitchOperationKind::all_gather:
            for (const std::uint32_t member : members) part(member, index) = before[k][index];
            break;
          case SwitchOperationKind::reduce:
            if (members[k] == plan_.peer(step, p)) part(members[k], index) = sum(index);
            break;
          case SwitchOperationKind::broadcast:
            if (members[k] != plan_.peer(step, p)) break;
            for (const std::uint32_t member : members) part(member, index) = before[k][index];
            break;
        }
      }
    }
    for (const std::uint32_t member : members) {
      ++steps_done_[member];
      for (const std::uint32_t next : plan_.program_of(member).successors(s)) release(member, next);
    }
  }

  void receive(std::uint32_t p, std::uint32_t s, const CollectiveStep& step) {
    const auto found = arrived_.find({p, s});
    ASSERT_TRUE(found != arrived_.end());
    const Message& message = found->second;
    knows_[p].insert(message.news.begin(), message.news.end());
    for (std::uint32_t i = 0; i < message.parts.count; ++i) {
      Contributors& target = buffers_[p][message.parts.part(i)];
      if (step.kind == StepKind::receive && !moves_blocks()) target.clear();
      for (const std::uint32_t contributor : message.content[i]) {
        EXPECT_TRUE(target.insert(contributor).second) << "no contribution is added twice";
      }
    }
  }

  const CollectivePlan& plan_;
  RandomStream order_;
  std::vector<std::vector<std::uint32_t>> pending_;
  std::map<std::uint32_t, std::uint32_t> steps_done_;
  /// by (first member, step)
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> joined_;
  std::vector<Bytes> bytes_sent_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Bytes> bytes_between_;
  std::vector<Contributors> knows_;
  std::vector<std::vector<Contributors>> buffers_;
  std::vector<Message> wire_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Message> arrived_;
};

/// Runs the plan and checks what every rank ends up with; of an all_to_all_v, what went between
/// them. Returns the machine for more, while the plan lives.
inline CollectiveMachine expect_carried_out(const CollectivePlan& plan, std::uint64_t seed = 1) {
  CollectiveMachine machine(plan, seed);
  const CollectiveType type = plan.request.type;
  const std::uint32_t n = plan.request.ranks();
  const std::uint32_t root = plan.request.root;
  CollectiveMachine::Contributors everyone;
  for (std::uint32_t p = 0; p < n; ++p) everyone.insert(p);
  // Types whose results are tied to ranks: the r-th rank's share is parts r x share_parts on, of
  // every piece.
  const std::uint32_t piece_parts = plan.parts / plan.pieces;
  const std::uint32_t share_parts = std::max(1U, piece_parts / n);
  const auto rank_of_part = [&](std::uint32_t part) {
    return plan.divisions[plan.share_order]->member_in_order(part % piece_parts / share_parts);
  };
  for (std::uint32_t p = 0; p < n; ++p) {
    for (std::uint32_t i = 0; i < plan.parts; ++i) {
      bool holds = false;
      switch (type) {
        case CollectiveType::all_reduce:
        case CollectiveType::reduce:
        case CollectiveType::reduce_scatter:
        case CollectiveType::all_to_all:
          holds = true;
          break;
        case CollectiveType::all_gather:
        case CollectiveType::gather:
          holds = rank_of_part(i) == p;
          break;
        case CollectiveType::broadcast:
        case CollectiveType::scatter:
          holds = p == root;
          break;
        case CollectiveType::barrier:
        case CollectiveType::all_to_all_v:
          break;
      }
      if (holds) machine.part(p, i) = {p};
    }
  }
  machine.run();
  for (std::uint32_t p = 0; p < n; ++p) {
    if (type == CollectiveType::barrier) {
      EXPECT_EQ(machine.known_to(p), everyone) << "nobody leaves a barrier before everybody has come";
    }
    if (type == CollectiveType::all_to_all_v) {
      for (std::uint32_t q = 0; q < n; ++q) {
        const auto found = machine.bytes_between().find({p, q});
        const Bytes sent = found == machine.bytes_between().end() ? Bytes::zero() : found->second;
        EXPECT_EQ(sent, p == q ? Bytes::zero() : plan.request.splits->at(p, q)) << p << " -> " << q;
      }
    }
    for (std::uint32_t i = 0; i < plan.parts; ++i) {
      const std::string where = fmt::format("position {}, part {}", p, i);
      switch (type) {
        case CollectiveType::all_reduce:
          EXPECT_EQ(machine.part(p, i), everyone) << where;
          break;
        case CollectiveType::reduce:
          if (p == root) {
            EXPECT_EQ(machine.part(p, i), everyone) << where;
          }
          break;
        case CollectiveType::reduce_scatter:
        case CollectiveType::all_to_all:
          if (rank_of_part(i) == p) {
            EXPECT_EQ(machine.part(p, i), everyone) << where;
          }
          break;
        case CollectiveType::all_gather:
          EXPECT_EQ(machine.part(p, i), CollectiveMachine::Contributors{rank_of_part(i)}) << where;
          break;
        case CollectiveType::gather:
          if (p == root) {
            EXPECT_EQ(machine.part(p, i), CollectiveMachine::Contributors{rank_of_part(i)}) << where;
          }
          break;
        case CollectiveType::broadcast:
          EXPECT_EQ(machine.part(p, i), CollectiveMachine::Contributors{root}) << where;
          break;
        case CollectiveType::scatter:
          if (rank_of_part(i) == p) {
            EXPECT_EQ(machine.part(p, i), CollectiveMachine::Contributors{root}) << where;
          }
          break;
        case CollectiveType::barrier:
        case CollectiveType::all_to_all_v:
          break;
      }
    }
  }
  return machine;
}

/// The algorithm called `name`, with settings as (parameter, value).
inline std::unique_ptr<CollectiveAlgorithm> make_algorithm(const std::string& name,
                                                           const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  const auto& module = find_module(collective_algorithms(), name, {});
  ParamSet params(name, module.info.params);
  for (const auto& [parameter, value] : settings) params.set(parameter, value, {});
  return module.make(params);
}

}  // namespace weft
