// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies/policy.hpp"

#include <array>

#include "scheduler/policies/backfill.hpp"
#include "scheduler/policies/fcfs.hpp"
#include "scheduler/policies/mast.hpp"
#include "scheduler/policies/priority.hpp"
#include "scheduler/policies/sjf.hpp"
#include "scheduler/policies/srtf.hpp"
#include "scheduler/policies/tiresias.hpp"

namespace weft {

std::span<const Module<SchedulingPolicyFactory>> scheduling_policies() {
  static const std::array modules = {fcfs_module(),     fcfs_fill_module(), sjf_module(),      backfill_module(),
                                     priority_module(), srtf_module(),      tiresias_module(), mast_module()};
  return modules;
}

}  // namespace weft
