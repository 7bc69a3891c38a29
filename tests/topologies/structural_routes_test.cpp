// SPDX-License-Identifier: Apache-2.0
// Structural routes against searched ones: direct fabrics, dual planes, meshes inside hosts and
// hosts that differ, all pairs.
#include <gtest/gtest.h>

#include "topology_help.hpp"

namespace weft::structural_routes_test {
namespace {

class StructuralRoutes : public testing::TestWithParam<Instance> {};

TEST_P(StructuralRoutes, EqualSearchedRoutesForAllPairs) {
  expect_searched_routes(*build_named(GetParam().builder, GetParam().settings));
}

INSTANTIATE_TEST_SUITE_P(
    Torus, StructuralRoutes,
    testing::Values(Instance{"torus", {{"dimensions", "5"}}}, Instance{"torus", {{"dimensions", "1"}}},
                    // Even sizes have two ways round, a size of 2 has one cable, a size of 1 none.
                    Instance{"torus", {{"dimensions", "4x6"}}}, Instance{"torus", {{"dimensions", "2x3x1x4"}}},
                    Instance{"torus", {{"dimensions", "4x5"}, {"wraparound", "false"}}},
                    Instance{"torus", {{"dimensions", "3x3x3"}, {"hosts_per_router", "2"}}},
                    Instance{"torus",
                             {{"dimensions", "3x2"}, {"hosts_per_router", "2"}, {"gpus_per_host", "4"}, {"nics_per_host", "2"}}}));

INSTANTIATE_TEST_SUITE_P(
    Dragonfly, StructuralRoutes,
    testing::Values(
        Instance{"dragonfly", {}}, Instance{"dragonfly", {{"arrangement", "consecutive"}}},
        // Fewer groups than could be: several cables between groups, and ports left over.
        Instance{"dragonfly", {{"groups", "5"}}}, Instance{"dragonfly", {{"groups", "4"}, {"arrangement", "consecutive"}}},
        Instance{"dragonfly", {{"groups", "2"}, {"routers_per_group", "3"}, {"global_cables", "3"}}},
        Instance{"dragonfly", {{"groups", "1"}}},
        // One router per group: global cables only.
        Instance{"dragonfly", {{"routers_per_group", "1"}, {"global_cables", "4"}}},
        Instance{"dragonfly", {{"routers_per_group", "2"}, {"global_cables", "4"}, {"hosts_per_router", "1"}}},
        Instance{"dragonfly",
                 {{"routers_per_group", "3"}, {"global_cables", "3"}, {"hosts_per_router", "1"}, {"arrangement", "consecutive"}}}));

INSTANTIATE_TEST_SUITE_P(Hyperx, StructuralRoutes,
                         testing::Values(Instance{"hyperx", {}}, Instance{"hyperx", {{"dimensions", "5"}, {"cables", "2"}}},
                                         Instance{"hyperx", {{"dimensions", "2x2x2x2"}, {"hosts_per_switch", "1"}}},
                                         Instance{"hyperx",
                                                  {{"dimensions", "3x1x4"}, {"hosts_per_switch", "2"}, {"gpus_per_host", "2"}}}));

INSTANTIATE_TEST_SUITE_P(Bcube, StructuralRoutes,
                         testing::Values(Instance{"bcube", {}}, Instance{"bcube", {{"k", "0"}}},
                                         Instance{"bcube", {{"n", "2"}, {"k", "3"}}},
                                         Instance{"bcube", {{"n", "3"}, {"k", "2"}, {"gpus_per_host", "2"}}},
                                         Instance{"bcube", {{"n", "3"}, {"gpus_per_host", "4"}, {"inside", "full_mesh"}}},
                                         Instance{"bcube", {{"n", "2"}, {"gpus_per_host", "8"}, {"inside", "hybrid_cube_mesh"}}}));

INSTANTIATE_TEST_SUITE_P(
    DualPlaneRail, StructuralRoutes,
    testing::Values(
        Instance{"dual_plane_rail", {{"hosts", "4"}, {"aggs_per_plane", "3"}}},
        Instance{"dual_plane_rail",
                 {{"hosts", "3"}, {"gpus_per_host", "2"}, {"nics_per_host", "2"}, {"planes", "1"}, {"aggs_per_plane", "3"}}},
        Instance{"dual_plane_rail", {{"hosts", "5"}, {"gpus_per_host", "1"}, {"nics_per_host", "1"}, {"hosts_per_segment", "2"}}},
        // Three pods of two segments, the last with one; two hosts per segment, the last with one.
        Instance{"dual_plane_rail",
                 {{"hosts", "9"},
                  {"gpus_per_host", "4"},
                  {"nics_per_host", "2"},
                  {"hosts_per_segment", "2"},
                  {"segments_per_pod", "2"},
                  {"aggs_per_plane", "2"},
                  {"cores_per_agg", "3"}}},
        Instance{"dual_plane_rail",
                 {{"hosts", "7"},
                  {"gpus_per_host", "2"},
                  {"nics_per_host", "2"},
                  {"tors", "3"},
                  {"planes", "1"},
                  {"hosts_per_segment", "2"},
                  {"segments_per_pod", "2"},
                  {"aggs_per_plane", "2"},
                  {"cores_per_agg", "1"},
                  {"nic_model", "port"}}},
        Instance{"dual_plane_rail",
                 {{"hosts", "6"},
                  {"hosts_per_segment", "3"},
                  {"aggs_per_plane", "2"},
                  {"host_groups", "0-1: gpus_per_host=4 nics_per_host=4; 4: gpus_per_host=2 nics_per_host=1"}}},
        Instance{"multi_site",
                 {{"sites", "2"},
                  {"fabric", "dual_plane_rail"},
                  {"fabric_params", "hosts=3 gpus_per_host=2 nics_per_host=2 aggs_per_plane=2"},
                  {"borders_per_site", "2"}}},
        Instance{"multi_site",
                 {{"sites", "3"}, {"wan", "hub"}, {"fabric", "rail_optimized"}, {"fabric_params", "hosts=3"}, {"hub_hosts", "2"}}},
        Instance{"multi_site",
                 {{"sites", "4"},
                  {"wan", "hub"},
                  {"fabric", "single_switch"},
                  {"fabric_params", "hosts=2"},
                  {"borders_per_site", "3"},
                  {"hub_hosts", "40"}}},
        Instance{"multi_site", {{"sites", "1"}, {"wan", "hub"}, {"fabric", "single_switch"}, {"fabric_params", "hosts=2"}}}));

INSTANTIATE_TEST_SUITE_P(
    Inside, StructuralRoutes,
    testing::Values(
        Instance{"lone_server", {}}, Instance{"lone_server", {{"inside", "full_mesh"}}},
        Instance{"lone_server", {{"inside", "hybrid_cube_mesh"}}},
        Instance{"lone_server", {{"inside", "pcie"}, {"gpus_per_host", "3"}}},
        Instance{"rail_optimized",
                 {{"hosts", "3"}, {"hosts_per_leaf_group", "3"}, {"spines", "2"}, {"inside", "hybrid_cube_mesh"}}},
        Instance{"rail_optimized", {{"hosts", "2"}, {"spines", "2"}, {"inside", "hybrid_cube_mesh"}, {"nics_per_host", "4"}}},
        Instance{"single_switch",
                 {{"hosts", "2"}, {"gpus_per_host", "8"}, {"nics_per_host", "8"}, {"inside", "full_mesh"}, {"nic_model", "port"}}},
        Instance{"single_switch", {{"hosts", "3"}, {"gpus_per_host", "4"}, {"nics_per_host", "2"}, {"inside", "pcie"}}},
        Instance{"fat_tree", {{"k", "4"}, {"gpus_per_host", "4"}, {"inside", "full_mesh"}}}));

INSTANTIATE_TEST_SUITE_P(
    HostGroups, StructuralRoutes,
    testing::Values(
        Instance{
            "single_switch",
            {{"hosts", "6"}, {"host_groups", "1-2: gpus_per_host=4 nics_per_host=2; 5: gpus_per_host=8 inside=hybrid_cube_mesh"}}},
        Instance{"fat_tree", {{"k", "4"}, {"host_groups", "3-9: gpus_per_host=2"}}},
        // Groups that begin and end inside a leaf; the last leaf has one host.
        Instance{
            "clos",
            {{"hosts", "13"},
             {"gpus_per_host", "4"},
             {"nics_per_host", "4"},
             {"hosts_per_leaf", "3"},
             {"leafs_per_pod", "2"},
             {"aggs_per_pod", "3"},
             {"spines", "6"},
             {"host_groups", "11-12: gpus_per_host=2 nics_per_host=2; 1: gpus_per_host=1 nics_per_host=1; 4-7: nics_per_host=2"}}},
        // Hosts 4 to 7 have more rails than the others, so the first group's leafs 4 to 7 are
        // empty.
        Instance{"rail_optimized",
                 {{"hosts", "8"},
                  {"gpus_per_host", "4"},
                  {"nics_per_host", "4"},
                  {"hosts_per_leaf_group", "4"},
                  {"spines", "2"},
                  {"host_groups", "5-7: gpus_per_host=8 nics_per_host=8"}}},
        Instance{"torus",
                 {{"dimensions", "3x2"},
                  {"hosts_per_router", "2"},
                  {"host_groups", "3: gpus_per_host=2 nics_per_host=2; 6-8: gpus_per_host=4"}}},
        Instance{"multi_site",
                 {{"sites", "2"}, {"fabric", "single_switch"}, {"fabric_params", "hosts=3,host_groups=1:gpus_per_host=2"}}}));

}  // namespace
}  // namespace weft::structural_routes_test
