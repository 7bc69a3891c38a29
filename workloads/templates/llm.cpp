// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/llm.hpp"

#include "core/text/diagnostics.hpp"
#include "workloads/templates/transformer.hpp"

namespace weft {

namespace {

Workload make_llm(const ParamSet& params, const SourcePlace& place) { return make_transformer("llm", params, ExpertPlan(), place); }

}  // namespace

Module<WorkloadFactory> llm_module() {
  return {{"template", "llm",
           "A dense transformer decoder in tensor, pipeline (1F1B) and data parallelism on tp x pp x dp ranks: tensor-parallel "
           "collectives around attention and MLP, sends and receives between stages, gradients reduced beside backward.",
           transformer_params},
          make_llm};
}

}  // namespace weft
