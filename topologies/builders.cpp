#include "topologies/builders.hpp"

#include <array>

#include "topologies/clos.hpp"
#include "topologies/fat_tree.hpp"
#include "topologies/multi_site.hpp"
#include "topologies/rail_optimized.hpp"
#include "topologies/single_switch.hpp"

namespace weft {

std::span<const Module<TopologyFactory>> topology_builders() {
  static const std::array<Module<TopologyFactory>, 5> modules = {single_switch_module(), fat_tree_module(), clos_module(),
                                                                 rail_optimized_module(), multi_site_module()};
  return modules;
}

}  // namespace weft
