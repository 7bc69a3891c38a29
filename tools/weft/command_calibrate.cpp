// SPDX-License-Identifier: Apache-2.0
// `weft calibrate`: fits parameters of a scenario to measured times.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <memory>

#include "calibration/nccl_tests.hpp"
#include "calibration/profile.hpp"
#include "calibration/search.hpp"
#include "core/text/counted.hpp"
#include "core/text/version.hpp"
#include "tools/calibrate/calibrator.hpp"
#include "tools/results/output_file.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

/// Set by the first Ctrl-C; the second one ends the process at once.
std::atomic<bool> told_to_stop{false};

extern "C" void on_calibrate_interrupt(int signal) {
  told_to_stop = true;
  std::signal(signal, SIG_DFL);
}

struct CalibrateOptions {
  RunFlags flags;
  std::uint64_t seed = 1;
  std::vector<std::string> measured;
  std::vector<std::string> fit;
  std::string out = "weft-profile.textproto";
  std::string table;
  std::string search = "hill_climbing";
  std::string lambda = "auto";
  std::string errors = "per_flow";
  std::string match = "auto";
  std::string outliers = "keep";
  double hold_out = 0.25;
  std::uint64_t runs = 10'000;
  double minutes = 0;
  std::uint32_t threads = 1;
  bool anew = false;
  bool json = false;
  bool quiet = false;
};

ErrorScale scale_called(const std::string& name) { return name == "range" ? ErrorScale::range : ErrorScale::per_flow; }

MatchBy match_called(const std::string& name) {
  if (name == "id") return MatchBy::flow_id;
  if (name == "input_row") return MatchBy::input_row;
  return name == "ends" ? MatchBy::ends : MatchBy::automatic;
}

std::optional<double> lambda_of(const std::string& text) {
  if (text == "auto") return std::nullopt;
  try {
    std::size_t used = 0;
    const double lambda = std::stod(text, &used);
    if (used == text.size() && std::isfinite(lambda) && lambda >= 0) return lambda;
  } catch (const std::exception&) {
  }
  fail("bad-value", fmt::format("--lambda: {} is no weight", in_quotes(text)), SourcePlace::named("--lambda"),
       "write auto, or a number from 0 up");
}

/// Takes what the search may be told from among the settings.
ParamSet search_settings(const std::string& name, std::vector<std::string>& settings) {
  const auto& module = find_module(searches(), name, SourcePlace::named("--search"));
  ParamSet set{std::string(module.info.name), module.info.params};
  const std::string prefix = fmt::format("{}.", name);
  std::vector<std::string> own;
  std::erase_if(settings, [&](const std::string& text) {
    if (!text.starts_with(prefix)) return false;
    own.push_back(text);
    return true;
  });
  set_from_flags(set, own);
  return set;
}

/// As a person reads it.
std::string percent_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

CalibrationProfile::Errors errors_of(const TimeErrors& errors) { return {errors.count, errors.mape, errors.ordering_accuracy}; }

CalibrationProfile profile_of(const Scenario& scenario, const FitSpace& space, const MeasuredTables& measured,
                              const CalibrationResult& result, const std::string& search) {
  CalibrationProfile profile;
  profile.weft_version = version_text();
  profile.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  if (scenario.topology != nullptr) profile.machine = scenario.topology->machine();
  RunManifest manifest = scenario.manifest;
  for (const MeasuredTimes& table : measured.tables()) manifest.add_input("measured", table.file, "csv");
  const nlohmann::json written = nlohmann::json::parse(manifest.to_json());
  for (const auto& input : written["inputs"]) profile.inputs.push_back({input["role"], input["path"], input["sha256"]});
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    const FitParameter& parameter = space.parameters()[i];
    CalibrationProfile::Parameter& to = profile.parameters.emplace_back();
    to.name = parameter.name;
    to.value = space.text(i, result.best[i]);
    to.start = space.text(i, result.start[i]);
    to.minimum = space.text(i, parameter.minimum);
    to.maximum = space.text(i, parameter.maximum);
    if (result.confidence.empty()) continue;
    const Confidence& confidence = result.confidence[i];
    to.low = space.text(i, confidence.low);
    to.high = space.text(i, confidence.high);
    to.knowledge = confidence.is_free         ? CalibrationProfile::Knowledge::free
                   : confidence.is_identified ? CalibrationProfile::Knowledge::identified
                                              : CalibrationProfile::Knowledge::loose;
  }
  profile.before = errors_of(result.before);
  profile.training = errors_of(result.training);
  profile.hold_out = errors_of(result.hold_out);
  profile.lambda = result.lambda;
  profile.unmatched = result.unmatched.size();
  profile.outliers = result.outliers.size();
  profile.search = search;
  profile.runs = result.runs;
  return profile;
}

std::string meaning_of(const CalibrationProfile::Parameter& parameter) {
  switch (parameter.knowledge) {
    case CalibrationProfile::Knowledge::unknown:
      return "no interval: stopped before";
    case CalibrationProfile::Knowledge::identified:
      return "";
    case CalibrationProfile::Knowledge::loose:
      return "loose: the data tell it no better than to 5 %";
    case CalibrationProfile::Knowledge::free:
      return "free: the data do not tell it from others, or nothing depends on it";
  }
  return "";
}

/// What looks as if something were wrong with the measurements or the ranges.
std::vector<std::string> doubts(const FitSpace& space, const MeasuredTables& measured, const CalibrationResult& result) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < result.confidence.size(); ++i) {
    if (!result.confidence[i].is_outside) continue;
    notes.push_back(
        fmt::format("{} ends at {}, an end of what is looked at, and would go on: look further, or check the measurements",
                    space.parameters()[i].name, space.text(i, result.best[i])));
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!std::isnan(result.after_s[i])) ratios.push_back(result.after_s[i] / measured[i].time_s);
  }
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  constexpr double likely = 3;
  if (*middle > likely || *middle < 1 / likely)
    notes.push_back(fmt::format("simulated times are {:.3g} times the measured ones in the middle: check units", *middle));
  return notes;
}

/// Without blanks at its end.
void print_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print("{}\n", line);
}

void print_text(const CalibrationProfile& profile, const CalibrationResult& result) {
  std::size_t name_width = 9;
  std::size_t value_width = 6;
  std::size_t interval_width = 13;
  const auto interval = [](const CalibrationProfile::Parameter& p) {
    return p.low.empty() ? std::string() : fmt::format("{} .. {}", p.low, p.high);
  };
  for (const CalibrationProfile::Parameter& p : profile.parameters) {
    name_width = std::max(name_width, p.name.size());
    value_width = std::max({value_width, p.value.size(), p.start.size()});
    interval_width = std::max(interval_width, interval(p).size());
  }
  const auto print_row = [&](const auto& name, const auto& before, const auto& fitted, const auto& low_high, const auto& meaning) {
    print_line(fmt::format("{:{}}  {:>{}}  {:>{}}  {:{}}  {}", name, name_width, before, value_width, fitted, value_width, low_high,
                           interval_width, meaning));
  };
  print_row("parameter", "before", "fitted", "95 % interval", "");
  for (const CalibrationProfile::Parameter& p : profile.parameters) print_row(p.name, p.start, p.value, interval(p), meaning_of(p));
  fmt::print("\n{:24}  {:>10}  {:>10}  {:>10}\n", "", "before", "fitted", "held out");
  const auto held_out = [&](const std::string& text) { return result.hold_out.count > 0 ? text : std::string("-"); };
  fmt::print("{:24}  {:>10}  {:>10}  {:>10}\n", "measured times", result.before.count, result.training.count,
             result.hold_out.count);
  fmt::print("{:24}  {:>10}  {:>10}  {:>10}\n", "mean percentage error", percent_text(result.before.mape),
             percent_text(result.training.mape), held_out(percent_text(result.hold_out.mape)));
  fmt::print("{:24}  {:>10}  {:>10}  {:>10}\n", "pairs in order", percent_text(result.before.ordering_accuracy),
             percent_text(result.training.ordering_accuracy), held_out(percent_text(result.hold_out.ordering_accuracy)));
  fmt::print("{:24}  {:>10}  {:>10}  {:>10}\n", "equation 3, s^2", fmt::format("{:.4g}", result.before.plain),
             fmt::format("{:.4g}", result.training.plain), held_out(fmt::format("{:.4g}", result.hold_out.plain)));
  fmt::print("\nlambda {:.4g}{}, {} with {}\n", profile.lambda,
             result.sigma > 0 ? fmt::format(" ({:.3g} sigma)", profile.lambda / result.sigma) : std::string(),
             counted(profile.runs, "run", "runs"), profile.search);
}

/// Some of the measured times, each on a line.
void list_times(const char* what, const std::vector<std::size_t>& which, const MeasuredTables& measured,
                const std::vector<double>* simulated_s) {
  constexpr std::size_t listed_max = 10;
  if (which.empty()) return;
  std::fprintf(stderr, "note: %s of %zu measured times %s:\n", std::to_string(which.size()).c_str(), measured.size(), what);
  for (std::size_t i = 0; i < std::min(which.size(), listed_max); ++i) {
    const TimedEntity& one = measured[which[i]];
    std::string line = fmt::format("  {}:{}: {}, {:.6g} us", measured.file_of(which[i]), one.line, one.to_text(), 1e6 * one.time_s);
    if (simulated_s != nullptr) line += fmt::format(", simulated {:.6g} us", 1e6 * (*simulated_s)[which[i]]);
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  if (which.size() > listed_max) std::fprintf(stderr, "  and %zu more; --table lists all\n", which.size() - listed_max);
}

/// As a field of CSV.
std::string quoted(const std::string& text) {
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string(2, c) : std::string(1, c);
  return field + "\"";
}

/// Every measured time beside the simulated ones, for plots.
void write_table(OutputFile& file, const MeasuredTables& measured, const CalibrationResult& result) {
  file.write("file,line,what,size_bytes,ranks,measured_s,before_s,fitted_s,part,outlier\n");
  std::vector<bool> is_outlier(measured.size(), false);
  std::vector<bool> is_dropped(measured.size(), false);
  for (const std::size_t i : result.outliers) is_outlier[i] = true;
  for (const std::size_t i : result.dropped) is_dropped[i] = true;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const TimedEntity& one = measured[i];
    const auto number = [](const std::optional<std::uint64_t>& n) { return n ? fmt::format("{}", *n) : std::string(); };
    const bool is_matched = !std::isnan(result.before_s[i]);
    const auto seconds = [&](double time_s) { return is_matched ? fmt::format("{}", time_s) : std::string(); };
    file.write(fmt::format("{},{},{},{},{},{},{},{},{},{}\n", quoted(measured.file_of(i)), one.line, quoted(one.to_text()),
                           number(one.size_bytes), number(one.ranks), one.time_s, seconds(result.before_s[i]),
                           seconds(result.after_s[i]),
                           !is_matched             ? "unmatched"
                           : result.is_held_out[i] ? "held_out"
                           : is_dropped[i]         ? "dropped"
                                                   : "training",
                           is_outlier[i] ? 1 : 0));
  }
  file.commit();
}

/// FILE.csv, or FILE:nccl-tests, perhaps with :KIND.
MeasuredTables read_tables(const std::vector<std::string>& files) {
  constexpr std::string_view nccl_tests = ":nccl-tests";
  std::vector<MeasuredTimes> tables;
  for (const std::string& text : files) {
    const std::size_t at = text.find(nccl_tests);
    const std::string rest = at == std::string::npos ? "" : text.substr(at + nccl_tests.size());
    if (at == std::string::npos || (!rest.empty() && rest.front() != ':')) {
      tables.push_back(read_measured_times(SourceText::read(text)));
    } else {
      tables.push_back(read_nccl_tests(SourceText::read(text.substr(0, at)), rest.empty() ? rest : rest.substr(1)));
    }
  }
  return MeasuredTables(std::move(tables));
}

int calibrate_command(CalibrateOptions options, bool seed_given) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point started = Clock::now();
  const auto elapsed_s = [&] { return std::chrono::duration<double>(Clock::now() - started).count(); };
  if (seed_given) options.flags.seed = options.seed;
  CalibrationOptions how{search_settings(options.search, options.flags.settings)};
  how.scale = scale_called(options.errors);
  how.lambda = lambda_of(options.lambda);
  how.hold_out = options.hold_out;
  how.match = match_called(options.match);
  how.drops_outliers = options.outliers == "drop";
  how.points_max = options.runs;
  how.threads = options.threads;
  how.journal = options.out + ".candidates";
  const Scenario scenario = load_scenario(options.flags);
  const MeasuredTables measured = read_tables(options.measured);
  const FitSpace space(scenario, options.fit, "--fit");
  if (!options.quiet) {
    for (const std::string& assumption : scenario.assumptions) std::fprintf(stderr, "note: %s\n", assumption.c_str());
    for (const std::string& note : space.notes()) std::fprintf(stderr, "note: %s\n", note.c_str());
    for (const MeasuredTimes& table : measured.tables()) {
      for (const LeftOutRows& rows : table.left_out)
        std::fprintf(stderr, "note: %s: %s\n", table.file.c_str(), rows.to_text().c_str());
    }
  }
  const std::string journals[] = {how.journal, how.journal + ".dropped"};
  const auto remove_journals = [&] {
    for (const std::string& journal : journals) std::remove(journal.c_str());
  };
  if (options.anew) remove_journals();
  std::vector<std::string> inputs = scenario.manifest.input_paths();
  for (const MeasuredTimes& of_table : measured.tables()) inputs.push_back(of_table.file);
  check_keeps_inputs(options.out, inputs);
  if (!options.table.empty()) check_keeps_inputs(options.table, inputs);
  // Before the search, so that a place where nothing can be written is not found after it.
  OutputFile file(options.out);
  std::optional<OutputFile> table;
  if (!options.table.empty()) table.emplace(options.table);
  const bool shows_progress = stderr_is_terminal() && !options.quiet;
  how.progress = [&](const CalibrationOptions::Progress& now) {
    if (!shows_progress) return;
    const double left_s = options.minutes > 0 ? std::max(0.0, 60 * options.minutes - elapsed_s()) : 0;
    std::fprintf(stderr, "\r\033[K%s: %llu of at most %llu candidates  error %.2f %%  %.0f s%s", now.doing,
                 static_cast<unsigned long long>(now.points), static_cast<unsigned long long>(now.points_max), 100 * now.mape,
                 elapsed_s(), left_s > 0 ? fmt::format(", {:.0f} s left", left_s).c_str() : "");
    std::fflush(stderr);
  };
  how.stop = [&] { return told_to_stop || (options.minutes > 0 && elapsed_s() > 60 * options.minutes); };
  std::signal(SIGINT, on_calibrate_interrupt);
  std::signal(SIGTERM, on_calibrate_interrupt);
  const CalibrationResult result = calibrate(scenario, space, measured, how);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  if (shows_progress) std::fprintf(stderr, "\r\033[K");

  const CalibrationProfile profile = profile_of(scenario, space, measured, result, options.search);
  file.write(profile.to_text());
  file.commit();
  if (table) write_table(*table, measured, result);
  const bool is_whole = !result.stopped && !result.spent_budget;
  if (is_whole) remove_journals();
  if (!options.quiet) {
    list_times("belong to nothing simulated, or not to one alone", result.unmatched, measured, nullptr);
    list_times("were far off and dropped", result.dropped, measured, nullptr);
    list_times("are far off", result.outliers, measured, &result.after_s);
    for (const std::string& note : doubts(space, measured, result)) std::fprintf(stderr, "note: %s\n", note.c_str());
    if (result.spent_budget)
      std::fprintf(stderr,
                   "note: the search ended with --runs=%llu, not where nothing gets better; with more it goes on from there\n",
                   static_cast<unsigned long long>(options.runs));
    if (result.stopped && !told_to_stop)
      std::fprintf(stderr, "note: the search ended with --minutes=%g; the same command goes on from there\n", options.minutes);
  }
  if (options.json) {
    nlohmann::ordered_json json;
    for (const CalibrationProfile::Parameter& p : profile.parameters) {
      json["parameters"].push_back({{"name", p.name},
                                    {"before", p.start},
                                    {"fitted", p.value},
                                    {"low", p.low},
                                    {"high", p.high},
                                    {"knowledge", to_text(p.knowledge)}});
    }
    const auto add = [&](const char* name, const TimeErrors& errors) {
      json[name] = {{"count", errors.count},
                    {"mape", errors.mape},
                    {"ordering_accuracy", errors.ordering_accuracy},
                    {"plain_s2", errors.plain}};
    };
    add("before", result.before);
    add("training", result.training);
    if (result.hold_out.count > 0) add("hold_out", result.hold_out);
    json["sigma"] = result.sigma;
    json["lambda"] = profile.lambda;
    json["unmatched"] = profile.unmatched;
    json["outliers"] = profile.outliers;
    json["runs"] = profile.runs;
    json["wall_time_s"] = elapsed_s();
    std::cout << json.dump(2) << "\n";
  } else {
    print_text(profile, result);
    fmt::print("profile in {}\n", options.out);
  }
  std::fflush(stdout);
  if (!result.stopped || !told_to_stop) return exit_done;
  std::fprintf(stderr, "interrupted: %s holds the best so far; the same command goes on from there\n", options.out.c_str());
  return exit_interrupted;
}

}  // namespace

void add_calibrate_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command = app.add_subcommand("calibrate", "Fit parameters of a scenario to measured times");
  command->footer(
      "Examples:\n"
      "  weft calibrate --scenario=cluster.textproto --measured=fct.csv --fit=flow.wqe_latency,flow.switching_delay\n"
      "  weft calibrate --topology=dgx.textproto --workload=sweep.textproto --measured=nccl.csv "
      "--fit=nccl.ll_base,nccl.simple_base\n"
      "  weft run cluster.textproto --profile=weft-profile.textproto\n"
      "Measured times are a CSV table with a column such as fct_ns, time_us or duration_s, and columns that say of what: src,\n"
      "dst, size_bytes and start_us of flows, kind, ranks and size_bytes of collectives, iteration of iterations; flows.csv,\n"
      "collectives.csv and iterations.csv of a run are such tables. `weft modules` says what may be fitted, and from where to\n"
      "where; flow.wqe_latency=0ns..5us looks there instead.");
  RunFlags& flags = options->flags;
  command->add_option("scenario,--scenario", flags.scenario_file, "Scenario in protobuf text format")
      ->type_name("SCENARIO.textproto");
  command->add_option("--topology", flags.topology, "Topology, without a scenario; as of weft run")->type_name("FILE[:format]");
  command->add_option("--workload", flags.workload, "Workload, without a scenario")->type_name("FILE[:format]");
  command->add_option("--flows", flags.flows, "Flow list, without a scenario: hpcc")->type_name("FILE[:format]");
  command->add_option("--mode", flags.mode, "Fidelity: flow or packet")->type_name("MODE")->check(one_of({"flow", "packet"}));
  command->add_option("--set", flags.settings, "Parameter of the scenario or the search, repeatable")
      ->type_name("module.param=value")
      ->allow_extra_args(false);
  CLI::Option* seed = command->add_option("--seed", options->seed, "Seed of every random choice of a run")
                          ->type_name("N")
                          ->capture_default_str()
                          ->transform(whole_number<std::uint64_t>());
  command->add_option("--measured", options->measured, "Table of measured times: CSV, or what nccl-tests prints; repeatable")
      ->type_name("FILE[:nccl-tests[:KIND]]")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--fit", options->fit, "Parameters to find, in the order in which hill climbing takes them")
      ->type_name("PARAM[=MIN..MAX],...")
      ->delimiter(',')
      ->required()
      ->allow_extra_args(false);
  command->add_option("--out", options->out, "Profile to write")->type_name("PROFILE.textproto")->capture_default_str();
  command->add_option("--table", options->table, "Also write every measured time beside the simulated ones")->type_name("FILE.csv");
  command->add_option("--search", options->search, "How to search: hill_climbing, bobyqa or sbplx")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--errors", options->errors,
                   "What an error counts: per_flow: ln(simulated / measured), small times as large ones; range: the difference, "
                   "large times decide")
      ->type_name("HOW")
      ->capture_default_str()
      ->check(one_of({"per_flow", "range"}));
  command
      ->add_option("--lambda", options->lambda,
                   "Weight of the order of times: a number, or auto: the largest of up to five standard deviations with which the "
                   "mean error is no more than 1.001 times what it is without")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--hold-out", options->hold_out, "Share of the measured times that the search does not see")
      ->type_name("SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.9));
  command->add_option("--match", options->match, "What tells measured flows apart: auto, id, input_row or ends")
      ->type_name("BY")
      ->capture_default_str()
      ->check(one_of({"auto", "id", "input_row", "ends"}));
  command->add_option("--outliers", options->outliers, "Measured times far off: keep them, or drop them and fit once more")
      ->type_name("HOW")
      ->capture_default_str()
      ->check(one_of({"keep", "drop"}));
  command->add_option("--runs", options->runs, "Candidates to look at, at most")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint64_t>(1));
  command->add_option("--minutes", options->minutes, "Time to search, at most; the result then depends on the machine")
      ->type_name("N")
      ->check(CLI::Range(0.0, 1e6));
  command
      ->add_option("--threads", options->threads,
                   "Candidates simulated side by side, up to four while hill climbing searches, one with NLopt; the fit does not "
                   "depend on it")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint32_t>(1, 1024));
  command->add_flag("--anew", options->anew, "Do not go on from where the last search for this profile was cut off");
  command->add_flag("--json", options->json, "Print what was found as JSON on stdout");
  command->add_flag("--quiet", options->quiet, "No progress, no notes");
  add_input_flags(*command);
  command->callback(
      [options, seed, &action] { action = [options, seed] { return calibrate_command(*options, seed->count() > 0); }; });
}

}  // namespace weft
