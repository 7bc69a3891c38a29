// SPDX-License-Identifier: Apache-2.0
// Staging: messages between hosts go by way of host memory, where NICs cannot reach the GPUs' own
// (flow.gpudirect = off).
//
// Where it sits: the flow fabric and the hosts' ports ask it what a message takes more;
// host/symmetry/folding_paths asks which links it crosses more.
//
// Model: the GPU writes to pinned host memory and the NIC reads from there; at the other end the
// NIC writes to host memory and the GPU reads. Both ends work chunk by chunk, so that the copies
// overlap with the sending.
//   - Every end at a GPU adds staging_latency once: the first chunk's (the last one's) copy, and
//     the CPU thread that notices it.
//   - The cables between a GPU and its NIC carry the message in both directions, to host memory and
//     back, at the same rate: where a GPU sends and receives at once, half of pcie_rate is left for
//     each. Where the topology has no such cables (a NIC is a port of its GPU), nothing is added.
//   - A transfer moves at staging_rate at most, its queue pairs together.
// Endpoints that are hosts, not GPUs, have their data in host memory as it is; so has nothing to
// stage who stays inside a host. Not modelled: host memory's own bandwidth, and the sockets' link
// where NIC and memory are apart.
// (NVIDIA, GPUDirect RDMA documentation; the proxy threads of NCCL's network transport work this
// way without it.)
// Threads: immutable.
#pragma once

#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/flow/flow_settings.hpp"

namespace weft {

class Topology;

class Staging {
 public:
  /// Keeps a reference to the topology.
  Staging(const Topology& topology, const FlowSettings& settings);

  /// What this end of a transfer between hosts adds to its latency; zero with GPUDirect.
  Duration delay(NodeId endpoint) const;
  /// Rate of a transfer between these endpoints of two hosts at most; infinite where nothing is
  /// staged.
  double cap_bps(NodeId source, NodeId destination) const;
  /// The other direction of a cable between a GPU and its NIC; none() for other links, and with
  /// GPUDirect.
  LinkId second_crossing(LinkId link) const;
  /// Adds the second crossings of a path between hosts at its end, with the loads of the first ones
  /// unless there are no loads (1 each).
  void add_second_crossings(std::vector<LinkId>& links, std::vector<double>& loads) const;
  bool is_on() const { return is_on_; }

 private:
  bool stages(NodeId endpoint) const;

  const Topology& topology_;
  bool is_on_;
  Duration latency_;
  double rate_bps_;
};

}  // namespace weft
