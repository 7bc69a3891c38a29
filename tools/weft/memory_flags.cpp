// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/memory_flags.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "host/memory/benchmark_projection.hpp"
#include "host/memory/layer_benchmark.hpp"
#include "host/memory/memory_projection.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/cluster_gpu.hpp"
#include "host/op_times/operator_clock.hpp"
#include "workloads/models/model_components.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

namespace {

constexpr std::uint64_t usual_gpus_per_host = 8;

SourcePlace memory_cluster_place(const MemoryFlags& flags) { return SourcePlace::named(fmt::format("CLUSTER {}", flags.cluster)); }

// --- The order of passes ---

/// Passes of orders that depend on times.
constexpr std::uint64_t projected_passes_max = 1ULL << 22;

/// The order where it depends on times. Throws InputError [bad-plan] where the schedule does not
/// exist for the plan.
std::optional<PipelineOrder> order_of(const PlannedModel& planned, const Gpu& gpu) {
  const AnalyticalTimes times(gpu, default_settings<AnalyticalSettings>(analytical_params()));
  const OperatorClock clock = operator_clock(times, SourcePlace::named(fmt::format("GPU {}", gpu.preset)));
  const ParallelPlan& plan = planned.plan;
  const auto ordered = [&](const ParallelPlan& one) { return pipeline_order(planned.model(), one, clock, planned.places.plan); };
  if (needs_order(plan)) {
    const std::uint64_t passes = 3 * plan.microbatches() * plan.positions();
    if (passes > projected_passes_max) {
      fail("too-large", fmt::format("{} would have about {} passes", plan.schedule, passes), planned.places.plan,
           fmt::format("at most {}: a smaller global batch holds the same activations", projected_passes_max));
    }
    return ordered(plan);
  }
  // Whether the schedule exists: the rule is one of microbatches over stages, so that a few tell.
  ParallelPlan few = plan;
  const std::uint64_t microbatches =
      plan.microbatches() % plan.pipeline + (plan.microbatches() >= plan.pipeline ? plan.pipeline : 0);
  few.global_batch = microbatches * plan.microbatch * plan.data;
  try {
    ordered(few);
  } catch (const InputError&) {
    ordered(plan);  // with its own number in the message
  }
  return std::nullopt;
}

MemoryProjection projected(const PlannedModel& planned, const std::optional<PipelineOrder>& order,
                           const ActivationCorrection& correction = {}) {
  return order ? project_memory(planned.model(), planned.plan, *order, correction)
               : project_memory(planned.model(), planned.plan, correction);
}

// --- Benchmarks ---

AnchoredMemory anchored_on(std::pair<LayerBenchmark, SourcePlace> given, const PlannedModel& planned,
                           const std::optional<PipelineOrder>& order) {
  auto& [benchmark, place] = given;
  ReducedPlan reduced = plan_of_benchmark(benchmark, planned.model(), planned.plan, place);
  const BenchmarkResidual residual = benchmark_residual(benchmark, reduced);
  MemoryProjection projection = projected(planned, order, residual.correction);
  return {std::move(benchmark), std::move(reduced), residual, std::move(projection)};
}

/// Throws InputError [unused-flag] for flags that do nothing here.
void check_memory_uses(const MemoryFlags& flags) {
  const auto refuse = [&](std::initializer_list<const char*> names, const char* why, const char* help) {
    for (const char* name : names) {
      if (flags.given.contains(name)) fail("unused-flag", why, SourcePlace::named(name), help);
    }
  };
  if (flags.as == "seed")
    refuse({"--mode", "--stage", "--safety-margin"}, "--as=seed is arithmetic of the first stage alone", "leave it out");
  check_benchmark_uses(flags.given, "--mode", flags.needs_benchmark());
}

/// The GPU, and where it is from.
std::pair<Gpu, std::string> gpu_of(const MemoryFlags& flags, const std::optional<ClusterGpu>& cluster) {
  if (!cluster || flags.given.contains("--gpu")) return {flagged_gpu(flags.gpu), ""};
  if (cluster->gpu.empty()) {
    fail("no-gpu", "the topology does not say which servers it has", memory_cluster_place(flags),
         "name the GPU with --gpu, or the server in the topology's file: set { name: \"server\" value: \"hgx_h100\" }");
  }
  const bool has_server = !cluster->server.empty() && cluster->server != cluster->gpu;
  return {gpu_named(cluster->gpu, memory_cluster_place(flags)), has_server ? fmt::format("of {}", cluster->server) : ""};
}

}  // namespace

ProjectedMemory projected_memory(const MemoryFlags& flags) {
  check_memory_uses(flags);
  std::optional<ClusterGpu> cluster;
  if (!flags.cluster.empty()) cluster = cluster_gpu(flags.cluster, memory_cluster_place(flags));
  PlanFlags plan_flags = flags.plan;
  if (flags.target_nodes > 0) {
    const bool knows_hosts = cluster && cluster->gpus_per_host > 0;
    plan_flags.gpus = flags.target_nodes * (knows_hosts ? cluster->gpus_per_host : usual_gpus_per_host);
  }
  const PlannedModel planned = load_planned_model(plan_flags, argument_places(flags.plan));
  if (cluster && cluster->gpus > 0 && planned.plan.ranks() > cluster->gpus) {
    fail("too-few-gpus", fmt::format("the plan has {} GPUs, the topology {}", planned.plan.ranks(), cluster->gpus),
         memory_cluster_place(flags), "--gpus changes those of the plan");
  }
  auto [gpu, gpu_origin] = gpu_of(flags, cluster);
  if (flags.stage && *flags.stage >= planned.plan.pipeline) {
    fail("out-of-range", fmt::format("the plan has {}, counted from 0", counted(planned.plan.pipeline, "stage", "stages")),
         SourcePlace::named(fmt::format("--stage={}", *flags.stage)));
  }

  const std::optional<PipelineOrder> order = order_of(planned, gpu);
  MemoryReport report{.model = planned.description.name,
                      .parameters = parameter_count(planned.description),
                      .plan = planned.plan,
                      .gpu = gpu,
                      .gpu_origin = gpu_origin,
                      .margin = flags.margin,
                      .stage = flags.stage,
                      .calculated = projected(planned, order),
                      .shows_calculated = flags.mode != "benchmark",
                      .anchored = std::nullopt};
  if (flags.as == "seed") {
    const std::vector<PipelinePass> passes = order ? order->devices.front() : *passes_without_times(planned.plan, 0);
    return {std::move(report), primus_memory(planned.model(), planned.plan, passes)};
  }
  if (flags.needs_benchmark()) {
    const std::string asked_by = fmt::format("--mode={}", flags.mode);
    report.anchored = anchored_on(flagged_benchmark(flags.benchmark, planned, asked_by, "weft project memory"), planned, order);
  }
  return {std::move(report), std::nullopt};
}

}  // namespace weft
