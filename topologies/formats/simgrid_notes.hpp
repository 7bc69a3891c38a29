// SPDX-License-Identifier: Apache-2.0
// SimGrid notes: what the reader of SimGrid platforms had to change or leave out, told as the
// topology's assumptions.
// Where it sits: formats/simgrid and formats/simgrid_routes count while they read; the notes are
// written at the end.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "topologies/formats/route_graph.hpp"

namespace weft {

struct SimgridPlatform;

/// How a link divides its rate among flows.
enum class SimgridPolicy : std::uint8_t { shared, split_duplex, fat_pipe };

struct SimgridFindings {
  void count_policy(SimgridPolicy policy, std::uint64_t links) {
    if (policy == SimgridPolicy::shared) half_duplex += links;
    if (policy == SimgridPolicy::fat_pipe) fat_pipes += links;
  }

  std::vector<std::string> assumptions;        ///< whole sentences
  std::set<std::uint32_t> used_in_stars;       ///< links
  std::set<std::uint32_t> both_ways_in_stars;  ///< links
  std::uint64_t half_duplex = 0;               ///< SHARED links of clusters
  std::uint64_t fat_pipes = 0;                 ///< FATPIPE links of clusters
  std::uint64_t bypasses = 0;
  std::uint64_t profiles = 0;
  std::uint64_t settings = 0;
  std::uint64_t loopbacks = 0;
  std::uint64_t limiters = 0;
  std::uint32_t unequal = 0;              ///< cables whose directions differ
  std::uint64_t separated = 0;            ///< links that became one cable per edge
  std::uint64_t pairs_of_full_zones = 0;  ///< of hosts
  std::uint64_t pairs_with_route = 0;
};

/// What reading and joining the links assumed.
std::vector<std::string> simgrid_notes(const SimgridPlatform& platform, const JoinedLinks& joined);

/// Where the routes of the finished topology differ from those of the file.
void add_simgrid_notes(const SimgridPlatform& platform, const RouteComparison& comparison, std::vector<std::string>& assumptions);

}  // namespace weft
