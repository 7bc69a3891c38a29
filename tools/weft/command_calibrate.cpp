// SPDX-License-Identifier: Apache-2.0
// `weft calibrate`: fits parameters of a scenario to measured times.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "calibration/profile.hpp"
#include "calibration/search.hpp"
#include "core/text/counted.hpp"
#include "core/text/printed_json.hpp"
#include "tools/calibrate/calibration_cases.hpp"
#include "tools/calibrate/calibrator.hpp"
#include "tools/calibrate/fit_page.hpp"
#include "tools/calibrate/fitted_profile.hpp"
#include "tools/calibrate/night_date.hpp"
#include "tools/calibrate/nightly.hpp"
#include "tools/calibrate/profile_use.hpp"
#include "tools/calibrate/times_table.hpp"
#include "tools/report/report_page.hpp"
#include "tools/results/output_file.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/weft/calibrate_text.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/interrupt_guard.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct CalibrateOptions {
  RunFlags flags;
  std::uint64_t seed = 1;
  std::vector<std::string> measured;
  std::string cases;
  std::string nightly;
  std::string night;
  bool accepts_drift = false;
  std::vector<std::string> fit;
  std::string out = "weft-profile.textproto";
  std::string profile;
  std::string table;
  std::string page;
  std::string breakdown;
  std::string report;
  std::string search = "hill_climbing";
  std::vector<std::string> weights;
  std::string lambda = "auto";
  std::string errors = "per_flow";
  std::string match = "auto";
  std::string outliers = "drop";
  std::string align;
  std::string propose;
  std::optional<double> hold_out;
  std::uint64_t runs = 10'000;
  double minutes = 0;
  std::uint32_t threads = 1;
  bool anew = false;
  bool json = false;
  bool quiet = false;
};

ErrorScale scale_called(const std::string& name) { return name == "range" ? ErrorScale::range : ErrorScale::per_flow; }

/// Nothing unless all of it is a finite number.
std::optional<double> number_in(const std::string& text) {
  try {
    std::size_t used = 0;
    const double number = std::stod(text, &used);
    if (used == text.size() && std::isfinite(number)) return number;
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

std::optional<double> lambda_of(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const std::optional<double> lambda = number_in(text);
  if (lambda && *lambda >= 0) return lambda;
  fail("bad-value", fmt::format("--lambda: {} is no weight", in_quotes(text)), SourcePlace::named("--lambda"),
       "write auto, or a number from 0 up");
}

KindWeights weights_of_kinds(const std::vector<std::string>& texts) {
  KindWeights weights = kinds_alike;
  std::set<TimedKind> given;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto kind = std::ranges::find(timed_kinds, text.substr(0, equals), [](TimedKind one) { return to_text(one); });
    const double weight = number_in(text.substr(equals == std::string::npos ? text.size() : equals + 1)).value_or(std::nan(""));
    const SourcePlace place = SourcePlace::named("--weight=" + text);
    if (kind == timed_kinds.end() || std::isnan(weight))
      fail("bad-value", fmt::format("{} is no weight of a kind", in_quotes(text)), place,
           "write flow=N, collective=N or iteration=N");
    if (!is_weight(weight))
      fail("out-of-range", fmt::format("the weight is {}, and {}", weight, weight_range), place,
           "leave the table out if it is not to count");
    if (!given.insert(*kind).second)
      fail("duplicate-setting", fmt::format("{}s have two weights", to_text(*kind)), place, "keep one");
    weights[static_cast<std::size_t>(*kind)] = weight;
  }
  return weights;
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

/// What looks as if something were wrong with the measurements or the ranges.
std::vector<std::string> doubts(const CalibrationCases& all, const FitSpace& space, const CalibrationResult& result) {
  std::vector<std::string> notes = ranges_left(space, result);
  const double middle = middle_ratio(all, result);
  if (middle > middle_ratio_max || middle < 1 / middle_ratio_max)
    notes.push_back(fmt::format("simulated times are {:.3g} times the measured ones in the middle: check units", middle));
  return notes;
}

/// Shows how a search goes on, and ends it where the user or the clock says so.
class SearchWatch {
 public:
  SearchWatch(double minutes, bool is_quiet) : minutes_(minutes), shows_(stderr_is_terminal() && !is_quiet) {}
  ~SearchWatch() {
    if (shows_) std::fprintf(stderr, "\r\033[K");
  }
  SearchWatch(const SearchWatch&) = delete;
  SearchWatch& operator=(const SearchWatch&) = delete;

  double elapsed_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count(); }
  bool must_stop() const { return interrupt_flag() || (minutes_ > 0 && elapsed_s() > 60 * minutes_); }

  /// {"doing", "candidates", "mape"}, whenever the best so far became better.
  const nlohmann::ordered_json& trail() const { return trail_; }

  void show(const CalibrationOptions::Progress& now) {
    // Where there is no error, intervals are being found.
    if (now.mape > 0 && (trail_.empty() || trail_.back()["doing"] != now.doing || now.mape < trail_.back()["mape"]))
      trail_.push_back({{"doing", now.doing}, {"candidates", now.points}, {"mape", now.mape}});
    if (!shows_) return;
    const double left_s = minutes_ > 0 ? std::max(0.0, 60 * minutes_ - elapsed_s()) : 0;
    std::fprintf(stderr, "\r\033[K%s: %llu of at most %llu candidates  error %.2f %%  %.0f s%s", now.doing,
                 static_cast<unsigned long long>(now.points), static_cast<unsigned long long>(now.points_max), 100 * now.mape,
                 elapsed_s(), left_s > 0 ? fmt::format(", {:.0f} s left", left_s).c_str() : "");
    std::fflush(stderr);
  }

 private:
  const InterruptGuard guard_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  double minutes_;
  bool shows_;
  nlohmann::ordered_json trail_ = nlohmann::ordered_json::array();
};

/// calibration.json, times.csv and report.html in --report.
std::string write_calibration_report(const std::string& folder, const CalibrationCases& all, const CalibrationProfile& profile,
                                     const CalibrationResult& result, double elapsed_s, const nlohmann::ordered_json& trail,
                                     const std::vector<std::string>& notes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(calibration_json(profile, result, elapsed_s));
  const std::size_t cases = all.cases.size();
  json["name"] = cases == 1 ? all.cases.front().name : counted(cases, "case", "cases");
  json["search"] = profile.search;
  json["stopped"] = result.stopped || result.spent_budget;
  json["trail"] = trail;
  json["notes"] = all.notes;
  for (const std::string& note : notes) json["notes"].push_back(note);
  make_folder(folder, "--report");
  CsvFile times(std::filesystem::path(folder) / "times.csv", times_table_header, OutputFile::Packing::none, "--report");
  write_times_table(times, all, result);
  return write_report_data(folder, calibration_data_file, printed_json(json) + "\n").string();
}

CalibrationOptions options_of(CalibrateOptions& options, SearchWatch& watch) {
  CalibrationOptions how{search_settings(options.search, options.flags.settings)};
  how.scale = scale_called(options.errors);
  how.weights = weights_of_kinds(options.weights);
  how.lambda = lambda_of(options.lambda);
  how.hold_out = options.hold_out;
  how.match = match_called(options.match);
  how.drops_outliers = options.outliers == "drop";
  if (!options.align.empty()) how.align = options.align == "job" ? AlignedGpus::job : AlignedGpus::cluster;
  how.flow_mode_proposes = options.propose == "flow";
  how.points_max = options.runs;
  how.threads = options.threads;
  how.progress = [&watch](const CalibrationOptions::Progress& now) { watch.show(now); };
  how.stop = [&watch] { return watch.must_stop(); };
  return how;
}

/// Refused measurements are wrong input, drift is an answer.
int nightly_command(CalibrateOptions options) {
  const NightlyConfig config = NightlyConfig::read(options.nightly);
  const std::string date = options.night.empty() ? yesterday() : options.night;
  check_date(date, SourcePlace::named("--night"));
  std::optional<SearchWatch> watch;
  watch.emplace(options.minutes, options.quiet);
  CalibrationOptions fit = options_of(options, *watch);
  NightOptions how{date, options.accepts_drift, std::move(fit), options.flags.settings};
  how.is_interrupted = [] { return interrupt_flag().load(); };
  const NightResult night = run_night(config, how);
  watch.reset();
  if (!options.quiet) {
    for (const std::string& note : night.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (night.stopped) {
    std::fprintf(stderr, "interrupted: nothing was published; the same night goes on from there\n");
    return exit_interrupted;
  }
  if (options.json) {
    fmt::print("{}", night.record.to_json());
  } else {
    print_night(night);
  }
  std::fflush(stdout);
  if (night.record.status == NightStatus::refused) return exit_input;
  return night.record.alarms.empty() ? exit_done : exit_no;
}

int calibrate_command(CalibrateOptions options, bool seed_given) {
  if (seed_given) options.flags.seed = options.seed;
  std::optional<SearchWatch> watch;
  watch.emplace(options.minutes, options.quiet);
  CalibrationOptions how = options_of(options, *watch);
  how.journal = options.out + ".candidates";
  std::optional<CalibrationProfile> begun_from;
  if (!options.profile.empty()) begun_from = take_profile(options.profile, options.flags.settings);
  const CalibrationCases all = read_cases(options.cases, options.measured, options.flags);
  const MeasuredTables& measured = all.measured;
  const FitSpace space(all.scenarios(), options.fit, "--fit");
  if (!options.quiet) {
    for (const std::string& note : all.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    for (const std::string& note : space.notes()) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (options.anew) remove_journals(how.journal);
  std::vector<std::string> inputs = all.input_paths();
  for (const std::string& file : {options.cases, options.profile}) {
    if (!file.empty()) inputs.push_back(file);
  }
  check_keeps_inputs(options.out, inputs);
  for (const auto& [file, choice] :
       {std::pair{options.table, "--table"}, {options.page, "--page"}, {options.breakdown, "--breakdown"}}) {
    if (!file.empty()) check_keeps_inputs(file, inputs, choice);
  }
  std::set<std::string> written = {options.out};
  for (const std::string& beside : {options.table, options.page, options.breakdown}) {
    if (!beside.empty() && !written.insert(beside).second) {
      fail("same-file", fmt::format("{} is to be two things", in_quotes(beside)), SourcePlace::named(beside),
           "give --out, --table, --page and --breakdown a file each");
    }
  }
  if (!options.report.empty()) check_report_place(options.report, calibration_data_file);
  // Before the search, so that a place where nothing can be written is not found after it.
  OutputFile file(options.out);
  std::optional<CsvFile> table;
  constexpr auto plain = OutputFile::Packing::none;
  if (!options.table.empty()) table.emplace(options.table, times_table_header, plain, "--table");
  std::optional<OutputFile> page;
  if (!options.page.empty()) page.emplace(options.page, plain, "--page");
  std::optional<OutputFile> breakdown;
  if (!options.breakdown.empty()) breakdown.emplace(options.breakdown, plain, "--breakdown");
  const CalibrationResult result = calibrate(all, space, how);
  const double elapsed_s = watch->elapsed_s();
  const nlohmann::ordered_json trail = watch->trail();
  watch.reset();

  CalibrationProfile profile = fitted_profile(all, space, result, options.search);
  if (begun_from) keep_values(*begun_from, profile);
  file.write(profile.to_text());
  file.commit();
  if (table) write_times_table(*table, all, result);
  if (page) {
    page->write(fit_page(all, space, result, profile).to_html());
    page->commit();
  }
  if (breakdown) {
    breakdown->write(break_down_errors(timed_errors(all, result)).to_csv());
    breakdown->commit();
  }
  std::string report;
  if (!options.report.empty())
    report = write_calibration_report(options.report, all, profile, result, elapsed_s, trail, doubts(all, space, result));
  const bool is_whole = !result.stopped && !result.spent_budget;
  if (is_whole) remove_journals(how.journal);
  if (!options.quiet) {
    list_times("belong to nothing simulated, or not to one alone", result.unmatched, measured, nullptr);
    list_times("were far off and dropped", result.dropped, measured, nullptr);
    list_times("are far off", result.outliers, measured, &result.after_s);
    for (const std::string& note : doubts(all, space, result)) std::fprintf(stderr, "note: %s\n", note.c_str());
    if (result.spent_budget)
      std::fprintf(stderr,
                   "note: the search ended with --runs=%llu, not where nothing gets better; with more it goes on from there\n",
                   static_cast<unsigned long long>(options.runs));
    if (result.stopped && !interrupt_flag())
      std::fprintf(stderr, "note: the search ended with --minutes=%g; the same command goes on from there\n", options.minutes);
  }
  if (options.json) {
    std::cout << calibration_json(profile, result, elapsed_s) << std::flush;
  } else {
    print_calibration(profile, result);
    fmt::print("profile in {}\n", options.out);
    if (!report.empty()) fmt::print("report in {}\n", report);
  }
  std::fflush(stdout);
  if (!result.stopped || !interrupt_flag()) return exit_done;
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
  CLI::Option* scenario = command->add_option("scenario,--scenario", flags.scenario_file, "Scenario in protobuf text format")
                              ->type_name("SCENARIO.textproto");
  CLI::Option* topology =
      command->add_option("--topology", flags.topology, "Topology, without a scenario; as of weft run")->type_name("FILE[:format]");
  CLI::Option* workload =
      command->add_option("--workload", flags.workload, "Workload, without a scenario")->type_name("FILE[:format]");
  CLI::Option* flows =
      command->add_option("--flows", flags.flows, "Flow list, without a scenario: hpcc")->type_name("FILE[:format]");
  CLI::Option* mode =
      command->add_option("--mode", flags.mode, "Fidelity: flow or packet")->type_name("MODE")->check(one_of({"flow", "packet"}));
  command->add_option("--set", flags.settings, "Parameter of the scenario or the search, repeatable")
      ->type_name("module.param=value")
      ->allow_extra_args(false);
  CLI::Option* seed = command->add_option("--seed", options->seed, "Seed of every random choice of a run")
                          ->type_name("N")
                          ->capture_default_str()
                          ->transform(whole_number<std::uint64_t>());
  CLI::Option* measured =
      command->add_option("--measured", options->measured, "Table of measured times: CSV, or what nccl-tests prints; repeatable")
          ->type_name("FILE[:nccl-tests[:KIND]]")
          ->allow_extra_args(false);
  CLI::Option* cases =
      command
          ->add_option("--cases", options->cases,
                       "Several scenarios and what was measured of each, fitted together: case { scenario: \"a.textproto\" "
                       "measured: \"a.csv\" held_out: true }")
          ->type_name("CASES.textproto");
  for (CLI::Option* const of_one : {scenario, topology, workload, flows, measured}) cases->excludes(of_one);
  CLI::Option* fit =
      command->add_option("--fit", options->fit, "Parameters to find, in the order in which hill climbing takes them")
          ->type_name("PARAM[=MIN..MAX],...")
          ->delimiter(',')
          ->allow_extra_args(false);
  CLI::Option* profile =
      command
          ->add_option(
              "--profile", options->profile,
              "Begin from the values of this profile, of this machine or another; those that are not looked for go into the "
              "new one, too, stamped as transferred where they are of another machine")
          ->type_name("PROFILE.textproto");
  CLI::Option* out =
      command->add_option("--out", options->out, "Profile to write")->type_name("PROFILE.textproto")->capture_default_str();
  CLI::Option* table = command->add_option("--table", options->table, "Also write every measured time beside the simulated ones")
                           ->type_name("FILE.csv");
  CLI::Option* page =
      command->add_option("--page", options->page, "Also draw what was found: a page that a browser opens")->type_name("FILE.html");
  CLI::Option* report = command
                            ->add_option("--report", options->report,
                                         "Also write calibration.json, times.csv and report.html into this folder: charts of the "
                                         "fit, of its errors and of the search")
                            ->type_name("DIR");
  CLI::Option* breakdown =
      command->add_option("--breakdown", options->breakdown, "Also write mean errors by message size, job size and host")
          ->type_name("FILE.csv");
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
      ->add_option("--weight", options->weights,
                   "How many times each measured flow, collective or iteration counts, repeatable; default 1")
      ->type_name("KIND=N")
      ->allow_extra_args(false);
  command
      ->add_option("--lambda", options->lambda,
                   "Weight of the order of times: a number, or auto: the largest of up to five standard deviations with which the "
                   "mean error is no more than 1.001 times what it is without")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--hold-out", options->hold_out,
                   "Share of the measured times that the search does not see; default 0.25, or 0 where a case is held out")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 0.9));
  command->add_option("--match", options->match, "What tells measured flows apart: auto, id, input_row or ends")
      ->type_name("BY")
      ->capture_default_str()
      ->check(one_of({"auto", "id", "input_row", "ends"}));
  command
      ->add_option(
          "--outliers", options->outliers,
          "Measured times far off the first fit: drop them and fit once more, or keep them, which pulls values towards what the "
          "simulation does not have")
      ->type_name("HOW")
      ->capture_default_str()
      ->check(one_of({"keep", "drop"}));
  command
      ->add_option("--align", options->align,
                   "Also fit a correction of iteration times by the number of GPUs, of the cluster or of the job (paper, section "
                   "7.1); runs use it with --align")
      ->type_name("cluster|job")
      ->check(one_of({"cluster", "job"}));
  command
      ->add_option("--propose", options->propose,
                   "In packet mode: search in this mode first, whose runs are cheap, and let packet mode decide among the best of "
                   "that and search on from there")
      ->type_name("flow")
      ->check(one_of({"flow"}));
  command->add_option("--runs", options->runs, "Candidates to look at, at most")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint64_t>(1));
  command->add_option("--minutes", options->minutes, "Time to search, at most; the result then depends on the machine")
      ->type_name("N")
      ->check(CLI::Range(0.0, 1e6));
  command
      ->add_option(
          "--threads", options->threads,
          "Simulated side by side: of each case up to four candidates while hill climbing searches, one with NLopt; the fit "
          "does not depend on it")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint32_t>(1, 1024));
  CLI::Option* nightly =
      command
          ->add_option(
              "--nightly", options->nightly,
              "Calibrate as every night: read what was measured, fit, verify, publish; the file says what, these flags how. "
              "Status 1: an alarm, 2: measurements were refused")
          ->type_name("CONFIG.textproto");
  command->add_option("--night", options->night, "Day whose measurements are taken, {date} in paths; default: yesterday in UTC")
      ->type_name("YYYY-MM-DD")
      ->needs(nightly);
  command->add_flag("--accept-drift", options->accepts_drift, "The night's values are the reference of drift from now on")
      ->needs(nightly);
  CLI::Option* anew =
      command->add_flag("--anew", options->anew, "Do not go on from where the last search for this profile was cut off");
  for (CLI::Option* const of_one :
       {scenario, topology, workload, flows, measured, cases, mode, seed, fit, profile, out, table, page, report, breakdown, anew})
    nightly->excludes(of_one);
  command->add_flag("--json", options->json, "Print what was found as JSON on stdout");
  command->add_flag("--quiet", options->quiet, "No progress, no notes");
  add_input_flags(*command);
  command->callback([options, seed, &action] {
    if (!options->nightly.empty()) {
      action = [options] { return nightly_command(*options); };
      return;
    }
    if (options->fit.empty()) throw CLI::RequiredError("--fit");
    if (options->cases.empty() && options->measured.empty()) throw CLI::RequiredError("--measured or --cases");
    action = [options, seed] { return calibrate_command(*options, seed->count() > 0); };
  });
}

}  // namespace weft
