// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/goal/goal_matching.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <tuple>

namespace weft {

namespace {

/// "Any", where a source or a tag may stand. Tags have 32 bits.
constexpr std::uint64_t any_number = UINT64_MAX;

/// What is waiting at a rank, by (source, tag), in order of arrival.
class WaitingList {
 public:
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  void push(const Key& key, std::uint32_t item) { queues_[key].items.push_back(item); }
  /// The first item of a key, once those in front that `is_gone` are dropped; none if nothing is
  /// left.
  template <class IsGone>
  std::optional<std::uint32_t> front(const Key& key, const IsGone& is_gone) {
    const auto found = queues_.find(key);
    if (found == queues_.end()) return std::nullopt;
    Queue& queue = found->second;
    while (queue.begin < queue.items.size() && is_gone(queue.items[queue.begin])) ++queue.begin;
    if (queue.begin < queue.items.size()) return queue.items[queue.begin];
    queues_.erase(found);
    return std::nullopt;
  }

 private:
  struct Queue {
    std::vector<std::uint32_t> items;
    std::size_t begin = 0;
  };

  std::map<Key, Queue> queues_;
};

class GoalRehearsal {
 public:
  explicit GoalRehearsal(std::span<GoalRank> ranks) : ranks_(ranks), states_(ranks.size()) {
    std::uint32_t rank_count = 0;
    for (const GoalRank& rank : ranks) rank_count = std::max(rank_count, rank.rank + 1);
    index_of_rank_.assign(rank_count, 0);
    for (std::uint32_t i = 0; i < ranks.size(); ++i) index_of_rank_[ranks[i].rank] = i;
  }

  GoalMatching run() {
    matching_.issue_order.resize(ranks_.size());
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) prepare(i);
    while (!due_.empty()) {
      const auto [time, rank, op, phase] = due_.top();
      due_.pop();
      now_ = time;
      if (phase == Phase::start) {
        start(rank, op);
      } else {
        release(rank, states_[rank].after_end, op);
      }
    }
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) finish(i);
    return std::move(matching_);
  }

 private:
  enum class Phase : std::uint8_t { end, start };
  /// Time in ticks, index of the rank, op.
  using Due = std::tuple<std::int64_t, std::uint32_t, std::uint32_t, Phase>;

  /// Ops by the op they wait for.
  struct Waiters {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint32_t> ops;
  };
  struct Message {
    std::uint32_t source = 0;
    std::uint32_t tag = 0;
    std::uint32_t send = 0;  ///< op of the source
    bool is_taken = false;
  };
  /// A receive that was posted before its message came.
  struct Posted {
    std::uint32_t op = 0;
    bool is_matched = false;
  };
  /// A message that a wildcard receive took.
  struct Taken {
    Message message;
    std::uint32_t receive = 0;
  };
  struct RankState {
    Waiters after_end;
    Waiters after_start;
    std::vector<std::uint32_t> waits_for;
    std::vector<Message> messages;  ///< that came before their receive, in order of arrival
    std::vector<Posted> receives;   ///< in order of posting
    /// Indices of `messages`, each under every key that a receive may ask for.
    WaitingList unexpected;
    WaitingList posted;        ///< indices of `receives`, each under its own key
    std::vector<Taken> taken;  ///< by wildcard receives, in order
  };

  static Waiters waiters(std::size_t count, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
    Waiters waiters;
    waiters.begin.assign(count + 1, 0);
    for (const auto& [dependency, op] : edges) ++waiters.begin[dependency + 1];
    for (std::size_t i = 0; i < count; ++i) waiters.begin[i + 1] += waiters.begin[i];
    waiters.ops.resize(edges.size());
    std::vector<std::uint32_t> next(waiters.begin.begin(), waiters.begin.end() - 1);
    for (const auto& [dependency, op] : edges) waiters.ops[next[dependency]++] = op;
    return waiters;
  }

  void prepare(std::uint32_t index) {
    const GoalRank& rank = ranks_[index];
    RankState& state = states_[index];
    state.after_end = waiters(rank.ops.size(), rank.after_end);
    state.after_start = waiters(rank.ops.size(), rank.after_start);
    state.waits_for.assign(rank.ops.size(), 0);
    matching_.issue_order[index].reserve(rank.ops.size());
    for (const auto& [dependency, op] : rank.after_end) ++state.waits_for[op];
    for (const auto& [dependency, op] : rank.after_start) ++state.waits_for[op];
    for (std::uint32_t op = 0; op < rank.ops.size(); ++op) {
      if (state.waits_for[op] == 0) due_.emplace(0, index, op, Phase::start);
    }
  }

  void release(std::uint32_t index, const Waiters& waiters, std::uint32_t op) {
    for (std::uint32_t i = waiters.begin[op]; i < waiters.begin[op + 1]; ++i) {
      const std::uint32_t next = waiters.ops[i];
      if (--states_[index].waits_for[next] == 0) due_.emplace(now_, index, next, Phase::start);
    }
  }

  static WaitingList::Key key_of(const GoalOp& receive) {
    return {receive.peer == goal_any_source ? any_number : receive.peer, receive.any_tag ? any_number : receive.tag};
  }
  /// Of the receives that ask for them.
  static std::array<WaitingList::Key, 4> keys_of(const Message& message) {
    return {{{message.source, message.tag}, {message.source, any_number}, {any_number, message.tag}, {any_number, any_number}}};
  }

  /// Gives a message to the receive posted first among those that fit, else keeps it.
  void arrive(std::uint32_t index, const Message& message) {
    RankState& there = states_[index];
    std::optional<std::uint32_t> first;
    for (const WaitingList::Key& key : keys_of(message)) {
      const auto candidate = there.posted.front(key, [&](std::uint32_t i) { return there.receives[i].is_matched; });
      if (candidate && (!first || *candidate < *first)) first = candidate;
    }
    if (first) {
      there.receives[*first].is_matched = true;
      match(index, there.receives[*first].op, message);
      return;
    }
    const auto number = static_cast<std::uint32_t>(there.messages.size());
    there.messages.push_back(message);
    for (const WaitingList::Key& key : keys_of(message)) there.unexpected.push(key, number);
  }

  /// Gives a receive the message that came first among those that fit, else keeps it.
  void post(std::uint32_t index, std::uint32_t op) {
    RankState& here = states_[index];
    const WaitingList::Key key = key_of(ranks_[index].ops[op]);
    const auto first = here.unexpected.front(key, [&](std::uint32_t i) { return here.messages[i].is_taken; });
    if (first) {
      here.messages[*first].is_taken = true;
      match(index, op, here.messages[*first]);
      return;
    }
    here.posted.push(key, static_cast<std::uint32_t>(here.receives.size()));
    here.receives.push_back({op});
  }

  void match(std::uint32_t index, std::uint32_t receive, const Message& message) {
    GoalOp& op = ranks_[index].ops[receive];
    if (op.is_wildcard()) states_[index].taken.push_back({message, receive});
    op.peer = message.source;
    op.tag = message.tag;
    op.any_tag = false;
    due_.emplace(now_, index, receive, Phase::end);
  }

  void start(std::uint32_t index, std::uint32_t op) {
    matching_.issue_order[index].push_back(op);
    release(index, states_[index].after_start, op);
    const GoalOp& what = ranks_[index].ops[op];
    if (what.kind == OpKind::compute) {
      // Times only order things here; at the end of the clock they stand still.
      const std::int64_t end = what.amount > INT64_MAX - now_ ? INT64_MAX : now_ + what.amount;
      due_.emplace(end, index, op, Phase::end);
    } else if (what.kind == OpKind::send) {
      arrive(index_of_rank_[what.peer], {ranks_[index].rank, what.tag, op});
      due_.emplace(now_, index, op, Phase::end);
    } else {
      post(index, op);
    }
  }

  /// By every key that a receive may ask for, the first message that a wildcard receive took.
  static std::map<WaitingList::Key, const Taken*> first_taken_by_key(const RankState& state) {
    std::map<WaitingList::Key, const Taken*> first;
    for (const Taken& taken : state.taken) {
      for (const WaitingList::Key& key : keys_of(taken.message)) first.try_emplace(key, &taken);
    }
    return first;
  }

  /// Adds what was never issued to the order, and says which receives got nothing.
  void finish(std::uint32_t index) {
    std::vector<std::uint32_t>& order = matching_.issue_order[index];
    RankState& state = states_[index];
    const std::vector<GoalOp>& ops = ranks_[index].ops;
    if (order.size() < ops.size()) {
      std::vector<bool> is_issued(ops.size(), false);
      for (const std::uint32_t op : order) is_issued[op] = true;
      for (std::uint32_t op = 0; op < ops.size(); ++op) {
        if (!is_issued[op]) order.push_back(op);
        if (!is_issued[op] && ops[op].is_wildcard()) matching_.unmatched.push_back({{index, op}, {}, {}, {}});
      }
    }
    const auto left_over = std::find_if(state.messages.begin(), state.messages.end(), [](const Message& m) { return !m.is_taken; });
    const bool is_any_left_over = left_over != state.messages.end();
    const std::map<WaitingList::Key, const Taken*> first_taken =
        is_any_left_over ? first_taken_by_key(state) : std::map<WaitingList::Key, const Taken*>();
    for (const Posted& posted : state.receives) {
      if (posted.is_matched) continue;
      GoalMatching::Unmatched receive;
      receive.receive = {index, posted.op};
      const auto found = first_taken.find(key_of(ops[posted.op]));
      if (found != first_taken.end()) {
        const Taken& taken = *found->second;
        receive.taken = GoalMatching::Place{index_of_rank_[taken.message.source], taken.message.send};
        receive.taken_by = GoalMatching::Place{index, taken.receive};
      } else if (!ops[posted.op].is_wildcard()) {
        continue;
      }
      if (is_any_left_over) receive.left_over = GoalMatching::Place{index_of_rank_[left_over->source], left_over->send};
      matching_.unmatched.push_back(receive);
    }
  }

  std::span<GoalRank> ranks_;
  GoalMatching matching_;
  std::vector<RankState> states_;
  std::vector<std::uint32_t> index_of_rank_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::int64_t now_ = 0;
};

}  // namespace

GoalMatching match_goal_messages(std::span<GoalRank> ranks) { return GoalRehearsal(ranks).run(); }

}  // namespace weft
