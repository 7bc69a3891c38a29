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

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "tools/report/report_page.hpp"
#include "tools/weft/benchmark_flags.hpp"
#include "tools/weft/memory_flags.hpp"
#include "tools/weft/memory_text.hpp"
#include "tools/weft/operator_time_flags.hpp"
#include "tools/weft/plan_flags.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/project_text.hpp"
#include "tools/weft/training_flags.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

/// The flags, and how the command prints.
struct ProjectTrainingFlags {
  TrainingFlags training;
  std::string report;
  bool json = false;
  bool quiet = false;
};

/// What a GPU of a cluster holds; null where it is not known which GPU that is.
nlohmann::ordered_json memory_on(const TrainingFlags& training, const std::string& cluster) {
  MemoryFlags memory;
  memory.plan = training.plan;
  memory.cluster = cluster;
  memory.target_nodes = training.target_nodes;
  try {
    return memory_json(projected_memory(memory).report);
  } catch (const InputError&) {
    return {};
  }
}

std::string write_projection_report(const ProjectTrainingFlags& flags, const std::vector<TrainingProjection>& projections) {
  nlohmann::ordered_json json = {{"projections", nlohmann::ordered_json::array()}, {"memory", nlohmann::ordered_json::array()}};
  for (const TrainingProjection& projection : projections) json["projections"].push_back(training_json(projection));
  for (const std::string& cluster : flags.training.clusters) json["memory"].push_back(memory_on(flags.training, cluster));
  return write_report_data(flags.report, projection_data_file, printed_json(json) + "\n").string();
}

int project(const ProjectTrainingFlags& flags) {
  if (!flags.report.empty()) check_report_place(flags.report, projection_data_file);
  std::vector<TrainingProjection> projections;
  {
    ProgressLine line(stderr_is_terminal() && !flags.quiet);
    RunOptions run;
    run.progress = [&line](const RunState& state) { line.update(state); };
    projections = projections_of(flags.training, run);
  }
  if (flags.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const TrainingProjection& projection : projections) json.push_back(training_json(projection));
    std::cout << printed_json(projections.size() == 1 ? json.front() : json) << "\n";
  } else {
    std::cout << (projections.size() == 1 ? training_page(projections.front()) : clusters_page(projections));
  }
  if (!flags.report.empty()) {
    const std::string report = write_projection_report(flags, projections);
    if (!flags.json) std::cout << "report in " << report << "\n";
  }
  return exit_done;
}

}  // namespace

void add_project_training_command(CLI::App& project_command, Action& action) {
  CLI::App* command = project_command.add_subcommand(
      "training", "Time of an iteration: isolated, simulated on the fabric, with neighbours, and the link to blame");
  auto flags = std::make_shared<ProjectTrainingFlags>();
  TrainingFlags& training = flags->training;
  add_plan_arguments(*command, training.plan);
  command
      ->add_option("cluster", training.clusters,
                   "Where: a server of `weft modules server`, of which there are as many as needed on rails of their own; a "
                   "topology FILE[:format]; or a scenario FILE.textproto, whose jobs are the neighbours. Several are compared")
      ->type_name("CLUSTER")
      ->required();
  command->add_option("--target-nodes", training.target_nodes, "Instead of --gpus: hosts of CLUSTER, on which replicas fill up")
      ->type_name("N")
      ->transform(whole_number<std::uint64_t>(1, 1U << 20))
      ->excludes("--gpus");
  add_operator_time_flags(*command, training.operators);
  command
      ->add_option("--profiling-mode", training.mode,
                   "Times of layers. simulate: by operator; benchmark: as they were measured, operators corrected accordingly; "
                   "both side by side")
      ->type_name("MODE")
      ->capture_default_str()
      ->check(one_of({"simulate", "benchmark", "both"}));
  add_benchmark_flags(*command, training.benchmark);
  command
      ->add_option("--hardware-config", training.hardware,
                   "Isolated collectives by closed forms on these links (host/hardware.proto), not by the cluster's network")
      ->type_name("FILE");
  command
      ->add_option("--estimators", training.estimators,
                   "Estimators of the literature beside: composition, precision, nodes, by commas, or all of them")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of({"composition", "precision", "nodes", "all"}));
  command
      ->add_option("--components", training.components,
                   "Times of components that are composed, as estimate-train-time writes them; default: by operator times")
      ->type_name("FILE.csv");
  command
      ->add_option("--as", training.as,
                   "weft: what physics says; seed: beside it the projection from a node to a cluster that Primus' documentation "
                   "prints, with its mistakes corrected in a second column")
      ->type_name("WHOSE")
      ->capture_default_str()
      ->check(one_of({"weft", "seed"}));
  command
      ->add_option("--neighbour", training.neighbours,
                   "Another training job on the cluster, repeatable: it goes on until the projected iteration has ended")
      ->type_name("MODEL:PLAN")
      ->allow_extra_args(false);
  command->add_flag("--estimate-only", training.estimate_only, "Only the isolated time, in closed form; simulate nothing");
  command->add_flag("--combine-inside", training.combine,
                    "Do not simulate collectives that stay inside hosts: they become part of computation, by formula. Large plans "
                    "take a fraction of the time");
  command->add_option("--iterations", training.iterations, "Iterations to simulate, of which the last counts")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--tokens", training.tokens, "Tokens to train on, such as 15e12: says how many hours that takes")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", training.threads, "Threads of the simulation")->type_name("N")->capture_default_str();
  command
      ->add_option("--report", flags->report,
                   "Also write projection.json and report.html into this folder: charts of what an iteration and a GPU's memory go "
                   "into")
      ->type_name("DIR");
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
      if (option->count() > 0) flags->training.given.insert(option->get_name());
    }
    action = [flags] { return project(*flags); };
  });
}

}  // namespace weft
