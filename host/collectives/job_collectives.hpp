// SPDX-License-Identifier: Apache-2.0
// Job collectives: the plans of everything that the ranks of one placed job ask for.
//
// Where it sits: the collective library prepares one when a job has been placed; the job's rank
// runners look their collectives up in it.
// Thread safety: immutable once prepared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "host/collectives/collective_program.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

class JobCollectives {
 public:
  /// What somebody has asked for before; asked again, it is found sooner.
  struct Recent {
    std::array<std::pair<CollectiveRequest, const CollectivePlan*>, 4> plans{};
    std::size_t next = 0;
  };

  /// The plan for a member of `group` at `position`; null for a group of one rank, which has
  /// nothing to do. Requires: `op` is a collective of the job's workload.
  const CollectivePlan* find(const Op& op, GroupId group, std::uint32_t position) const;
  /// The same. Requires: `recent` has been used with this object only.
  const CollectivePlan* find(const Op& op, GroupId group, std::uint32_t position, Recent& recent) const;
  /// The operation in switches that an in_network step of a plan of `group` joins, as a Transfer's
  /// destination. Requires: find() returned the plan.
  NodeId switch_operation(const CollectivePlan& plan, std::uint16_t communicator, GroupId group, const CollectiveStep& step,
                          std::uint32_t position) const;
  /// Whether any plan has in_network steps.
  bool uses_switches() const { return !switch_operations_.empty(); }
  /// Steps of the longest program.
  std::uint32_t program_size_max() const { return program_size_max_; }
  /// Most slots of a connection that some plan needs accounts of; 0 if none does.
  std::uint32_t slots_max() const { return slots_max_; }
  const GroupLayout& layout(std::uint16_t communicator, GroupId group) const { return *layouts_[communicator][group.index()]; }

 private:
  friend class CollectiveLibrary;
  struct RequestHash {
    std::size_t operator()(const CollectiveRequest& request) const noexcept;
  };
  /// An operation in switches of one group: communicator, group, division of the plan, kind,
  /// channel, root and the subgroup's first member as positions.
  using SwitchKey = std::tuple<const CollectivePlan*, std::uint16_t, GroupId, std::uint8_t, SwitchOperationKind, std::uint8_t,
                               std::uint32_t, std::uint32_t>;
  static SwitchKey switch_key(const CollectivePlan& plan, std::uint16_t communicator, GroupId group, const CollectiveStep& step,
                              std::uint32_t position);
  explicit JobCollectives(const Workload& workload) : workload_(workload) {}
  CollectiveRequest request(const Op& op, const GroupLayout& layout, std::uint32_t position) const;

  const Workload& workload_;
  std::vector<std::vector<const GroupLayout*>> layouts_;  ///< by communicator and group
  std::unordered_map<CollectiveRequest, const CollectivePlan*, RequestHash> plans_;
  std::map<SwitchKey, NodeId> switch_operations_;  ///< looked up only: its order says nothing
  std::uint32_t program_size_max_ = 0;
  std::uint32_t slots_max_ = 0;
};

}  // namespace weft
