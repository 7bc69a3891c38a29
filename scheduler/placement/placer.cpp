#include "scheduler/placement/placer.hpp"

#include <array>

#include "scheduler/placement/first_fit.hpp"

namespace weft {

std::span<const Module<PlacerFactory>> placers() {
  static const std::array modules = {first_fit_module()};
  return modules;
}

}  // namespace weft
