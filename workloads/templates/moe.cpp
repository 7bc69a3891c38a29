// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/moe.hpp"

#include <algorithm>
#include <array>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/templates/transformer.hpp"

namespace weft {

namespace {

constexpr std::array moe_own_params = {
    param<&ExpertPlan::ep>({.name = "ep",
                            .default_text = "4",
                            .minimum = "1",
                            .maximum = "1048576",
                            .meaning = "Ranks of an expert group, data-parallel neighbours; dp is a multiple.",
                            .origin = "assumption: all data-parallel replicas"}),
    param<&ExpertPlan::experts>({.name = "experts",
                                 .default_text = "8",
                                 .minimum = "1",
                                 .maximum = "1048576",
                                 .meaning = "Experts of a layer, a multiple of ep.",
                                 .origin = "Mixtral 8x7B (arXiv 2401.04088)"}),
    param<&ExpertPlan::top_k>({.name = "top_k",
                               .default_text = "2",
                               .minimum = "1",
                               .maximum = "1048576",
                               .meaning = "Experts that each token goes to.",
                               .origin = "Mixtral 8x7B (arXiv 2401.04088)"}),
};

constexpr std::array<ParamSpec, moe_own_params.size() + transformer_params.size()> joined() {
  std::array<ParamSpec, moe_own_params.size() + transformer_params.size()> all{};
  std::copy(moe_own_params.begin(), moe_own_params.end(), all.begin());
  std::copy(transformer_params.begin(), transformer_params.end(), all.begin() + moe_own_params.size());
  return all;
}
constexpr auto moe_params = joined();

Workload make_moe(const ParamSet& params, const SourcePlace& place) {
  return make_transformer("moe", params, filled<ExpertPlan>(params), place);
}

}  // namespace

Module<WorkloadFactory> moe_module() {
  return {{"template", "moe",
           "A transformer decoder whose MLPs are experts: as llm, and every layer sends tokens to their experts and back by "
           "all-to-alls "
           "among ep ranks; an expert's gradients are reduced among its dp / ep replicas.",
           moe_params},
          make_moe};
}

}  // namespace weft
