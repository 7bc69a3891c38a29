// SPDX-License-Identifier: Apache-2.0
// Switch operations: reductions and multicasts that switches carry out for a group of endpoints
// while the data passes through them.
//
// Where it sits: the collective library (host/collectives/collective_library) registers an
// operation for every group of a job whose algorithm wants one, before the job starts. A member
// joins by a Transfer whose `destination` names the operation. The flow fabric reads the loads
// here.
//
// Model: an operation is one fluid flow over a tree of links (network/in_network/switch_tree). It
// starts when all members have joined. A link carries a load: bytes per byte of the operand. With n
// members, an operand of S bytes, and m members below a link:
//   kind             S                        up, to the top             down, from the top
//   all_reduce       of every member          S                          S
//   reduce_scatter   of every member          S                          S m/n
//   all_gather       of all members together  S m/n                      S, one's own part as well
//   reduce           of every member          S                          S towards the root
//   broadcast        of the root              S from the root            S, but not to the root
// No operation crosses lines between sites on which network/wide_area acts: switches speak no TCP.
// Inside a host an all_reduce loads a link as reduce_scatter and all_gather together. Sources,
// delays and limits: docs/internals/flow_mode.md.
//
// Threads: the scheduler calls add() while it prepares a job, and the fabric calls at() about jobs
// that run, at the same time; both hold the mutex. An operation never moves or changes, so that the
// reference from at() stays valid. It is registered before start_job is sent and joined only after
// that. Numbers are given in order of registration by one entity: they are the same in every run.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/routing/hop_weights.hpp"
#include "network/wide_area/wide_area_paths.hpp"
#include "topologies/topology.hpp"

namespace weft {

enum class SwitchOperationKind : std::uint8_t { all_reduce, reduce_scatter, all_gather, reduce, broadcast };
constexpr bool has_root(SwitchOperationKind kind) {
  return kind == SwitchOperationKind::reduce || kind == SwitchOperationKind::broadcast;
}

/// An operation as the network carries it out. Immutable.
struct SwitchOperation {
  struct Member {
    NodeId endpoint;
    /// From the instant at which its operand has left the slowest member until the result is here;
    /// none if it gets no result.
    std::optional<Duration> result_delay;
  };

  SwitchOperationKind kind = SwitchOperationKind::all_reduce;
  bool inside_host = false;
  NodeId top;                   ///< the switch that transfers of the operation are shown to go to
  std::vector<Member> members;  ///< ascending by endpoint
  std::vector<LinkId> links;    ///< each once
  std::vector<double> loads;    ///< by link, > 0: bytes per byte of the operand

  /// Place of an endpoint among the members. Requires: it is one.
  std::size_t member_at(NodeId endpoint) const;
};

class SwitchOperations {
 public:
  /// Keeps a reference to the topology.
  SwitchOperations(const Topology& topology, const FlowSettings& settings);

  struct Added {
    NodeId name = NodeId::none();  ///< what members put in Transfer::destination
    std::string objection;         ///< why switches cannot do it; "" if they can
  };
  /// Registers an operation among at least two distinct endpoints, all of one host or all of
  /// different ones (WEFT_CHECK). `root` is one of them for reduce and broadcast, none() otherwise.
  /// `connection` takes part in the choice of the core switch. The same operation has the same name
  /// again.
  Added add(SwitchOperationKind kind, std::vector<NodeId> members, NodeId root, std::uint32_t connection);

  /// Requires: add() returned this name.
  const SwitchOperation& at(NodeId name) const;

 private:
  using Key = std::tuple<SwitchOperationKind, NodeId, std::uint32_t, std::vector<NodeId>>;

  const Topology& topology_;
  LinkDelays link_delays_;
  WideAreaPaths wide_area_;
  ReducingSwitches reducing_;
  bool gpudirect_;
  std::uint64_t seed_;
  std::optional<HopWeights> weights_;  ///< none: next hops are alike
  mutable std::mutex mutex_;
  std::map<Key, NodeId> names_;
  std::deque<SwitchOperation> operations_;
};

}  // namespace weft
