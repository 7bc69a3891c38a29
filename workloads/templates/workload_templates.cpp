// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/workload_templates.hpp"

#include <array>

#include "workloads/decentralized/site_training.hpp"
#include "workloads/templates/collectives.hpp"
#include "workloads/templates/data_parallel.hpp"
#include "workloads/templates/dlrm.hpp"
#include "workloads/templates/llm.hpp"
#include "workloads/templates/moe.hpp"
#include "workloads/templates/unet.hpp"

namespace weft {

std::span<const Module<WorkloadFactory>> workload_templates() {
  static const std::array<Module<WorkloadFactory>, 7> modules = {collectives_module(), data_parallel_module(), llm_module(),
                                                                 moe_module(),         dlrm_module(),          unet_module(),
                                                                 across_sites_module()};
  return modules;
}

}  // namespace weft
