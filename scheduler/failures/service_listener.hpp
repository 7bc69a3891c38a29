// SPDX-License-Identifier: Apache-2.0
// Service listener: what failures and drains ask of whoever runs jobs on the cluster.
//
// Where it sits: Outages and Drains keep the state of parts and hosts. They call the listener where
// jobs, the network or the policy are concerned; JobLifecycle is one.
// Thread safety: called from the scheduler's logical process.
#pragma once

#include <span>

#include "core/engine/entity.hpp"
#include "scheduler/handlers/event_handler.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "topologies/reduced_topology.hpp"

namespace weft {

class ServiceListener {
 public:
  virtual ~ServiceListener() = default;
  /// A GPU has gone out of service by a failure. The job that holds it gets on no more.
  virtual void gpu_failed(GpuSlot gpu, EventContext& context) = 0;
  /// The scheduler learns that the GPU failed then. The job that it hit waits again.
  virtual void failure_known(GpuSlot gpu, Time failed_at, EventContext& context) = 0;
  /// Work on the GPU's host is to begin. The job that holds the GPU leaves it with a last
  /// checkpoint.
  virtual void gpu_is_wanted(GpuSlot gpu, EventContext& context) = 0;
  /// Cables carry other shares of their speed from now on; at least one does.
  virtual void cables_changed(std::span<const CableShare> cables, EventContext& context) = 0;
  /// GPUs have come back, or may have: the policy is to have its say.
  virtual void service_changed(EventContext& context) = 0;
  /// Handlers are to be told.
  virtual void happened(const ClusterEvent& cluster_event) = 0;
};

}  // namespace weft
