// SPDX-License-Identifier: Apache-2.0
// Stage composition: the time of a training step from times of operators, by way of pipeline
// stages.
//
// Where it sits: component_times.hpp reads the times from a file; projections may take them from
// any clock. Beside what was published stand the times of the same stages by execute().
//
// Model, times in microseconds, for P stages and M microbatches
//   encoder   F_e = operators + syncs x all-reduce     B_e = operators + syncs x all-reduce
//             + r F_e, r of the layers are computed again
//   first     F = embedding + all-reduce + layers F_e  B = embedding + layers B_e
//   middle    F = layers F_e                           B = layers B_e
//   last      both with final norm, output layer and loss
//   update    U = all-reduce of gradients + optimizer + all-gather of parameters (ZeRO 1)
//   F' and B' have the transfer to the next stage in them: F of all stages but the last, B of all
//   but the first.
//   AFAB composed        (M + P - 1) (max F' + max B') + max U
//   1F1B as published    sum F' + (M - 1) max(max F', max B') + sum B' + max U
//   1F1B composed        sum (F' + B') + (M - 1) max (F' + B') + max U
//   dependency-exact     execute() with transfers beside passes; each stage updates when it is done
// A step of 1F1B is as long as one of AFAB where stages are alike, which the published form is not.
// Source: estimate-train-time, "Core Concepts"; its program for the encoder's syncs and the
// first stage's all-reduce.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "host/projections/arithmetic.hpp"

namespace weft {

struct PassPair {
  double forward_us = 0;
  double backward_us = 0;
};

/// After the last backward pass of a stage.
struct StageUpdate {
  double all_reduce_us = 0;
  double optimizer_us = 0;
  double all_gather_us = 0;

  double sum_us() const { return all_reduce_us + optimizer_us + all_gather_us; }
};

/// Of one microbatch on one GPU of a stage, whoever timed it.
struct ComponentTimes {
  PassPair embedding;
  std::vector<PassPair> encoder;  ///< operators of one layer, each as often as the layer has it
  PassPair final_norm;
  PassPair output;
  PassPair loss;
  double tensor_all_reduce_us = 0;
  std::uint32_t forward_syncs = 2;   ///< all-reduces of a layer
  std::uint32_t backward_syncs = 2;  ///< without those of the forward pass that is computed again
  double recomputed = 1.0;           ///< share of layers whose forward pass is computed again
  double transfer_us = 0;            ///< from one stage to the next
  StageUpdate first_update;
  StageUpdate middle_update;
  StageUpdate last_update;
};

// --- Layers of stages ---

enum class LayerSplit : std::uint8_t {
  evenly,      ///< the first stages have what is left over
  ceil_floor,  ///< as published: ceil(L / P) in the first stage, floor(L / P) in all others
  of_program   ///< as the published program has it
};

/// Layers by stage, or why there is no such split. Those of ceil_floor may be fewer than there are
/// layers, as 61 of 62 on 4 stages. of_program counts embedding and output as 2 and 3 layers:
/// ceil((L + 5) / P) - 2, floor((L + 5) / P), floor((L + 5) / P) - 3; they may be fewer, too.
std::variant<std::vector<std::uint64_t>, std::string> split_layers(LayerSplit split, std::uint64_t layers, std::uint32_t stages);

// --- Stages ---

struct StageTimes {
  double forward_us = 0;  ///< of a microbatch, without transfers
  double backward_us = 0;
  StageUpdate update;
};

struct PipelineStages {
  std::vector<StageTimes> stages;
  double transfer_us = 0;
};

/// One layer.
PassPair encoder_of(const ComponentTimes& components);
/// `layers` by stage; a single stage is first and last. Requires: a stage at least.
PipelineStages compose_stages(const ComponentTimes& components, const std::vector<std::uint64_t>& layers);

// --- Steps ---

struct StepEstimates {
  double afab_us = 0;  ///< composed
  double afab_exact_us = 0;
  double one_f_one_b_published_us = 0;
  double one_f_one_b_us = 0;  ///< composed
  double one_f_one_b_exact_us = 0;
};

/// Requires: stages and microbatches.
StepEstimates estimate_steps(const PipelineStages& pipeline, std::uint32_t microbatches);

/// (P - 1) / (M + P - 1), of stages that are alike.
double bubble_fraction(std::uint32_t stages, std::uint32_t microbatches);

/// Of training on so many tokens.
double hours_of_training(double tokens, double tokens_per_step, double step_us);

// --- Volumes that a rank sends, in the unit of what it holds ---

/// Ring all-reduce of `parameters`: 2 p (D - 1) / D; as published divided by D once more.
double data_all_reduce_volume(double parameters, std::uint64_t replicas, Arithmetic arithmetic);
/// Ring all-gather of shares: p / D (D - 1).
double data_all_gather_volume(double parameters, std::uint64_t replicas);
/// Bytes of half-precision all-reduces of a layer with `syncs` of them: 2 (t - 1) / t each; as
/// published 2, whatever t is.
double tensor_volume_bytes(std::uint32_t syncs, double elements, std::uint64_t ranks, Arithmetic arithmetic);

}  // namespace weft
