#include "topologies/builders.hpp"

#include <array>

#include "topologies/builders/clos.hpp"
#include "topologies/builders/fat_tree.hpp"
#include "topologies/builders/multi_site.hpp"
#include "topologies/builders/rail_optimized.hpp"
#include "topologies/builders/single_switch.hpp"

namespace weft {

std::span<const Module<TopologyFactory>> topology_builders() {
  static const std::array<Module<TopologyFactory>, 5> modules = {single_switch_module(), fat_tree_module(), clos_module(),
                                                                 rail_optimized_module(), multi_site_module()};
  return modules;
}

}  // namespace weft
