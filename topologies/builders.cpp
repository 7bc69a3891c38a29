#include "topologies/builders.hpp"

#include <array>

#include "topologies/single_switch.hpp"

namespace weft {

std::span<const Module<TopologyFactory>> topology_builders() {
  static const std::array<Module<TopologyFactory>, 1> modules = {single_switch_module()};
  return modules;
}

}  // namespace weft
