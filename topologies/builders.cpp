// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders.hpp"

#include <array>

#include "topologies/builders/bcube.hpp"
#include "topologies/builders/clos.hpp"
#include "topologies/builders/dragonfly.hpp"
#include "topologies/builders/dual_plane_rail.hpp"
#include "topologies/builders/fat_tree.hpp"
#include "topologies/builders/hyperx.hpp"
#include "topologies/builders/lone_server.hpp"
#include "topologies/builders/multi_site.hpp"
#include "topologies/builders/rail_optimized.hpp"
#include "topologies/builders/single_switch.hpp"
#include "topologies/builders/torus.hpp"

namespace weft {

std::span<const Module<TopologyFactory>> topology_builders() {
  static const std::array<Module<TopologyFactory>, 11> modules = {
      single_switch_module(), fat_tree_module(), clos_module(),  rail_optimized_module(), dual_plane_rail_module(), torus_module(),
      dragonfly_module(),     hyperx_module(),   bcube_module(), lone_server_module(),    multi_site_module()};
  return modules;
}

}  // namespace weft
