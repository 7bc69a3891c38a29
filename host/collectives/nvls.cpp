// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/nvls.hpp"

#include <fmt/format.h>

#include "core/check.hpp"
#include "host/collectives/phases.hpp"

namespace weft {

namespace {

SwitchOperationKind operation_of(CollectiveType type) {
  switch (type) {
    case CollectiveType::reduce_scatter:
      return SwitchOperationKind::reduce_scatter;
    case CollectiveType::all_gather:
      return SwitchOperationKind::all_gather;
    case CollectiveType::reduce:
      return SwitchOperationKind::reduce;
    case CollectiveType::broadcast:
      return SwitchOperationKind::broadcast;
    default:
      return SwitchOperationKind::all_reduce;
  }
}

class Nvls final : public CollectiveAlgorithm {
 public:
  bool supports(CollectiveType type) const override { return nvls_supports(type); }

  std::string objection(const CollectiveRequest& request) const override {
    const std::uint32_t hosts = request.layout->host_count();
    if (hosts == 1) return {};
    return fmt::format("they are in {} hosts, which no NVSwitch joins", hosts);
  }

  CollectivePlan compile(const CollectiveRequest& request) const override { return nvls_plan(request); }
};

std::unique_ptr<CollectiveAlgorithm> make_nvls(const ParamSet&) { return std::make_unique<Nvls>(); }

}  // namespace

bool nvls_supports(CollectiveType type) {
  switch (type) {
    case CollectiveType::all_reduce:
    case CollectiveType::all_gather:
    case CollectiveType::reduce_scatter:
    case CollectiveType::broadcast:
    case CollectiveType::reduce:
    case CollectiveType::barrier:
      return true;
    default:
      return false;
  }
}

CollectivePlan nvls_plan(const CollectiveRequest& request) {
  WEFT_CHECK(request.layout->host_count() == 1 && nvls_supports(request.type), "nvls is asked for what it carries out");
  const std::uint32_t n = request.ranks();
  const SwitchOperationKind operation = operation_of(request.type);
  CollectivePlan plan(request, n, request.whole_buffer());
  PhaseGround everybody;
  everybody.members = n;
  CollectiveProgramBuilder builder;
  add_in_network(builder, everybody, operation, has_root(operation) ? request.root : 0);
  plan.programs.push_back(std::move(builder).build());
  return plan;
}

Module<CollectiveAlgorithmFactory> nvls_algorithm() {
  return {
      {"collective",
       "nvls",
       "The host's NVSwitches add up and multiply: one operation per collective, for groups within a host (sharp extends it over "
       "hosts). Of an all_reduce a GPU's NVLinks carry (1 + 1/n) times the buffer each way, of a reduce_scatter or all_gather the "
       "whole "
       "buffer one way.",
       {}},
      &make_nvls};
}

}  // namespace weft
