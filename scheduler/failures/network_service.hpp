// SPDX-License-Identifier: Apache-2.0
// Network service: what share of its speed each cable has at present, and which GPUs the network's
// failures cut off.
//
// Where it sits: Outages tells it of what fails and works again, takes the GPUs that are cut off
// out of service, and has the network told of the shares.
//
// Model: a cable whose switch or which itself is broken carries nothing, and neither does one that
// flaps; one that is degraded several times over carries the least share. Only what is broken cuts
// off GPUs (topologies/cut_off): a flap ends before anybody gives up a host for it. A network that
// falls apart goes on where most GPUs are. It then stays there, as jobs run on it, whatever is
// repaired or fails elsewhere, until it falls apart itself or is joined again.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/failures/failure_plan.hpp"
#include "scheduler/failures/network_parts.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "topologies/reduced_topology.hpp"

namespace weft {

class NetworkService {
 public:
  /// With scope `host` a host is cut off as a whole if one of its GPUs is.
  NetworkService(std::shared_ptr<const NetworkParts> parts, FailureScope scope);

  struct Changes {
    std::vector<CableShare> cables;  ///< with their shares from now on, 1 among them
    std::vector<GpuSlot> cut_off;    ///< by now, and were not before; ascending; none by a repair
    /// Likewise; by a failure, those that are now the larger part of the network.
    std::vector<GpuSlot> connected;
  };
  /// Requires: the part is one of the network.
  Changes fail(const Failure& failure);
  /// Requires: it has failed so, and has not been repaired.
  Changes repair(const Failure& failure);

  /// Cables that carry less than they could until somebody repairs them, ascending; what flaps is
  /// whole again soon.
  std::vector<CableShare> lasting() const;

  bool is_cut_off(GpuSlot gpu) const { return cut_off_[gpu.index()]; }

 private:
  enum class Turn : std::uint8_t { fails, is_repaired };
  Changes turn(const Failure& failure, Turn turn);
  double share(LinkId cable) const;
  std::vector<bool> find_cut_off(Turn turn) const;

  std::shared_ptr<const NetworkParts> parts_;
  FailureScope scope_;
  bool nics_relay_;
  /// Of cables with less than all: how often which, flaps aside.
  std::map<LinkId, std::map<double, std::uint32_t>> shares_;
  std::map<LinkId, std::uint32_t> flapping_;  ///< how often
  std::vector<std::uint32_t> broken_;         ///< by LinkId: how often
  std::vector<bool> is_out_;                  ///< by LinkId: broken
  std::vector<bool> cut_off_;                 ///< by GpuSlot
};

}  // namespace weft
