// SPDX-License-Identifier: Apache-2.0
// `weft project search`: every plan of a model on a cluster, filtered by memory, ranked by formula,
// and the best of them simulated.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "host/projections/model_operations.hpp"
#include "tools/projections/plan_search.hpp"
#include "tools/projections/projected_cluster.hpp"
#include "tools/weft/operator_time_flags.hpp"
#include "tools/weft/plan_flags.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/search_text.hpp"
#include "workloads/models/model_reader.hpp"

namespace weft {

namespace {

constexpr double tokens_of_iteration = 8'388'608;  // 1,024 sequences of 8,192 tokens

struct SearchFlags {
  std::string model;
  std::string cluster;
  std::string base;
  std::uint64_t gpus = 0;
  std::uint64_t global_batch = 0;  ///< 0: so many sequences as have tokens_of_iteration
  std::vector<std::string> settings;
  OperatorTimeFlags operators;
  std::uint64_t simulated = 50;
  std::uint64_t shown = 20;
  double margin = 0;
  bool whole = false;
  std::uint32_t threads = 0;
  bool json = false;
  bool quiet = false;
};

/// Tokens in a sequence as the settings say; none if they do not, or not with a number.
std::optional<std::uint64_t> sequence_of(const std::vector<std::string>& settings) {
  constexpr std::string_view name = "sequence=";
  std::optional<std::uint64_t> sequence;
  for (const std::string& setting : settings) {
    if (!setting.starts_with(name)) continue;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(setting.data() + name.size(), setting.data() + setting.size(), value);
    if (error == std::errc() && value > 0) sequence = value;
  }
  return sequence;
}

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

int search(const SearchFlags& given) {
  SearchFlags flags = given;
  flags.operators.settings = take_operator_settings(flags.settings);
  ClusterRequest cluster_request{.name = flags.cluster, .gpus = flags.gpus, .settings = take_module_settings(flags.settings)};
  const SourcePlace model_place = SourcePlace::named(fmt::format("MODEL {}", flags.model));
  const ModelDescription description = load_model(flags.model, model_place);
  const TransformerModel& model = transformer_of(description, model_place);
  const SourcePlace cluster_place = SourcePlace::named(fmt::format("CLUSTER {}", flags.cluster));
  const Scenario cluster = load_cluster(cluster_request, cluster_place);
  const FlaggedTimes operators = flagged_times(flags.operators, *cluster.topology, flags.cluster, cluster_place);

  SearchRequest request;
  request.space.base = flags.base;
  request.space.gpus = flags.gpus;
  request.space.gpus_per_host = static_cast<std::uint32_t>(cluster.topology->endpoints_of(HostId(0)).size());
  const bool says_batch = std::ranges::any_of(flags.settings, [](const auto& text) { return text.starts_with("global_batch="); });
  if (says_batch && flags.global_batch > 0) {
    fail("unused-flag", "the global batch is given twice", SourcePlace::named("--global-batch"), "drop it, or --set=global_batch");
  }
  if (flags.global_batch > 0) flags.settings.push_back(fmt::format("global_batch={}", flags.global_batch));
  if (flags.global_batch == 0 && !says_batch && flags.base.empty()) {
    const double sequences = tokens_of_iteration / static_cast<double>(sequence_of(flags.settings).value_or(model.sequence));
    flags.settings.push_back(fmt::format("global_batch={:.0f}", std::max(1.0, std::floor(sequences))));
  }
  request.space.settings = flags.settings;
  request.simulated = flags.simulated;
  request.memory = operators.gpu.memory;
  request.margin = flags.margin;
  request.with_neighbours = !cluster.jobs.empty();
  request.whole = flags.whole;
  request.threads = flags.threads;
  SearchLine line(stderr_is_terminal() && !flags.quiet);
  request.progress = [&line](const SearchProgress& progress) { line.update(progress); };
  const SearchResult result = search_plans(model, cluster, *operators.times, request, SourcePlace::named("weft project search"));

  SearchPage page;
  page.model = description.name;
  page.cluster = flags.cluster;
  page.operators = operators.times->origin();
  page.gpus = flags.gpus;
  page.memory = operators.gpu.memory;
  page.whole = flags.whole;
  page.result = &result;
  page.shown = flags.shown;
  if (!result.plans.empty()) page.operations = model_operations(model, result.plans.front().plan);
  std::cout << (flags.json ? search_json(page).dump(2) + "\n" : search_page(page));
  return result.plans.empty() ? exit_no : exit_done;
}

}  // namespace

void add_project_search_command(CLI::App& project, Action& action) {
  CLI::App* command = project.add_subcommand(
      "search", "Every valid plan on so many GPUs: those that fit, ranked by formula, the best simulated on the fabric");
  auto flags = std::make_shared<SearchFlags>();
  command->add_option("model", flags->model, "What is trained: FILE.textproto or one of `weft modules model`")
      ->type_name("MODEL")
      ->required();
  command
      ->add_option(
          "cluster", flags->cluster,
          "Where: a server of `weft modules server`, a topology FILE[:format], or a scenario FILE.textproto, whose jobs run "
          "beside the plans that are simulated")
      ->type_name("CLUSTER")
      ->required();
  command->add_option("--gpus", flags->gpus, "GPUs to train on")->type_name("N")->required()->check(CLI::PositiveNumber);
  command
      ->add_option("--global-batch", flags->global_batch,
                   "Sequences in an iteration; default: as many as have 8,388,608 tokens, or as the base says")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--base", flags->base, "A plan whose other fields all plans share: FILE.textproto or one of `weft modules plan`")
      ->type_name("PLAN");
  command
      ->add_option(
          "--set", flags->settings,
          "Field of all plans, which is not varied then, or module.param=value of the cluster, gpu.param, analytical.param; "
          "repeatable")
      ->type_name("name=value")
      ->allow_extra_args(false);
  add_operator_time_flags(*command, flags->operators);
  command->add_option("--simulate", flags->simulated, "Simulate so many of the best; 0: rank by formula alone")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag(
      "--whole", flags->whole,
      "Simulate whole iterations; default: rings of replicas of which a host has four at most in 8 messages, under ZeRO 3 in 16; "
      "of 32 layers alike or more under ZeRO 3 without a pipeline 8 and 16, whose difference tells the rest");
  command->add_option("--show", flags->shown, "Print so many")->type_name("N")->capture_default_str();
  command
      ->add_option("--safety-margin", flags->margin,
                   "A plan fits if its memory and this share of it do; 0.05 leaves out what `weft project memory` calls AT-RISK")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "Threads; 0: all cores")->type_name("N")->capture_default_str();
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
