// SPDX-License-Identifier: Apache-2.0
// `weft project memory`: what each pipeline stage of a plan needs on one GPU, and whether it fits.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "host/memory/benchmark_projection.hpp"
#include "host/memory/layer_benchmark.hpp"
#include "host/memory/memory_projection.hpp"
#include "host/memory/primus_memory.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/cluster_gpu.hpp"
#include "host/op_times/operator_clock.hpp"
#include "tools/weft/benchmark_flags.hpp"
#include "tools/weft/gpu_flags.hpp"
#include "tools/weft/memory_text.hpp"
#include "tools/weft/plan_flags.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/validators.hpp"
#include "workloads/models/model_components.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

namespace {

constexpr std::uint64_t usual_gpus_per_host = 8;

struct ProjectMemoryFlags {
  PlanFlags plan;
  GpuFlags gpu;
  std::string cluster;
  std::set<std::string> given;  ///< flags on the command line, "--gpu"
  std::uint64_t target_nodes = 0;
  std::string mode = "simulate";
  std::string as = "weft";
  std::optional<std::uint32_t> stage;
  BenchmarkFlags benchmark;
  double margin = 0.05;
  bool json = false;

  bool needs_benchmark() const { return mode != "simulate"; }
};

SourcePlace cluster_place(const ProjectMemoryFlags& flags) { return SourcePlace::named(fmt::format("CLUSTER {}", flags.cluster)); }

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

// --- The command ---

/// Throws InputError [unused-flag] for flags that do nothing here.
void check_uses(const ProjectMemoryFlags& flags) {
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
std::pair<Gpu, std::string> gpu_of(const ProjectMemoryFlags& flags, const std::optional<ClusterGpu>& cluster) {
  if (!cluster || flags.given.contains("--gpu")) return {flagged_gpu(flags.gpu), ""};
  if (cluster->gpu.empty()) {
    fail("no-gpu", "the topology does not say which servers it has", cluster_place(flags),
         "name the GPU with --gpu, or the server in the topology's file: set { name: \"server\" value: \"hgx_h100\" }");
  }
  const bool has_server = !cluster->server.empty() && cluster->server != cluster->gpu;
  return {gpu_named(cluster->gpu, cluster_place(flags)), has_server ? fmt::format("of {}", cluster->server) : ""};
}

int project_memory_command(const ProjectMemoryFlags& flags) {
  check_uses(flags);
  std::optional<ClusterGpu> cluster;
  if (!flags.cluster.empty()) cluster = cluster_gpu(flags.cluster, cluster_place(flags));
  PlanFlags plan_flags = flags.plan;
  if (flags.target_nodes > 0) {
    const bool knows_hosts = cluster && cluster->gpus_per_host > 0;
    plan_flags.gpus = flags.target_nodes * (knows_hosts ? cluster->gpus_per_host : usual_gpus_per_host);
  }
  const PlannedModel planned = load_planned_model(plan_flags, argument_places(flags.plan));
  if (cluster && cluster->gpus > 0 && planned.plan.ranks() > cluster->gpus) {
    fail("too-few-gpus", fmt::format("the plan has {} GPUs, the topology {}", planned.plan.ranks(), cluster->gpus),
         cluster_place(flags), "--gpus changes those of the plan");
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
    const PrimusMemory primus = primus_memory(planned.model(), planned.plan, passes);
    if (flags.json) {
      std::cout << primus_json(report, primus).dump(2) << "\n";
    } else {
      std::cout << primus_page(report, primus);
    }
    return exit_done;
  }
  if (flags.needs_benchmark()) {
    const std::string asked_by = fmt::format("--mode={}", flags.mode);
    report.anchored = anchored_on(flagged_benchmark(flags.benchmark, planned, asked_by, "weft project memory"), planned, order);
  }
  if (flags.json) {
    std::cout << memory_json(report).dump(2) << "\n";
  } else {
    std::cout << memory_page(report);
  }
  return report.fit() == MemoryFit::out_of_memory ? exit_no : exit_done;
}

}  // namespace

void add_project_memory_command(CLI::App& project, Action& action) {
  CLI::App* command = project.add_subcommand("memory", "GPU memory of each pipeline stage, and whether the plan fits");
  auto flags = std::make_shared<ProjectMemoryFlags>();
  add_plan_arguments(*command, flags->plan);
  command
      ->add_option("cluster", flags->cluster,
                   "Whose GPU it is to fit: one of `weft modules gpu` or `weft modules server`, or a topology, FILE[:format]; "
                   "default: as --gpu says")
      ->type_name("CLUSTER");
  add_gpu_flag(*command, flags->gpu, "Whose memory counts, whatever CLUSTER has");
  command->add_option("--target-nodes", flags->target_nodes, "Instead of --gpus: hosts, of 8 GPUs or as many as CLUSTER's have")
      ->type_name("N")
      ->transform(whole_number<std::uint64_t>(1, 1U << 20))
      ->excludes("--gpus");
  command->add_option("--stage", flags->stage, "Pipeline stage to show, from 0; default: the one that needs most")
      ->type_name("N")
      ->transform(whole_number<std::uint32_t>());
  command
      ->add_option("--mode", flags->mode,
                   "simulate: all is calculated; benchmark: what is not known is taken from measured layers; both side by side")
      ->type_name("MODE")
      ->capture_default_str()
      ->check(one_of({"simulate", "benchmark", "both"}));
  add_benchmark_flags(*command, flags->benchmark);
  command
      ->add_option("--safety-margin", flags->margin,
                   "Share by which the upper bound is more: of what was measured and not calculated; in simulate of everything")
      ->type_name("SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 10.0));
  command
      ->add_option("--as", flags->as, "weft: what physics says; seed: the arithmetic that Primus' documentation prints, beside it")
      ->type_name("WHOSE")
      ->capture_default_str()
      ->check(one_of({"weft", "seed"}));
  command->add_flag("--json", flags->json, "Print JSON, in bytes");
  command->footer(
      "Examples:\n"
      "  weft project memory llama3_8b llama3_8b_nemo --gpus=8\n"
      "  weft project memory llama3_70b llama3_70b_nemo hgx_h200 --gpus=64 --set=recompute.kind=UNIFORM\n"
      "  weft project memory llama3_70b my_plan.textproto cluster.textproto --stage=3 --json\n"
      "  weft project memory mixtral_8x22b_primus mixtral_8x22b_primus mi355x --as=seed\n"
      "  weft project memory llama3_8b llama3_8b_nemo --mode=both --load-benchmark=bench.textproto\n"
      "GiB on one GPU of each stage, at the moment at which it needs most: parameters, gradients and optimizer by precision and "
      "ZeRO stage; activations of the microbatches that the schedule holds; working memory of backward and recomputation; "
      "buffers of communicators.\n"
      "FITS: the upper bound fits. AT-RISK: the point estimate does. OOM: neither does; the exit status is 1 then.");
  command->callback([flags, command, &action] {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() > 0) flags->given.insert(option->get_name());
    }
    action = [flags] { return project_memory_command(*flags); };
  });
}

}  // namespace weft
