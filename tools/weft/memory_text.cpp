// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/memory_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "tools/weft/aligned_rows.hpp"

namespace weft {

namespace {

constexpr double gib_bytes = 1024.0 * 1024.0 * 1024.0;

/// In which a report is: GiB, or MiB where all is less than one.
struct MemoryUnit {
  double bytes = gib_bytes;
  std::string_view name = "GiB";

  std::string operator()(Bytes size) const { return fmt::format("{:.2f}", static_cast<double>(size.count()) / bytes); }
  std::string signed_text(Bytes size) const { return fmt::format("{:+.2f}", static_cast<double>(size.count()) / bytes); }
};

MemoryUnit unit_of(const MemoryProjection& projection) {
  constexpr double mib_bytes = 1024.0 * 1024.0;
  const auto most = static_cast<double>(projection.worst().total().count());
  return most < gib_bytes ? MemoryUnit{mib_bytes, "MiB"} : MemoryUnit{};
}

/// "6,078,750,720"
std::string grouped_digits(std::uint64_t number) {
  std::string digits = fmt::to_string(number);
  constexpr std::size_t group = 3;
  for (std::size_t i = digits.size(); i > group; i -= group) digits.insert(i - group, 1, ',');
  return digits;
}

Bytes states_of(const StageMemory& stage) { return stage.parameters + stage.gradients + stage.optimizer; }

// --- Headline ---

std::string plan_line(const ParallelPlan& plan) {
  std::string text = fmt::format("{}: TP {}", counted(plan.ranks(), "GPU", "GPUs"), plan.tensor);
  const auto axis = [&](const char* name, std::uint32_t ways) {
    if (ways > 1) text += fmt::format(", {} {}", name, ways);
  };
  axis("CP", plan.context);
  axis("PP", plan.pipeline);
  axis("VPP", plan.chunks);
  axis("EP", plan.expert);
  axis("ETP", plan.expert_tensor);
  text += fmt::format(", DP {}, ZeRO {}", plan.data, plan.zero_stage);
  if (plan.pipeline > 1) text += fmt::format(", {}", plan.schedule);
  return text + fmt::format(", {} of {} x {} tokens\n", counted(plan.microbatches(), "microbatch", "microbatches"), plan.microbatch,
                            grouped_digits(plan.sequence));
}

std::string recompute_text(const Recompute& recompute) {
  switch (recompute.kind) {
    case RecomputeKind::keep:
      return "everything is kept";
    case RecomputeKind::selective:
      return "attention is computed again";
    case RecomputeKind::uniform:
      return recompute.layers == 1 ? "every layer is computed again"
                                   : fmt::format("every {} layers are computed again together", recompute.layers);
    case RecomputeKind::block:
      return fmt::format("the first {} of each chunk computed again", counted(recompute.layers, "layer is", "layers are"));
  }
  return "";
}

std::string headline(const MemoryReport& report) {
  const ParallelPlan& plan = report.plan;
  std::string text =
      fmt::format("{}, {} parameters\n{}\n{}", report.model, grouped_digits(report.parameters), plan.name, plan_line(plan));
  text += fmt::format("{}{}{}; {}\n", to_text(plan.precision.kind), plan.sequence_parallel ? ", sequence parallelism" : "",
                      plan.fused_attention ? ", fused attention" : ", attention is not fused", recompute_text(plan.recompute));
  return text;
}

// --- Stages ---

std::string stage_table(const MemoryProjection& projection, const MemoryUnit& unit) {
  std::vector<std::array<std::string, 9>> rows = {{"stage", "layers", "parameters", "gradients", "optimizer", "activations",
                                                   "working", "communicators", std::string(unit.name)}};
  const StageMemory& worst = projection.worst();
  for (const StageMemory& stage : projection.stages) {
    rows.push_back({fmt::format("{}{}", stage.stage, &stage == &worst && projection.stages.size() > 1 ? " *" : ""),
                    fmt::to_string(stage.layers), unit(stage.parameters), unit(stage.gradients), unit(stage.optimizer),
                    unit(stage.activations), unit(stage.working), unit(stage.communicators), unit(stage.total())});
  }
  return aligned(rows) + (projection.stages.size() > 1 ? "* needs most\n" : "");
}

/// "4 microbatches", "17 microbatches of its 5 chunks: 5 4 4 4 0"
std::string held_text(const StageMemory& stage) {
  std::uint64_t kept = 0;
  std::uint64_t for_weights = 0;
  std::string each;
  for (const LiveChunk& chunk : stage.peak.chunks) {
    kept += chunk.kept;
    for_weights += chunk.for_weights;
    each += fmt::format(" {}", chunk.kept);
  }
  const std::size_t chunks = stage.peak.chunks.size();
  std::string text = chunks == 1
                         ? counted(kept, "microbatch", "microbatches")
                         : fmt::format("{} microbatches of one of {} chunks ({} of the whole stage), by chunk{}", kept, chunks,
                                       fmt::format("{:.4g}", static_cast<double>(kept) / static_cast<double>(chunks)), each);
  if (for_weights > 0) text += fmt::format(", and {} that wait for gradients of weights", for_weights);
  return text;
}

std::string component_table(const StageMemory& stage, const MemoryUnit& unit) {
  std::vector<std::array<std::string, 4>> rows = {
      {"component", "parameters", "a microbatch", fmt::format("at the peak, {}", unit.name)}};
  for (const ComponentMemory& component : stage.components) {
    rows.push_back({std::string(component.name), component.parameters > 0 ? grouped_digits(component.parameters) : "",
                    unit(component.activations), unit(component.at_peak)});
  }
  if (stage.for_weights > Bytes::zero()) rows.push_back({"for gradients of weights", "", "", unit(stage.for_weights)});
  Bytes one;
  for (const ComponentMemory& component : stage.components) one += component.activations;
  rows.push_back({"all", grouped_digits(stage.held), unit(one), unit(stage.activations)});
  return aligned(rows);
}

std::string stage_detail(const StageMemory& stage, const MemoryUnit& unit) {
  std::string text = fmt::format("Stage {} holds {}\n\n{}", stage.stage, held_text(stage), component_table(stage, unit));
  if (stage.recomputed > Bytes::zero())
    text += fmt::format("working memory has {} {} of layers that are computed again\n", unit(stage.recomputed), unit.name);
  return text;
}

const StageMemory& shown_stage(const MemoryReport& report, const MemoryProjection& projection) {
  return report.stage ? projection.stages[*report.stage] : projection.worst();
}

// --- Benchmark ---

std::string residual_text(const AnchoredMemory& anchored, double margin, const MemoryUnit& unit) {
  const BenchmarkResidual& residual = anchored.residual;
  std::string text = fmt::format("Benchmark of {} on {} ({}), {}\n", in_quotes(anchored.benchmark.model), anchored.benchmark.gpu,
                                 anchored.benchmark.framework, counted(anchored.benchmark.world_size, "GPU", "GPUs"));
  for (const std::string& reduction : anchored.reduced.reductions) text += fmt::format("  reduced: {}\n", reduction);
  std::vector<std::array<std::string, 2>> rows;
  const auto row = [&](std::string name, std::string value) { rows.push_back({"  " + std::move(name), std::move(value)}); };
  if (anchored.benchmark.of(BenchmarkLayer::dense))
    row("activations of dense layers, measured / calculated", fmt::format("{:.3f}", residual.correction.dense_layer));
  if (anchored.benchmark.of(BenchmarkLayer::expert))
    row("activations of expert layers, measured / calculated", fmt::format("{:.3f}", residual.correction.expert_layer));
  row(fmt::format("peak allocated, {}", unit.name), unit(anchored.benchmark.peak_allocated));
  row("  calculated for it, with the correction", unit(residual.calculated));
  row("peak reserved", unit(anchored.benchmark.peak_reserved));
  row("framework overhead: reserved - allocated - communicators", unit(residual.overhead));
  row("live-tensor excess: allocated - calculated", unit(residual.excess));
  row(fmt::format("residual, added; {:g} % of it more for the upper bound", 100 * margin), unit(residual.residual()));
  return text + aligned(rows);
}

std::string both_table(const MemoryReport& report, const MemoryUnit& unit) {
  const StageMemory& simulated = shown_stage(report, report.calculated);
  const StageMemory& anchored = report.anchored->projection.stages[simulated.stage];
  std::vector<std::array<std::string, 4>> rows = {
      {fmt::format("stage {}, {}", simulated.stage, unit.name), "simulate", "benchmark", "simulate - benchmark"}};
  const auto row = [&](const char* name, Bytes a, Bytes b) {
    const Bytes delta = a - b;
    const std::string share =
        b > Bytes::zero() ? fmt::format(" ({:+.1f} %)", 100 * static_cast<double>(delta.count()) / static_cast<double>(b.count()))
                          : "";
    rows.push_back({name, unit(a), unit(b), unit.signed_text(delta) + share});
  };
  const BenchmarkResidual& residual = report.anchored->residual;
  row("parameters", simulated.parameters, anchored.parameters);
  row("gradients", simulated.gradients, anchored.gradients);
  row("optimizer", simulated.optimizer, anchored.optimizer);
  row("activations", simulated.activations, anchored.activations);
  row("working", simulated.working, anchored.working);
  row("communicators", simulated.communicators, anchored.communicators);
  row("framework overhead", Bytes::zero(), residual.overhead);
  row("live-tensor excess", Bytes::zero(), residual.excess);
  const MemoryEstimate of_simulated = calculated_estimate(simulated, report.margin);
  const MemoryEstimate of_anchored = residual.estimate(anchored, report.margin);
  row("point estimate", of_simulated.point, of_anchored.point);
  row("upper bound", of_simulated.upper, of_anchored.upper);
  return aligned(rows);
}

// --- Verdict ---

std::string verdict_text(const MemoryReport& report) {
  const MemoryUnit unit;
  const MemoryEstimate estimate = report.estimate();
  const Bytes memory = report.gpu.memory;
  const auto left = [&](Bytes bytes) { return unit.signed_text(memory - bytes); };
  std::vector<std::array<std::string, 3>> rows = {
      {fmt::format("{}{}", report.gpu.preset, report.gpu_origin.empty() ? "" : " " + report.gpu_origin), "GiB", "left"},
      {"memory", unit(memory), ""},
      {"point estimate", unit(estimate.point), left(estimate.point)},
      {fmt::format("upper bound, {:g} % of {} more", 100 * report.margin, report.anchored ? "the residual" : "the estimate"),
       unit(estimate.upper), left(estimate.upper)}};
  return aligned(rows) + fmt::format("{}\n", to_text(report.fit()));
}

// --- JSON ---

nlohmann::ordered_json stage_json(const StageMemory& stage) {
  nlohmann::ordered_json json = {{"stage", stage.stage},
                                 {"layers", stage.layers},
                                 {"parameters", stage.held},
                                 {"parameters_bytes", stage.parameters.count()},
                                 {"gradients_bytes", stage.gradients.count()},
                                 {"optimizer_bytes", stage.optimizer.count()},
                                 {"activations_bytes", stage.activations.count()},
                                 {"activations_for_weights_bytes", stage.for_weights.count()},
                                 {"working_bytes", stage.working.count()},
                                 {"recomputed_bytes", stage.recomputed.count()},
                                 {"communicators_bytes", stage.communicators.count()},
                                 {"total_bytes", stage.total().count()}};
  json["chunks"] = nlohmann::ordered_json::array();
  for (const LiveChunk& chunk : stage.peak.chunks) {
    json["chunks"].push_back({{"microbatches", chunk.kept}, {"for_weights", chunk.for_weights}});
  }
  json["components"] = nlohmann::ordered_json::array();
  for (const ComponentMemory& component : stage.components) {
    json["components"].push_back({{"name", component.name},
                                  {"parameters", component.parameters},
                                  {"activations_bytes", component.activations.count()},
                                  {"activations_at_peak_bytes", component.at_peak.count()}});
  }
  return json;
}

nlohmann::ordered_json stages_json(const MemoryReport& report, const MemoryProjection& projection) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const StageMemory& stage : projection.stages) {
    if (!report.stage || *report.stage == stage.stage) json.push_back(stage_json(stage));
  }
  return json;
}

nlohmann::ordered_json estimate_json(const MemoryEstimate& estimate, Bytes memory) {
  return {{"point_bytes", estimate.point.count()},
          {"upper_bytes", estimate.upper.count()},
          {"headroom_point_bytes", (memory - estimate.point).count()},
          {"headroom_upper_bytes", (memory - estimate.upper).count()},
          {"verdict", to_text(estimate.fit(memory))}};
}

nlohmann::ordered_json plan_json(const ParallelPlan& plan) {
  return {{"name", plan.name},
          {"gpus", plan.ranks()},
          {"tensor_parallel", plan.tensor},
          {"context_parallel", plan.context},
          {"pipeline_parallel", plan.pipeline},
          {"virtual_pipeline", plan.chunks},
          {"expert_parallel", plan.expert},
          {"expert_tensor_parallel", plan.expert_tensor},
          {"data_parallel", plan.data},
          {"zero_stage", plan.zero_stage},
          {"schedule", plan.schedule},
          {"precision", to_text(plan.precision.kind)},
          {"microbatch", plan.microbatch},
          {"microbatches", plan.microbatches()},
          {"sequence", plan.sequence}};
}

}  // namespace

MemoryEstimate MemoryReport::estimate() const {
  const StageMemory& worst = projection().worst();
  return anchored ? anchored->residual.estimate(worst, margin) : calculated_estimate(worst, margin);
}

std::string memory_page(const MemoryReport& report) {
  const MemoryProjection& projection = report.projection();
  const MemoryUnit unit = unit_of(projection);
  std::string text = fmt::format("{}\n{}\n{}\n", headline(report), stage_table(projection, unit),
                                 stage_detail(shown_stage(report, projection), unit));
  if (report.anchored) text += residual_text(*report.anchored, report.margin, unit) + "\n";
  if (report.anchored && report.shows_calculated) text += both_table(report, unit) + "\n";
  return text + verdict_text(report);
}

nlohmann::ordered_json memory_json(const MemoryReport& report) {
  nlohmann::ordered_json json = {{"model", report.model},
                                 {"parameters", report.parameters},
                                 {"plan", plan_json(report.plan)},
                                 {"gpu", report.gpu.preset},
                                 {"gpu_memory_bytes", report.gpu.memory.count()},
                                 {"safety_margin", report.margin}};
  if (report.shows_calculated) {
    const StageMemory& stage = report.calculated.worst();
    json["simulate"] = {{"worst_stage", stage.stage}, {"stages", stages_json(report, report.calculated)}};
    json["simulate"].update(estimate_json(calculated_estimate(stage, report.margin), report.gpu.memory));
  }
  if (report.anchored) {
    const AnchoredMemory& anchored = *report.anchored;
    const StageMemory& stage = anchored.projection.worst();
    json["benchmark"] = {{"gpu", anchored.benchmark.gpu},
                         {"framework", anchored.benchmark.framework},
                         {"world_size", anchored.benchmark.world_size},
                         {"reductions", anchored.reduced.reductions},
                         {"dense_correction", anchored.residual.correction.dense_layer},
                         {"expert_correction", anchored.residual.correction.expert_layer},
                         {"calculated_bytes", anchored.residual.calculated.count()},
                         {"framework_overhead_bytes", anchored.residual.overhead.count()},
                         {"live_tensor_excess_bytes", anchored.residual.excess.count()},
                         {"worst_stage", stage.stage},
                         {"stages", stages_json(report, anchored.projection)}};
    json["benchmark"].update(estimate_json(anchored.residual.estimate(stage, report.margin), report.gpu.memory));
  }
  json["verdict"] = to_text(report.fit());
  return json;
}

std::string primus_page(const MemoryReport& report, const PrimusMemory& primus) {
  const StageMemory& own = report.calculated.stages.front();
  std::vector<std::array<std::string, 3>> components = {{"component", "parameters", "activations of a microbatch, GiB"}};
  for (const PrimusComponent& row : primus.components) {
    components.push_back(
        {std::string(row.name), grouped_digits(row.parameters), fmt::format("{:.4f}", row.activation_bytes / gib_bytes)});
  }
  const auto exact = [](double bytes) { return fmt::format("{:.7f}", bytes / gib_bytes); };
  const auto exact_of = [&](Bytes bytes) { return exact(static_cast<double>(bytes.count())); };
  const double per_parameter = primus.state_bytes / static_cast<double>(primus.parameters);
  const double corrected_per_parameter = primus.corrected_state_bytes / static_cast<double>(primus.parameters);
  const double own_per_parameter = static_cast<double>(states_of(own).count()) / static_cast<double>(own.held);
  Bytes own_base;
  for (const ComponentMemory& component : own.components) own_base += component.activations;
  std::uint64_t own_chunks = 0;
  for (const LiveChunk& chunk : own.peak.chunks) own_chunks += chunk.kept;
  const auto left = [&](double bytes) {
    return fmt::format("{:+.2f}", (static_cast<double>(report.gpu.memory.count()) - bytes) / gib_bytes);
  };
  const auto number = [](double value) { return fmt::format("{:.10g}", value); };
  const std::vector<std::array<std::string, 4>> rows = {
      {"rank 0", "as printed", "the same, corrected", "weft, stage 0"},
      {"parameters of the model", grouped_digits(primus.parameters_total), grouped_digits(primus.parameters_total),
       grouped_digits(report.parameters)},
      {"parameters", grouped_digits(primus.parameters), grouped_digits(primus.parameters), grouped_digits(own.held)},
      {"bytes of a parameter", number(per_parameter), number(corrected_per_parameter), number(own_per_parameter)},
      {"parameters and optimizer, GiB", exact(primus.state_bytes), exact(primus.corrected_state_bytes), exact_of(states_of(own))},
      {"activations of a microbatch, GiB", exact(primus.base_activation_bytes), exact(primus.base_activation_bytes),
       exact_of(own_base)},
      {"microbatches held", number(report.plan.pipeline * primus.penalty * primus.accumulation_saving),
       number(primus.corrected_microbatches),
       number(static_cast<double>(own_chunks) / static_cast<double>(own.peak.chunks.size()))},
      {"activations, GiB", exact(primus.activation_bytes), exact(primus.corrected_activation_bytes), exact_of(own.activations)},
      {"working and communicators, GiB", "", "", exact_of(own.working + own.communicators)},
      {"all, GiB", exact(primus.total_bytes()), exact(primus.corrected_total_bytes()), exact_of(own.total())},
      {fmt::format("left of {}, GiB", report.gpu.preset), left(primus.total_bytes()), left(primus.corrected_total_bytes()),
       left(static_cast<double>(own.total().count()))}};
  return fmt::format(
      "{}\nArithmetic of the memory projection in Primus' documentation\n\n{}\n{}\nCorrected: an FP32 copy has 4 bytes, not 2, and "
      "the "
      "schedule says how many microbatches are held.\nweft counts other tensors, too: docs/internals/memory_model.md lists the "
      "differences.\n",
      headline(report), aligned(components), aligned(rows));
}

nlohmann::ordered_json primus_json(const MemoryReport& report, const PrimusMemory& primus) {
  const StageMemory& own = report.calculated.stages.front();
  nlohmann::ordered_json json = {{"model", report.model},
                                 {"plan", plan_json(report.plan)},
                                 {"gpu", report.gpu.preset},
                                 {"gpu_memory_bytes", report.gpu.memory.count()}};
  json["components"] = nlohmann::ordered_json::array();
  for (const PrimusComponent& row : primus.components) {
    json["components"].push_back({{"name", row.name.substr(row.name.find_first_not_of(' '))},
                                  {"parameters", row.parameters},
                                  {"activations_bytes", row.activation_bytes}});
  }
  json["seed"] = {{"parameters_total", primus.parameters_total},
                  {"parameters", primus.parameters},
                  {"data_parallel", primus.data_parallel},
                  {"states_bytes", primus.state_bytes},
                  {"activations_of_a_microbatch_bytes", primus.base_activation_bytes},
                  {"penalty", primus.penalty},
                  {"accumulation_saving", primus.accumulation_saving},
                  {"activations_bytes", primus.activation_bytes},
                  {"total_bytes", primus.total_bytes()}};
  json["corrected"] = {{"states_bytes", primus.corrected_state_bytes},
                       {"microbatches", primus.corrected_microbatches},
                       {"activations_bytes", primus.corrected_activation_bytes},
                       {"total_bytes", primus.corrected_total_bytes()}};
  json["weft"] = stage_json(own);
  return json;
}

}  // namespace weft
