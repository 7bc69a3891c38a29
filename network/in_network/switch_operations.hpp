// Switch operations: reductions and multicasts that switches carry out for a group of endpoints while the data passes through them.
//
// Where it sits: the collective library (host/collectives/collective_library) registers an operation for every group of a job whose algorithm wants
// one, before the job starts; each member joins by handing a Transfer to the network whose `destination` names the operation; flow_fabric
// finds here what the operation puts on which links.
//
// Model: an operation is one fluid flow over a tree of links (switch_tree) with a load per link: bytes there per byte of the operand. It
// starts when all members have joined, for the switches stream at the pace of the slowest, and ends for all at once but for the way down.
// With n members, an operand of S bytes, and m members below a link:
//   kind             S                        up, to the top             down, from the top
//   all_reduce       of every member          S                          S
//   reduce_scatter   of every member          S                          S m/n
//   all_gather       of all members together  S m/n                      S, one's own part as well
//   reduce           of every member          S                          S on the way to the root
//   broadcast        of the root              S on the root's way        S, but not to the root
// An NVSwitch adds up on behalf of a GPU that reads, and multiplies what a GPU writes; it does not send sums to all by itself. So NCCL's
// NVLS (src/device/all_reduce.h, Simple protocol) has every GPU read one n-th of the sum and write it back to all, both pipelined chunk by
// chunk: inside a host an all_reduce loads a link as reduce_scatter and all_gather together, S (1 + 1/n) each way. Measured on 5, 6, 7 and
// 8 GPUs of an H100 server, 258, 265, 270 and 273 GB/s (NVIDIA/nccl issue 1455), times 1 + 1/n, are 307 to 310 GB/s; rings get 370 of the
// 450 GB/s, of which NVLS then has 0.84 (`flow.nvls_efficiency`). With 2 and 3 GPUs that report has about 370 GB/s, what a ring gives,
// where NVLS would have 207 and 232: NCCL must have gone another way there, which this does not do by itself. Between hosts SHARP's
// switches send the sum down by themselves (Graham et al., SHARP streaming aggregation, ISC High Performance 2020: 95 % of the network's
// bandwidth for an all-reduce). A share of a reduce_scatter or all_gather is taken for S/n; shares differ by a byte at most where S does
// not divide evenly.
//
// Delays: a member has its result when the farthest member's last byte has come up to the top and down from there. A switch of the tree
// takes switching_delay, as for other traffic, and no more for the sum: 2.83 us for 8 bytes of 128 hosts (Graham et al., SHArP, COMHPC
// 2016) leave no room for it beside the defaults of the flow table, which give 3.0 us on two levels of switches without cables.
//
// Which switches can reduce: choosing an algorithm that needs it says that they can; `flow.reducing_switches` takes it from all of them or
// from packet switches, and so does `flow.gpudirect = off`. Queue pairs, their rate limit and the ways of routing have no meaning here: an operation
// between hosts takes one tree. Of its members' priorities the highest counts.
//
// Threads: add() is called by the scheduler while it prepares a job, at() by the fabric about jobs that run, at the same time. Both hold
// the mutex. A std::deque leaves its elements where they are when it grows, and an operation never changes, so that the reference from at()
// stays good. An operation is registered before start_job is sent, and joined only after that: at() never depends on what add() is doing
// meanwhile. Numbers are given in order of registration by one entity, hence the same in every run.
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
    /// From the instant at which its operand has left the slowest member until the result is here; none if it gets no result.
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
  /// Registers an operation among at least two distinct endpoints, all of one host or all of different ones (WEFT_CHECK). `root` is one of
  /// them for reduce and broadcast, none() otherwise. `connection` takes part in the choice of the core switch. The same operation has the
  /// same name again.
  Added add(SwitchOperationKind kind, std::vector<NodeId> members, NodeId root, std::uint32_t connection);

  /// Requires: add() returned this name.
  const SwitchOperation& at(NodeId name) const;

 private:
  using Key = std::tuple<SwitchOperationKind, NodeId, std::uint32_t, std::vector<NodeId>>;

  const Topology& topology_;
  LinkDelays link_delays_;
  ReducingSwitches reducing_;
  bool gpudirect_;
  std::uint64_t seed_;
  std::optional<HopWeights> weights_;  ///< none: next hops are alike
  mutable std::mutex mutex_;
  std::map<Key, NodeId> names_;
  std::deque<SwitchOperation> operations_;
};

}  // namespace weft
