// SPDX-License-Identifier: Apache-2.0
// Route manager: in packet mode, decides which cables the routes of the network avoid, and tells
// network cards and switches.
//
// Where it sits: what a subnet manager or the routing protocol of a fabric is, as one entity. The
// scheduler tells it of cables that go out and come back; host/transport/packet_network connects it
// with all nodes. In flow mode the fabric does the same by itself.
//
// Model: routes change `reroute` after a cable did (network/routing/cable_outages), and with them
// the weights of next hops where these go by capacity; cards and switches get to know `delay`
// later, all at one instant. Ways have versions, numbered from 0, those of the topology, which
// nodes fetch when they are told.
// Threads: as Entity; versions may be fetched by any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/engine/entity.hpp"
#include "network/routing/available_routes.hpp"
#include "network/routing/cable_outages.hpp"

namespace weft {

class RouteVersions {
 public:
  /// Keeps a reference. `weights` of next hops.
  explicit RouteVersions(const Topology& topology, PathWeights weights = PathWeights::equal)
      : topology_(topology), weights_(weights) {
    add({}, {}, Time::zero(), Time::zero());
  }

  PathWeights weights() const { return weights_; }
  /// As AvailableRoutes::avoid(). Returns its number. Nobody needs those any more that came before
  /// one that all were to fetch by `fetched`: they are forgotten.
  std::uint32_t add(const std::vector<bool>& avoided, const std::vector<double>& shares, Time to_fetch_by, Time fetched);
  /// Requires: it is not forgotten.
  std::shared_ptr<const AvailableRoutes> fetch(std::uint32_t version) const;

 private:
  struct Version {
    std::shared_ptr<const AvailableRoutes> routes;
    Time to_fetch_by;
  };
  const Topology& topology_;
  PathWeights weights_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Version> versions_;
};

class RouteManager final : public Entity {
 public:
  /// `nodes` are told `delay` > 0 after routes have changed, and it is connected with them so.
  /// Keeps references to topology and versions.
  RouteManager(const Topology& topology, Duration reroute, Duration delay, std::vector<EntityId> nodes, RouteVersions& versions)
      : outages_(topology, reroute), delay_(delay), nodes_(std::move(nodes)), versions_(versions) {
    if (versions.weights() == PathWeights::capacity) outages_.follow_shares();
  }

  void handle(const Event& event, EventContext& context) override;

 private:
  static constexpr std::uint16_t look = 1;  ///< of its own: perhaps routes change now

  void plan_look(EventContext& context);

  CableOutages outages_;
  Time looks_at_ = Time::max();
  Duration delay_;
  std::vector<EntityId> nodes_;
  RouteVersions& versions_;
};

}  // namespace weft
