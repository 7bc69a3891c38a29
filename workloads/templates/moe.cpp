#include "workloads/templates/moe.hpp"

#include <algorithm>
#include <array>

#include "workloads/templates/transformer.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 3> kMoeOwnParams = {{
    {"ep", ParamKind::integer, "4", "1", "1048576", "", "Ranks of an expert group, data-parallel neighbours; dp is a multiple.",
     "assumption: all data-parallel replicas"},
    {"experts", ParamKind::integer, "8", "1", "1048576", "", "Experts of a layer, a multiple of ep.",
     "Mixtral 8x7B (arXiv 2401.04088)"},
    {"top_k", ParamKind::integer, "2", "1", "1048576", "", "Experts that each token goes to.", "Mixtral 8x7B (arXiv 2401.04088)"},
}};

constexpr std::array<ParamSpec, kMoeOwnParams.size() + transformer_params.size()> joined() {
  std::array<ParamSpec, kMoeOwnParams.size() + transformer_params.size()> all{};
  std::copy(kMoeOwnParams.begin(), kMoeOwnParams.end(), all.begin());
  std::copy(transformer_params.begin(), transformer_params.end(), all.begin() + kMoeOwnParams.size());
  return all;
}
constexpr auto kMoeParams = joined();

Workload make_moe(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  return make_transformer("moe", math, {math.count("ep"), math.count("experts"), math.count("top_k")});
}

}  // namespace

Module<WorkloadFactory> moe_module() {
  return {{"template", "moe",
           "A transformer decoder whose MLPs are experts: as llm, and every layer sends tokens to their experts and back by "
           "all-to-alls "
           "among ep ranks; an expert's gradients are reduced among its dp / ep replicas.",
           kMoeParams},
          make_moe};
}

}  // namespace weft
