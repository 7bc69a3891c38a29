#include "workloads/formats/goal_matching.hpp"

#include <algorithm>
#include <functional>
#include <list>
#include <queue>
#include <tuple>

namespace weft {

namespace {

class Rehearsal {
 public:
  explicit Rehearsal(std::span<GoalRank> ranks) : ranks_(ranks), states_(ranks.size()) {
    std::uint32_t rank_count = 0;
    for (const GoalRank& rank : ranks) rank_count = std::max(rank_count, rank.rank + 1);
    index_of_rank_.assign(rank_count, 0);
    for (std::uint32_t i = 0; i < ranks.size(); ++i) index_of_rank_[ranks[i].rank] = i;
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> run() {
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
    std::vector<std::pair<std::uint32_t, std::uint32_t>> unmatched;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      for (std::uint32_t op = 0; op < ranks_[i].ops.size(); ++op) {
        if (ranks_[i].ops[op].is_wildcard()) unmatched.emplace_back(i, op);
      }
    }
    return unmatched;
  }

 private:
  enum class Phase : std::uint8_t { end, start };
  using Due = std::tuple<std::int64_t, std::uint32_t, std::uint32_t, Phase>;  ///< time in ticks, index of the rank, op

  /// Ops by the op they wait for.
  struct Waiters {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint32_t> ops;
  };
  struct Message {
    std::uint32_t source = 0;
    std::uint32_t tag = 0;
  };
  struct RankState {
    Waiters after_end;
    Waiters after_start;
    std::vector<std::uint32_t> waits_for;
    std::list<Message> unexpected;
    std::list<std::uint32_t> posted;  ///< receives
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

  static bool fits(const GoalOp& receive, const Message& message) {
    return (receive.peer == goal_any_source || receive.peer == message.source) && (receive.any_tag || receive.tag == message.tag);
  }

  void match(std::uint32_t index, std::uint32_t receive, const Message& message) {
    GoalOp& op = ranks_[index].ops[receive];
    op.peer = message.source;
    op.tag = message.tag;
    op.any_tag = false;
    due_.emplace(now_, index, receive, Phase::end);
  }

  void start(std::uint32_t index, std::uint32_t op) {
    release(index, states_[index].after_start, op);
    const GoalOp& what = ranks_[index].ops[op];
    if (what.kind == OpKind::compute) {
      // Times only order things here; at the end of the clock they stand still.
      const std::int64_t end = what.amount > INT64_MAX - now_ ? INT64_MAX : now_ + what.amount;
      due_.emplace(end, index, op, Phase::end);
    } else if (what.kind == OpKind::send) {
      const std::uint32_t destination = index_of_rank_[what.peer];
      const Message message{ranks_[index].rank, what.tag};
      RankState& there = states_[destination];
      const auto found = std::find_if(there.posted.begin(), there.posted.end(),
                                      [&](std::uint32_t receive) { return fits(ranks_[destination].ops[receive], message); });
      if (found == there.posted.end()) {
        there.unexpected.push_back(message);
      } else {
        match(destination, *found, message);
        there.posted.erase(found);
      }
      due_.emplace(now_, index, op, Phase::end);
    } else {
      RankState& here = states_[index];
      const auto found =
          std::find_if(here.unexpected.begin(), here.unexpected.end(), [&](const Message& message) { return fits(what, message); });
      if (found == here.unexpected.end()) {
        here.posted.push_back(op);
      } else {
        const Message message = *found;
        here.unexpected.erase(found);
        match(index, op, message);
      }
    }
  }

  std::span<GoalRank> ranks_;
  std::vector<RankState> states_;
  std::vector<std::uint32_t> index_of_rank_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::int64_t now_ = 0;
};

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> match_goal_wildcards(std::span<GoalRank> ranks) {
  return Rehearsal(ranks).run();
}

}  // namespace weft
