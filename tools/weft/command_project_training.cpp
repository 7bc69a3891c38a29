// SPDX-License-Identifier: Apache-2.0
// `weft project training`: the time of a training iteration under a plan - isolated, simulated on
// the fabric, and with neighbours - by itself and beside what the literature estimates.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"
#include "host/op_times/operator_clock.hpp"
#include "tools/projections/projected_cluster.hpp"
#include "tools/projections/training_projection.hpp"
#include "tools/weft/benchmark_flags.hpp"
#include "tools/weft/operator_time_flags.hpp"
#include "tools/weft/plan_flags.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/project_text.hpp"
#include "tools/weft/validators.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

namespace {

struct TrainingFlags {
  PlanFlags plan;
  OperatorTimeFlags operators;
  BenchmarkFlags benchmark;
  std::vector<std::string> clusters;
  std::set<std::string> given;  ///< flags on the command line, "--gpu"
  std::uint64_t target_nodes = 0;
  std::string mode = "simulate";
  std::string as = "weft";
  std::string hardware;
  std::vector<std::string> estimators;
  std::string components;
  std::vector<std::string> neighbours;  ///< MODEL:PLAN
  bool estimate_only = false;
  bool combine = false;
  std::uint64_t iterations = 2;
  std::uint32_t threads = 1;
  double tokens = 0;
  bool json = false;
  bool quiet = false;

  bool needs_benchmark() const { return mode != "simulate"; }
  bool asks_for(std::string_view estimator) const {
    return std::ranges::any_of(estimators, [&](const std::string& one) { return one == estimator || one == "all"; });
  }
};

/// Throws InputError [unused-flag] for flags that do nothing here.
void check_uses(const TrainingFlags& flags) {
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

SourcePlace cluster_place(const std::string& name) { return SourcePlace::named(fmt::format("CLUSTER {}", name)); }

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
                              const std::vector<std::string>& module_settings) {
  const SourcePlace place = cluster_place(cluster_name);
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
  ProgressLine line(stderr_is_terminal() && !flags.quiet);
  request.run.threads = flags.threads;
  request.run.progress = [&line](const RunState& state) { line.update(state); };

  TrainingProjection projection = project_training(request);
  projection.cluster = fmt::format("{} of {} ({})", counted(planned.plan.ranks(), "GPU", "GPUs"),
                                   counted(cluster.topology->host_count(), "host", "hosts"), cluster_name);
  projection.operators = operators.times->origin();
  if (const auto type = matrix_type_of(planned.plan.precision.activations())) projection.peak = operators.gpu.peak(*type);
  if (flags.tokens > 0) projection.tokens = flags.tokens;
  return projection;
}

int project(const TrainingFlags& given) {
  check_uses(given);
  TrainingFlags flags = given;
  flags.operators.settings = take_operator_settings(flags.plan.settings);
  const std::vector<std::string> module_settings = take_module_settings(flags.plan.settings);
  std::vector<TrainingProjection> projections;
  for (const std::string& cluster : flags.clusters) projections.push_back(project_on(cluster, flags, module_settings));
  if (flags.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const TrainingProjection& projection : projections) json.push_back(training_json(projection));
    std::cout << (projections.size() == 1 ? json.front() : json).dump(2) << "\n";
  } else {
    std::cout << (projections.size() == 1 ? training_page(projections.front()) : clusters_page(projections));
  }
  return exit_done;
}

}  // namespace

void add_project_training_command(CLI::App& project_command, Action& action) {
  CLI::App* command = project_command.add_subcommand(
      "training", "Time of an iteration: isolated, simulated on the fabric, with neighbours, and the link to blame");
  auto flags = std::make_shared<TrainingFlags>();
  add_plan_arguments(*command, flags->plan);
  command
      ->add_option("cluster", flags->clusters,
                   "Where: a server of `weft modules server`, of which there are as many as needed on rails of their own; a "
                   "topology FILE[:format]; or a scenario FILE.textproto, whose jobs are the neighbours. Several are compared")
      ->type_name("CLUSTER")
      ->required();
  command->add_option("--target-nodes", flags->target_nodes, "Instead of --gpus: hosts of CLUSTER, on which replicas fill up")
      ->type_name("N")
      ->transform(whole_number<std::uint64_t>(1, 1U << 20))
      ->excludes("--gpus");
  add_operator_time_flags(*command, flags->operators);
  command
      ->add_option("--profiling-mode", flags->mode,
                   "Times of layers. simulate: by operator; benchmark: as they were measured, operators corrected accordingly; "
                   "both side by side")
      ->type_name("MODE")
      ->capture_default_str()
      ->check(one_of({"simulate", "benchmark", "both"}));
  add_benchmark_flags(*command, flags->benchmark);
  command
      ->add_option("--hardware-config", flags->hardware,
                   "Isolated collectives by closed forms on these links (host/hardware.proto), not by the cluster's network")
      ->type_name("FILE");
  command
      ->add_option("--estimators", flags->estimators,
                   "Estimators of the literature beside: composition, precision, nodes, by commas, or all of them")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of({"composition", "precision", "nodes", "all"}));
  command
      ->add_option("--components", flags->components,
                   "Times of components that are composed, as estimate-train-time writes them; default: by operator times")
      ->type_name("FILE.csv");
  command
      ->add_option("--as", flags->as,
                   "weft: what physics says; seed: beside it the projection from a node to a cluster that Primus' documentation "
                   "prints, with its mistakes corrected in a second column")
      ->type_name("WHOSE")
      ->capture_default_str()
      ->check(one_of({"weft", "seed"}));
  command
      ->add_option("--neighbour", flags->neighbours,
                   "Another training job on the cluster, repeatable: it goes on until the projected iteration has ended")
      ->type_name("MODEL:PLAN")
      ->allow_extra_args(false);
  command->add_flag("--estimate-only", flags->estimate_only, "Only the isolated time, in closed form; simulate nothing");
  command->add_flag("--combine-inside", flags->combine,
                    "Do not simulate collectives that stay inside hosts: they become part of computation, by formula. Large plans "
                    "take a fraction of the time");
  command->add_option("--iterations", flags->iterations, "Iterations to simulate, of which the last counts")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--tokens", flags->tokens, "Tokens to train on, such as 15e12: says how many hours that takes")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", flags->threads, "Threads of the simulation")->type_name("N")->capture_default_str();
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_flag("--quiet", flags->quiet, "No progress line");
  command->footer(
      "Examples:\n"
      "  weft project training llama3_8b llama3_8b_nemo hgx_h100 --gpus=8\n"
      "  weft project training llama3_70b llama3_70b_nemo hgx_h100 hgx_h200 --gpus=64 --estimate-only --tokens=15e12\n"
      "  weft project training llama3_70b llama3_70b_nemo hgx_h100 --target-nodes=8 --set=tensor_parallel=8 --estimate-only\n"
      "  weft project training llama3_70b llama3_70b_nemo hgx_h100 --gpus=64 --set=rail_optimized.oversubscription=2\n"
      "  weft project training llama3_70b llama3_70b_nemo hgx_h100 --gpus=64 --estimate-only --estimators=all\n"
      "  weft project training mixtral_8x22b_primus mixtral_8x22b_primus mi355x_8 --target-nodes=8 --estimate-only --as=seed\n"
      "  weft project training llama3_8b llama3_8b_nemo hgx_h100 --gpus=8 --profiling-mode=both --load-benchmark=bench.textproto");
  command->callback([flags, command, &action] {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() > 0) flags->given.insert(option->get_name());
    }
    action = [flags] { return project(*flags); };
  });
}

}  // namespace weft
