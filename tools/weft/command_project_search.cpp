// SPDX-License-Identifier: Apache-2.0
// `weft project search`: every plan of a model on a cluster, filtered by memory, ranked by formula,
// and the best of them simulated.
#include <CLI/CLI.hpp>

#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/text/printed_json.hpp"
#include "tools/report/report_page.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/search_flags.hpp"
#include "tools/weft/search_text.hpp"

namespace weft {

namespace {

struct ProjectSearchFlags {
  SearchFlags search;
  std::uint64_t shown = 20;
  std::string report;
  bool json = false;
  bool quiet = false;
};

/// Twice a second at most.
class SearchLine {
 public:
  explicit SearchLine(bool shows) : line_(shows) {}

  void update(const SearchProgress& progress) {
    const double now_s = line_.elapsed_s();
    if (now_s < next_s_ && progress.done < progress.total) return;
    next_s_ = now_s + pause_s;
    line_.show(search_progress_text(progress, now_s));
  }

 private:
  static constexpr double pause_s = 0.5;

  ProgressLine line_;
  double next_s_ = 0;
};

int search(const ProjectSearchFlags& flags) {
  if (!flags.report.empty()) check_report_place(flags.report, plan_search_data_file);
  SearchedPlans found;
  {
    SearchLine line(stderr_is_terminal() && !flags.quiet);
    found = searched_plans(
        flags.search, [&line](const SearchProgress& progress) { line.update(progress); }, nullptr);
  }
  SearchPage page;
  page.model = found.model;
  page.cluster = flags.search.cluster;
  page.operators = found.operators;
  page.gpus = flags.search.gpus;
  page.memory = found.memory;
  page.whole = flags.search.whole;
  page.result = &found.result;
  page.shown = flags.shown;
  page.operations = found.operations;
  std::cout << (flags.json ? printed_json(search_json(page)) + "\n" : search_page(page));
  if (!flags.report.empty()) {
    const std::string report =
        write_report_data(flags.report, plan_search_data_file, printed_json(search_json(page)) + "\n").string();
    if (!flags.json) std::cout << "report in " << report << "\n";
  }
  return found.result.plans.empty() ? exit_no : exit_done;
}

}  // namespace

void add_project_search_command(CLI::App& project, Action& action) {
  CLI::App* command = project.add_subcommand(
      "search", "Every valid plan on so many GPUs: those that fit, ranked by formula, the best simulated on the fabric");
  auto flags = std::make_shared<ProjectSearchFlags>();
  SearchFlags& search_flags = flags->search;
  command->add_option("model", search_flags.model, "What is trained: FILE.textproto or one of `weft modules model`")
      ->type_name("MODEL")
      ->required();
  command
      ->add_option(
          "cluster", search_flags.cluster,
          "Where: a server of `weft modules server`, a topology FILE[:format], or a scenario FILE.textproto, whose jobs run "
          "beside the plans that are simulated")
      ->type_name("CLUSTER")
      ->required();
  command->add_option("--gpus", search_flags.gpus, "GPUs to train on")->type_name("N")->required()->check(CLI::PositiveNumber);
  command
      ->add_option("--global-batch", search_flags.global_batch,
                   "Sequences in an iteration; default: as many as have 8,388,608 tokens, or as the base says")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--base", search_flags.base,
                   "A plan whose other fields all plans share: FILE.textproto or one of `weft modules plan`")
      ->type_name("PLAN");
  command
      ->add_option(
          "--set", search_flags.settings,
          "Field of all plans, which is not varied then, or module.param=value of the cluster, gpu.param, analytical.param; "
          "repeatable")
      ->type_name("name=value")
      ->allow_extra_args(false);
  add_operator_time_flags(*command, search_flags.operators);
  command->add_option("--simulate", search_flags.simulated, "Simulate so many of the best; 0: rank by formula alone")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag(
      "--whole", search_flags.whole,
      "Simulate whole iterations; default: rings of replicas of which a host has four at most in 8 messages, under ZeRO 3 in 16; "
      "of 32 layers alike or more under ZeRO 3 without a pipeline 8 and 16, whose difference tells the rest");
  command->add_option("--show", flags->shown, "Print so many")->type_name("N")->capture_default_str();
  command
      ->add_option("--safety-margin", search_flags.margin,
                   "A plan fits if its memory and this share of it do; 0.05 leaves out what `weft project memory` calls AT-RISK")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command->add_option("--threads", search_flags.threads, "Threads; 0: all cores")->type_name("N")->capture_default_str();
  command
      ->add_option("--report", flags->report,
                   "Also write plan_search.json and report.html into this folder: all plans by time and memory")
      ->type_name("DIR");
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_flag("--quiet", flags->quiet, "No progress line");
  command->footer(
      "Examples:\n"
      "  weft project search llama3_70b hgx_h100 --gpus=1024\n"
      "  weft project search llama3_70b hgx_h100 --gpus=64 --global-batch=128 --set=context_parallel=2 --simulate=10\n"
      "  weft project search mixtral_8x22b hgx_h100 --gpus=256 --set=rail_optimized.oversubscription=2");
  command->callback([flags, &action] { action = [flags] { return search(*flags); }; });
}

}  // namespace weft
