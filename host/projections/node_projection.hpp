// SPDX-License-Identifier: Apache-2.0
// Node projection: the step time of training on many nodes from layers that were timed on few GPUs.
//
// Where it sits: layer_times.hpp brings layers' times to the plan; collective_formulas.hpp has
// those of communication. No network: what neighbours cost is for simulations.
//
// Model                  as published                        else
//   least GPUs           T P C, with experts T P E, a whole  ranks_min(), a whole number of nodes
//                        number of nodes
//   data ranks           GPUs / (T P C)                      the same
//   microbatches         of the fewest nodes                 global batch / (microbatch data)
//   pipeline             0.1 ms per transfer; and (P - P')   transfers of the message between
//                        2 M transfers where the bench has   stages, beside or between passes as
//                        P' stages                           the plan has it
//   more nodes           step x data' / data: bubble, too    simulated again
//   gradients            4 B per parameter, experts apart    in the plan's type, experts apart
//   their all-reduce     added unless it is overlapped       what of it outlasts the last backward
//                                                            pass, where it is overlapped
//   all-to-all           a layer's two, once per layer of    twice per layer, microbatch and
//                        the model and direction; added      direction of one stage; it is in the
//                        where experts span nodes            layers' times already
//   tensor all-reduces   four per layer of one stage and microbatch; in the layers' times
// The optimizer is left out in both.
// Source: Primus, "Projection", Performance Projection and Performance Formula.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/values/units.hpp"
#include "host/projections/arithmetic.hpp"
#include "host/projections/collective_formulas.hpp"
#include "host/projections/hardware_config.hpp"
#include "host/projections/layer_times.hpp"

namespace weft {

// --- Counts ---

/// Nodes of `gpus_per_node` that hold one replica.
std::uint64_t nodes_min(const ParallelPlan& plan, bool has_experts, std::uint32_t gpus_per_node, Arithmetic arithmetic);

/// What the published text divides GPUs by to get data-parallel ranks, in three places.
enum class DataRankRule : std::uint8_t {
  memory,       ///< E P: optimizer states
  performance,  ///< T P C: scaling
  gpus          ///< T P E: total GPUs
};
double data_ranks(DataRankRule rule, std::uint64_t gpus, const ParallelPlan& plan);

double tokens_per_s_per_gpu(std::uint64_t global_batch, std::uint64_t sequence, Duration step, std::uint64_t gpus);

// --- Gradients ---

struct GradientSizes {
  Bytes dense;
  Bytes expert;
};
/// Of the stage that has most: parameters of one rank in FP32 as published, else in the type that
/// replicas reduce.
GradientSizes gradient_sizes(const TransformerModel& model, const ParallelPlan& plan, Arithmetic arithmetic);

/// In FP32, as the published text has it.
Bytes gradient_size(std::uint64_t parameters);
/// As the published example prints it: layers of a stage x 12 h^2 parameters of 4 bytes.
Bytes gradient_size_by_hidden(const TransformerModel& model, const ParallelPlan& plan);

// --- Step time ---

/// Of passes by position under the plan's schedule. Throws InputError [bad-plan] at `place` for a
/// schedule that does not exist for these numbers.
Duration pipeline_step(const ParallelPlan& plan, const std::vector<PositionTimes>& positions, const SourcePlace& place);

struct CommunicationRow {
  std::string name;
  Bytes message;
  std::uint64_t count = 0;  ///< in an iteration
  Duration each;
  Duration added;                                          ///< to the step, beyond layers' times
  std::optional<AllReduceFormula> formula = std::nullopt;  ///< of all-reduces the fastest
  bool is_listed = true;                                   ///< in the published sum
  std::uint64_t nodes = 1;                                 ///< that a group spans

  Duration total() const { return each * static_cast<std::int64_t>(count); }
};

struct NodeProjection {
  std::uint64_t nodes_min = 0;
  std::uint64_t nodes = 0;
  std::uint64_t gpus = 0;
  std::uint32_t data_min = 0;  ///< ranks on the fewest nodes
  std::uint32_t data = 0;
  std::uint64_t microbatches = 0;  ///< that were simulated
  Duration transfer;               ///< between stages, in the pipeline that is simulated
  Duration base;                   ///< pipeline on the fewest nodes
  Duration pipeline;               ///< on `nodes`
  std::vector<CommunicationRow> communication;
  Duration step;
  double tokens_per_s_per_gpu = 0;
};

struct NodeProjectionRequest {
  std::uint64_t nodes = 0;  ///< 0: the fewest
  Arithmetic arithmetic = Arithmetic::physical;
};

/// From times under `bench` to the plan on so many nodes; the plan's data-parallel degree follows
/// from them. Or the rule that the nodes break. Throws as pipeline_step() does.
std::variant<NodeProjection, std::string> project_on_nodes(const TransformerModel& model, const ParallelPlan& plan,
                                                           const ParallelPlan& bench, const LayerTimes& times,
                                                           const HardwareConfig& hardware, const NodeProjectionRequest& request,
                                                           const SourcePlace& place);

}  // namespace weft
