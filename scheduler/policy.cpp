#include "scheduler/policy.hpp"

#include <array>

#include "scheduler/policies/fcfs.hpp"

namespace weft {

std::span<const Module<SchedulingPolicyFactory>> scheduling_policies() {
  static const std::array modules = {fcfs_module()};
  return modules;
}

}  // namespace weft
