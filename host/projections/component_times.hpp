// SPDX-License-Identifier: Apache-2.0
// Component times: reader of estimate-train-time's table of predicted times, so that a step can be
// projected from it.
//
// Where it sits: makes the ComponentTimes that stage_composition.hpp composes.
// A CSV table with the columns module, parameter and prediction(us), also spelled predition(us).
// Rows, by module:
//   NAME_fwd, NAME_bwd             an operator; a layer has the norm (RMSlayernorm or layernorm)
//                                  and res_add twice, embedding, linear_final and
//                                  parallel_cross_entropy_128 never, all others once
//   mp_allreduce, pp_p2p           of tensor-parallel ranks; to the next stage
//   dp_allreduce, dp_allgather,    lists of three: first, middle, last stage
//   optimizer
//   encoder_fwd, encoder_bwd,      what the program made of the rows above; optional, and checked:
//   stage_fwd, stage_bwd, update   stages tell how many layers they have
//   all_F_all_B_max_optimizer      the step; its parameter lists PP, MP, DP, b, h, l, dim, M, GPUs
//                                  per node; optional
// Operators and communication are needed: those without effect are 0.
// Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/text/source_text.hpp"
#include "host/projections/stage_composition.hpp"

namespace weft {

/// What the program computed from its rows.
struct PublishedStep {
  std::uint32_t stages = 0;
  std::uint32_t microbatches = 0;
  double step_us = 0;
};

struct ComponentTable {
  ComponentTimes times;
  /// Of the first, a middle and the last stage.
  std::optional<std::array<std::uint64_t, 3>> layers;
  std::optional<PublishedStep> step;

  /// Layers by stage; nothing where the table does not say both layers and stages, or has one
  /// stage.
  std::vector<std::uint64_t> layers_by_stage() const;
};

/// Throws InputError [missing-component], [unknown-component], [duplicate-component],
/// [wrong-count], [bad-value], [out-of-range], [contradicting-rows] and what CSV tables have, all
/// of them together.
ComponentTable read_component_times(const SourceText& source);

}  // namespace weft
