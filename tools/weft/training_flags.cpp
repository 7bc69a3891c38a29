// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/training_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"
#include "host/op_times/operator_clock.hpp"
#include "tools/projections/projected_cluster.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

bool TrainingFlags::asks_for(std::string_view estimator) const {
  return std::ranges::any_of(estimators, [&](const std::string& one) { return one == estimator || one == "all"; });
}

namespace {

/// Throws InputError [unused-flag] for flags that do nothing here.
void check_training_uses(const TrainingFlags& flags) {
  const auto refuse = [&](std::initializer_list<const char*> names, const char* why, const char* help) {
    for (const char* name : names) {
      if (flags.given.contains(name)) fail("unused-flag", why, SourcePlace::named(name), help);
    }
  };
  check_benchmark_uses(flags.given, "--profiling-mode", flags.needs_benchmark());
  if (flags.estimate_only) {
    refuse({"--neighbour", "--combine-inside", "--iterations", "--threads"}, "--estimate-only simulates nothing", "leave it out");
  }
  if (!flags.asks_for("composition")) refuse({"--components"}, "no estimator composes components", "add --estimators=composition");
  if (flags.clusters.size() > 1) {
    const char* help = "name one cluster";
    refuse({"--estimators", "--hardware-config"}, "clusters are compared by their own networks", help);
    if (flags.as == "seed") refuse({"--as"}, "clusters are compared by their own networks", help);
    refuse({"--profiling-mode"}, "layers are measured on the GPU of one cluster", help);
  }
}

SourcePlace training_cluster_place(const std::string& name) { return SourcePlace::named(fmt::format("CLUSTER {}", name)); }

/// Jobs that go on until the projected one has ended.
void add_neighbours(Scenario& cluster, const TrainingFlags& flags, const OperatorTimes& times) {
  constexpr std::uint64_t iterations = 1'000'000;
  for (const std::string& named : flags.neighbours) {
    const SourcePlace place = SourcePlace::named(fmt::format("--neighbour={}", named));
    const std::size_t colon = named.find(':');
    if (colon == std::string::npos) fail("bad-neighbour", "a neighbour is a model and its plan", place, "MODEL:PLAN");
    PlanFlags of_neighbour;
    of_neighbour.model = named.substr(0, colon);
    of_neighbour.plan = named.substr(colon + 1);
    const PlannedModel planned = load_planned_model(of_neighbour, {place, place});
    auto workload = std::make_shared<Workload>(
        make_training_workload(planned.description.name, planned.model(), planned.plan, operator_clock(times, place), place));
    JobSpec job;
    job.name = free_job_name(cluster, fmt::format("neighbour{}", cluster.jobs.size() + 1));
    job.gpus = workload->rank_count;
    job.iterations = iterations;
    job.workload = workload;
    job.place = place;
    cluster.jobs.push_back(std::move(job));
    cluster.workloads.push_back(std::move(workload));
  }
}

/// A plan on a cluster.
struct PlacedPlan {
  PlannedModel planned;
  Scenario cluster;
};

/// On so many nodes of the cluster. Throws InputError [too-few-nodes].
PlacedPlan placed_on_nodes(const TrainingFlags& flags, ClusterRequest request, const SourcePlace& place) {
  request.hosts = flags.target_nodes;
  Scenario cluster = load_cluster(request, place);
  const std::uint64_t gpus_per_host = cluster.topology->endpoints_of(HostId(0)).size();
  const PlannedModel least = load_planned_model(flags.plan, argument_places(flags.plan));
  const bool has_experts = least.model().experts.has_value();
  const std::uint64_t nodes = nodes_min(least.plan, has_experts, static_cast<std::uint32_t>(gpus_per_host), Arithmetic::physical);
  if (flags.target_nodes < nodes) {
    fail("too-few-nodes",
         fmt::format("one replica needs {} of {}", counted(nodes, "node", "nodes"), counted(gpus_per_host, "GPU", "GPUs")),
         SourcePlace::named(fmt::format("--target-nodes={}", flags.target_nodes)),
         "more nodes, or less tensor, context, pipeline or expert parallelism");
  }
  PlanFlags of_target = flags.plan;
  of_target.gpus = flags.target_nodes * gpus_per_host;
  return {load_planned_model(of_target, argument_places(flags.plan)), std::move(cluster)};
}

PlacedPlan placed(const TrainingFlags& flags, ClusterRequest request, const SourcePlace& place) {
  if (flags.target_nodes > 0) return placed_on_nodes(flags, std::move(request), place);
  PlannedModel planned = load_planned_model(flags.plan, argument_places(flags.plan));
  request.gpus = planned.plan.ranks();
  return {std::move(planned), load_cluster(request, place)};
}

BenchmarkRequest benchmark_request(const TrainingFlags& flags, const PlannedModel& planned) {
  const std::string asked_by = fmt::format("--profiling-mode={}", flags.mode);
  auto [layers, place] = flagged_benchmark(flags.benchmark, planned, asked_by, "weft project training");
  ReducedPlan reduced = plan_of_benchmark(layers, planned.model(), planned.plan, place);
  return {std::move(layers), std::move(reduced), std::move(place), flags.mode == "both"};
}

EstimatorRequest estimator_request(const TrainingFlags& flags, const PlannedModel& planned) {
  EstimatorRequest request{.composition = flags.asks_for("composition"),
                           .precision = flags.asks_for("precision"),
                           .nodes = flags.asks_for("nodes"),
                           .components = {}};
  if (!flags.components.empty()) {
    request.components = read_component_times(SourceText::read(flags.components));
    request.place = SourcePlace::named(flags.components);
  } else if (planned.model().experts && std::ranges::find(flags.estimators, "composition") != flags.estimators.end()) {
    fail("no-estimate", "composition knows no layers with experts", SourcePlace::named("--estimators=composition"),
         "--estimators=precision,nodes; or give times of components with --components=FILE.csv");
  }
  return request;
}

TrainingProjection project_on(const std::string& cluster_name, const TrainingFlags& flags,
                              const std::vector<std::string>& module_settings, const RunOptions& run) {
  const SourcePlace place = training_cluster_place(cluster_name);
  auto [planned, cluster] = placed(flags, {.name = cluster_name, .settings = module_settings}, place);
  const FlaggedTimes operators = flagged_times(flags.operators, *cluster.topology, cluster_name, place);
  const OperatorClock clock = remembering(operator_clock(*operators.times, SourcePlace::named(operators.times->origin())));
  add_neighbours(cluster, flags, *operators.times);

  TrainingRequest request{.model = planned.model(),
                          .plan = planned.plan,
                          .cluster = cluster,
                          .operators = clock,
                          .name = planned.description.name,
                          .place = planned.places.plan,
                          .hardware = {},
                          .benchmark = {},
                          .estimators = estimator_request(flags, planned)};
  if (!flags.hardware.empty()) request.hardware = read_hardware_config(SourceText::read(flags.hardware));
  if (flags.needs_benchmark()) request.benchmark = benchmark_request(flags, planned);
  request.compares_nodes = flags.as == "seed";
  request.simulates = !flags.estimate_only;
  request.combines_inside = flags.combine;
  request.iterations = flags.iterations;
  request.run = run;
  request.run.threads = flags.threads;

  TrainingProjection projection = project_training(request);
  projection.cluster = fmt::format("{} of {} ({})", counted(planned.plan.ranks(), "GPU", "GPUs"),
                                   counted(cluster.topology->host_count(), "host", "hosts"), cluster_name);
  projection.operators = operators.times->origin();
  if (const auto type = matrix_type_of(planned.plan.precision.activations())) projection.peak = operators.gpu.peak(*type);
  if (flags.tokens > 0) projection.tokens = flags.tokens;
  return projection;
}

}  // namespace

std::vector<TrainingProjection> projections_of(TrainingFlags flags, const RunOptions& run) {
  check_training_uses(flags);
  flags.operators.settings = take_operator_settings(flags.plan.settings);
  const std::vector<std::string> module_settings = take_module_settings(flags.plan.settings);
  std::vector<TrainingProjection> projections;
  for (const std::string& cluster : flags.clusters) projections.push_back(project_on(cluster, flags, module_settings, run));
  return projections;
}

}  // namespace weft
