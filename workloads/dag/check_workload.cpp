// SPDX-License-Identifier: Apache-2.0
// check_workload(): do ranks agree? Cheap because ranks that share a role agree by construction.
//
// Collectives: per communicator, the distinct roles inside each group must issue the same sequence;
// each pair of roles is compared once.
// Point to point: every send adds hash(source, destination, communicator, tag, ordinal, bytes) to a
// sum and every receive takes its own away; 128 bits of zero mean that all match. Only if not are
// the ops listed and sorted to name the odd one.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/values/fingerprint.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

namespace {

std::string op_title(const RoleDag& dag, OpId op) {
  const std::string_view name = dag.name(op);
  return name.empty() ? fmt::format("op {}", op.index()) : fmt::format("op {}", in_quotes(name));
}

std::string rank_title(std::uint32_t rank) { return fmt::format("rank {}", rank); }

class Checker {
 public:
  Checker(const Workload& workload, const SourcePlace& place, Diagnostics& diagnostics)
      : workload_(workload), place_(place), diagnostics_(diagnostics), players_(workload) {}

  void check() {
    WEFT_CHECK(workload_.role_of.size() == workload_.rank_count && !workload_.communicators.empty(),
               "a workload has a role per rank and the world communicator");
    collect();
    if (!check_positions()) return;
    for (std::uint16_t c = 0; c < workload_.communicators.size(); ++c) check_collectives(c);
    check_ambiguity();
    if (!diagnostics_.has_errors()) check_messages();
  }

 private:
  /// Ops of a role that talk to others.
  struct RoleOps {
    std::map<std::uint16_t, std::vector<OpId>> collectives;  ///< by communicator
    std::vector<OpId> messages;
  };

  void collect() {
    roles_.resize(workload_.roles.size());
    for (std::size_t r = 0; r < roles_.size(); ++r) {
      const RoleDag& dag = workload_.roles[r];
      for (std::uint32_t i = 0; i < dag.size(); ++i) {
        const OpKind kind = dag.kind(OpId(i));
        if (kind == OpKind::compute) continue;
        const Op op = dag.op(OpId(i));
        WEFT_CHECK(op.communicator < workload_.communicators.size(), "ops name communicators of their workload");
        if (kind == OpKind::collective) {
          require_size_of_type(op);
          roles_[r].collectives[op.communicator].push_back(OpId(i));
        } else {
          roles_[r].messages.push_back(OpId(i));
        }
      }
    }
    has_collectives_.resize(workload_.communicators.size());
    for (const RoleOps& role : roles_) {
      for (const auto& [communicator, ops] : role.collectives) has_collectives_[communicator] = true;
    }
  }

  void require_size_of_type(const Op& op) const {
    if (op.collective == CollectiveType::barrier) WEFT_CHECK(op.bytes == Bytes::zero(), "a barrier moves no data");
    if (op.collective != CollectiveType::all_to_all_v) return;
    WEFT_CHECK(op.splits < workload_.splits.size() && op.bytes == workload_.splits[op.splits].row_sum_max(),
               "an all_to_all_v names a split table of its workload and has its largest row as size");
  }

  /// What an op asks of the groups of its communicator.
  struct Use {
    std::uint16_t communicator = 0;
    PeerAddressing addressing = PeerAddressing::absolute;
    std::int32_t peer = 0;
    bool is_message = false;
    std::optional<std::uint32_t> splits;

    auto key() const { return std::tuple(communicator, addressing, peer, is_message, splits); }
    bool operator<(const Use& other) const { return key() < other.key(); }
  };

  static Use use_of(const Op& op) {
    Use use;
    use.communicator = op.communicator;
    use.is_message = op.kind != OpKind::collective;
    if (use.is_message || has_root(op.collective)) {
      use.addressing = op.addressing;
      use.peer = op.peer;
    }
    if (!use.is_message && op.collective == CollectiveType::all_to_all_v) use.splits = op.splits;
    return use;
  }

  /// Peers and roots inside their groups, no rank without a group, no messages to oneself, tables
  /// of the size of the group. Looks at each kind of use once per role.
  bool check_positions() {
    const std::size_t errors_before = diagnostics_.error_count();
    // Per role and communicator: the group sizes and positions that matter are few, so each
    // distinct pair is looked at once.
    for (std::size_t r = 0; r < roles_.size(); ++r) {
      std::map<Use, OpId> uses;  // with the first op
      const auto note = [&](OpId id) { uses.emplace(use_of(workload_.roles[r].op(id)), id); };
      for (const auto& [communicator, ops] : roles_[r].collectives) {
        for (const OpId op : ops) note(op);
      }
      for (const OpId op : roles_[r].messages) note(op);
      for (const auto& [use, op] : uses) check_use(r, use, op);
    }
    return diagnostics_.error_count() == errors_before;
  }

  void check_use(std::size_t role, const Use& use, OpId op) {
    const Communicator& groups = workload_.communicators[use.communicator];
    const std::string title =
        fmt::format("{} of role {}", op_title(workload_.roles[role], op), in_quotes(workload_.role_names[role]));
    for (const RankId player : players_.of(role)) {
      const std::uint32_t rank = player.index();
      const GroupId group = groups.group_of(RankId(rank));
      if (group.is_none()) {
        diagnostics_.error(
            "no-group",
            fmt::format("{} runs {} but is in no group of communicator {}", rank_title(rank), title, in_quotes(groups.name())),
            place_, "add the rank to a group, or let it play another role");
        return;
      }
      const auto size = static_cast<std::uint32_t>(groups.ranks(group).size());
      if (use.addressing == PeerAddressing::absolute && (use.peer < 0 || static_cast<std::uint32_t>(use.peer) >= size)) {
        diagnostics_.error(
            "peer-out-of-range",
            fmt::format("{}{} of {} is outside the group of {}, which has {} ranks in communicator {}",
                        use.is_message ? "peer " : "root ", use.peer, title, rank_title(rank), size, in_quotes(groups.name())),
            place_, "positions in a group count from 0");
        return;
      }
      if (!use.is_message && use.addressing == PeerAddressing::relative && size > 1) {
        diagnostics_.error("group-mismatch",
                           fmt::format("{} has a root relative to the rank, so the ranks of a group name different roots", title),
                           place_, "give the root as a position in the group");
        return;
      }
      if (use.splits && workload_.splits[*use.splits].positions() != size) {
        diagnostics_.error(
            "splits-mismatch",
            fmt::format("splits {} of {} are for a group of {}, but the group of {} in communicator {} has {}",
                        in_quotes(workload_.splits[*use.splits].name()), title, workload_.splits[*use.splits].positions(),
                        rank_title(rank), in_quotes(groups.name()), counted(size, "rank", "ranks")),
            place_, "a table has a row for each rank of the group");
        return;
      }
      if (use.is_message &&
          workload_.communicators[use.communicator].peer_of(RankId(rank), use.addressing, use.peer) == RankId(rank)) {
        diagnostics_.error(
            "peer-out-of-range",
            fmt::format("{} makes {} talk to itself in communicator {}", title, rank_title(rank), in_quotes(groups.name())), place_,
            "name another peer; a copy inside a rank is a compute op");
        return;
      }
    }
  }

  void check_collectives(std::uint16_t c) {
    const Communicator& groups = workload_.communicators[c];
    if (!has_collectives_[c]) return;
    std::set<std::pair<std::uint16_t, std::uint16_t>> compared;
    for (std::uint32_t g = 0; g < groups.group_count(); ++g) {
      const auto members = groups.ranks(GroupId(g));
      for (const RankId member : members) {
        const std::uint16_t first_role = workload_.role_of[members.front().index()];
        const std::uint16_t role = workload_.role_of[member.index()];
        if (role == first_role || !compared.emplace(first_role, role).second) continue;
        compare(c, members.front().index(), member.index());
      }
    }
  }

  std::string collective_text(const RoleDag& dag, OpId id) const {
    const Op op = dag.op(id);
    std::string text(to_text(op.collective));
    if (op.collective == CollectiveType::all_to_all_v) {
      text += fmt::format(" of splits {}", in_quotes(workload_.splits[op.splits].name()));
    } else if (op.collective != CollectiveType::barrier) {
      text += fmt::format(" of {}", to_text(op.bytes));
    }
    const bool from_root = op.collective == CollectiveType::broadcast || op.collective == CollectiveType::scatter;
    if (has_root(op.collective)) text += fmt::format("{}{}", from_root ? " from root " : " to root ", op.peer);
    return fmt::format("{} ({})", text, op_title(dag, id));
  }

  void compare(std::uint16_t c, std::uint32_t rank_a, std::uint32_t rank_b) {
    static const std::vector<OpId> no_ops;
    const auto ops_of = [&](std::uint32_t rank) -> const std::vector<OpId>& {
      const auto& by_communicator = roles_[workload_.role_of[rank]].collectives;
      const auto found = by_communicator.find(c);
      return found == by_communicator.end() ? no_ops : found->second;
    };
    const RoleDag& dag_a = workload_.dag_of(RankId(rank_a));
    const RoleDag& dag_b = workload_.dag_of(RankId(rank_b));
    const std::vector<OpId>& a = ops_of(rank_a);
    const std::vector<OpId>& b = ops_of(rank_b);
    const std::string where = fmt::format(" in communicator {}", in_quotes(workload_.communicators[c].name()));
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      const Op op_a = dag_a.op(a[i]);
      const Op op_b = dag_b.op(b[i]);
      const bool same_root = !has_root(op_a.collective) || op_a.peer == op_b.peer;
      const bool same_splits = op_a.splits == op_b.splits;
      if (op_a.collective == op_b.collective && op_a.bytes == op_b.bytes && same_root && same_splits) continue;
      diagnostics_.error("group-mismatch",
                         fmt::format("collective number {}{} is {} on {} but {} on {}", i, where, collective_text(dag_a, a[i]),
                                     rank_title(rank_a), collective_text(dag_b, b[i]), rank_title(rank_b)),
                         place_, "all ranks of a group issue the same collectives in the same order");
      return;
    }
    if (a.size() == b.size()) return;
    const bool a_has_more = a.size() > b.size();
    const std::size_t at = std::min(a.size(), b.size());
    diagnostics_.error("group-mismatch",
                       fmt::format("{} does not join {}{}, which {} issues as number {}", rank_title(a_has_more ? rank_b : rank_a),
                                   a_has_more ? collective_text(dag_a, a[at]) : collective_text(dag_b, b[at]), where,
                                   rank_title(a_has_more ? rank_a : rank_b), at),
                       place_, "all ranks of a group issue the same collectives in the same order");
  }

  /// Two ways to name one peer with one tag would be counted apart and could not be matched.
  void check_ambiguity() {
    std::vector<std::uint32_t> smallest_group;
    for (const Communicator& communicator : workload_.communicators) {
      std::uint32_t smallest = UINT32_MAX;
      for (std::uint32_t g = 0; g < communicator.group_count(); ++g) {
        smallest = std::min(smallest, static_cast<std::uint32_t>(communicator.ranks(GroupId(g)).size()));
      }
      smallest_group.push_back(smallest);
    }
    for (std::size_t r = 0; r < roles_.size(); ++r) {
      if (names_peers_in_one_way(r, smallest_group)) continue;
      using Address = std::pair<PeerAddressing, std::int32_t>;
      std::map<std::tuple<OpKind, std::uint16_t, std::uint32_t>, std::map<Address, OpId>> ways;
      for (const OpId id : roles_[r].messages) {
        const Op op = workload_.roles[r].op(id);
        ways[{op.kind, op.communicator, op.tag}].emplace(Address(op.addressing, op.peer), id);
      }
      for (const auto& [key, addresses] : ways) {
        if (addresses.size() < 2) continue;
        if (report_ambiguity(r, std::get<1>(key), addresses)) break;
      }
    }
  }

  /// All peers absolute, or all offsets that stay below one turn around the group: different
  /// numbers are different peers.
  bool names_peers_in_one_way(std::size_t role, const std::vector<std::uint32_t>& smallest_group) const {
    const RoleDag& dag = workload_.roles[role];
    const std::vector<OpId>& messages = roles_[role].messages;
    if (messages.empty()) return true;
    const PeerAddressing addressing = dag.op(messages.front()).addressing;
    return std::all_of(messages.begin(), messages.end(), [&](OpId id) {
      const Op op = dag.op(id);
      const bool in_one_turn = op.peer >= 0 && static_cast<std::uint32_t>(op.peer) < smallest_group[op.communicator];
      return op.addressing == addressing && (addressing == PeerAddressing::absolute || in_one_turn);
    });
  }

  template <class Addresses>
  bool report_ambiguity(std::size_t role, std::uint16_t communicator, const Addresses& addresses) {
    std::map<RankId, OpId> ops_by_peer;
    for (const RankId player : players_.of(role)) {
      const std::uint32_t rank = player.index();
      ops_by_peer.clear();
      for (const auto& [address, op] : addresses) {
        const auto [other, is_new] =
            ops_by_peer.emplace(workload_.communicators[communicator].peer_of(RankId(rank), address.first, address.second), op);
        if (is_new) continue;
        const RoleDag& dag = workload_.roles[role];
        diagnostics_.error(
            "ambiguous-peer",
            fmt::format("{} and {} of role {} name the same peer of {} in two ways and have the same tag",
                        op_title(dag, other->second), op_title(dag, op), in_quotes(workload_.role_names[role]), rank_title(rank)),
            place_, "name a peer in one way, or use different tags");
        return true;
      }
    }
    return false;
  }

  struct Message {
    std::uint16_t communicator = 0;
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint32_t tag = 0;
    std::uint32_t ordinal = 0;
    std::int64_t bytes = 0;
    bool is_receive = false;
    OpId op;

    auto identity() const { return std::tuple(communicator, source, destination, tag, ordinal); }
  };

  Message message_of(std::uint32_t rank, const RoleDag& dag, OpId id) const {
    const Op op = dag.op(id);
    const std::uint32_t peer = workload_.communicators[op.communicator].peer_of(RankId(rank), op.addressing, op.peer).index();
    Message message;
    message.communicator = op.communicator;
    message.is_receive = op.kind == OpKind::receive;
    message.source = message.is_receive ? peer : rank;
    message.destination = message.is_receive ? rank : peer;
    message.tag = op.tag;
    message.ordinal = dag.match_ordinal(id);
    message.bytes = op.bytes.count();
    message.op = id;
    return message;
  }

  template <class Visit>
  void for_each_message(const Visit& visit) const {
    for (std::uint32_t rank = 0; rank < workload_.rank_count; ++rank) {
      const std::uint16_t role = workload_.role_of[rank];
      for (const OpId op : roles_[role].messages) visit(message_of(rank, workload_.roles[role], op));
    }
  }

  /// Of messages, sends added and receives taken away: 0 if all match.
  struct Balance {
    std::uint64_t sum = 0;
    std::uint64_t other_sum = 0;

    void add(const Message& message) {
      Fingerprint hash;
      hash.add(std::uint64_t{message.source} << 32 | message.destination);
      hash.add(std::uint64_t{message.tag} << 32 | message.ordinal);
      hash.add(std::uint64_t{message.communicator} << 48 ^ static_cast<std::uint64_t>(message.bytes));
      const std::uint64_t other = mix64(hash.value() ^ 0x94d049bb133111ebULL);
      sum += message.is_receive ? ~hash.value() + 1 : hash.value();
      other_sum += message.is_receive ? ~other + 1 : other;
    }
    bool is_even() const { return sum == 0 && other_sum == 0; }
  };

  void check_messages() {
    Balance all;
    for_each_message([&](const Message& message) { all.add(message); });
    if (!all.is_even()) name_odd_messages();
  }

  /// Of many, those of one share of all at a time, so that few are kept. A send and its receive are
  /// in one share.
  void name_odd_messages() {
    std::uint64_t count = 0;
    for (std::size_t role = 0; role < roles_.size(); ++role) count += roles_[role].messages.size() * players_.of(role).size();
    constexpr std::uint64_t kept_max = 1'000'000;
    const std::uint64_t shares = count / kept_max + 1;
    const auto share_of = [shares](const Message& message) {
      return mix64(std::uint64_t{message.source} << 32 | message.destination) % shares;
    };
    std::vector<Balance> balances(shares);
    for_each_message([&](const Message& message) { balances[share_of(message)].add(message); });
    for (std::uint64_t share = 0; share < shares && !diagnostics_.is_full(); ++share) {
      if (balances[share].is_even()) continue;
      std::vector<Message> messages;
      for_each_message([&](const Message& message) {
        if (share_of(message) == share) messages.push_back(message);
      });
      name_odd_of(messages);
    }
  }

  void name_odd_of(std::vector<Message>& messages) {
    std::sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
      return std::tuple(a.identity(), a.is_receive) < std::tuple(b.identity(), b.is_receive);
    });
    for (std::size_t i = 0; i < messages.size();) {
      const bool paired = i + 1 < messages.size() && messages[i].identity() == messages[i + 1].identity();
      if (!paired) {
        report_single(messages[i]);
      } else if (messages[i].bytes != messages[i + 1].bytes) {
        report_sizes(messages[i], messages[i + 1]);
      }
      i += paired ? 2 : 1;
    }
  }

  std::string op_of(const Message& message) const {
    const std::uint32_t rank = message.is_receive ? message.destination : message.source;
    return op_title(workload_.dag_of(RankId(rank)), message.op);
  }

  void report_single(const Message& message) {
    const std::string what = fmt::format(" with tag {} in communicator {} (number {} of its kind)", message.tag,
                                         in_quotes(workload_.communicators[message.communicator].name()), message.ordinal);
    if (message.is_receive) {
      diagnostics_.error("unmatched-receive",
                         fmt::format("{} receives {} from {} in {}{}, but nothing is sent", rank_title(message.destination),
                                     to_text(Bytes::of(message.bytes)), rank_title(message.source), op_of(message), what),
                         place_, "add the send, or remove the receive");
    } else {
      diagnostics_.error("unmatched-send",
                         fmt::format("{} sends {} to {} in {}{}, but nobody receives it", rank_title(message.source),
                                     to_text(Bytes::of(message.bytes)), rank_title(message.destination), op_of(message), what),
                         place_, "add the receive, or remove the send");
    }
  }

  void report_sizes(const Message& send, const Message& receive) {
    diagnostics_.error(
        "unmatched-send",
        fmt::format("{} sends {} to {} in {}, but {} receives {}", rank_title(send.source), to_text(Bytes::of(send.bytes)),
                    rank_title(send.destination), op_of(send), op_of(receive), to_text(Bytes::of(receive.bytes))),
        place_, fmt::format("a send and its receive have the same size; they match by tag {} and order", send.tag));
  }

  const Workload& workload_;
  const SourcePlace& place_;
  Diagnostics& diagnostics_;
  std::vector<RoleOps> roles_;
  RolePlayers players_;
  std::vector<bool> has_collectives_;  ///< by communicator
};

}  // namespace

void check_workload(const Workload& workload, const SourcePlace& place, Diagnostics& diagnostics) {
  Checker(workload, place, diagnostics).check();
}

}  // namespace weft
