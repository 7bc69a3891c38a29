// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "calibration/measured_times.hpp"
#include "calibration/nccl_tests.hpp"
#include "calibration/profile.hpp"
#include "calibration/time_matcher.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"
#include "host/collectives/collective_rules.hpp"
#include "host/collectives/program.hpp"
#include "host/memory/layer_benchmark.hpp"
#include "host/op_times/regression_rows.hpp"
#include "host/op_times/regressor_profile.hpp"
#include "host/op_times/sampled_tables.hpp"
#include "host/projections/collective_formulas.hpp"
#include "host/projections/component_times.hpp"
#include "host/projections/hardware_config.hpp"
#include "network/routing/ecmp.hpp"
#include "network/routing/static_routes.hpp"
#include "scheduler/failures/failure_plan.hpp"
#include "scheduler/failures/maintenance_plan.hpp"
#include "topologies/topology.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/formats/chakra/chakra_trace.hpp"
#include "workloads/formats/hpcc/hpcc_flows.hpp"
#include "workloads/formats/kineto/kineto.hpp"
#include "workloads/formats/workload_reader.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"
#include "workloads/measurements/measurement_tables.hpp"
#include "workloads/models/model_components.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/block_workload.hpp"
#include "workloads/plans/held_parameters.hpp"
#include "workloads/plans/plan_reader.hpp"
#include "workloads/slurm/slurm_nodes.hpp"

namespace weft {

namespace {

/// As `weft check` reads a workload: the file, then whether its ranks agree.
void read_and_check(const std::string& path, std::string_view format) {
  const Workload workload = load_workload(path, format);
  Diagnostics diagnostics;
  check_workload(workload, SourcePlace::named(path), diagnostics);
  diagnostics.throw_if_errors();
}

/// A file is read twice, as it was measured and as a replay on four ranks: each has checks of its
/// own.
void read_kineto(const std::string& path) {
  KinetoOptions options;
  options.as_recorded = true;
  import_kineto(path, options);
  options.as_recorded = false;
  options.ranks = 4;
  import_kineto(path, options);
}

/// Read, then compiled for a group: what is carried out had to be checked before.
void read_program(const std::string& path) {
  const auto algorithm = read_collective_program(SourceText::read(path));
  for (const std::uint32_t ranks : {2U, 3U, 4U}) {
    const GroupLayout layout = GroupLayout::one_per_host(ranks);
    for (int type = 0; type <= static_cast<int>(CollectiveType::all_to_all_v); ++type) {
      const CollectiveRequest request{static_cast<CollectiveType>(type), 0, Bytes::of(1000), &layout, nullptr};
      if (algorithm->supports(request.type) && algorithm->objection(request).empty()) algorithm->compile(request);
    }
  }
}

/// Read, then asked about a request.
void read_rules(const std::string& path) {
  const GroupLayout layout = GroupLayout::blocks(2, 4);
  const CollectiveRequest request{CollectiveType::all_gather, 0, Bytes::of(1000), &layout, nullptr};
  for (const CollectiveRule& rule : read_collective_rules(SourceText::read(path))) rule.holds(request);
}

/// Read as tables of three kinds of kernels, then made rows of.
void read_samples_of(const std::string& path) {
  const SourceText source = SourceText::read(path);
  for (const char* name : {"gpu_linear1_fp16.csv", "gpu_allreduce_fp16_2_1.csv", "gpu_firstStage_optimizer_fp16.csv"}) {
    SampledFolder folder;
    folder.tables.push_back(read_sampled_table(source, *parse_sampled_name(name)));
    for (const RegressionRows& rows : regression_rows(folder)) repeat_error(rows);
  }
}

/// Read, then asked for a kernel of every regressor.
void read_operator_profile(const std::string& path) {
  for (const Regressor& regressor : RegressorProfile::read(SourceText::read(path)).regressors)
    regressor.predict(std::vector<double>(regressor.of.sizes.size(), 1000.0));
}

/// Read, then composed for the stages that it tells of.
void read_components(const std::string& path) {
  const ComponentTable table = read_component_times(SourceText::read(path));
  const std::vector<std::uint64_t> layers = table.layers_by_stage();
  if (layers.empty()) return;
  const PipelineStages pipeline = compose_stages(table.times, layers);
  constexpr std::size_t stages_max = 64;  // for the fuzzer's speed
  if (layers.size() <= stages_max) estimate_steps(pipeline, std::min<std::uint32_t>(table.step->microbatches, stages_max));
}

/// Read, then asked for times.
void read_hardware(const std::string& path) {
  const HardwareConfig hardware = read_hardware_config(SourceText::read(path));
  for (const std::uint64_t ranks : {1U, 3U, 64U}) {
    const GroupSpread group{ranks, std::min<std::uint64_t>(ranks, hardware.gpus_per_node)};
    best_all_reduce(hardware, group, Bytes::of(1000));
    all_to_all_time(hardware, group, Bytes::of(1000));
  }
}

/// An iteration of what is no transformer, which has few ops whatever the model.
void iterate(const ModelDescription& model, const ParallelPlan& plan, const SourcePlace& place) {
  const OperatorClock clock = [](const Operator&, OperatorPass) { return Duration::us(1); };
  Workload workload;
  if (const auto* recommender = std::get_if<RecommenderModel>(&model.what))
    workload = make_training_workload("fuzz", *recommender, plan, clock, place);
  if (const auto* unet = std::get_if<UNetModel>(&model.what)) workload = make_training_workload("fuzz", *unet, plan, clock, place);
  Diagnostics diagnostics;
  check_workload(workload, place, diagnostics);
  diagnostics.throw_if_errors();
}

/// Read, then counted.
void read_model_and_count(const std::string& path) {
  const ModelDescription model = read_model(SourceText::read(path));
  parameter_count(model);
  if (model.transformer() != nullptr) return;
  const SourcePlace place = SourcePlace::named("model");
  iterate(model, load_plan({.name = "", .overrides = {"global_batch=64"}, .gpus = 8}, model, place), place);
}

/// Read for a small model, then asked what ranks hold.
void read_plan_and_hold(const std::string& path) {
  static const ModelDescription model = read_model(SourceText("model", R"(transformer {
    layers: 8 hidden: 64 vocabulary: 1000 sequence: 128 attention { heads: 8 } mlp { width: 128 activation: SWIGLU }
    experts { count: 8 top_k: 2 width: 64 } norm: RMS_NORM positions { kind: ROTARY } })"));
  const ParallelPlan plan =
      load_plan({.name = path, .overrides = {}, .gpus = {}}, *model.transformer(), SourcePlace::named("plan"));
  for (std::size_t i = 0; i < plan.layout.size(); ++i) held_by_position(*model.transformer(), plan, i);
}

/// Read for a small recommender, of which an iteration is made where it has few ranks and
/// microbatches.
void read_replica_plan(const std::string& path) {
  static const ModelDescription model = read_model(SourceText("model", R"(recommender { table_rows: [ 70, 90, 20 ] width: 8
    bottom: [ 4, 8 ] top: [ 6, 1 ] layer { outputs: 3 module: CROSS module: SELF_ATTENTION } })"));
  const SourcePlace place = SourcePlace::named("plan");
  check_plan_fields(SourceText::read(path));
  const ParallelPlan plan = load_plan({.name = path, .overrides = {}, .gpus = {}}, model, place);
  constexpr std::uint64_t few = 1000;
  if (plan.ranks() <= few && plan.microbatches() <= few) iterate(model, plan, place);
}

/// Read, then held against a small model and plan.
void read_benchmark(const std::string& path) {
  static const ModelDescription model = read_model(SourceText("model", R"(transformer {
    layers: 8 hidden: 64 vocabulary: 1000 sequence: 128 attention { heads: 8 } mlp { width: 128 activation: SWIGLU }
    experts { count: 8 top_k: 2 width: 64 } norm: RMS_NORM positions { kind: ROTARY } })"));
  const LayerBenchmark benchmark = read_layer_benchmark(SourceText::read(path));
  const PlanRequest one_gpu{.name = "llama3_8b_nemo", .overrides = {"context_parallel=1"}, .gpus = 1};
  const SourcePlace place = SourcePlace::named("benchmark");
  plan_of_benchmark(benchmark, *model.transformer(), load_plan(one_gpu, *model.transformer(), place), place);
}

/// Read, then matched with what it says itself.
void read_measured(const std::string& path) {
  MeasuredTimes measured = read_measured_times(SourceText::read(path));
  const std::vector<TimedEntity> simulated = measured.times;
  for (const MatchBy by : {MatchBy::automatic, MatchBy::flow_id, MatchBy::input_row, MatchBy::ends})
    TimeMatcher(measured, by).match(simulated);
}

/// For a topology in which shortest ways, routes and circles are a few letters apart.
void read_routes(const std::string& path) {
  static const auto topology = read_topology(SourceText("triangle", R"(
    host { port: "a" } host { port: "b" } switch { name: "s" } switch { name: "t" } switch { name: "u" }
    link { a: "a" b: "s" rate: "1Gbps" fibre: "2m" } link { a: "b" b: "t" rate: "1Gbps" fibre: "2m" }
    link { a: "s" b: "t" rate: "1Gbps" fibre: "2m" cables: 2 } link { a: "t" b: "u" rate: "1Gbps" fibre: "2m" }
    link { a: "u" b: "s" rate: "1Gbps" fibre: "2m" })"),
                                             "weft");
  PathRule rule{.choice = PathRule::Choice::by_destination};
  rule.routes = read_static_routes(SourceText::read(path), *topology);
  ecmp_path(*topology, rule, topology->endpoints().front(), topology->endpoints().back(), 0, 0);
}

constexpr std::array kReaders = {
    FuzzedReader{"topology_weft", [](const std::string& path) { load_topology(path, "weft"); }},
    FuzzedReader{"topology_hpcc", [](const std::string& path) { load_topology(path, "hpcc"); }},
    FuzzedReader{"topology_simai", [](const std::string& path) { load_topology(path, "simai"); }},
    FuzzedReader{"topology_simgrid", [](const std::string& path) { load_topology(path, "simgrid"); }},
    FuzzedReader{"topology_astra", [](const std::string& path) { load_topology(path, "astrasim-network"); }},
    FuzzedReader{"topology_nccl", [](const std::string& path) { load_topology(path, "nccl"); }},
    FuzzedReader{"workload_weft", [](const std::string& path) { read_and_check(path, "weft"); }},
    FuzzedReader{"chakra", [](const std::string& path) { read_chakra_trace(path); }},
    FuzzedReader{"chakra_json", [](const std::string& path) { read_chakra_json(path); }},
    FuzzedReader{"goal", [](const std::string& path) { read_and_check(path, "goal"); }},
    FuzzedReader{"simai_text", [](const std::string& path) { read_and_check(path, "simai"); }},
    FuzzedReader{"astrasim_text",
                 [](const std::string& path) {
                   WorkloadOptions options;
                   options.ranks = 16;
                   load_workload(path, "astrasim-text", options);
                 }},
    FuzzedReader{"kineto", read_kineto},
    FuzzedReader{"htsim", [](const std::string& path) { read_and_check(path, "htsim"); }},
    FuzzedReader{"flows_hpcc", [](const std::string& path) { import_hpcc_flows(path); }},
    FuzzedReader{"collective_program", read_program},
    FuzzedReader{"collective_rules", read_rules},
    FuzzedReader{"sampled_table", read_samples_of},
    FuzzedReader{"operator_profile", read_operator_profile},
    FuzzedReader{"component_times", read_components},
    FuzzedReader{"hardware", read_hardware},
    FuzzedReader{"layer_benchmark", read_benchmark},
    FuzzedReader{"model", read_model_and_count},
    FuzzedReader{"plan", read_plan_and_hold},
    FuzzedReader{"replica_plan", read_replica_plan},
    FuzzedReader{"routes", read_routes},
    FuzzedReader{"failure_log", [](const std::string& path) { read_failure_log(SourceText::read(path), ClusterState(4, 8)); }},
    FuzzedReader{"maintenance_plan",
                 [](const std::string& path) { read_maintenance_plan(SourceText::read(path), ClusterState(4, 8)); }},
    FuzzedReader{"jobs_weft", [](const std::string& path) { load_job_trace(path, "weft"); }},
    FuzzedReader{"jobs_philly", [](const std::string& path) { load_job_trace(path, "philly"); }},
    FuzzedReader{"jobs_muri", [](const std::string& path) { load_job_trace(path, "muri"); }},
    FuzzedReader{"jobs_muri_result", [](const std::string& path) { load_job_trace(path, "muri-result"); }},
    FuzzedReader{"jobs_gavel", [](const std::string& path) { load_job_trace(path, "gavel"); }},
    FuzzedReader{"jobs_helios", [](const std::string& path) { load_job_trace(path, "helios"); }},
    FuzzedReader{"jobs_acme", [](const std::string& path) { load_job_trace(path, "acme"); }},
    FuzzedReader{"jobs_openb", [](const std::string& path) { load_job_trace(path, "openb"); }},
    FuzzedReader{"jobs_squeue", [](const std::string& path) { load_job_trace(path, "squeue"); }},
    FuzzedReader{"jobs_sacct",
                 [](const std::string& path) {
                   JobTraceOptions options;
                   options.limit_share = "0.5";
                   load_job_trace(path, "sacct", options);
                 }},
    FuzzedReader{"jobs_swf", [](const std::string& path) { load_job_trace(path, "swf"); }},
    FuzzedReader{"slurm_nodes", [](const std::string& path) { read_slurm_nodes(SourceText::read(path)); }},
    FuzzedReader{"pollux", [](const std::string& path) { describe_measurements(path, "pollux"); }},
    FuzzedReader{"gavel_throughputs", [](const std::string& path) { describe_measurements(path, "gavel-throughputs"); }},
    FuzzedReader{"cluster_summary", [](const std::string& path) { describe_measurements(path, "helios-summary"); }},
    FuzzedReader{"measured_times", read_measured},
    FuzzedReader{"nccl_tests", [](const std::string& path) { read_nccl_tests(SourceText::read(path), ""); }},
    FuzzedReader{"calibration_profile", [](const std::string& path) { CalibrationProfile::read(SourceText::read(path)); }},
    FuzzedReader{"virtual_clusters", [](const std::string& path) { describe_measurements(path, "helios-vc"); }},
};

/// A file in memory, open as long as it lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : descriptor_(memfd_create("fuzz", 0)) {
    if (descriptor_ < 0) std::abort();
    while (!content.empty()) {
      const ssize_t written = write(descriptor_, content.data(), content.size());
      if (written <= 0) std::abort();
      content.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

std::span<const FuzzedReader> fuzzed_readers() { return kReaders; }

bool feed(const FuzzedReader& reader, std::string_view content) {
  const MemoryFile file(content);
  try {
    reader.read(file.path());
  } catch (const InputError&) {
    return false;
  }
  return true;
}

}  // namespace weft
