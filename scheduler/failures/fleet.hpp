// SPDX-License-Identifier: Apache-2.0
// Fleet: which hosts of the cluster serve jobs - what of them has failed, and which spares stand
// in.
//
// Where it sits: between Outages, which learns of failures and repairs, and the ClusterState, where
// GPUs go out of service and come back.
//
// Model: a GPU serves if none of its parts is out and its host is no spare. The last hosts of the
// cluster begin as spares, cold ones before hot ones. For a host that is known to have all GPUs out
// a spare stands in that has none out, a hot one if there is: the two change places, so that there
// are always as many spares, and the host that has failed is a spare of that kind once it is
// repaired. A cold spare comes up first.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "scheduler/lifecycle/cluster_state.hpp"

namespace weft {

/// Takes the last hosts of an empty cluster out of service. Requires: fewer than all.
void withdraw_last_hosts(ClusterState& cluster, std::uint32_t count);

class Fleet {
 public:
  enum class Spare : std::uint8_t { no, hot, cold };

  /// Takes the spares out of service. Requires: fewer than all hosts; the cluster outlives the
  /// fleet and is empty.
  Fleet(ClusterState& cluster, std::uint32_t hot_spares, std::uint32_t cold_spares);

  /// The host never serves, and nobody stands in for it. Requires: it is no spare.
  void set_aside(HostId host);

  /// A part that these GPUs of one host need goes out, or works again.
  void take_out(std::span<const GpuSlot> gpus);
  void bring_back(std::span<const GpuSlot> gpus);

  /// It is known that parts of the host are out, or that it is drained, until it has no GPU out.
  void report(HostId host);
  struct StandIn {
    HostId host;
    Spare kind;
  };
  /// If there is a host reported with all GPUs out that is no spare, and a spare with none out: the
  /// two have changed places, and the spare serves from join() on. To be asked until there is none,
  /// whenever a host was reported, a part works again or a spare has joined.
  std::optional<StandIn> find_stand_in();
  void join(HostId host);

 private:
  bool serves(GpuSlot gpu) const { return out_[gpu.index()] == 0 && spare_[cluster_.host_of(gpu).index()] == Spare::no; }
  std::uint32_t gpus_out(HostId host) const;

  ClusterState& cluster_;
  std::vector<std::uint32_t> out_;  ///< per GPU, how many of the parts it needs are out
  std::vector<Spare> spare_;        ///< per host
  std::set<HostId> spares_;         ///< those that could stand in, healthy or not
  std::set<HostId> reported_;       ///< known to be out, in part at least
  std::set<HostId> set_aside_;
};

}  // namespace weft
