// SPDX-License-Identifier: Apache-2.0
// Measured iterations: training iterations that others timed, each with its model and its plan.
//
// Where it sits: iteration_fit.hpp estimates them and fits parameters to some of them;
// bench/projection_errors prints how far estimates are from the others.
//
// Model: two CSV tables
//   vTrain      iterations of GPT-like models on 2 to 8 A100 of one host, Megatron-DeepSpeed
//   published   steps of SC'21, Megatron-LM, Korthikanti et al., Megatron-Core, NVIDIA: a table's
//               name, a model, a plan, GPUs, and the step time or operations/s per GPU. These are
//               of all products, attention's upper half, too, backward twice forward:
//               72 B s L h^2 (1 + s / 6h + V / 12hL), times 4/3 with recomputation (arXiv
//               2104.04473, appendix; README of Megatron-LM)
// What tables do not say is assumed, per table, as measured_iterations.cpp has it in table_rules;
// the sentences are in MeasuredTable::assumed. Rows whose status does not begin with "usable", and
// tables without rules, are left out.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/source_text.hpp"
#include "workloads/models/transformer_model.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

struct MeasuredIteration {
  std::string table;
  std::string what;  ///< "22B, selective": rows of a table that are alike but for their GPUs
  std::string gpu;   ///< preset
  std::string server;
  TransformerModel model;
  ParallelPlan plan;
  /// Further plans that it may have had, where the table leaves that open.
  std::vector<ParallelPlan> alternatives;
  /// Of operator times: "analytical.loss=eager".
  std::vector<std::string> operator_settings;
  double measured_s = 0;
};

struct MeasuredTable {
  std::string_view name;
  std::string_view assumed;  ///< what it does not say, in sentences
};
/// All tables with rules.
std::span<const MeasuredTable> measured_tables();

/// Both throw InputError: what CSV tables have, [bad-value], and [bad-plan] with the rule that a
/// row's plan breaks.
std::vector<MeasuredIteration> read_vtrain_iterations(const SourceText& source);
std::vector<MeasuredIteration> read_published_iterations(const SourceText& source);

}  // namespace weft
