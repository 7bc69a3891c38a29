// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/dragonfly.hpp"

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/builder_error.hpp"
#include "topologies/builders/direct_fabric.hpp"
#include "topologies/builders/size_limit.hpp"

namespace weft {

namespace {

struct DragonflySettings {
  std::uint32_t groups;
  std::uint32_t routers_per_group;
  std::uint32_t hosts_per_router;
  std::uint32_t global_cables;
  bool is_palmtree;
  Bandwidth local_rate;
  Length local_fibre;
  Bandwidth global_rate;
  Length global_fibre;
};

constexpr std::array dragonfly_own_params = {
    param<&DragonflySettings::groups>({.name = "groups",
                                       .default_text = "0",
                                       .minimum = "0",
                                       .maximum = "1000000",
                                       .meaning = "Groups, g; 0 = as many as there can be, a*h + 1.",
                                       .origin = "Kim et al., section 3.1: the largest dragonfly"}),
    param<&DragonflySettings::routers_per_group>({.name = "routers_per_group",
                                                  .default_text = "4",
                                                  .minimum = "1",
                                                  .maximum = "10000",
                                                  .meaning = "Routers of a group, a.",
                                                  .origin = "Kim et al., figure 5: p = h = 2, a = 4"}),
    param<&DragonflySettings::hosts_per_router>({.name = "hosts_per_router",
                                                 .default_text = "2",
                                                 .minimum = "1",
                                                 .maximum = "1024",
                                                 .meaning = "Hosts at a router, p.",
                                                 .origin = "Kim et al., figure 5; balanced is a = 2p = 2h"}),
    param<&DragonflySettings::global_cables>({.name = "global_cables",
                                              .default_text = "2",
                                              .minimum = "1",
                                              .maximum = "1024",
                                              .meaning = "Cables from a router to other groups, h.",
                                              .origin = "Kim et al., figure 5"}),
    param<&DragonflySettings::is_palmtree>({.name = "arrangement",
                                            .default_text = "palmtree",
                                            .choices = "palmtree|consecutive",
                                            .meaning = "Which global port leads to which group.",
                                            .origin = "palmtree spreads the cables of neighbouring groups (Camarero et al., 2014)",
                                            .word = "palmtree"}),
    param<&DragonflySettings::local_rate>({.name = "local_rate",
                                           .default_text = "400Gbps",
                                           .minimum = "1bps",
                                           .maximum = "1000Tbps",
                                           .meaning = "Rate of a cable inside a group, each way.",
                                           .origin = "equal to nic_rate"}),
    param<&DragonflySettings::local_fibre>({.name = "local_fibre",
                                            .default_text = "5m",
                                            .minimum = "0m",
                                            .maximum = "100000km",
                                            .meaning = "Length of a cable inside a group, at 5 ns per metre.",
                                            .origin = "assumption: a group is a row of racks joined by electric cables"}),
    param<&DragonflySettings::global_rate>({.name = "global_rate",
                                            .default_text = "400Gbps",
                                            .minimum = "1bps",
                                            .maximum = "1000Tbps",
                                            .meaning = "Rate of a cable between groups, each way.",
                                            .origin = "equal to nic_rate"}),
    param<&DragonflySettings::global_fibre>({.name = "global_fibre",
                                             .default_text = "50m",
                                             .minimum = "0m",
                                             .maximum = "100000km",
                                             .meaning = "Length of a fibre between groups.",
                                             .origin = "assumption: within a hall"}),
    param<&DirectSettings::host_fibre>({.name = "host_fibre",
                                        .default_text = "2m",
                                        .minimum = "0m",
                                        .maximum = "100000km",
                                        .meaning = "Length of the cable from a NIC to its switch, at 5 ns per metre.",
                                        .origin = "assumption: a cable inside a rack"}),
};
constexpr auto dragonfly_params = join_params(join_params(dragonfly_own_params, direct_params), servers_params);

class DragonflyGraph final : public RouterGraph {
 public:
  DragonflyGraph(std::uint32_t groups, std::uint32_t routers, std::uint32_t global_cables, bool palmtree)
      : groups_(groups),
        routers_(routers),
        global_cables_(global_cables),
        rounds_(groups > 1 ? routers * global_cables / (groups - 1) : 0),
        palmtree_(palmtree) {}

  std::uint32_t rounds() const { return rounds_; }

  /// Router of `group` from which the cable of a round to `other` starts.
  std::uint32_t router_to(std::uint32_t group, std::uint32_t other, std::uint32_t round) const {
    const std::uint32_t i = palmtree_ ? (group + groups_ - other - 1) % groups_ : other - (other > group ? 1 : 0);
    return group * routers_ + (round * (groups_ - 1) + i) / global_cables_;
  }

  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const override {
    if (from == to) return 0;
    if (adjacent(from, to)) return 1;
    // Two cables: local and global, global and local, or two global ones over a third group.
    const std::uint32_t there = to / routers_;
    const std::uint32_t here = from / routers_;
    bool two = false;
    for_each_global_neighbour(from, [&](std::uint32_t next) { two = two || next / routers_ == there || adjacent(next, to); });
    if (!two) for_each_global_neighbour(to, [&](std::uint32_t next) { two = two || next / routers_ == here; });
    return two ? 2 : 3;
  }

 private:
  bool adjacent(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t from = a / routers_;
    const std::uint32_t to = b / routers_;
    if (from == to) return a != b;
    for (std::uint32_t round = 0; round < rounds_; ++round) {
      if (router_to(from, to, round) == a && router_to(to, from, round) == b) return true;
    }
    return false;
  }

  template <class Visit>
  void for_each_global_neighbour(std::uint32_t router, Visit visit) const {
    const std::uint32_t group = router / routers_;
    const std::uint32_t first = router % routers_ * global_cables_;
    for (std::uint32_t port = first; port < first + global_cables_; ++port) {
      if (port >= rounds_ * (groups_ - 1)) return;
      const std::uint32_t i = port % (groups_ - 1);
      const std::uint32_t other = palmtree_ ? (group + groups_ - i - 1) % groups_ : i + (i >= group ? 1 : 0);
      visit(router_to(other, group, port / (groups_ - 1)));
    }
  }

  std::uint32_t groups_;
  std::uint32_t routers_;
  std::uint32_t global_cables_;
  std::uint32_t rounds_;  ///< cables between every two groups
  bool palmtree_;
};

std::shared_ptr<const Topology> make_dragonfly(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<DragonflySettings>(params);
  const std::uint32_t routers = settings.routers_per_group;
  const std::uint32_t global_cables = settings.global_cables;
  const std::uint32_t groups_max = routers * global_cables + 1;
  const std::uint32_t groups = settings.groups == 0 ? groups_max : settings.groups;
  if (groups > groups_max) {
    fail_builder(
        params.module(), "bad-shape",
        fmt::format("{} groups cannot all be joined: a group has {} x {} cables to others", groups, routers, global_cables), place,
        fmt::format("use at most {} groups, or more routers_per_group or global_cables", groups_max));
  }
  const std::uint64_t all_routers = std::uint64_t{groups} * routers;
  check_size(params.module(), all_routers, all_routers * (routers - 1 + global_cables) / 2, place);
  const DirectShape shape = read_direct(params, all_routers, settings.hosts_per_router, place);
  check_direct_size(shape, all_routers * (routers - 1 + global_cables) / 2, params.module(), place);

  const CableShape local{settings.local_rate, propagation_delay(settings.local_fibre)};
  const CableShape global{settings.global_rate, propagation_delay(settings.global_fibre)};
  auto graph = std::make_unique<DragonflyGraph>(groups, routers, global_cables, settings.is_palmtree);
  std::vector<RouterCable> cables;
  for (std::uint32_t group = 0; group < groups; ++group) {
    for (std::uint32_t a = group * routers; a < (group + 1) * routers; ++a) {
      for (std::uint32_t b = a + 1; b < (group + 1) * routers; ++b) cables.push_back({a, b, local});
    }
  }
  for (std::uint32_t group = 0; group < groups; ++group) {
    for (std::uint32_t other = group + 1; other < groups; ++other) {
      for (std::uint32_t round = 0; round < graph->rounds(); ++round) {
        cables.push_back({graph->router_to(group, other, round), graph->router_to(other, group, round), global});
      }
    }
  }
  return build_direct_fabric("dragonfly", shape, cables, std::move(graph), place);
}

}  // namespace

Module<TopologyFactory> dragonfly_module() {
  return {{"topology", "dragonfly",
           "Groups of routers, all joined inside a group, and every two groups joined by one or more global cables. At most three "
           "cables lie between two routers. Paths are those of fewest cables, which may include two global ones.",
           dragonfly_params},
          make_dragonfly};
}

}  // namespace weft
