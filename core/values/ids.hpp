// SPDX-License-Identifier: Apache-2.0
// Strong ids: an index that knows what it counts.
//
// A `LinkId` is not a `NodeId` and neither is an int; each is a dense 32-bit index into the arrays
// of its owner. "No such thing" is std::optional or the named `none()` value, never -1.
// Thread safety: values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weft {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t index) : index_(index) {}
  static constexpr Id none() { return Id(UINT32_MAX); }

  constexpr std::uint32_t index() const { return index_; }
  constexpr bool is_none() const { return index_ == UINT32_MAX; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint32_t index_ = UINT32_MAX;
};

using NodeId = Id<struct NodeTag>;  ///< a vertex of the topology: GPU, NIC, NVSwitch, switch
using LinkId = Id<struct LinkTag>;  ///< a directed link of the topology
using HostId = Id<struct HostTag>;  ///< a server
/// Something that handles events in the kernel: a host, the fabric, the scheduler.
using EntityId = Id<struct EntityTag>;
using LpId = Id<struct LpTag>;    ///< a logical process
using JobId = Id<struct JobTag>;  ///< a job of the run, in order of submission
/// An attempt of a job on GPUs, from a start to the end or a stop, in order of starts.
using AttemptId = Id<struct AttemptTag>;
using RankId = Id<struct RankTag>;    ///< a rank inside its job
using OpId = Id<struct OpTag>;        ///< an operation inside its role's DAG
using GroupId = Id<struct GroupTag>;  ///< a process group inside its workload
using FlowId = Id<struct FlowTag>;    ///< a flow of the run, in order of its start

}  // namespace weft

template <class Tag>
struct std::hash<weft::Id<Tag>> {
  std::size_t operator()(weft::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.index()); }
};
