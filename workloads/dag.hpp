// Workload: what a job runs - per role a DAG of operations, and which rank plays which role in which groups.
//
// Where it sits: readers (dag_reader, formats/chakra, ...) make one through RoleBuilder; the host's DAG runner executes it.
//
// Model
//   - A role is a template: one DAG shared by all ranks that play it. What differs between those ranks is a parameter: the rank's
//     own number and, per communicator, the group it belongs to.
//   - A communicator divides ranks into disjoint groups ("tp", "dp", "pp"). Communicator 0 is always "world": one group of all
//     ranks. An op names a communicator; the executing rank's group in it is what it talks to. `peer` and `root` are
//     positions inside that group, absolute or relative to the executing rank (modulo group size).
//   - Collectives of a communicator match between ranks by order in the role's program; sends and receives by (source, destination,
//     tag) and, among equals, by order.
//   - Ops of one stream run one after the other in program order, which the builder turns into edges: at run time
//     there are only dependencies. Ops on stream 0 are ordered by their dependencies alone.
//   - `bytes` of a collective is the input buffer of one rank: the whole buffer for all_reduce, reduce_scatter, all_to_all and
//     broadcast, the rank's own shard for all_gather.
//
// Storage: structure of arrays; about 30 bytes per op and 4 per edge; names are optional offsets into one pool.
// Invariants: 1. edges run from smaller to larger OpId (program order is a topological order); 2. acyclic by 1.
// Thread safety: immutable once built.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"

namespace weft {

enum class OpKind : std::uint8_t { compute, collective, send, receive };
enum class CollectiveType : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast };
std::string_view to_text(OpKind kind);
std::string_view to_text(CollectiveType type);

/// Where a compute op runs. CPU ops (launching kernels, loading data) leave the GPU free.
enum class Processor : std::uint8_t { gpu, cpu };

/// How `peer` of an op is meant.
enum class PeerAddressing : std::uint8_t { absolute, relative };

/// One operation, as readers describe it to the builder.
struct Op {
  OpKind kind = OpKind::compute;
  CollectiveType collective = CollectiveType::all_reduce;  ///< for collectives
  PeerAddressing addressing = PeerAddressing::absolute;
  Processor processor = Processor::gpu;  ///< compute
  std::uint16_t communicator = 0;        ///< for everything but compute
  std::uint16_t stream = 0;              ///< 0 = only dependencies order it
  std::int32_t peer = 0;                 ///< send/receive: the other side; broadcast: the root
  std::uint32_t tag = 0;                 ///< send/receive
  Duration duration;                     ///< compute
  Bytes bytes;                           ///< communication

  friend bool operator==(const Op&, const Op&) = default;
};

/// DAG of one role.
class RoleDag {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(kind_.size()); }
  std::uint64_t edge_count() const { return successors_.size(); }
  OpKind kind(OpId op) const { return kind_[op.index()]; }
  Op op(OpId op) const;
  Processor processor(OpId op) const { return processor_.empty() ? Processor::gpu : processor_[op.index()]; }
  std::span<const OpId> successors(OpId op) const;
  std::uint32_t predecessor_count(OpId op) const { return predecessor_count_[op.index()]; }
  /// "" if the source gave none.
  std::string_view name(OpId op) const;
  /// Position of a collective among the collectives of its communicator in this role, from 0; of a send (receive) among the sends
  /// (receives) of this role with the same communicator, peer and tag. What matches ranks with each other.
  std::uint32_t match_ordinal(OpId op) const { return match_ordinal_[op.index()]; }
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
  std::vector<std::uint32_t> tag_;         ///< likewise
  std::vector<Processor> processor_;       ///< empty if every op runs on the GPU
  std::vector<std::uint32_t> name_begin_;  ///< empty if no op has a name
  std::string name_pool_;
};

/// Builds a role op by op. Ops may be added in any order as long as those of one stream are added in the order in which the stream
/// runs them; finish() sorts all topologically (smallest added index first among the ready ones), adds the edges that streams imply,
/// and drops duplicate edges.
class RoleBuilder {
 public:
  /// Saves memory and time when the numbers are known, exactly or nearly.
  void reserve(std::size_t op_count, std::size_t edge_count);
  /// Index of the op in order of addition. Names beyond 4 GiB in total are dropped. Requires: duration and bytes >= 0.
  std::uint32_t add(const Op& op, std::string_view name = {});
  /// `op` waits for `dependency` (both indices of addition; the dependency may be added later).
  void depend(std::uint32_t op, std::uint32_t dependency);
  std::uint32_t size() const { return static_cast<std::uint32_t>(ops_.size()); }

  struct Result {
    RoleDag dag;
    /// If not empty: indices of addition of ops on a cycle, each waiting for the one before it and the first for the last; `dag` is
    /// unusable then.
    std::vector<std::uint32_t> cycle;
    bool cycle_uses_stream_order = false;  ///< dependencies alone have no cycle, but contradict the order inside a stream
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
  /// Groups as lists of ranks; the order inside a group is the order of its positions. Requires: disjoint, ranks < rank_count.
  Communicator(std::string name, std::uint32_t rank_count, const std::vector<std::vector<RankId>>& groups);

  const std::string& name() const { return name_; }
  std::size_t group_count() const { return begin_.size() - 1; }
  /// The group a rank belongs to; none() if it is in none.
  GroupId group_of(RankId rank) const { return group_of_[rank.index()]; }
  std::uint32_t position_of(RankId rank) const { return position_of_[rank.index()]; }
  std::span<const RankId> ranks(GroupId group) const;

 private:
  std::string name_;
  std::vector<std::uint32_t> begin_;
  std::vector<RankId> members_;
  std::vector<GroupId> group_of_;
  std::vector<std::uint32_t> position_of_;
};

struct Workload {
  std::string name;
  std::uint32_t rank_count = 0;
  std::vector<Communicator> communicators;  ///< [0] is "world"
  std::vector<RoleDag> roles;
  std::vector<std::string> role_names;
  std::vector<std::uint16_t> role_of;    ///< per rank
  std::vector<std::string> assumptions;  ///< what the format did not say and the reader assumed; printed as warnings

  const RoleDag& dag_of(RankId rank) const { return roles[role_of[rank.index()]]; }
};

/// Checks that ranks agree: every member of a group issues the same collectives (type, bytes, root) in the same order, every send
/// has its receive with equal bytes, peers and roots lie inside their group. Adds [group-mismatch], [unmatched-send],
/// [unmatched-receive], [peer-out-of-range] errors that name ranks and ops.
void check_workload(const Workload& workload, const SourcePlace& place, Diagnostics& diagnostics);

}  // namespace weft
