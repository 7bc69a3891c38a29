// SPDX-License-Identifier: Apache-2.0
// Packet network port: how a host hands over transfers in packet mode.
//
// Where it sits: the runner of every rank has one (network/network_model). Transfers between hosts
// go to the cards of the packet network; transfers inside a host, and those of jobs in flow mode,
// go to the flow fabric.
// Threads: immutable.
#pragma once

#include <span>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/ranks/job.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/flow/inside_host.hpp"
#include "network/flow/staging.hpp"
#include "network/network_model.hpp"

namespace weft {

class PacketNetworkPort final : public NetworkPort {
 public:
  /// `fabric` is the flow fabric's entity, `cards` the cards of every host; references are kept.
  /// `attempts` has the jobs where some are in flow mode; null: none is.
  PacketNetworkPort(const Topology& topology, const FlowSettings& settings, EntityId fabric, std::span<const EntityId> cards,
                    const JobTable* attempts = nullptr);

  void start(const Transfer& transfer, EventContext& context) const override;
  void stop(AttemptId attempt, HostId host, EventContext& context) const override;

  /// The node that start() tells, and after how long.
  struct Entry {
    EntityId node;
    Duration latency;
  };
  Entry entry(const Transfer& transfer) const;

 private:
  bool is_flow(const Transfer& transfer) const;

  const Topology& topology_;
  InsideHost inside_host_;
  Staging staging_;
  Duration wqe_latency_;
  Duration nvlink_latency_;
  EntityId fabric_;
  std::span<const EntityId> cards_;
  const JobTable* attempts_;
};

}  // namespace weft
