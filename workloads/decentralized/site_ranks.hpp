// SPDX-License-Identifier: Apache-2.0
// Site ranks: which rank of a training run across sites is which node or server, who takes part in
// which round, and how fast each node is.
//
// Where it sits: site_programs writes the programs of these ranks.
//
// Model
//   ranks   region by region its nodes in order, then its server if there is one; last the server
//           of all. Without regions there is one region of all nodes; of pipelines a region is a
//           group, and its nodes are the stages.
//   rounds  a round is a window of inner_steps. A node (of pipelines a group) that is there leaves
//           before a round with leave_probability, and is back away_steps rounds later. The first
//           one of a region (of groups the first group) never leaves.
//   speeds  log-normal with mean 1 and a coefficient of variation of speed_spread
// Draws come from streams named by (seed, node, purpose).
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/decentralized/site_training.hpp"

namespace weft {

class SiteRanks {
 public:
  /// Requires: the settings are consistent (site_training() checks them).
  explicit SiteRanks(const SiteTrainingSettings& settings);

  std::uint32_t count() const { return regions_ * region_ranks() + (has_server_ ? 1 : 0); }
  std::uint32_t regions() const { return regions_; }
  std::uint32_t region_size() const { return region_size_; }  ///< nodes
  bool has_server() const { return has_server_; }
  bool has_region_servers() const { return has_region_servers_; }
  std::uint32_t node(std::uint32_t region, std::uint32_t position) const { return region * region_ranks() + position; }
  std::uint32_t region_server(std::uint32_t region) const { return node(region, region_size_); }
  std::uint32_t server() const { return regions_ * region_ranks(); }

  std::uint32_t rounds() const { return rounds_; }
  bool is_global(std::uint32_t round) const { return (round + 1) % regional_rounds_ == 0; }
  bool is_there(std::uint32_t region, std::uint32_t position, std::uint32_t round) const {
    return there_.empty() || there_[unit(region, position)][round];
  }
  /// Back from having been away.
  bool joins(std::uint32_t region, std::uint32_t position, std::uint32_t round) const {
    return round > 0 && is_there(region, position, round) && !is_there(region, position, round - 1);
  }
  bool leaves(std::uint32_t region, std::uint32_t position, std::uint32_t round) const {
    return round > 0 && !is_there(region, position, round) && is_there(region, position, round - 1);
  }
  bool some_leave() const { return !there_.empty(); }
  /// How often a node leaves, of all.
  std::uint64_t departures() const { return departures_; }

  double speed(std::uint32_t region, std::uint32_t position) const {
    return speeds_.empty() ? 1 : speeds_[region * region_size_ + position];
  }
  double fastest() const { return fastest_; }
  /// Whether ranks of one kind do the same, whoever they are.
  bool are_alike() const { return are_alike_; }

 private:
  std::uint32_t region_ranks() const { return region_size_ + (has_region_servers_ ? 1 : 0); }
  std::size_t unit(std::uint32_t region, std::uint32_t position) const {
    return leave_together_ ? region : std::size_t{region} * region_size_ + position;
  }
  void draw_speeds(const SiteTrainingSettings& settings);
  void draw_presence(const SiteTrainingSettings& settings);

  std::uint32_t regions_ = 1;
  std::uint32_t region_size_ = 1;
  bool has_region_servers_ = false;
  bool has_server_ = false;
  bool leave_together_ = false;  ///< the nodes of a region
  bool are_alike_ = true;
  std::uint32_t rounds_ = 0;
  std::uint32_t regional_rounds_ = 1;
  std::vector<std::vector<bool>> there_;  ///< by unit and round; empty: always
  std::uint64_t departures_ = 0;
  std::vector<double> speeds_;  ///< by node; empty: 1
  double fastest_ = 1;
};

}  // namespace weft
