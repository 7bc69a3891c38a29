// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/htsim/htsim_cm.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/source_text.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/formats/counted_note.hpp"
#include "workloads/formats/htsim/htsim_matrix.hpp"
#include "workloads/formats/rank_set.hpp"
#include "workloads/formats/ranks_option.hpp"

namespace weft {

namespace {

/// The end of a connection at one of its two nodes.
struct Ending {
  std::uint32_t connection = 0;
  bool at_destination = false;
};

/// Endings that, all together, start connections.
struct Firing {
  std::vector<Ending> endings;
  std::vector<std::uint32_t> targets;  ///< connections
};

/// Of every connection in the rehearsal: what csg-htsim gives links if it is not told otherwise.
const Bandwidth rehearsed_rate = Bandwidth::gbps(100);

/// Decides which endings start which connections, by a run in which each connection has the same
/// rate to itself.
class HtsimRehearsal {
 public:
  HtsimRehearsal(const HtsimMatrix& matrix, const SourceText& source)
      : matrix_(matrix), source_(source), states_(matrix.triggers.size()) {}

  std::vector<Firing> run() {
    for (std::uint32_t i = 0; i < matrix_.connections.size(); ++i) {
      const HtsimConnection& connection = matrix_.connections[i];
      if (connection.trigger) {
        states_[*connection.trigger].targets.push_back(i);
      } else {
        start(i, connection.start.in_ticks());
      }
      for (const auto& trigger : {connection.on_send_done, connection.on_receive_done}) {
        if (trigger) ++states_[*trigger].endings;
      }
    }
    std::vector<bool> ended(matrix_.connections.size(), false);
    while (!due_.empty()) {
      const auto [time, i] = due_.top();
      due_.pop();
      ended[i] = true;
      const HtsimConnection& connection = matrix_.connections[i];
      if (connection.on_send_done) activate(*connection.on_send_done, {i, false}, time);
      if (connection.on_receive_done) activate(*connection.on_receive_done, {i, true}, time);
    }
    report_never_started(ended);
    diagnostics_.throw_if_errors();
    return std::move(firings_);
  }

  /// Triggers that start nothing.
  std::uint64_t idle_triggers() const {
    return static_cast<std::uint64_t>(
        std::count_if(states_.begin(), states_.end(), [](const State& state) { return state.targets.empty(); }));
  }

 private:
  struct State {
    std::vector<std::uint32_t> targets;
    std::uint64_t endings = 0;  ///< that activate it, in the whole file
    std::vector<Ending> activations;
    bool reported = false;
  };

  void start(std::uint32_t connection, std::int64_t time) {
    const std::int64_t duration = transmit_time(matrix_.connections[connection].size, rehearsed_rate).in_ticks();
    // Times only order things here; at the end of the clock they stand still.
    due_.emplace(duration > INT64_MAX - time ? INT64_MAX : time + duration, connection);
  }

  void activate(std::uint32_t number, Ending ending, std::int64_t time) {
    const HtsimTrigger& trigger = matrix_.triggers[number];
    State& state = states_[number];
    state.activations.push_back(ending);
    const std::size_t times = state.activations.size();
    if (trigger.kind == HtsimTriggerKind::multishot) {
      if (times <= state.targets.size()) fire({{ending}, {state.targets[times - 1]}}, time);
      return;
    }
    const bool is_barrier = trigger.kind == HtsimTriggerKind::barrier;
    const std::uint64_t wanted = is_barrier ? trigger.count.value_or(static_cast<std::uint32_t>(state.endings)) : 1;
    if (times == wanted) {
      fire({state.activations, state.targets}, time);
    } else if (times > wanted && !state.reported) {
      state.reported = true;
      diagnostics_.error(is_barrier ? "trigger-count" : "fires-twice",
                         fmt::format("trigger {} is activated {}, {}", trigger.id, counted(state.endings, "time", "times"),
                                     is_barrier ? fmt::format("but its count is {}", wanted) : "but oneshot allows one"),
                         source_.at(trigger.line),
                         is_barrier ? "correct the count" : "use barrier count N, multishot, or another trigger");
    }
  }

  void fire(Firing firing, std::int64_t time) {
    for (const std::uint32_t target : firing.targets) start(target, time);
    if (!firing.targets.empty()) firings_.push_back(std::move(firing));
  }

  void report_never_started(const std::vector<bool>& started) {
    for (std::uint32_t i = 0; i < started.size(); ++i) {
      if (started[i]) continue;
      const HtsimConnection& connection = matrix_.connections[i];
      const State& state = states_[*connection.trigger];
      const HtsimTrigger& trigger = matrix_.triggers[*connection.trigger];
      std::string reason = fmt::format("nothing activates trigger {}", trigger.id);
      if (state.endings > 0) {
        reason = fmt::format("trigger {} is activated {}", trigger.id, counted(state.activations.size(), "time", "times"));
        if (trigger.kind == HtsimTriggerKind::barrier && trigger.count) reason += fmt::format(" of {}", *trigger.count);
        if (trigger.kind == HtsimTriggerKind::multishot)
          reason += fmt::format(" for {}", counted(state.targets.size(), "connection", "connections"));
        if (state.activations.empty()) reason += ": what would activate it waits for it";
      }
      diagnostics_.error(
          "never-starts", fmt::format("this connection never starts: {}", reason), source_.at(connection.line),
          fmt::format("give another connection send_done_trigger or recv_done_trigger {}, or this one a start", trigger.id));
    }
  }

  const HtsimMatrix& matrix_;
  const SourceText& source_;
  std::vector<State> states_;
  using Due = std::pair<std::int64_t, std::uint32_t>;  ///< end in ticks, connection
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<Firing> firings_;
  Diagnostics diagnostics_;
};

/// The ops of all ranks, as they are put together.
class Plan {
 public:
  explicit Plan(const HtsimMatrix& matrix) : matrix_(matrix) {}

  void add_connections() {
    std::uint32_t last = 0;
    for (const HtsimConnection& connection : matrix_.connections) last = std::max(last, turn_of(connection));
    for (const HtsimConnection& connection : matrix_.connections) {
      const std::uint32_t tag = tags_[{connection.source, connection.destination}]++;
      sends_.push_back(add_message(connection.source, OpKind::send, connection.destination, tag, connection.size));
      ranks_[connection.source].ops[sends_.back()].priority = static_cast<std::uint8_t>(last - turn_of(connection));
      receives_.push_back(add_message(connection.destination, OpKind::receive, connection.source, tag, connection.size));
      if (connection.start > Duration::zero()) depend(connection.source, sends_.back(), delay(connection.source, connection.start));
    }
  }

  void add_firing(const Firing& firing) {
    // One op per node that stands for all its endings, then one op at the node of the first target
    // that stands for all nodes.
    const std::uint32_t centre = matrix_.connections[firing.targets.front()].source;
    std::map<std::uint32_t, std::vector<std::uint32_t>> endings;  ///< by node
    for (const Ending& ending : firing.endings) {
      const HtsimConnection& connection = matrix_.connections[ending.connection];
      endings[ending.at_destination ? connection.destination : connection.source].push_back(
          ending.at_destination ? receives_[ending.connection] : sends_[ending.connection]);
    }
    std::vector<std::uint32_t> here;
    for (const auto& [node, ops] : endings) here.push_back(told(centre, node, join(node, ops)));
    const std::uint32_t fired = join(centre, here);
    std::map<std::uint32_t, std::uint32_t> told_at = {{centre, fired}};
    for (const std::uint32_t target : firing.targets) {
      const std::uint32_t node = matrix_.connections[target].source;
      const auto [known, is_new] = told_at.try_emplace(node, 0);
      if (is_new) known->second = told(node, centre, fired);
      depend(node, sends_[target], known->second);
    }
  }

  std::uint64_t control_messages() const { return control_messages_; }

  bool is_idle(std::uint32_t node) const { return !ranks_.contains(node); }

  RoleDag role_of(std::uint32_t node) {
    Rank& rank = ranks_[node];
    RoleBuilder builder;
    builder.reserve(rank.ops.size(), rank.edges.size());
    for (const Op& op : rank.ops) builder.add(op);
    for (const auto& [dependency, op] : rank.edges) builder.depend(op, dependency);
    // The rehearsal has run it: no cycle is possible.
    return std::move(builder).finish().dag;
  }

 private:
  struct Rank {
    std::vector<Op> ops;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  ///< (dependency, op)
    std::map<Duration, std::uint32_t> delays;
  };

  /// Whose turn it is on a link, from 0.
  static std::uint32_t turn_of(const HtsimConnection& connection) {
    return std::min<std::uint32_t>(connection.priority.value_or(0), op_priority_max);
  }

  std::uint32_t add(std::uint32_t node, const Op& op) {
    ranks_[node].ops.push_back(op);
    return static_cast<std::uint32_t>(ranks_[node].ops.size() - 1);
  }
  void depend(std::uint32_t node, std::uint32_t op, std::uint32_t dependency) { ranks_[node].edges.emplace_back(dependency, op); }

  std::uint32_t add_message(std::uint32_t node, OpKind kind, std::uint32_t peer, std::uint32_t tag, Bytes size) {
    Op op;
    op.kind = kind;
    op.addressing = PeerAddressing::relative;
    op.peer = static_cast<std::int32_t>((peer + matrix_.nodes - node) % matrix_.nodes);
    op.tag = tag;
    op.bytes = size;
    return add(node, op);
  }

  std::uint32_t delay(std::uint32_t node, Duration duration) {
    const auto [known, is_new] = ranks_[node].delays.try_emplace(duration, 0);
    if (is_new) {
      Op op;
      op.processor = Processor::cpu;
      op.duration = duration;
      known->second = add(node, op);
    }
    return known->second;
  }

  /// An op that is done when all of `ops` are.
  std::uint32_t join(std::uint32_t node, const std::vector<std::uint32_t>& ops) {
    if (ops.size() == 1) return ops.front();
    Op op;
    op.processor = Processor::cpu;
    const std::uint32_t joined = add(node, op);
    for (const std::uint32_t before : ops) depend(node, joined, before);
    return joined;
  }

  /// An op at `node` that is done once `node` has heard from `from` that `op` is done there.
  std::uint32_t told(std::uint32_t node, std::uint32_t from, std::uint32_t op) {
    if (node == from) return op;
    ++control_messages_;
    const std::uint32_t tag = tags_[{from, node}]++;
    depend(from, add_message(from, OpKind::send, node, tag, Bytes::zero()), op);
    return add_message(node, OpKind::receive, from, tag, Bytes::zero());
  }

  const HtsimMatrix& matrix_;
  std::map<std::uint32_t, Rank> ranks_;  ///< that do something
  std::vector<std::uint32_t> sends_;     ///< per connection: op of its source
  std::vector<std::uint32_t> receives_;  ///< per connection: op of its destination
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> tags_;
  std::uint64_t control_messages_ = 0;
};

}  // namespace

Workload import_htsim(const std::string& path, std::optional<std::uint32_t> ranks, const OptionNames& names) {
  const SourceText source = SourceText::read(path);
  const HtsimMatrix matrix = read_htsim_matrix(source);
  if (ranks && *ranks != matrix.nodes) {
    fail_rank_conflict(*ranks, names, fmt::format("the matrix, which has {}", counted(matrix.nodes, "node", "nodes")),
                       source.whole_file(), fmt::format("leave {} out; every node is a rank", names("ranks")));
  }
  HtsimRehearsal rehearsal(matrix, source);
  const std::vector<Firing> firings = rehearsal.run();
  Plan plan(matrix);
  plan.add_connections();
  for (const Firing& firing : firings) plan.add_firing(firing);

  Workload workload;
  workload.name = std::filesystem::path(path).stem().string();
  workload.rank_count = matrix.nodes;
  workload.communicators.push_back(Communicator::world(matrix.nodes));
  RoleTable roles;
  std::optional<std::uint16_t> idle_role;
  for (std::uint32_t node = 0; node < matrix.nodes; ++node) {
    const bool is_idle = plan.is_idle(node);
    if (is_idle && idle_role) {
      workload.role_of.push_back(*idle_role);
      continue;
    }
    roles.add_rank(workload, is_idle ? RoleBuilder().finish().dag : plan.role_of(node), node, path);
    if (is_idle) idle_role = workload.role_of.back();
  }
  workload.assumptions.emplace_back(
      "starts of connections count from the start of the ranks, which in a run is scheduler.control_delay after the job was "
      "submitted");
  const auto note = [&](std::uint64_t count, std::string_view one, std::string_view many, std::string_view rest) {
    add_counted_note(workload.assumptions, count, one, many, rest);
  };
  note(plan.control_messages(), "empty message tells", "empty messages tell",
       " other nodes that a trigger has fired, which takes the network's latency; in htsim it takes no time");
  note(static_cast<std::uint64_t>(
           std::count_if(matrix.triggers.begin(), matrix.triggers.end(),
                         [](const HtsimTrigger& trigger) { return trigger.kind == HtsimTriggerKind::multishot; })),
       "multishot trigger starts its", "multishot triggers start their",
       fmt::format(" connections in the order in which those before would end at {} each", to_text(rehearsed_rate)));
  note(static_cast<std::uint64_t>(
           std::count_if(matrix.triggers.begin(), matrix.triggers.end(),
                         [](const HtsimTrigger& trigger) { return trigger.kind == HtsimTriggerKind::barrier && !trigger.count; })),
       "barrier gives no count and waits for all connections that name it",
       "barriers give no count and wait for all connections that name them", "");
  note(rehearsal.idle_triggers(), "trigger starts", "triggers start", " nothing");
  const auto connections_with = [&matrix](const auto& is_so) {
    return static_cast<std::uint64_t>(std::count_if(matrix.connections.begin(), matrix.connections.end(), is_so));
  };
  note(connections_with([](const HtsimConnection& connection) { return connection.priority.has_value(); }), "connection gives",
       "connections give", " a prio; smaller numbers go first on every link, in htsim only where receivers pull");
  note(connections_with([](const HtsimConnection& connection) { return connection.priority.value_or(0) > op_priority_max; }),
       "connection gives", "connections give", " a prio above 7, which counts as 7");
  note(matrix.failures, "failure is", "failures are", " ignored; break the links in the topology");
  return workload;
}

}  // namespace weft
