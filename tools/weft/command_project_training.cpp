// SPDX-License-Identifier: Apache-2.0
// `weft project training`: the time of a training iteration under a plan - isolated, simulated on
// the fabric, and with neighbours.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "host/op_times/cluster_gpu.hpp"
#include "host/op_times/operator_clock.hpp"
#include "host/projections/iteration_estimate.hpp"
#include "host/projections/model_operations.hpp"
#include "host/projections/network_formula.hpp"
#include "host/projections/plan_network.hpp"
#include "tools/projections/projected_cluster.hpp"
#include "tools/projections/simulated_iteration.hpp"
#include "tools/weft/operator_time_flags.hpp"
#include "tools/weft/plan_flags.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/project_text.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

namespace {

struct TrainingFlags {
  PlanFlags plan;
  OperatorTimeFlags operators;
  std::string cluster;
  std::vector<std::string> neighbours;  ///< MODEL:PLAN
  bool estimate_only = false;
  bool combine = false;
  std::uint64_t iterations = 2;
  std::uint32_t threads = 1;
  double tokens = 0;
  bool json = false;
  bool quiet = false;
};

std::string plan_text(const ParallelPlan& plan) {
  std::string text;
  const auto add = [&](const char* name, std::uint64_t size) {
    if (size > 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, size);
  };
  add("TP", plan.tensor);
  add("CP", plan.context);
  add("PP", plan.pipeline);
  if (plan.chunks > 1) text += fmt::format(" x {} chunks", plan.chunks);
  add("DP", plan.data);
  add("EP", plan.expert);
  add("ETP", plan.expert_tensor);
  return text.empty() ? "one GPU" : text;
}

ProjectionColumn isolated_column(const IterationEstimate& estimate) {
  ProjectionColumn column;
  column.name = "isolated";
  column.iteration = estimate.iteration;
  column.exposed = estimate.communication + estimate.pipeline + estimate.gradients + estimate.parameters;
  for (std::size_t i = 0; i < estimate.axes.size(); ++i) {
    const auto axis = static_cast<PlanAxis>(i);
    if (axis != PlanAxis::pipeline && estimate.axes[i].busy > Duration::zero())
      column.exposed_s.emplace_back(to_text(axis), estimate.axes[i].exposed.in_s());
  }
  if (estimate.pipeline > Duration::zero()) column.exposed_s.emplace_back(to_text(PlanAxis::pipeline), estimate.pipeline.in_s());
  return column;
}

ProjectionColumn simulated_column(std::string name, const SimulatedIteration& simulated) {
  ProjectionColumn column;
  column.name = std::move(name);
  column.iteration = simulated.iteration;
  column.exposed = simulated.exposed;
  column.exposed_s = simulated.exposed_s;
  column.blamed = simulated.blamed;
  column.ranks_simulated = simulated.ranks_simulated;
  return column;
}

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
    job.name = fmt::format("neighbour{}", cluster.jobs.size() + 1);
    job.gpus = workload->rank_count;
    job.iterations = iterations;
    job.workload = workload;
    job.place = place;
    cluster.jobs.push_back(std::move(job));
    cluster.workloads.push_back(std::move(workload));
  }
}

int project(const TrainingFlags& given) {
  TrainingFlags flags = given;
  flags.operators.settings = take_operator_settings(flags.plan.settings);
  ClusterRequest request;
  request.name = flags.cluster;
  request.settings = take_module_settings(flags.plan.settings);
  const PlannedModel planned = load_planned_model(flags.plan, argument_places(flags.plan));
  const ParallelPlan& plan = planned.plan;
  request.gpus = plan.ranks();
  const SourcePlace cluster_place = SourcePlace::named(fmt::format("CLUSTER {}", flags.cluster));
  Scenario cluster = load_cluster(request, cluster_place);
  const std::string gpu(gpu_of_server(cluster.topology->machine()));
  if (gpu.empty() && flags.operators.gpu.empty())
    fail("missing-flag", fmt::format("{} does not say whose GPUs it has", flags.cluster), cluster_place, "give --gpu=NAME");
  const FlaggedTimes operators = flagged_times(flags.operators, gpu);
  const OperatorClock clock = remembering(operator_clock(*operators.times, SourcePlace::named(operators.times->origin())));

  TrainingProjection projection;
  projection.model = planned.description.name;
  projection.plan = plan_text(plan);
  projection.cluster = fmt::format("{} of {} ({})", counted(plan.ranks(), "GPU", "GPUs"),
                                   counted(cluster.topology->host_count(), "host", "hosts"), flags.cluster);
  projection.operators = operators.times->origin();
  projection.gpus = plan.ranks();
  projection.global_batch = plan.global_batch;
  projection.sequence = plan.sequence;
  projection.microbatches = plan.microbatches();
  projection.operations = model_operations(planned.model(), plan);
  if (const auto type = matrix_type_of(plan.precision.activations())) projection.peak = operators.gpu.peak(*type);
  if (flags.tokens > 0) projection.tokens = flags.tokens;

  NetworkFormula formula(*cluster.topology, cluster.parameters.of("nccl"),
                         FlowSettings(cluster.parameters.of("flow"), cluster.seed));
  const IterationEstimate estimate =
      estimate_iteration(planned.model(), plan, clock, axis_clock(formula, plan), planned.places.plan);
  projection.columns.push_back(isolated_column(estimate));
  projection.parts = {{"compute", estimate.compute},
                      {"communication in passes", estimate.communication},
                      {"pipeline: waits and messages", estimate.pipeline},
                      {"gradients after the last pass", estimate.gradients},
                      {"parameters before the first", estimate.parameters},
                      {"optimizer", estimate.optimizer}};

  if (!flags.estimate_only) {
    const InsideAxes inside = inside_axes(formula, planned.model(), plan);
    auto workload = std::make_shared<const Workload>(make_training_workload(
        planned.description.name, planned.model(), plan, clock, planned.places.plan, flags.combine ? &inside : nullptr));
    SimulationRequest simulation;
    simulation.workload = workload;
    simulation.name = planned.description.name;
    simulation.iterations = flags.iterations;
    const bool shows = stderr_is_terminal() && !flags.quiet;
    ProgressLine line(shows);
    RunOptions options;
    options.threads = flags.threads;
    options.progress = [&line](const RunState& state) { line.update(state); };
    projection.columns.push_back(simulated_column("simulated", simulate_iteration(cluster, simulation, options)));
    add_neighbours(cluster, flags, *operators.times);
    if (!cluster.jobs.empty()) {
      simulation.with_neighbours = true;
      projection.columns.push_back(simulated_column(fmt::format("with {}", counted(cluster.jobs.size(), "neighbour", "neighbours")),
                                                    simulate_iteration(cluster, simulation, options)));
    }
  }
  projection.notes = cluster.assumptions;
  if (flags.json) {
    std::cout << training_json(projection).dump(2) << "\n";
  } else {
    std::cout << training_page(projection);
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
      ->add_option("cluster", flags->cluster,
                   "Where: a server of `weft modules server`, of which there are as many as needed on rails of their own; a "
                   "topology FILE[:format]; or a scenario FILE.textproto, whose jobs are the neighbours")
      ->type_name("CLUSTER")
      ->required();
  add_operator_time_flags(*command, flags->operators);
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
      "  weft project training llama3_70b llama3_70b_nemo hgx_h100 --gpus=64 --tokens=15e12\n"
      "  weft project training llama3_70b llama3_70b_nemo hgx_h100 --gpus=64 --set=tensor_parallel=8 --estimate-only\n"
      "  weft project training llama3_70b llama3_70b_nemo hgx_h100 --gpus=64 --set=rail_optimized.oversubscription=2");
  command->callback([flags, &action] { action = [flags] { return project(*flags); }; });
}

}  // namespace weft
