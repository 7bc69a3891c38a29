// SPDX-License-Identifier: Apache-2.0
// Small training: a model and a plan whose numbers are counted by hand in tests of projections.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft::small_training {

/// Hidden 64, 8 heads of 8, MLP of 256, 1,024 words, 128 tokens.
inline TransformerModel model(std::uint64_t layers) {
  return *read_model(SourceText("test", fmt::format(R"(transformer {{ layers: {} hidden: 64 vocabulary: 1024 sequence: 128
    attention {{ heads: 8 }} mlp {{ width: 256 activation: GELU }} norm: LAYER_NORM positions {{ kind: ROTARY }} }})",
                                                    layers)))
              .transformer();
}

/// TP 2, PP 4, DP 2, 8 microbatches of one sequence, torch.amp in FP16, and `settings`.
inline ParallelPlan plan(const TransformerModel& model, std::vector<std::string> settings) {
  std::vector<std::string> all = {"context_parallel=1",      "tensor_parallel=2", "pipeline_parallel=4", "data_parallel=2",
                                  "sequence_parallel=false", "global_batch=16",   "zero_stage=0",        "precision.kind=AMP_FP16"};
  for (std::string& setting : settings) {
    const std::string name = setting.substr(0, setting.find('=') + 1);
    std::erase_if(all, [&](const std::string& other) { return other.starts_with(name); });
    all.push_back(std::move(setting));
  }
  return load_plan({.name = "llama3_8b_nemo", .overrides = std::move(all), .gpus = {}}, model, SourcePlace::named("test"));
}

}  // namespace weft::small_training
