// SPDX-License-Identifier: Apache-2.0
// Workload: what a job runs - per role a DAG of operations, and which rank plays which role in
// which groups.
//
// Where it sits: readers (dag_reader, formats/chakra, ...) make one through RoleBuilder; the host's
// DAG runner executes it.
//
// Model
//   - A role is a template: one DAG shared by all ranks that play it. What differs between those
//     ranks is a parameter: the rank's own number and, per communicator, the group it belongs to.
//   - A communicator divides ranks into disjoint groups ("tp", "dp", "pp"). Communicator 0 is
//     always "world": one group of all ranks. An op names a communicator; the executing rank's
//     group in it is what it talks to. `peer` and `root` are positions inside that group, absolute
//     or relative to the executing rank (modulo group size).
//   - Collectives of a communicator match between ranks by order in the role's program; sends and
//     receives by (source, destination, tag) and, among equals, by order.
//   - Ops of one stream run one after the other in program order, which the builder turns into
//     edges: at run time there are only dependencies. Ops on stream 0 are ordered by their
//     dependencies alone.
//   - all_to_all_v moves what its SplitTable says, position by position; every group that issues it
//     has as many positions as the table.
//
// Storage: structure of arrays; about 30 bytes per op and 4 per edge; names are optional.
// Invariants: 1. edges run from smaller to larger OpId (program order is a topological order); 2.
// acyclic by 1.
// Thread safety: immutable once built.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

/// One operation, as readers describe it to the builder.
struct Op {
  OpKind kind = OpKind::compute;
  CollectiveType collective = CollectiveType::all_reduce;  ///< for collectives
  PeerAddressing addressing = PeerAddressing::absolute;
  Processor processor = Processor::gpu;  ///< compute
  std::uint16_t communicator = 0;        ///< for everything but compute
  std::uint16_t stream = 0;              ///< 0 = only dependencies order it
  /// send/receive: the other side; collectives that have one: the root.
  std::int32_t peer = 0;
  std::uint32_t tag = 0;     ///< send/receive
  std::uint32_t splits = 0;  ///< all_to_all_v: index of Workload::splits
  /// Collectives and sends: priority of the messages in the network, at most op_priority_max. A
  /// higher one goes first.
  std::uint8_t priority = 0;
  Duration duration;  ///< compute
  /// Communication. Of a collective it is the input buffer of one rank: the whole buffer for
  /// all_reduce, reduce_scatter, all_to_all, broadcast and reduce; the rank's own shard for
  /// all_gather and gather; for scatter the root's whole buffer, of which each of n ranks gets 1/n;
  /// 0 for barrier. For all_to_all_v it is the largest input buffer of a position, so that it
  /// bounds what any rank holds; what one rank really sends is in the table.
  Bytes bytes;

  friend bool operator==(const Op&, const Op&) = default;
};

/// DAG of one role.
class RoleDag {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(kind_.size()); }
  std::uint64_t edge_count() const { return successors_.size(); }
  OpKind kind(OpId op) const { return kind_[op.index()]; }
  Op op(OpId op) const;
  /// Of everything but compute.
  std::uint16_t communicator(OpId op) const { return communicator_[op.index()]; }
  Processor processor(OpId op) const { return processor_.empty() ? Processor::gpu : processor_[op.index()]; }
  std::span<const OpId> successors(OpId op) const;
  std::uint32_t predecessor_count(OpId op) const { return predecessor_count_[op.index()]; }
  /// "" if the source gave none.
  std::string_view name(OpId op) const;
  /// Position of a collective among the collectives of its communicator in this role, from 0; of a
  /// send (receive) among the sends (receives) of this role with the same communicator, peer and
  /// tag. What matches ranks with each other.
  std::uint32_t match_ordinal(OpId op) const { return match_ordinal_[op.index()]; }
  /// The collective of a communicator with that ordinal; looks through ops from one on, which saves
  /// time if it is near. Requires: there is one.
  OpId collective(std::uint16_t communicator, std::uint32_t ordinal, OpId near) const;
  bool has_names() const { return !name_begin_.empty(); }
  std::size_t memory_bytes() const;
  /// Equal for equal DAGs, different for different ones but for chance.
  std::uint64_t digest() const;

  /// Same ops, names and edges: such ranks can share one role.
  friend bool operator==(const RoleDag&, const RoleDag&) = default;

 private:
  friend class RoleBuilder;
  std::vector<OpKind> kind_;
  std::vector<CollectiveType> collective_;
  std::vector<PeerAddressing> addressing_;
  std::vector<std::uint16_t> communicator_;
  std::vector<std::uint16_t> stream_;
  std::vector<std::int64_t> amount_;  ///< ticks for compute, bytes for communication
  std::vector<std::uint32_t> match_ordinal_;
  std::vector<std::uint32_t> predecessor_count_;
  std::vector<std::uint64_t> successors_begin_;
  std::vector<OpId> successors_;
  std::vector<std::int32_t> peer_;         ///< empty if no op of the role has one
  std::vector<std::uint32_t> tag_;         ///< empty if no op has one
  std::vector<std::uint32_t> splits_;      ///< empty if no op names a table but the first
  std::vector<std::uint8_t> priority_;     ///< empty if no op has one
  std::vector<Processor> processor_;       ///< empty if every op runs on the GPU
  std::vector<std::uint32_t> name_begin_;  ///< in the pool of names; empty if no op has one
  std::string name_pool_;
};

/// Builds a role op by op. Ops may be added in any order as long as those of one stream are added
/// in the order in which the stream runs them; finish() sorts all topologically (smallest added
/// index first among the ready ones), adds the edges that streams imply, and drops duplicate edges.
class RoleBuilder {
 public:
  /// Saves memory and time when the numbers are known, exactly or nearly.
  void reserve(std::size_t op_count, std::size_t edge_count);
  /// Index of the op in order of addition. Names beyond 4 GiB in total are dropped. Requires:
  /// duration and bytes >= 0; `splits` is 0 but for all_to_all_v, and `priority` but for
  /// collectives and sends.
  std::uint32_t add(const Op& op, std::string_view name = {});
  /// `op` waits for `dependency` (both indices of addition; the dependency may be added later).
  void depend(std::uint32_t op, std::uint32_t dependency);
  std::uint32_t size() const { return static_cast<std::uint32_t>(ops_.size()); }

  struct Result {
    RoleDag dag;
    /// If not empty: indices of addition of ops on a cycle, each waiting for the one before it and
    /// the first for the last; `dag` is unusable then.
    std::vector<std::uint32_t> cycle;
    /// Dependencies alone have no cycle, but contradict the order inside a stream.
    bool cycle_uses_stream_order = false;
  };
  Result finish() &&;

 private:
  std::vector<Op> ops_;
  std::vector<std::uint32_t> name_begin_;
  std::string name_pool_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  ///< (dependency, op)
};

/// Divides ranks into disjoint groups.
class Communicator {
 public:
  static Communicator world(std::uint32_t rank_count);
  /// Groups as lists of ranks; the order inside a group is the order of its positions. Requires:
  /// disjoint, ranks < rank_count.
  Communicator(std::string name, std::uint32_t rank_count, const std::vector<std::vector<RankId>>& groups);

  const std::string& name() const { return name_; }
  std::size_t group_count() const { return begin_.size() - 1; }
  /// The group a rank belongs to; none() if it is in none.
  GroupId group_of(RankId rank) const { return group_of_[rank.index()]; }
  std::uint32_t position_of(RankId rank) const { return position_of_[rank.index()]; }
  std::span<const RankId> ranks(GroupId group) const;
  /// Whom a rank's op means by `peer`; relative ones wrap round. Requires: the rank is in a group;
  /// an absolute peer is a position of it.
  RankId peer_of(RankId rank, PeerAddressing addressing, std::int32_t peer) const;

 private:
  std::string name_;
  std::vector<std::uint32_t> begin_;
  std::vector<RankId> members_;
  std::vector<GroupId> group_of_;
  std::vector<std::uint32_t> position_of_;
};

/// How an all_to_all_v divides the buffers of a group: what each position sends to each other one.
class SplitTable {
 public:
  /// `bytes` row by row: entry i * positions + j goes from position i to position j; where i = j,
  /// it stays.
  /// Requires: positions >= 1 and that many rows and columns; no entry below 0; the sum of each row
  /// and column fits 63 bits.
  SplitTable(std::string name, std::uint32_t positions, std::vector<Bytes> bytes);

  const std::string& name() const { return name_; }
  std::uint32_t positions() const { return static_cast<std::uint32_t>(row_sums_.size()); }
  Bytes at(std::uint32_t from, std::uint32_t to) const { return bytes_[std::size_t{from} * positions() + to]; }
  /// Input buffer of a position, with what stays.
  Bytes row_sum(std::uint32_t from) const { return row_sums_[from]; }
  /// Output buffer of a position, with what stays.
  Bytes column_sum(std::uint32_t to) const { return column_sums_[to]; }
  /// The largest input buffer: `bytes` of the ops that use the table.
  Bytes row_sum_max() const;

  friend bool operator==(const SplitTable&, const SplitTable&) = default;

 private:
  std::string name_;
  std::vector<Bytes> bytes_;
  std::vector<Bytes> row_sums_;
  std::vector<Bytes> column_sums_;
};

struct Workload {
  std::string name;
  std::uint32_t rank_count = 0;
  std::vector<Communicator> communicators;  ///< [0] is "world"
  std::vector<SplitTable> splits;           ///< what all_to_all_v ops name
  std::vector<RoleDag> roles;
  std::vector<std::string> role_names;
  std::vector<std::uint16_t> role_of;  ///< per rank
  /// What the format did not say and the reader assumed; printed as warnings.
  std::vector<std::string> assumptions;

  const RoleDag& dag_of(RankId rank) const { return roles[role_of[rank.index()]]; }
};

/// By communicator: whether any op names it.
std::vector<bool> communicators_in_use(const Workload& workload);

/// Who plays each role of a workload.
class RolePlayers {
 public:
  /// Ranks with a role that the workload does not have are in none.
  explicit RolePlayers(const Workload& workload);

  /// Ascending.
  std::span<const RankId> of(std::size_t role) const {
    return std::span(ranks_).subspan(begin_[role], begin_[role + 1] - begin_[role]);
  }

 private:
  std::vector<RankId> ranks_;         ///< role by role
  std::vector<std::uint32_t> begin_;  ///< of each role
};

/// Checks that ranks agree: every member of a group issues the same collectives (type, bytes, root,
/// splits) in the same order, every send has its receive with equal bytes, peers and roots lie
/// inside their group, split tables fit their groups. Adds [group-mismatch], [unmatched-send],
/// [unmatched-receive], [peer-out-of-range], [splits-mismatch] errors that name ranks and ops.
void check_workload(const Workload& workload, const SourcePlace& place, Diagnostics& diagnostics);

}  // namespace weft
