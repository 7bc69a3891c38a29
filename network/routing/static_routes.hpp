// SPDX-License-Identifier: Apache-2.0
// Static routes: tables of switches that a user gives, by which packets leave whatever the shortest
// paths say.
//
// Where it sits: the run reads the file that `flow.routes` names (network/routes_file.proto) and
// hands the table to the path rule (network/routing/ecmp), which asks it at every switch before its
// own rule.
//
// Invariants
//   1. From wherever a route leads, its destination is reached, whichever of the shortest next hops
//      are taken where there is no route: neither in a circle nor through another endpoint, and
//      once in the destination's host, never out of it again.
// Threads: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "core/text/source_text.hpp"
#include "core/values/ids.hpp"

namespace weft {

class Topology;

class StaticRoutes {
 public:
  /// The link by which `at` sends what goes to the endpoint; none() where no route says so.
  LinkId next(NodeId at, NodeId destination) const {
    const auto found = links_.find(key(at, destination));
    return found == links_.end() ? LinkId::none() : found->second;
  }
  /// Returns whether there was none.
  bool add(NodeId at, NodeId destination, LinkId link) { return links_.emplace(key(at, destination), link).second; }

 private:
  static std::uint64_t key(NodeId at, NodeId destination) { return std::uint64_t{at.index()} << 32 | destination.index(); }

  std::unordered_map<std::uint64_t, LinkId> links_;
};

/// Throws InputError with every error of the file: those of core/text/textproto, [missing-field],
/// [unknown-node], [not-a-switch], [not-an-endpoint], [no-cable], [duplicate-route]; or, of the
/// routes together, one of [routing-loop] and [relaying-host] for each destination.
std::shared_ptr<const StaticRoutes> read_static_routes(const SourceText& source, const Topology& topology);

}  // namespace weft
