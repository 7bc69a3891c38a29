// Rank set: what readers of traces with one file per rank share - process groups become communicators, equal ranks share a role.
//
// Where it sits: under formats/chakra and formats/kineto, which read the files.
//
// Model
//   - Process groups that share no rank and have one size are put into one communicator, in order of first use. It is named after
//     the first of them; communicator 0 is everyone.
//   - Ranks whose DAGs are equal (ops, names, edges) share one role.
// Errors: [bad-process-groups], [too-many-roles].
// Thread safety: one table belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/dag.hpp"

namespace weft {

/// A group of ranks with the name that the training framework gave it.
struct ProcessGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;  ///< in order of position; empty = everyone
};

/// Reads a JSON file {"1": [0, 1, 2, 3], ...}. Throws InputError.
std::vector<ProcessGroup> read_process_groups(const std::string& path);

/// Collects the process groups of all ranks into communicators.
class CommunicatorTable {
 public:
  explicit CommunicatorTable(std::uint32_t rank_count) : rank_count_(rank_count) {}

  /// The communicator that holds this group; the same for the same (name, ranks). Requires: ranks distinct and < rank_count.
  std::uint16_t communicator_of(const std::string& name, const std::vector<std::uint32_t>& ranks);

  /// "world", then those that communicator_of() has numbered.
  std::vector<Communicator> build() const;

 private:
  struct Slot {
    std::string name;
    std::vector<std::vector<RankId>> groups;
    std::vector<bool> taken;
  };

  std::uint16_t place(const std::string& name, const std::vector<std::uint32_t>& ranks);

  std::uint32_t rank_count_;
  std::vector<Slot> slots_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint16_t> placed_;
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
