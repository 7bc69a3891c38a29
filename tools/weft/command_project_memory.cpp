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
#include <variant>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "core/text/source_text.hpp"
#include "host/memory/benchmark_projection.hpp"
#include "host/memory/layer_benchmark.hpp"
#include "host/memory/memory_projection.hpp"
#include "host/memory/primus_memory.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/cluster_gpu.hpp"
#include "host/op_times/line_process.hpp"
#include "host/op_times/operator_clock.hpp"
#include "tools/weft/gpu_flags.hpp"
#include "tools/weft/memory_text.hpp"
#include "tools/weft/plan_flags.hpp"
#include "tools/weft/program_run.hpp"
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
  std::string load_benchmark;
  std::string save_benchmark;
  std::uint64_t benchmark_gpus = 1;
  std::string sampler = "python3 tools/kernel_sampler";
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

/// What makes the sampler measure the layers of a benchmark.
std::vector<std::string> sampler_flags(const LayerBenchmark& wanted, const ReducedPlan& reduced, const std::string& out) {
  std::vector<std::string> flags = {"memory", fmt::format("--model={}", wanted.model)};
  const auto add = [&](const char* name, std::uint64_t value) { flags.push_back(fmt::format("--{}={}", name, value)); };
  add("hidden", wanted.hidden);
  add("heads", wanted.heads);
  add("key-value-heads", wanted.key_value_heads);
  add("head-width", wanted.head_width);
  if (wanted.mlp_width > 0) add("mlp-width", wanted.mlp_width);
  flags.push_back(fmt::format("--activation={}", reduced.model.mlp.is_gated()                       ? "swiglu"
                                                 : reduced.model.mlp.activation == Activation::relu ? "relu"
                                                                                                    : "gelu"));
  if (wanted.experts_of_rank > 0) {
    add("experts", wanted.experts_of_rank);
    add("top-k", wanted.top_k);
    add("expert-width", wanted.expert_width);
  }
  add("vocabulary", wanted.vocabulary);
  add("padded-vocabulary", padded_vocabulary(reduced.model, reduced.plan));
  add("microbatch", wanted.microbatch);
  add("sequence", wanted.sequence);
  flags.push_back(fmt::format("--precision={}", wanted.precision));
  if (!wanted.fused_attention) flags.emplace_back("--unfused-attention");
  if (reduced.model.norm == Norm::layer_norm) flags.emplace_back("--layer-norm");
  if (reduced.model.tied_embeddings) flags.emplace_back("--tied-embeddings");
  if (reduced.model.dropout > 0.0) flags.push_back(fmt::format("--dropout={}", reduced.model.dropout));
  flags.push_back(fmt::format("--out={}", out));
  return flags;
}

ReducedPlan reduced_for(const PlannedModel& planned, std::uint64_t gpus) {
  auto reduced = reduced_plan(planned.model(), planned.plan, {.gpus = gpus, .dense_layers = 1, .expert_layers = 1});
  if (const auto* broken = std::get_if<BrokenPlanRule>(&reduced)) {
    fail("bad-plan", fmt::format("the plan cannot be reduced to {} GPUs: {}", gpus, broken->rule),
         SourcePlace::named(fmt::format("--benchmark-gpus={}", gpus)), broken->help);
  }
  return std::get<ReducedPlan>(std::move(reduced));
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + (word.find(' ') == std::string::npos ? word : in_quotes(word));
  return text;
}

/// The benchmark that flags name, or that the sampler makes now. Throws InputError [no-benchmark].
std::pair<LayerBenchmark, SourcePlace> benchmark_of(const ProjectMemoryFlags& flags, const PlannedModel& planned) {
  if (!flags.load_benchmark.empty()) {
    return {read_layer_benchmark(SourceText::read(flags.load_benchmark)), SourcePlace::named(flags.load_benchmark)};
  }
  if (planned.model().images || std::holds_alternative<LatentAttention>(planned.model().attention.kind)) {
    fail("no-benchmark", "the sampler has neither layers of images nor latent attention", planned.places.model,
         "write the peak of a run of your own as host/benchmark.proto says and give it with --load-benchmark");
  }
  const ReducedPlan reduced = reduced_for(planned, flags.benchmark_gpus);
  const LayerBenchmark wanted = planned_benchmark(planned.description.name, reduced);
  const std::string out = flags.save_benchmark.empty() ? "bench.textproto" : flags.save_benchmark;
  const std::vector<std::string> words = sampler_flags(wanted, reduced, out);
  if (flags.benchmark_gpus > 1) {
    fail("no-benchmark", "the sampler measures layers on one GPU",
         SourcePlace::named(fmt::format("--benchmark-gpus={}", flags.benchmark_gpus)),
         "leave it out, or write the peak of a run of your own as host/benchmark.proto says and give it with --load-benchmark");
  }
  if (flags.save_benchmark.empty()) {
    fail("no-benchmark", fmt::format("--mode={} anchors on measured layers, and none are given", flags.mode),
         SourcePlace::named("weft project memory"),
         fmt::format("give --load-benchmark=FILE; on a machine with the GPU, --save-benchmark=FILE makes one, as does: {} {}",
                     flags.sampler, joined_words(words)));
  }
  std::vector<std::string> command = command_words(flags.sampler, "--sampler");
  command.insert(command.end(), words.begin(), words.end());
  run_program(command, "--save-benchmark");
  return {read_layer_benchmark(SourceText::read(out)), SourcePlace::named(out)};
}

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
  if (!flags.needs_benchmark()) {
    refuse({"--load-benchmark", "--save-benchmark", "--benchmark-gpus", "--sampler"}, "--mode=simulate needs no benchmark",
           "add --mode=benchmark or --mode=both");
  }
  if (flags.given.contains("--load-benchmark"))
    refuse({"--save-benchmark", "--benchmark-gpus", "--sampler"}, "a benchmark is loaded, and none is made", "keep one of the two");
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
  if (flags.needs_benchmark()) report.anchored = anchored_on(benchmark_of(flags, planned), planned, order);
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
  command->add_option("--load-benchmark", flags->load_benchmark, "Measured layers, as the sampler writes them")->type_name("FILE");
  command->add_option("--save-benchmark", flags->save_benchmark, "Measure layers on this machine's GPU now, and write them")
      ->type_name("FILE");
  command->add_option("--benchmark-gpus", flags->benchmark_gpus, "GPUs of a benchmark to make, to which the plan is reduced")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint64_t>(1, 1U << 20));
  command->add_option("--sampler", flags->sampler, "Program that measures layers, with PyTorch")
      ->type_name("COMMAND")
      ->capture_default_str();
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
