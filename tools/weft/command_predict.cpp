// SPDX-License-Identifier: Apache-2.0
// `weft predict`: tells what a drain or a start would do to a running cluster.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/simulation/forecast.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

using State = ClusterSnapshot::State;

struct PredictOptions {
  std::string snapshot;
  std::string drain;
  std::string start;
  std::string horizon = "1h";
  std::vector<std::string> settings;
  std::uint32_t threads = 0;  ///< 0: one per core
  bool json = false;
};

const char* to_text(State state) {
  switch (state) {
    case State::not_arrived:
      return "not arrived";
    case State::waits:
      return "waits";
    case State::runs:
      return "runs";
    case State::ended:
      return "ended";
  }
  return "";
}

/// "+1.5 %"
std::string change_text(double ratio) { return (std::signbit(ratio) ? "" : "+") + readable_share(ratio); }

std::string note_of(const JobForecast& answer, const Forecast& forecast) {
  if (answer.job == forecast.started) return fmt::format("starts on {}", answer.placement);
  if (answer.is_hit && answer.waited_s) return fmt::format("moves after {} to {}", readable(*answer.waited_s), answer.placement);
  if (answer.is_hit && answer.then.state == State::waits) return "finds no place";
  if (answer.is_hit && answer.then.state == State::runs) return "goes on there until it ends";
  if (answer.now.state == answer.then.state) return "";
  if (answer.waited_s) return fmt::format("starts after {}", readable(*answer.waited_s));
  return fmt::format("{} instead of {}", to_text(answer.then.state), to_text(answer.now.state));
}

void print(const Forecast& forecast) {
  const double at_s = forecast.at.in_s();
  std::printf("%s at %s: %s, %llu wait, %u of %s free\n", forecast.name.c_str(), readable(at_s).c_str(),
              counted(forecast.running, "job runs", "jobs run").c_str(), static_cast<unsigned long long>(forecast.waiting),
              forecast.free_gpus, counted(forecast.gpus, "GPU is", "GPUs are").c_str());
  if (const std::size_t cables = forecast.slow_cables; cables > 0)
    std::printf("%s out or slow, and stay so\n", counted(cables, "cable is", "cables are").c_str());
  std::uint64_t hit = 0;
  for (const JobForecast& answer : forecast.jobs) hit += answer.is_hit ? 1 : 0;
  std::string scope;
  if (!forecast.drained.empty()) {
    scope = fmt::format(", {} with {}", counted(forecast.drained.size(), "host", "hosts"), counted(hit, "job", "jobs"));
  } else if (forecast.crossing && *forecast.crossing == 0) {
    scope = ", which the traffic of no running job crosses";
  }
  if (forecast.crossing.value_or(0) > 0)
    scope += fmt::format(", past which the traffic of {} takes other routes",
                         counted(*forecast.crossing, "running job", "running jobs"));
  std::printf("%s%s\n", forecast.question.c_str(), scope.c_str());
  if (!forecast.refusal.empty()) {
    std::printf("no: %s\n", forecast.refusal.c_str());
    return;
  }
  std::vector<std::array<std::string, 5>> rows = {{"job", "GPUs", "iteration, now -> then", "ends in, now -> then", ""}};
  std::uint64_t same = 0;
  std::uint64_t idle = 0;
  for (const JobForecast& answer : forecast.jobs) {
    if (!answer.differs(at_s)) {
      same += answer.then.state == State::runs || answer.then.state == State::ended ? 1 : 0;
      idle += answer.then.state == State::waits ? 1 : 0;
      continue;
    }
    const auto value = [](const std::optional<double>& seconds) { return seconds ? readable(*seconds) : "?"; };
    std::string iteration;
    if (answer.now.iteration_s || answer.then.iteration_s) {
      iteration = fmt::format("{} -> {}", value(answer.now.iteration_s), value(answer.then.iteration_s));
      if (answer.now.iteration_s && answer.then.iteration_s)
        iteration += fmt::format(", {}", change_text(answer.iteration_change()));
    }
    const auto left = [&](const std::optional<double>& end_s) { return end_s ? readable(*end_s - at_s) : "?"; };
    std::string end = fmt::format("{} -> {}", left(answer.now.end_s), left(answer.then.end_s));
    if (answer.now.end_s && answer.then.end_s) {
      const double later_s = *answer.then.end_s - *answer.now.end_s;
      end += std::string(", ") + (later_s < 0 ? "-" : "+") + readable(std::abs(later_s));
    }
    rows.push_back({answer.name, fmt::to_string(answer.gpus), iteration, end, note_of(answer, forecast)});
  }
  std::array<std::size_t, 5> widths{};
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) widths[column] = std::max(widths[column], row[column].size());
  }
  if (rows.size() > 1) {
    std::printf("\n");
    for (const auto& row : rows) {
      std::string text;
      for (std::size_t column = 0; column < row.size(); ++column) {
        text += row[column] + std::string(widths[column] - row[column].size() + 2, ' ');
      }
      std::printf("%s\n", text.substr(0, text.find_last_not_of(' ') + 1).c_str());
    }
    std::printf("\n");
  }
  std::string others = fmt::format("{} as they do", counted(same, "other job goes on", "other jobs go on"));
  if (idle > 0) others += fmt::format(", {}{} as before", idle, idle == 1 ? " waits" : " wait");
  std::printf("%s; looked at for %s\n", others.c_str(), readable(forecast.horizon.in_s()).c_str());
}

nlohmann::ordered_json to_json(const JobOutlook& outlook) {
  nlohmann::ordered_json json = {{"state", to_text(outlook.state)}};
  json["iteration_s"] = outlook.iteration_s ? nlohmann::ordered_json(*outlook.iteration_s) : nlohmann::ordered_json();
  json["end_s"] = outlook.end_s ? nlohmann::ordered_json(*outlook.end_s) : nlohmann::ordered_json();
  return json;
}

void print_json(const Forecast& forecast) {
  nlohmann::ordered_json json = {{"name", forecast.name},
                                 {"at_s", forecast.at.in_s()},
                                 {"horizon_s", forecast.horizon.in_s()},
                                 {"question", forecast.question},
                                 {"possible", forecast.is_possible}};
  if (!forecast.refusal.empty()) json["refusal"] = forecast.refusal;
  json["drained_hosts"] = nlohmann::ordered_json::array();
  for (const HostId host : forecast.drained) json["drained_hosts"].push_back(fmt::format("host{}", host.index()));
  if (forecast.crossing) json["jobs_crossing"] = *forecast.crossing;
  if (forecast.slow_cables > 0) json["slow_cables"] = forecast.slow_cables;
  json["jobs"] = nlohmann::ordered_json::array();
  for (const JobForecast& answer : forecast.jobs) {
    nlohmann::ordered_json job = {{"job", answer.name},
                                  {"gpus", answer.gpus},
                                  {"hit", answer.is_hit},
                                  {"now", to_json(answer.now)},
                                  {"then", to_json(answer.then)}};
    if (answer.waited_s) {
      job["starts_after_s"] = *answer.waited_s;
      job["placement"] = answer.placement;
    }
    json["jobs"].push_back(std::move(job));
  }
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

int predict(const PredictOptions& options) {
  const ParsedQuantity<Duration> horizon = parse_duration(options.horizon);
  if (!horizon.value || *horizon.value <= Duration::zero()) {
    fail("bad-value", fmt::format("--horizon: {}", horizon.value ? "it is a time ahead" : horizon.error.message),
         SourcePlace::named("--horizon"), "write a duration such as 1h");
  }
  LoadedSnapshot snapshot = read_snapshot(options.snapshot, options.settings);
  const ForecastOptions how{*horizon.value, options.threads};
  const Forecast forecast = options.drain.empty() ? forecast_start(std::move(snapshot), options.start, how)
                                                  : forecast_drain(std::move(snapshot), options.drain, how);
  if (options.json) {
    print_json(forecast);
  } else {
    print(forecast);
  }
  return forecast.is_possible ? exit_done : exit_no;
}

}  // namespace

void add_predict_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand("predict", "Tell what a drain or a start would do to a running cluster");
  command->footer(
      "Examples:\n"
      "  weft run month.textproto --fast-forward=2 --snapshot=10d --until=10d --out=month\n"
      "  weft predict month/snapshot.textproto --drain=host12\n"
      "  weft predict month/snapshot.textproto --drain=agg3 --horizon=6h\n"
      "  weft predict month/snapshot.textproto --start=llm17 --json\n"
      "The cluster goes on from the snapshot twice, with and without what is asked about. Jobs on a host that is drained write a\n"
      "checkpoint and move, or end there, as maintenance.jobs says; a switch without which hosts are cut off drains these; past "
      "any\n"
      "other, transfers take other ways. In both futures nobody arrives, nothing fails, what is out of service stays out, spares\n"
      "among it, and only iterations that are needed to find a job's pace are simulated, as with --fast-forward.\n"
      "Exit status: 0 it can be done, 1 not: a job that has to move finds no place in time, or one that should start does not "
      "fit.");
  command->add_option("snapshot", options->snapshot, "Of `weft run --snapshot=TIME`")->type_name("SNAPSHOT.textproto")->required();
  CLI::Option* drain =
      command->add_option("--drain", options->drain, "A host or a switch, by its name in the topology: host3, leaf0")
          ->type_name("NODE");
  CLI::Option* start = command->add_option("--start", options->start, "A job that waits or has not arrived")->type_name("JOB");
  drain->excludes(start);
  command->add_option("--horizon", options->horizon, "How far to look ahead")->type_name("DURATION")->capture_default_str();
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
    if (options->drain.empty() && options->start.empty()) throw CLI::RequiredError("--drain=NODE or --start=JOB");
    action = [options] { return predict(*options); };
  });
}

}  // namespace weft
