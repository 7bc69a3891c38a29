// SPDX-License-Identifier: Apache-2.0
// Flow paths on a k-ary fat tree as plain link numbers, for solver tests and benchmarks that need
// no topology.
//
// k^3/4 hosts; every link has the same rate. A path goes up to the lowest common level and down
// again, over switches chosen at random as by a hash of the flow, or by the destination alone
// (D-mod-k, as InfiniBand subnet managers and SimGrid's fat trees do).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/random.hpp"

namespace weft {

class FatTreePaths {
 public:
  explicit FatTreePaths(std::uint32_t k) : k_(k), half_(k / 2) {}

  std::uint32_t hosts() const { return k_ * half_ * half_; }
  /// Three layers of cables (host-edge, edge-aggregation, aggregation-core) of hosts() cables each,
  /// in two directions.
  std::uint32_t links() const { return 6 * hosts(); }

  std::vector<LinkId> path(std::uint32_t source, std::uint32_t destination, RandomStream& random) const {
    return route(source, destination, [&] { return static_cast<std::uint32_t>(random.below(half_)); });
  }

  /// All flows to a host go down the same tree: over the aggregation switch and the core that its
  /// number names.
  std::vector<LinkId> d_mod_k_path(std::uint32_t source, std::uint32_t destination) const {
    std::uint32_t rest = destination;
    return route(source, destination, [&] { return std::exchange(rest, rest / half_) % half_; });
  }

  struct Pair {
    std::uint32_t source;
    std::uint32_t destination;
  };
  /// Two different hosts drawn at random.
  Pair random_pair(RandomStream& random) const {
    const auto source = static_cast<std::uint32_t>(random.below(hosts()));
    const auto offset = static_cast<std::uint32_t>(random.below(hosts() - 1));
    return {source, (source + 1 + offset) % hosts()};
  }
  /// Between two different hosts drawn at random.
  std::vector<LinkId> random_path(RandomStream& random) const {
    const Pair pair = random_pair(random);
    return path(pair.source, pair.destination, random);
  }

 private:
  /// `choose` is asked for an aggregation switch, then for a core, by the number of the port that
  /// goes up.
  template <class Choose>
  std::vector<LinkId> route(std::uint32_t source, std::uint32_t destination, Choose choose) const {
    const std::uint32_t edge_of_source = source / half_;
    const std::uint32_t edge_of_destination = destination / half_;
    std::vector<LinkId> links = {up(0, source)};
    if (edge_of_source != edge_of_destination) {
      const std::uint32_t aggregation = choose();
      links.push_back(up(1, edge_of_source * half_ + aggregation));
      const std::uint32_t pod_of_source = edge_of_source / half_;
      const std::uint32_t pod_of_destination = edge_of_destination / half_;
      if (pod_of_source != pod_of_destination) {
        const std::uint32_t core = choose();
        links.push_back(up(2, (pod_of_source * half_ + aggregation) * half_ + core));
        links.push_back(down(2, (pod_of_destination * half_ + aggregation) * half_ + core));
      }
      links.push_back(down(1, edge_of_destination * half_ + aggregation));
    }
    links.push_back(down(0, destination));
    return links;
  }

  LinkId up(std::uint32_t layer, std::uint32_t cable) const { return LinkId(2 * (layer * hosts() + cable)); }
  LinkId down(std::uint32_t layer, std::uint32_t cable) const { return LinkId(2 * (layer * hosts() + cable) + 1); }

  std::uint32_t k_;
  std::uint32_t half_;
};

}  // namespace weft
