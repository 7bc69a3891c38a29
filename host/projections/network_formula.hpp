// SPDX-License-Identifier: Apache-2.0
// Network formula: how long communication takes when nothing else is on the network, in closed
// form.
//
// Where it sits: the iteration estimate adds these times up; what a fabric makes of many at a time,
// the simulation says.
//
// Model: ranks stand on the endpoints of a topology in their order. A group is strided, and of all
// groups of a size and a stride the slowest layout counts.
//   collective  the choice of NCCL's tuner and its time (host/collectives/nccl_cost_model); a group
//               whose rails stay below a leaf each knows no oversubscription
//   message     latencies of flow mode + propagation along a shortest path + wire bytes over the
//               least rate on it (network/flow/flow_settings)
// Threads: belongs to one thread; it remembers what it was asked.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/text/params.hpp"
#include "host/collectives/group_layout.hpp"
#include "host/collectives/nccl_tuner.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/routing/path_delay.hpp"
#include "topologies/topology.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

/// Of ranks first, first + stride, first + 2 stride ...
struct StridedGroup {
  std::uint64_t size = 1;
  std::uint64_t stride = 1;

  friend auto operator<=>(const StridedGroup&, const StridedGroup&) = default;
};

class NetworkFormula {
 public:
  /// `nccl` is over nccl_params(). The topology outlives it.
  NetworkFormula(const Topology& topology, const ParamSet& nccl, FlowSettings flow);

  /// How many ranks there may be.
  std::uint64_t ranks_max() const { return topology_.endpoints().size(); }
  /// `input` as Op::bytes. Zero for a group of one. Requires: the group fits.
  Duration collective(const StridedGroup& group, CollectiveType type, Bytes input);
  /// Whether every group of the kind shares a host, over NVLink.
  bool stays_inside(const StridedGroup& group);
  /// From each rank of a group to the next, and from the last to the first, the worst of all.
  /// Requires: the group fits, and is of several.
  Duration message(const StridedGroup& group, Bytes bytes);
  /// From one rank to another. Requires: two of the cluster's ranks.
  Duration message_between(std::uint64_t from, std::uint64_t to, Bytes bytes) const;

 private:
  /// From a rank to another.
  struct Way {
    PathDelay delay;
    Bandwidth rate;  ///< of the slowest link
    bool is_inside_host = false;

    friend bool operator==(const Way&, const Way&) = default;
  };

  /// Whether members of a rail reach each other without leaving their leaf.
  bool stays_below_leafs(const GroupLayout& layout, const std::vector<NodeId>& members) const;
  /// Calls with the endpoints of every group of the cluster.
  template <class Visit>
  void visit_groups(const StridedGroup& group, const Visit& visit) const;
  const std::vector<GroupLayout>& layouts(const StridedGroup& group);
  const std::vector<Way>& ways(const StridedGroup& group);
  Way way(NodeId from, NodeId to) const;
  Duration time_on(const Way& way, Bytes bytes) const;

  const Topology& topology_;
  NcclTuner tuner_;
  FlowSettings flow_;
  LinkDelays link_delays_;
  std::map<StridedGroup, std::vector<GroupLayout>> layouts_;
  std::map<StridedGroup, std::vector<Way>> ways_;
  std::map<std::tuple<StridedGroup, CollectiveType, std::int64_t>, Duration> collectives_;
};

}  // namespace weft
