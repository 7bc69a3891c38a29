// SPDX-License-Identifier: Apache-2.0
// `weft predict`: tells what a drain or a start would do to a running cluster.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/simulation/forecast.hpp"
#include "tools/simulation/operator_snapshot.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/predict_text.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct PredictOptions {
  std::string snapshot;
  std::string drain;
  std::string start;
  std::string horizon;    ///< "": default_horizon()
  OperatorFlags cluster;  ///< in place of a snapshot; its settings are `settings`
  std::vector<std::string> settings;
  std::uint32_t threads = 0;  ///< 0: one per core
  bool json = false;
};

LoadedSnapshot read_state(const PredictOptions& options) {
  if (options.cluster.nodes.empty()) return read_snapshot(options.snapshot, options.settings);
  OperatorFlags flags = options.cluster;
  flags.settings = options.settings;
  LoadedSnapshot snapshot = read_operator_snapshot(flags);
  for (const std::string& note : snapshot.scenario.assumptions) std::cerr << "note: " << note << "\n";
  return snapshot;
}

/// None where the user gives none.
std::optional<Duration> read_horizon(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const ParsedQuantity<Duration> horizon = parse_duration(text);
  if (!horizon.value || *horizon.value <= Duration::zero()) {
    fail("bad-value", fmt::format("--horizon: {}", horizon.value ? "it is a time ahead" : horizon.error.message),
         SourcePlace::named("--horizon"), "write a duration such as 1h");
  }
  return horizon.value;
}

int predict(const PredictOptions& options) {
  const std::optional<Duration> horizon = read_horizon(options.horizon);
  LoadedSnapshot snapshot = read_state(options);
  const ForecastOptions how{horizon.value_or(default_horizon(snapshot.scenario)), options.threads};
  const Forecast forecast = options.drain.empty() ? forecast_start(std::move(snapshot), options.start, how)
                                                  : forecast_drain(std::move(snapshot), options.drain, how);
  std::cout << (options.json ? to_json_text(forecast) : to_text(forecast));
  return forecast.is_possible ? exit_done : exit_no;
}

/// A cluster that runs under Slurm, in place of a snapshot.
void add_cluster_flags(CLI::App& command, OperatorFlags& flags, CLI::Option& snapshot) {
  CLI::Option* nodes =
      command.add_option("--nodes", flags.nodes, "Instead of a snapshot: what `scontrol show node` prints, as text or with --json")
          ->type_name("FILE[:scontrol]")
          ->excludes(&snapshot);
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type) {
    return command.add_option(name, value, help)->type_name(type)->needs(nodes);
  };
  CLI::Option* jobs =
      add("--jobs", flags.jobs, "With --nodes: what `squeue --json`, `sacct -P` or `sacct --json` prints", "FILE:squeue|sacct");
  CLI::Option* scenario =
      add("--scenario", flags.scenario,
          "With --nodes: names the queue in place of --jobs, and says what its jobs run, and the topology", "FILE");
  jobs->excludes(scenario);
  add("--topology", flags.topology, "With --nodes: whose hosts are the nodes with GPUs, in their order", "FILE[:format]");
  add("--scheduler", flags.scheduler, "With --nodes: policy; default backfill, or the scenario's", "NAME");
  add("--placement", flags.placement, "With --nodes: placement; default first_fit, or the scenario's", "NAME");
  add("--at", flags.at, "With --nodes: when the files were taken; default: the latest instant that the jobs tell of", "DATE");
  add("--limit-share", flags.jobs_options.limit_share, "With --jobs: jobs run for this share of their time limit in all; default 1",
      "SHARE")
      ->needs(jobs);
  add("--time-zone", flags.jobs_options.time_zone, "With --jobs: zone of dates without one; default UTC", "ZONE")->needs(jobs);
}

}  // namespace

void add_predict_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command =
      app.add_subcommand("predict", "Tell what a drain or a start would do to a running cluster, simulated or under Slurm");
  command->footer(
      "Examples:\n"
      "  weft run month.textproto --fast-forward=2 --snapshot=10d --until=10d --out=month\n"
      "  weft predict month/snapshot.textproto --drain=host12\n"
      "  weft predict month/snapshot.textproto --drain=agg3 --horizon=6h\n"
      "  weft predict month/snapshot.textproto --start=llm17 --json\n"
      "  scontrol show node > nodes.txt; squeue --json > queue.json\n"
      "  weft predict --nodes=nodes.txt --jobs=queue.json:squeue --drain=gpu003\n"
      "The cluster goes on from the snapshot twice, with and without what is asked about. Jobs on a host that is drained write a\n"
      "checkpoint and move, or end there, as maintenance.jobs says; a switch without which hosts are cut off drains these; past "
      "any\n"
      "other, transfers take other ways. In both futures nobody arrives, nothing fails, what is out of service stays out, spares\n"
      "among it, and only iterations that are needed to find a job's pace are simulated, as with --fast-forward.\n"
      "Exit status: 0 it can be done, 1 not: a job that has to move finds no place in time, or one that should start does not "
      "fit.");
  CLI::Option* snapshot =
      command->add_option("snapshot", options->snapshot, "Of `weft run --snapshot=TIME`")->type_name("SNAPSHOT.textproto");
  add_cluster_flags(*command, options->cluster, *snapshot);
  CLI::Option* drain =
      command->add_option("--drain", options->drain, "A host or a switch, by its name in the topology: host3, leaf0")
          ->type_name("NODE");
  CLI::Option* start = command->add_option("--start", options->start, "A job that waits or has not arrived")->type_name("JOB");
  drain->excludes(start);
  command
      ->add_option("--horizon", options->horizon,
                   "How far to look ahead; default 30d where all jobs are durations, 1h where iterations of some are simulated")
      ->type_name("DURATION");
  command->add_option("--set", options->settings, "Module parameter, instead of the run's; repeatable")
      ->type_name("module.param=value")
      ->allow_extra_args(false);
  command->add_option("--threads", options->threads, "Threads that look ahead, 0: one per core; answers do not depend on them")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint32_t>(0, 1024));
  command->add_flag("--json", options->json, "Print JSON, with all jobs");
  add_input_flags(*command);
  command->callback([options, &action] {
    if (options->snapshot.empty() && options->cluster.nodes.empty()) throw CLI::RequiredError("SNAPSHOT.textproto or --nodes=FILE");
    if (options->drain.empty() && options->start.empty()) throw CLI::RequiredError("--drain=NODE or --start=JOB");
    action = [options] { return predict(*options); };
  });
}

}  // namespace weft
