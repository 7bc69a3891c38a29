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
    param<&ExpertSettings::ep>({.name = "ep",
                                .default_text = "4",
                                .minimum = "1",
                                .maximum = "1048576",
                                .meaning = "Ranks that share the experts of a layer; tp x cp x dp is a multiple of ep x etp.",
                                .origin = "assumption: all data-parallel replicas"}),
    param<&ExpertSettings::etp>({.name = "etp",
                                 .default_text = "0",
                                 .minimum = "0",
                                 .maximum = "65536",
                                 .meaning = "Ranks that share each expert's matrices, neighbours; 0: tp.",
                                 .origin = "as dense matrices"}),
    param<&ExpertSettings::experts>({.name = "experts",
                                     .default_text = "8",
                                     .minimum = "1",
                                     .maximum = "1048576",
                                     .meaning = "Experts of a layer, a multiple of ep.",
                                     .origin = "Mixtral 8x7B (arXiv 2401.04088)"}),
    param<&ExpertSettings::top_k>({.name = "top_k",
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
  const auto experts = filled<ExpertSettings>(params);
  return make_transformer("moe", params, &experts, place);
}

}  // namespace

Module<WorkloadFactory> moe_module() {
  return {{"template", "moe",
           "A transformer decoder whose MLPs are experts: as llm, and every layer sends tokens to their experts and back by "
           "all-to-alls among ep ranks; an expert's gradients are reduced among its tp x cp x dp / (ep x etp) replicas.",
           moe_params},
          make_moe};
}

}  // namespace weft
