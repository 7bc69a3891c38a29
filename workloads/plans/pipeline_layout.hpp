// SPDX-License-Identifier: Apache-2.0
// Pipeline layout: which layers of a model each chunk of each pipeline stage has.
//
// Where it sits: part of a plan. A position is a chunk's place in the model: all stages x chunks
// positions in turn make up the model (workloads/schedules/pipeline.hpp says which stage holds
// which).
//
// Model, without a layout string, for L layers and P = stages x chunks positions:
//   evenly        L / P layers each, and one more in the first L mod P positions
//   counted ends  embedding, output layer or both count as a layer of the first and last position
//   given ends    the first and last stage have what is said, shared evenly by their chunks; those
//                 between share the rest
// Layout string (Megatron-LM, --pipeline-model-parallel-layout): E embedding, t layer, L output
// layer; | begins the next position; x*3 and (xy)*3 repeat; commas mean nothing.
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

struct LayerRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  std::uint64_t end() const { return first + count; }

  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};

/// Layers by position. The embedding is in the first position, the output layer in the last.
using PipelineLayout = std::vector<LayerRange>;

struct LayoutRequest {
  std::uint64_t layers = 0;
  std::uint32_t stages = 1;
  std::uint32_t chunks = 1;
  std::uint64_t first_stage_layers = 0;  ///< 0: not said
  std::uint64_t last_stage_layers = 0;   ///< 0: not said
  bool count_embedding = false;
  bool count_output = false;
  std::string text = {};  ///< a layout string instead; empty: none
};

/// The layout, or the rule that the request breaks.
std::variant<PipelineLayout, std::string> pipeline_layout(const LayoutRequest& request);

}  // namespace weft
