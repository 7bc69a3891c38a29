// SPDX-License-Identifier: Apache-2.0
// Model description: what is trained, without how it is spread over GPUs.
//
// Where it sits: model_reader.hpp reads one from a file or takes it from the presets
// (model_presets.hpp); a parallel plan divides it; projections and workloads are made of both.
// Threads: values.
#pragma once

#include <string>
#include <variant>

#include "workloads/models/recommender_model.hpp"
#include "workloads/models/transformer_model.hpp"
#include "workloads/models/unet_model.hpp"

namespace weft {

struct ModelDescription {
  std::string name;    ///< for display: "Llama 3.1 8B"
  std::string origin;  ///< of its numbers
  std::variant<TransformerModel, RecommenderModel, UNetModel> what;

  const TransformerModel* transformer() const { return std::get_if<TransformerModel>(&what); }
};

}  // namespace weft
