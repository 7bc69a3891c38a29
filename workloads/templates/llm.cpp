// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/llm.hpp"

#include "core/text/diagnostics.hpp"
#include "workloads/templates/transformer.hpp"

namespace weft {

namespace {

Workload make_llm(const ParamSet& params, const SourcePlace& place) { return make_transformer("llm", params, nullptr, place); }

}  // namespace

Module<WorkloadFactory> llm_module() {
  return {{"template", "llm",
           "A dense transformer decoder in tensor, context, pipeline and data parallelism on tp x cp x pp x dp ranks, a preset of "
           "a model and a plan: tensor-parallel collectives around attention and MLP, keys and values that go round beside "
           "attention, messages between stages, gradients reduced beside backward.",
           transformer_params},
          make_llm};
}

}  // namespace weft
