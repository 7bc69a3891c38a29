// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/placer.hpp"

#include <array>

#include "scheduler/placement/first_fit.hpp"
#include "scheduler/placement/fragmentation_gradient.hpp"
#include "scheduler/placement/packed.hpp"
#include "scheduler/placement/rail_aware.hpp"
#include "scheduler/placement/spread.hpp"
#include "scheduler/placement/topology_aware.hpp"

namespace weft {

std::span<const Module<PlacerFactory>> placers() {
  static const std::array modules = {first_fit_module(),  packed_module(),        spread_module(), fragmentation_gradient_module(),
                                     rail_aware_module(), topology_aware_module()};
  return modules;
}

}  // namespace weft
