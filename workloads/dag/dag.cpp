// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/dag.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/topological_order.hpp"

namespace weft {

namespace {

/// "No op": ends lists of op indices.
constexpr std::uint32_t no_op = UINT32_MAX;

/// Edges by source, in order of addition: successors of u are targets[begin[u]] .. targets[begin[u
/// + 1]].
struct AddedEdges {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint32_t> targets;
  /// Empty if no op has a stream; where set, it is the last successor of its op.
  std::vector<std::uint32_t> next_in_stream;

  std::uint32_t op_count() const { return static_cast<std::uint32_t>(begin.size() - 1); }
  std::span<const std::uint32_t> of(std::uint32_t op, bool with_streams) const {
    const std::size_t length = begin[op + 1] - begin[op];
    const bool has_next = !next_in_stream.empty() && next_in_stream[op] != no_op;
    return {targets.data() + begin[op], length - (has_next && !with_streams ? 1 : 0)};
  }
};

std::vector<std::uint32_t> next_ops_in_streams(const std::vector<Op>& ops) {
  std::vector<std::uint32_t> next;
  if (std::none_of(ops.begin(), ops.end(), [](const Op& op) { return op.stream != 0; })) return next;
  next.assign(ops.size(), no_op);
  // Only as long as needed: there may be very many very small roles.
  std::vector<std::uint32_t> last;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const std::uint16_t stream = ops[i].stream;
    if (stream == 0) continue;
    if (stream >= last.size()) last.resize(std::size_t{stream} + 1, no_op);
    if (last[stream] != no_op) next[last[stream]] = i;
    last[stream] = i;
  }
  return next;
}

AddedEdges sort_by_source(const std::vector<Op>& ops, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  AddedEdges sorted;
  sorted.next_in_stream = next_ops_in_streams(ops);
  sorted.begin.assign(ops.size() + 1, 0);
  for (const auto& [dependency, op] : edges) ++sorted.begin[dependency + 1];
  for (std::size_t i = 0; i < sorted.next_in_stream.size(); ++i) {
    if (sorted.next_in_stream[i] != no_op) ++sorted.begin[i + 1];
  }
  for (std::size_t i = 0; i < ops.size(); ++i) sorted.begin[i + 1] += sorted.begin[i];
  sorted.targets.resize(sorted.begin.back());
  // `begin` doubles as the place to write next and is shifted back afterwards.
  for (const auto& [dependency, op] : edges) sorted.targets[sorted.begin[dependency]++] = op;
  for (std::size_t i = 0; i < sorted.next_in_stream.size(); ++i) {
    if (sorted.next_in_stream[i] != no_op) sorted.targets[sorted.begin[i]++] = sorted.next_in_stream[i];
  }
  for (std::size_t i = ops.size(); i > 0; --i) sorted.begin[i] = sorted.begin[i - 1];
  sorted.begin[0] = 0;
  return sorted;
}

bool runs_forward(const AddedEdges& edges) {
  for (std::uint32_t op = 0; op < edges.op_count(); ++op) {
    for (const std::uint32_t successor : edges.of(op, true)) {
      if (successor <= op) return false;
    }
  }
  return true;
}

/// Gives op order[i] the number i.
void renumber(AddedEdges& edges, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> position(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<std::uint64_t> begin;
  begin.reserve(edges.begin.size());
  begin.push_back(0);
  std::vector<std::uint32_t> targets;
  targets.reserve(edges.targets.size());
  for (const std::uint32_t op : order) {
    for (const std::uint32_t successor : edges.of(op, true)) targets.push_back(position[successor]);
    begin.push_back(targets.size());
  }
  edges.begin = std::move(begin);
  edges.targets = std::move(targets);
}

/// Sorts each list of successors and drops what stands twice, in place.
void drop_duplicates(std::vector<std::uint64_t>& begin, std::vector<std::uint32_t>& targets) {
  std::uint64_t kept = 0;
  for (std::size_t op = 0; op + 1 < begin.size(); ++op) {
    const auto first = targets.begin() + static_cast<std::ptrdiff_t>(begin[op]);
    const auto last = targets.begin() + static_cast<std::ptrdiff_t>(begin[op + 1]);
    std::sort(first, last);
    begin[op] = kept;
    // Kept values move to the front, never past what is still to be read.
    std::uint32_t before = no_op;
    for (auto it = first; it != last; ++it) {
      if (*it == before) continue;
      before = *it;
      targets[kept++] = before;
    }
  }
  begin.back() = kept;
  targets.resize(kept);
}

/// Position of each op among its equals (RoleDag::match_ordinal).
template <class OpAt>
std::vector<std::uint32_t> match_ordinals(std::uint32_t count, const OpAt& op_at) {
  std::vector<std::uint32_t> ordinals(count, 0);
  std::vector<std::uint32_t> collectives;
  std::vector<std::uint32_t> point_to_point;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Op& op = op_at(i);
    if (op.kind == OpKind::collective) {
      if (op.communicator >= collectives.size()) collectives.resize(std::size_t{op.communicator} + 1, 0);
      ordinals[i] = collectives[op.communicator]++;
    }
    if (op.kind == OpKind::send || op.kind == OpKind::receive) point_to_point.push_back(i);
  }
  const auto key = [&](std::uint32_t i) {
    const Op& op = op_at(i);
    return std::tuple(op.kind, op.communicator, op.addressing, op.peer, op.tag);
  };
  std::sort(point_to_point.begin(), point_to_point.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto key_a = key(a);
    const auto key_b = key(b);
    return key_a != key_b ? key_a < key_b : a < b;
  });
  for (std::size_t k = 1; k < point_to_point.size(); ++k) {
    const std::uint32_t before = point_to_point[k - 1];
    const std::uint32_t here = point_to_point[k];
    if (key(before) == key(here)) ordinals[here] = ordinals[before] + 1;
  }
  return ordinals;
}

}  // namespace

Op RoleDag::op(OpId id) const {
  const std::uint32_t i = id.index();
  Op op;
  op.kind = kind_[i];
  op.collective = collective_[i];
  op.addressing = addressing_[i];
  op.communicator = communicator_[i];
  op.stream = stream_[i];
  if (!peer_.empty()) op.peer = peer_[i];
  if (!tag_.empty()) op.tag = tag_[i];
  if (!splits_.empty()) op.splits = splits_[i];
  if (!priority_.empty()) op.priority = priority_[i];
  op.processor = processor(id);
  if (op.kind == OpKind::compute) {
    op.duration = Duration::ticks(amount_[i]);
  } else {
    op.bytes = Bytes::of(amount_[i]);
  }
  return op;
}

std::span<const OpId> RoleDag::successors(OpId op) const {
  const std::uint64_t begin = successors_begin_[op.index()];
  return {successors_.data() + begin, static_cast<std::size_t>(successors_begin_[op.index() + 1] - begin)};
}

OpId RoleDag::collective(std::uint16_t communicator, std::uint32_t ordinal, OpId near) const {
  const auto is_it = [&](std::uint32_t i) {
    return i < size() && kind_[i] == OpKind::collective && communicator_[i] == communicator && match_ordinal_[i] == ordinal;
  };
  const std::uint32_t from = std::min(near.index(), size());
  for (std::uint32_t away = 0; away <= size(); ++away) {
    if (is_it(from + away)) return OpId(from + away);
    if (away <= from && is_it(from - away)) return OpId(from - away);
  }
  fail_check("the collective exists", "a role has the collective that is asked for", __FILE__, __LINE__);
}

std::string_view RoleDag::name(OpId op) const {
  if (name_begin_.empty()) return {};
  const std::uint32_t begin = name_begin_[op.index()];
  return std::string_view(name_pool_).substr(begin, name_begin_[op.index() + 1] - begin);
}

std::size_t RoleDag::memory_bytes() const {
  const auto of = [](const auto& array) { return array.capacity() * sizeof(array[0]); };
  return of(kind_) + of(collective_) + of(addressing_) + of(communicator_) + of(stream_) + of(amount_) + of(match_ordinal_) +
         of(predecessor_count_) + of(successors_begin_) + of(successors_) + of(peer_) + of(tag_) + of(splits_) + of(priority_) +
         of(processor_) + of(name_begin_) + name_pool_.capacity();
}

std::uint64_t RoleDag::digest() const {
  Fingerprint digest;
  digest.add(size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    digest.add(static_cast<std::uint64_t>(kind_[i]) | static_cast<std::uint64_t>(collective_[i]) << 8 |
               static_cast<std::uint64_t>(addressing_[i]) << 16 | std::uint64_t{communicator_[i]} << 24 |
               std::uint64_t{stream_[i]} << 40);
    digest.add(static_cast<std::uint64_t>(amount_[i]));
    if (!peer_.empty()) digest.add(static_cast<std::uint32_t>(peer_[i]));
    if (!tag_.empty()) digest.add(tag_[i]);
    if (!splits_.empty()) digest.add(splits_[i]);
    if (!priority_.empty()) digest.add(std::uint64_t{priority_[i]});
    if (!processor_.empty()) digest.add(static_cast<std::uint64_t>(processor_[i]));
    digest.add(successors_begin_[i + 1]);
  }
  for (const OpId successor : successors_) digest.add(successor.index());
  digest.add(name_pool_);
  return digest.value();
}

void RoleBuilder::reserve(std::size_t op_count, std::size_t edge_count) {
  ops_.reserve(op_count);
  edges_.reserve(edge_count);
}

std::uint32_t RoleBuilder::add(const Op& op, std::string_view name) {
  WEFT_CHECK(ops_.size() < UINT32_MAX - 1, "a role has fewer than 2^32 - 1 ops");
  WEFT_CHECK(op.duration >= Duration::zero() && op.bytes >= Bytes::zero(), "durations and sizes of ops are not negative");
  WEFT_CHECK(op.splits == 0 || (op.kind == OpKind::collective && op.collective == CollectiveType::all_to_all_v),
             "only an all_to_all_v has a split table");
  WEFT_CHECK(op.priority == 0 || (op.priority <= op_priority_max && (op.kind == OpKind::collective || op.kind == OpKind::send)),
             "only what sends has a priority");
  if (!name.empty() && name_pool_.size() + name.size() < UINT32_MAX) {
    // Ops before the first named one have empty names.
    if (name_begin_.empty()) name_begin_.assign(ops_.size(), 0);
    name_begin_.push_back(static_cast<std::uint32_t>(name_pool_.size()));
    name_pool_ += name;
  } else if (!name_begin_.empty()) {
    name_begin_.push_back(static_cast<std::uint32_t>(name_pool_.size()));
  }
  ops_.push_back(op);
  return static_cast<std::uint32_t>(ops_.size() - 1);
}

void RoleBuilder::depend(std::uint32_t op, std::uint32_t dependency) { edges_.emplace_back(dependency, op); }

RoleBuilder::Result RoleBuilder::finish() && {
  const auto count = static_cast<std::uint32_t>(ops_.size());
  for (const auto& [dependency, op] : edges_) WEFT_CHECK(dependency < count && op < count, "edges join ops that were added");
  AddedEdges added = sort_by_source(ops_, edges_);
  edges_ = {};

  Result result;
  RoleDag& dag = result.dag;
  // order[i]: index of addition of op i. Empty: the order of addition is topological already and
  // stays.
  std::vector<std::uint32_t> order;
  if (!runs_forward(added)) {
    const auto all_edges = [&added](std::uint32_t op) { return added.of(op, true); };
    TopologicalOrder sorted = topological_order(count, all_edges);
    if (sorted.order.size() < count) {
      const auto without_streams = [&added](std::uint32_t op) { return added.of(op, false); };
      const TopologicalOrder dependencies_only = topological_order(count, without_streams);
      result.cycle_uses_stream_order = dependencies_only.order.size() == count;
      result.cycle = result.cycle_uses_stream_order ? find_cycle(sorted.waiting, all_edges)
                                                    : find_cycle(dependencies_only.waiting, without_streams);
      return result;
    }
    order = std::move(sorted.order);
    renumber(added, order);
  }
  added.next_in_stream = {};
  drop_duplicates(added.begin, added.targets);
  dag.successors_begin_ = std::move(added.begin);
  // OpId is a 32-bit number with a name; the copy keeps the type where users see it.
  dag.successors_.reserve(added.targets.size());
  for (const std::uint32_t target : added.targets) dag.successors_.emplace_back(target);
  added = {};
  dag.predecessor_count_.assign(count, 0);
  for (const OpId successor : dag.successors_) ++dag.predecessor_count_[successor.index()];

  const auto added_index = [&order](std::uint32_t i) { return order.empty() ? i : order[i]; };
  const auto op_at = [&](std::uint32_t i) -> const Op& { return ops_[added_index(i)]; };
  const auto fill = [&](auto& array, const auto& member) {
    array.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) array.push_back(member(op_at(i)));
  };
  fill(dag.kind_, [](const Op& op) { return op.kind; });
  fill(dag.collective_, [](const Op& op) { return op.collective; });
  fill(dag.addressing_, [](const Op& op) { return op.addressing; });
  fill(dag.communicator_, [](const Op& op) { return op.communicator; });
  fill(dag.stream_, [](const Op& op) { return op.stream; });
  fill(dag.amount_, [](const Op& op) { return op.kind == OpKind::compute ? op.duration.in_ticks() : op.bytes.count(); });
  if (std::any_of(ops_.begin(), ops_.end(), [](const Op& op) { return op.peer != 0; })) {
    fill(dag.peer_, [](const Op& op) { return op.peer; });
  }
  if (std::any_of(ops_.begin(), ops_.end(), [](const Op& op) { return op.tag != 0; })) {
    fill(dag.tag_, [](const Op& op) { return op.tag; });
  }
  if (std::any_of(ops_.begin(), ops_.end(), [](const Op& op) { return op.splits != 0; })) {
    fill(dag.splits_, [](const Op& op) { return op.splits; });
  }
  if (std::any_of(ops_.begin(), ops_.end(), [](const Op& op) { return op.priority != 0; })) {
    fill(dag.priority_, [](const Op& op) { return op.priority; });
  }
  if (std::any_of(ops_.begin(), ops_.end(), [](const Op& op) { return op.processor != Processor::gpu; })) {
    fill(dag.processor_, [](const Op& op) { return op.processor; });
  }
  dag.match_ordinal_ = match_ordinals(count, op_at);
  ops_ = {};

  if (!name_begin_.empty()) {
    name_begin_.push_back(static_cast<std::uint32_t>(name_pool_.size()));
    if (order.empty()) {
      dag.name_begin_ = std::move(name_begin_);
      dag.name_pool_ = std::move(name_pool_);
    } else {
      dag.name_begin_.reserve(std::size_t{count} + 1);
      dag.name_pool_.reserve(name_pool_.size());
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t from = order[i];
        dag.name_begin_.push_back(static_cast<std::uint32_t>(dag.name_pool_.size()));
        dag.name_pool_.append(name_pool_, name_begin_[from], name_begin_[from + 1] - name_begin_[from]);
      }
      dag.name_begin_.push_back(static_cast<std::uint32_t>(dag.name_pool_.size()));
    }
  }
  return result;
}

Communicator Communicator::world(std::uint32_t rank_count) {
  std::vector<std::vector<RankId>> groups(1);
  groups[0].reserve(rank_count);
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) groups[0].emplace_back(rank);
  return {"world", rank_count, groups};
}

Communicator::Communicator(std::string name, std::uint32_t rank_count, const std::vector<std::vector<RankId>>& groups)
    : name_(std::move(name)), group_of_(rank_count, GroupId::none()), position_of_(rank_count, 0) {
  begin_.reserve(groups.size() + 1);
  begin_.push_back(0);
  for (std::uint32_t group = 0; group < groups.size(); ++group) {
    for (std::uint32_t position = 0; position < groups[group].size(); ++position) {
      const RankId rank = groups[group][position];
      WEFT_CHECK(rank.index() < rank_count && group_of_[rank.index()].is_none(),
                 "groups are disjoint sets of the workload's ranks");
      members_.push_back(rank);
      group_of_[rank.index()] = GroupId(group);
      position_of_[rank.index()] = position;
    }
    begin_.push_back(static_cast<std::uint32_t>(members_.size()));
  }
}

std::span<const RankId> Communicator::ranks(GroupId group) const {
  const std::uint32_t begin = begin_[group.index()];
  return {members_.data() + begin, begin_[group.index() + 1] - begin};
}

RankId Communicator::peer_of(RankId rank, PeerAddressing addressing, std::int32_t peer) const {
  const std::span<const RankId> group = ranks(group_of(rank));
  const auto size = static_cast<std::int64_t>(group.size());
  const std::int64_t position = addressing == PeerAddressing::relative ? std::int64_t{position_of(rank)} + peer : peer;
  return group[static_cast<std::size_t>((position % size + size) % size)];
}

SplitTable::SplitTable(std::string name, std::uint32_t positions, std::vector<Bytes> bytes)
    : name_(std::move(name)), bytes_(std::move(bytes)), row_sums_(positions), column_sums_(positions) {
  WEFT_CHECK(positions >= 1 && bytes_.size() == std::size_t{positions} * positions, "a split table is square");
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    WEFT_CHECK(bytes_[i] >= Bytes::zero(), "sizes in a split table are not negative");
    row_sums_[i / positions] += bytes_[i];
    column_sums_[i % positions] += bytes_[i];
  }
}

Bytes SplitTable::row_sum_max() const { return *std::max_element(row_sums_.begin(), row_sums_.end()); }

std::vector<bool> communicators_in_use(const Workload& workload) {
  std::vector<bool> in_use(workload.communicators.size());
  for (const RoleDag& role : workload.roles) {
    for (std::uint32_t op = 0; op < role.size(); ++op) {
      if (role.kind(OpId(op)) != OpKind::compute) in_use[role.op(OpId(op)).communicator] = true;
    }
  }
  return in_use;
}

RolePlayers::RolePlayers(const Workload& workload) : begin_(workload.roles.size() + 1, 0) {
  const std::size_t roles = workload.roles.size();
  for (const std::uint16_t role : workload.role_of) {
    if (role < roles) ++begin_[std::size_t{role} + 1];
  }
  for (std::size_t role = 0; role < roles; ++role) begin_[role + 1] += begin_[role];
  ranks_.resize(begin_.back(), RankId::none());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end());
  for (std::uint32_t rank = 0; rank < workload.role_of.size(); ++rank) {
    const std::uint16_t role = workload.role_of[rank];
    if (role < roles) ranks_[next[role]++] = RankId(rank);
  }
}

}  // namespace weft
