// Job collectives: the plans of everything that the ranks of one placed job ask for.
//
// Where it sits: the collective library prepares one when a job has been placed; the job's rank runners look their collectives up in it.
// Thread safety: immutable once prepared.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/ids.hpp"
#include "host/collectives/collective_program.hpp"
#include "workloads/dag.hpp"

namespace weft {

class JobCollectives {
 public:
  /// The plan for a member of `group` at `position`; null for a group of one rank, which has nothing to do. Requires: `op` is a collective of the
  /// job's workload.
  const CollectivePlan* find(const Op& op, GroupId group, std::uint32_t position) const;
  /// Steps of the longest program.
  std::uint32_t program_size_max() const { return program_size_max_; }
  const GroupLayout& layout(std::uint16_t communicator, GroupId group) const { return *layouts_[communicator][group.index()]; }

 private:
  friend class CollectiveLibrary;
  struct RequestHash {
    std::size_t operator()(const CollectiveRequest& request) const noexcept;
  };
  explicit JobCollectives(const Workload& workload) : workload_(workload) {}
  CollectiveRequest request(const Op& op, const GroupLayout& layout, std::uint32_t position) const;

  const Workload& workload_;
  std::vector<std::vector<const GroupLayout*>> layouts_;  ///< by communicator and group
  std::unordered_map<CollectiveRequest, const CollectivePlan*, RequestHash> plans_;
  std::uint32_t program_size_max_ = 0;
};

}  // namespace weft
