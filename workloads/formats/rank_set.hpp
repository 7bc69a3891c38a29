// SPDX-License-Identifier: Apache-2.0
// Rank set: what readers of traces with one file per rank share - process groups become
// communicators, equal ranks share a role.
//
// Where it sits: under formats/chakra and formats/kineto, which read the files.
//
// Model
//   - Process groups that share no rank and have one size are put into one communicator, in order
//     of first use. It is named after the first of them; communicator 0 is everyone.
//   - One recorded rank can stand for any number of ranks. Its group of S ranks that are D apart is
//     then every rank's: the ranks are divided into groups of size S and stride D
//     (strided_groups.hpp). A group that was all recorded ranks becomes all ranks. Others may grow
//     (formats/group_growth).
//   - Ranks whose DAGs are equal (ops, names, edges) share one role.
// Errors: [bad-process-groups], [not-a-member], [too-many-roles].
// Thread safety: one table belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

/// A group of ranks with the name that the training framework gave it.
struct ProcessGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;  ///< in order of position; empty = everyone
  /// Number of members, also of those that are not listed; 0 if the file does not say it.
  std::uint32_t size = 0;
  std::string description = {};  ///< what it is for, such as "dp"; may be empty
};

/// Groups of `size` ranks that are `stride` apart.
struct GroupShape {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;
};

/// Reads a JSON file {"1": [0, 1, 2, 3], ...}. Throws InputError.
std::vector<ProcessGroup> read_process_groups(const std::string& path);

/// The first of this name; null if there is none.
const ProcessGroup* find_process_group(std::span<const ProcessGroup> groups, std::string_view name);

/// What is wrong with a group that `user` communicates in: a member that is listed twice or is no
/// rank of the set, or `user` missing. The place is left to the caller.
std::optional<Diagnostic> fault_of_process_group(const std::string& name, std::span<const std::uint32_t> ranks, std::uint32_t user,
                                                 std::uint32_t rank_count);

/// Collects the process groups of all ranks into communicators.
class CommunicatorTable {
 public:
  explicit CommunicatorTable(std::uint32_t rank_count) : rank_count_(rank_count) {}

  /// The communicator that holds this group; the same for the same (name, ranks). Requires: ranks
  /// distinct and < rank_count.
  std::uint16_t communicator_of(const std::string& name, const std::vector<std::uint32_t>& ranks);

  /// The communicator in which every rank has a group like this one, which one rank recorded among
  /// `recorded_world` ranks (0: unknown); 0 = everyone if that was all of them. None if the group
  /// has no stride, or is not among the groups of its size and stride that fill the ranks
  /// (workloads/dag/strided_groups).
  std::optional<std::uint16_t> repeated_communicator_of(const std::string& name, const std::vector<std::uint32_t>& ranks,
                                                        std::uint32_t recorded_world);

  /// The communicator of all groups of this shape; 0 = everyone if one group is all ranks.
  /// Requires: size x stride divides the number of ranks.
  std::uint16_t communicator_of(const std::string& name, GroupShape shape);

  /// How many ranks the groups of a repeated communicator have.
  std::uint32_t group_size(std::uint16_t communicator) const;

  /// "world", then those that were numbered above.
  std::vector<Communicator> build() const;

 private:
  struct Slot {
    std::string name;
    std::vector<std::vector<RankId>> groups;
    std::vector<bool> taken;
  };

  std::uint16_t place(const std::string& name, const std::vector<std::uint32_t>& ranks);
  std::uint16_t add_all(const std::string& name, GroupShape shape);
  std::optional<std::uint16_t> repeat(const std::string& name, const std::vector<std::uint32_t>& ranks);

  std::uint32_t rank_count_;
  std::vector<Slot> slots_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint16_t> placed_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::optional<std::uint16_t>> repeated_;
  std::map<std::string, std::uint16_t> shaped_;
};

/// Gives the ranks of a workload their roles.
class RoleTable {
 public:
  /// The next rank runs `dag`; `path` is its file. Throws InputError.
  void add_rank(Workload& workload, RoleDag dag, std::uint32_t rank, const std::string& path);

 private:
  std::map<std::uint64_t, std::vector<std::uint16_t>> roles_by_digest_;
};

}  // namespace weft
