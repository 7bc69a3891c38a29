// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/goal/goal.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/text_lines.hpp"
#include "core/values/fingerprint.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/overlaps.hpp"
#include "workloads/dag/topological_order.hpp"
#include "workloads/formats/counted_note.hpp"
#include "workloads/formats/goal/goal_matching.hpp"
#include "workloads/formats/goal/goal_order.hpp"
#include "workloads/formats/goal/goal_text.hpp"
#include "workloads/formats/rank_set.hpp"
#include "workloads/formats/ranks_option.hpp"

namespace weft {

namespace {

std::int64_t ticks_per_unit(const GoalOptions& options) {
  const std::string& unit = options.time_unit;
  if (unit.empty() || unit == "ns") return Duration::ticks_per_ns;
  if (unit == "us") return Duration::ticks_per_us;
  if (unit == "ms") return Duration::ticks_per_ms;
  const std::array<std::string, 3> known = {"ns", "us", "ms"};
  fail("bad-value", fmt::format("there is no time unit {}", in_quotes(unit)), SourcePlace::named(options.names("time_unit")),
       suggestion(unit, known, "unit"), "time_unit");
}

/// Replaces `op irequires dependency`: whatever the dependency waits for, a new op of no duration
/// waits for, and both wait for that. Returns the ops that got such a start, in the order in which
/// the new ops were appended.
std::vector<std::uint32_t> resolve_starts(GoalRank& rank) {
  std::vector<std::uint32_t> started;
  if (rank.after_start.empty()) return started;
  const auto written = static_cast<std::uint32_t>(rank.ops.size());
  std::vector<bool> waits(written, false);
  for (const auto& [dependency, op] : rank.after_end) waits[op] = true;
  for (const auto& [dependency, op] : rank.after_start) waits[op] = true;
  constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> gate_of(written, none);
  for (const auto& [dependency, op] : rank.after_start) {
    // An op that waits for nothing starts at once.
    if (!waits[dependency] || gate_of[dependency] != none) continue;
    gate_of[dependency] = static_cast<std::uint32_t>(rank.ops.size());
    started.push_back(dependency);
    rank.ops.emplace_back();
  }
  const auto entry_of = [&](std::uint32_t op) { return gate_of[op] == none ? op : gate_of[op]; };
  for (auto& [dependency, op] : rank.after_end) op = entry_of(op);
  for (const auto& [dependency, op] : rank.after_start) {
    if (gate_of[dependency] != none) rank.after_end.emplace_back(gate_of[dependency], entry_of(op));
  }
  for (std::uint32_t op = 0; op < written; ++op) {
    if (gate_of[op] != none) rank.after_end.emplace_back(gate_of[op], op);
  }
  rank.after_start = {};
  return started;
}

bool takes_cpu(const GoalOp& op) { return op.kind == OpKind::compute && op.amount > 0; }

/// Calcs of one cpu that wait for nothing, or for the same single op, become ready at one instant:
/// they run in file order.
void join_siblings(GoalRank& rank) {
  constexpr std::uint32_t nothing = UINT32_MAX;
  constexpr std::uint32_t several = UINT32_MAX - 1;
  std::vector<std::uint32_t> waits_for(rank.ops.size(), nothing);
  for (const auto& [dependency, op] : rank.after_end) {
    waits_for[op] = waits_for[op] == nothing || waits_for[op] == dependency ? dependency : several;
  }
  for (const auto& [dependency, op] : rank.after_start) waits_for[op] = several;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> siblings;
  for (std::uint32_t op = 0; op < rank.ops.size(); ++op) {
    if (!takes_cpu(rank.ops[op]) || waits_for[op] == several) continue;
    siblings.emplace_back(std::uint64_t{waits_for[op]} << 16 | rank.ops[op].cpu, op);
  }
  std::sort(siblings.begin(), siblings.end());
  for (std::size_t i = 1; i < siblings.size(); ++i) {
    if (siblings[i].first == siblings[i - 1].first) rank.after_end.emplace_back(siblings[i - 1].second, siblings[i].second);
  }
}

/// How many calcs are not preceded by the calc before them on their cpu. Requires: starts are
/// resolved.
std::uint64_t count_overlapping_calcs(const GoalRank& rank) {
  std::vector<std::uint32_t> cpu_of(rank.ops.size(), no_resource);
  for (std::size_t i = 0; i < rank.ops.size(); ++i) {
    if (takes_cpu(rank.ops[i])) cpu_of[i] = rank.ops[i].cpu;
  }
  return count_overlaps(cpu_of, rank.after_end);
}

class GoalImporter {
 public:
  GoalImporter(const std::string& path, const GoalOptions& options) : path_(path), options_(options) {
    text_options_.ticks_per_unit = ticks_per_unit(options);
    text_options_.keep_origins = !options.named_ranks.empty();
  }

  Workload import() {
    bool needs_rehearsal = false;
    const auto take = [&](GoalRank& rank) {
      if (needs_rehearsal) return;
      join_siblings(rank);
      needs_rehearsal = std::any_of(rank.ops.begin(), rank.ops.end(), [](const GoalOp& op) { return op.is_wildcard(); }) ||
                        count_open_orders(rank) > 0;
      if (!needs_rehearsal) add_rank(rank, {});
    };
    workload_.rank_count = read_goal_text(path_, text_options_, take);
    if (needs_rehearsal) read_with_rehearsal();
    require_no_cycle();
    sort_ranks();
    workload_.name = std::filesystem::path(path_).stem().string();
    workload_.communicators.push_back(Communicator::world(workload_.rank_count));
    if (options_.ranks && *options_.ranks != workload_.rank_count) {
      fail_rank_conflict(*options_.ranks, options_.names, fmt::format("the schedule, whose num_ranks is {}", workload_.rank_count),
                         SourcePlace::named(path_),
                         fmt::format("leave {} out; a GOAL schedule lists every rank", options_.names("ranks")));
    }
    note_assumptions();
    require_agreement();
    return std::move(workload_);
  }

 private:
  /// `issue_order`: of its ops; empty: dependency_order(). Requires: siblings are joined.
  void add_rank(GoalRank& rank, std::vector<std::uint32_t> issue_order) {
    const std::size_t written = rank.ops.size();
    count(rank);
    // `irequires` puts starts between ops; they must not change the order of the ops.
    if (issue_order.empty() && !rank.after_start.empty()) issue_order = dependency_order(rank);
    if (issue_order.size() < written) issue_order.clear();
    const std::vector<std::uint32_t> started = resolve_starts(rank);
    overlapping_ += count_overlapping_calcs(rank);
    // A rank that reads like an earlier one talks to the same ranks; others are told by offset.
    const bool is_twin = !texts_.insert(digest_of_text(rank)).second;
    const std::vector<std::uint32_t> order = with_starts(std::move(issue_order), written, started);
    RoleBuilder builder;
    builder.reserve(rank.ops.size(), rank.after_end.size());
    for (std::size_t i = 0; i < rank.ops.size(); ++i) {
      const std::size_t op = order.empty() ? i : order[i];
      builder.add(op_of(rank, op, is_twin), name_of(rank, op));
    }
    rank.ops = {};
    const std::vector<std::uint32_t> position = inverse(order);
    const auto added = [&position](std::uint32_t op) { return position.empty() ? op : position[op]; };
    for (const auto& [dependency, op] : rank.after_end) builder.depend(added(op), added(dependency));
    rank.after_end = {};
    RoleBuilder::Result result = std::move(builder).finish();
    if (!result.cycle.empty()) {
      // The start of an op goes by the name of the op.
      for (std::uint32_t& op : result.cycle) {
        if (!order.empty()) op = order[op];
        if (op >= written) op = started[op - written];
      }
      result.cycle.erase(std::unique(result.cycle.begin(), result.cycle.end()), result.cycle.end());
      std::rotate(result.cycle.begin(), std::min_element(result.cycle.begin(), result.cycle.end()), result.cycle.end());
      cycles_.emplace(rank.rank, std::move(result.cycle));
      return;
    }
    roles_.add_rank(workload_, std::move(result.dag), rank.rank, path_);
    ranks_.push_back(rank.rank);
  }

  /// The start of an op stands right before it.
  static std::vector<std::uint32_t> with_starts(std::vector<std::uint32_t> order, std::size_t written,
                                                const std::vector<std::uint32_t>& started) {
    if (order.empty() || started.empty()) return order;
    std::vector<std::uint32_t> start_of(written, 0);
    for (std::size_t i = 0; i < started.size(); ++i) start_of[started[i]] = static_cast<std::uint32_t>(written + i);
    std::vector<std::uint32_t> with_starts;
    with_starts.reserve(written + started.size());
    for (const std::uint32_t op : order) {
      if (start_of[op] != 0) with_starts.push_back(start_of[op]);
      with_starts.push_back(op);
    }
    return with_starts;
  }

  static std::vector<std::uint32_t> inverse(const std::vector<std::uint32_t>& order) {
    std::vector<std::uint32_t> position(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
    return position;
  }

  /// The file may list ranks in any order.
  void sort_ranks() {
    std::vector<std::uint16_t> role_of(ranks_.size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) role_of[ranks_[i]] = workload_.role_of[i];
    workload_.role_of = std::move(role_of);
  }

  /// With the line's text as long as errors are shown; fetching it reads the file.
  SourcePlace place_of_line(int line, const Diagnostics& diagnostics) const {
    if (diagnostics.error_count() < Diagnostics::kept_errors_max) return place_in_line(path_, line, 0, 1);
    return SourcePlace::named(path_);
  }

  Op op_of(const GoalRank& rank, std::size_t index, bool is_twin) const {
    const GoalOp& what = rank.ops[index];
    Op op;
    op.kind = what.kind;
    if (what.kind == OpKind::compute) {
      op.duration = Duration::ticks(what.amount);
      return op;
    }
    op.bytes = Bytes::of(what.amount);
    op.tag = what.tag;
    op.addressing = is_twin ? PeerAddressing::absolute : PeerAddressing::relative;
    op.peer = static_cast<std::int32_t>(what.peer);
    if (!is_twin) {
      op.peer -= static_cast<std::int32_t>(rank.rank);
      if (op.peer < 0) op.peer += static_cast<std::int32_t>(rank.rank_count);
    }
    return op;
  }

  std::string name_of(const GoalRank& rank, std::size_t op) const {
    const std::vector<std::uint32_t>& named = options_.named_ranks;
    if (op >= rank.origins.size() || (!named.empty() && std::find(named.begin(), named.end(), rank.rank) == named.end())) return {};
    return title_of(rank.origins[op]);
  }

  static std::uint64_t digest_of_text(const GoalRank& rank) {
    Fingerprint digest;
    for (const GoalOp& op : rank.ops) {
      digest.add(static_cast<std::uint64_t>(op.kind) | std::uint64_t{op.peer} << 8);
      digest.add(static_cast<std::uint64_t>(op.amount) ^ std::uint64_t{op.tag} << 32);
    }
    for (const auto& [dependency, op] : rank.after_end) digest.add(std::uint64_t{dependency} << 32 | op);
    return digest.value();
  }

  void count(const GoalRank& rank) {
    for (const GoalOp& op : rank.ops) {
      if (op.kind == OpKind::compute) {
        ++calcs_;
      } else {
        ++messages_;
      }
    }
    nic_choices_ += rank.nic_choices;
  }

  /// Sources of wildcards and orders that dependencies leave open come out of the whole schedule,
  /// so all ranks are kept until they are known.
  void read_with_rehearsal() {
    forget();
    std::vector<GoalRank> ranks;
    read_goal_text(path_, text_options_, [&ranks](GoalRank& rank) {
      join_siblings(rank);
      ranks.push_back(std::move(rank));
    });
    wildcards_ = 0;
    for (const GoalRank& rank : ranks) {
      wildcards_ += static_cast<std::uint64_t>(
          std::count_if(rank.ops.begin(), rank.ops.end(), [](const GoalOp& op) { return op.is_wildcard(); }));
    }
    GoalMatching matching = match_goal_messages(ranks);
    if (!matching.unmatched.empty()) report_unmatched(matching.unmatched, ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::uint64_t open = count_open_orders(ranks[i]);
      open_orders_ += open;
      // Ranks that need no order of their own keep that of the file and so may share a role.
      add_rank(ranks[i], open > 0 ? std::move(matching.issue_order[i]) : std::vector<std::uint32_t>());
      ranks[i] = {};
      matching.issue_order[i] = {};
    }
  }

  /// Back to before the first rank.
  void forget() {
    workload_.roles.clear();
    workload_.role_names.clear();
    workload_.role_of.clear();
    roles_ = RoleTable();
    ranks_.clear();
    texts_.clear();
    cycles_.clear();
    calcs_ = messages_ = nic_choices_ = overlapping_ = open_orders_ = 0;
  }

  /// Where ops of the file stand, by (rank, op). Reads the file.
  std::map<std::pair<std::uint32_t, std::uint32_t>, GoalOrigin> origins_of(
      const std::map<std::uint32_t, std::set<std::uint32_t>>& ops_of_rank) const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, GoalOrigin> origins;
    GoalTextOptions with_origins = text_options_;
    with_origins.keep_origins = true;
    read_goal_text(path_, with_origins, [&](GoalRank& rank) {
      const auto ops = ops_of_rank.find(rank.rank);
      if (ops == ops_of_rank.end()) return;
      for (const std::uint32_t op : ops->second) origins[{rank.rank, op}] = rank.origins[op];
    });
    return origins;
  }

  [[noreturn]] void report_unmatched(const std::vector<GoalMatching::Unmatched>& unmatched, const std::vector<GoalRank>& ranks) {
    std::map<std::uint32_t, std::set<std::uint32_t>> ops_of_rank;
    for (const GoalMatching::Unmatched& one : unmatched) {
      ops_of_rank[ranks[one.receive.index].rank].insert(one.receive.op);
      for (const auto& other : {one.taken, one.taken_by, one.left_over}) {
        if (other) ops_of_rank[ranks[other->index].rank].insert(other->op);
      }
    }
    const auto origins = origins_of(ops_of_rank);
    const auto origin_of = [&](const GoalMatching::Place& place) { return origins.at({ranks[place.index].rank, place.op}); };
    Diagnostics diagnostics;
    for (const GoalMatching::Unmatched& one : unmatched) {
      const auto message_of = [&](const GoalMatching::Place& send) {
        return fmt::format("message of rank {} with tag {} ({})", ranks[send.index].rank, ranks[send.index].ops[send.op].tag,
                           title_of(origin_of(send)));
      };
      std::string text = fmt::format("rank {} receives here {}, but no message is left for it", ranks[one.receive.index].rank,
                                     sources_of(ranks[one.receive.index].ops[one.receive.op]));
      if (one.taken)
        text += fmt::format(": the {} went to the recv at {}", message_of(*one.taken), title_of(origin_of(*one.taken_by)));
      if (one.left_over)
        text += fmt::format("{}{} does not fit and is left over", one.taken ? ", and the " : ": the ", message_of(*one.left_over));
      diagnostics.error(
          "unmatched-receive", std::move(text), place_of_line(origin_of(one.receive).line, diagnostics),
          one.taken ? "receives take the message that comes first if messages take no time; name the source and tag of the recv "
                      "that took it, or order the two"
                    : "add the send that is missing, or remove the recv; ranks that wait for each other never send");
    }
    diagnostics.throw_if_errors();
    fail("unmatched-receive", "a receive from any source gets no message", SourcePlace::named(path_), "");
  }

  /// "from any source with tag 7".
  static std::string sources_of(const GoalOp& receive) {
    return fmt::format("{}{}", receive.peer == goal_any_source ? "from any source" : fmt::format("from rank {}", receive.peer),
                       receive.any_tag ? " with any tag" : fmt::format(" with tag {}", receive.tag));
  }

  static std::string title_of(const GoalOrigin& origin) {
    return fmt::format("{}line {}", origin.label.empty() ? "" : fmt::format("{}, ", origin.label), origin.line);
  }

  /// Names the ops of cycles by reading their labels.
  void require_no_cycle() {
    if (cycles_.empty()) return;
    Diagnostics diagnostics;
    GoalTextOptions with_origins = text_options_;
    with_origins.keep_origins = true;
    read_goal_text(path_, with_origins, [&](GoalRank& rank) {
      const auto cycle = cycles_.find(rank.rank);
      if (cycle == cycles_.end()) return;
      const std::string chain = cycle_text(cycle->second, [&](std::uint32_t op) { return rank.origins[op].label; });
      const GoalOrigin& first = rank.origins[cycle->second.front()];
      diagnostics.error("cycle", fmt::format("ops of rank {} wait for each other: {}", rank.rank, chain),
                        place_of_line(first.line, diagnostics), "remove one of their requires");
    });
    diagnostics.throw_if_errors();
  }

  /// Sends have their receives; if not, the ops are named by label and line, for which the file is
  /// read once more.
  void require_agreement() {
    const SourcePlace place = SourcePlace::named(path_);
    Diagnostics diagnostics;
    check_workload(workload_, place, diagnostics);
    if (!diagnostics.has_errors()) return;
    if (open_orders_ > 0) {
      diagnostics.warning(
          "issue-order",
          fmt::format("dependencies leave open in which order {} with the same peer and tag as another one {} issued",
                      counted(open_orders_, "message", "messages"), open_orders_ == 1 ? "is" : "are"),
          place, "such messages match in the order that messages without duration would show; use tags, or requires");
    }
    if (text_options_.keep_origins || workload_.rank_count > workload_role_count_max) diagnostics.throw_if_errors();
    GoalImporter again(path_, options_);
    again.text_options_.keep_origins = true;
    again.import();
    diagnostics.throw_if_errors();
  }

  void note_assumptions() {
    if (calcs_ > 0 && options_.time_unit.empty()) {
      workload_.assumptions.push_back(
          fmt::format("durations of calc are taken to be nanoseconds; {} says otherwise", options_.names("time_unit", "us or ms")));
    }
    if (messages_ > 0) {
      workload_.assumptions.emplace_back(
          "messages take the time of the simulated network and no CPU time; LogGOPS parameters are not part of a schedule");
    }
    const auto note = [this](std::uint64_t count, std::string_view one, std::string_view many, std::string_view rest) {
      add_counted_note(workload_.assumptions, count, one, many, rest);
    };
    note(overlapping_, "calc", "calcs", " may overlap with the one before on the same cpu: no dependency orders them");
    note(wildcards_, "receive from any source or with any tag takes", "receives from any source or with any tag take",
         " the message that comes first if messages take no time");
    note(
        open_orders_, "message matches", "messages match",
        " in the order in which messages without duration would be issued: dependencies do not order them and an equal one before");
    note(nic_choices_, "op names", "ops name", " a nic other than 0: ignored, the topology decides");
  }

  std::string path_;
  GoalOptions options_;
  GoalTextOptions text_options_;
  Workload workload_;
  RoleTable roles_;
  /// In the order of the file, as role_of is while ranks are added.
  std::vector<std::uint32_t> ranks_;
  std::unordered_set<std::uint64_t> texts_;                     ///< digests of the ranks so far
  std::map<std::uint32_t, std::vector<std::uint32_t>> cycles_;  ///< by rank
  std::uint64_t calcs_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t overlapping_ = 0;
  std::uint64_t wildcards_ = 0;
  std::uint64_t open_orders_ = 0;
  std::uint64_t nic_choices_ = 0;
};

}  // namespace

Workload import_goal(const std::string& path, const GoalOptions& options) { return GoalImporter(path, options).import(); }

}  // namespace weft
