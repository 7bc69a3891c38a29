// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/calibrator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "calibration/search.hpp"
#include "core/check.hpp"
#include "core/engine/parallel_loop.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/manifest.hpp"
#include "core/values/median.hpp"
#include "core/values/random.hpp"
#include "tools/calibrate/aligned_jobs.hpp"
#include "tools/calibrate/candidate_journal.hpp"
#include "tools/calibrate/job_sizes.hpp"
#include "tools/simulation/run.hpp"

namespace weft {

namespace {

constexpr std::array lambda_steps = {0.1, 0.3, 0.5, 1.0, 2.0, 5.0};  // in sigma; 0 goes before
constexpr double mape_stays = 1.001;                                 // times that of lambda = 0
// In robust standard deviations, 1.4826 times the median of absolute deviations.
constexpr double outlier_deviations = 5;
constexpr double deviations_per_mad = 1.4826;
constexpr std::uint64_t seed_of_hold_out = 1;
constexpr double hold_out_default = 0.25;
constexpr const char* dropped_suffix = ".dropped";
constexpr const char* flow_suffix = ".flow";
// Of what flow mode proposes, as many are simulated in packet mode, so far apart in some parameter,
// in parts of its range; then the search goes on in such steps.
constexpr std::size_t proposals_max = 8;
constexpr double proposals_apart = 0.02;
constexpr const char* near_step = "0.02";
constexpr double outlier_min = 0.01;  // of a time: less is never far off

/// Some of a list, by their places.
std::vector<double> at_places(std::span<const double> all, std::span<const std::size_t> places) {
  std::vector<double> some;
  for (const std::size_t place : places) some.push_back(all[place]);
  return some;
}

class Calibrator {
 public:
  Calibrator(const CalibrationCases& all, const FitSpace& space, const CalibrationOptions& options)
      : all_(all),
        measured_(all.measured),
        space_(space),
        options_(options),
        weights_(weights_of(all, options.weights)),
        matchers_(matchers_of(all.measured, options.match)),
        hold_out_(options.hold_out.value_or(std::ranges::any_of(all.cases, &CalibrationCase::is_held_out) ? 0 : hold_out_default)),
        loop_(options.threads) {}

  CalibrationResult run() {
    check_weights();
    if (options_.flow_mode_proposes) check_packet_mode();
    match();
    divide();
    if (options_.align) check_has_iterations();
    result_.start = space_.start();
    result_.weights = options_.weights;
    CandidateJournal journal = journal_of("", "");
    journal_ = &journal;
    best_ = result_.start;
    if (options_.flow_mode_proposes) propose();
    search_all();
    if (simulated_at(best_).empty()) {
      fail("no-simulation", "no candidate that was looked at can be simulated", SourcePlace::named(all_.cases.front().name),
           "the scenario as it stands can: fit other parameters, or in other ranges");
    }
    if (options_.drops_outliers && !is_over()) drop_outliers();
    if (!result_.stopped) find_intervals();
    result_.best = best_;
    tell();
    if (options_.align) align();
    return std::move(result_);
  }

 private:
  std::vector<double> measured_s(std::span<const std::size_t> places) const {
    std::vector<double> times_s;
    for (const std::size_t place : places) times_s.push_back(measured_[place].time_s);
    return times_s;
  }

  Objective objective_of(std::span<const std::size_t> places) const {
    return {measured_s(places), options_.scale, at_places(weights_, places)};
  }

  void match() {
    result_.before_s = options_.before_s;
    if (result_.before_s.empty()) {
      result_.before_s.resize(measured_.size());
      loop_.run(all_.cases.size(), [&](std::size_t, std::size_t one) {
        simulate_case(all_, one, all_.cases[one].scenario, matchers_, result_.before_s);
      });
    }
    in_held_out_case_.assign(measured_.size(), false);
    for (const CalibrationCase& one : all_.cases) {
      const std::size_t before = matched_.size();
      for_times_of(measured_, one, [&](std::size_t i) {
        in_held_out_case_[i] = one.is_held_out;
        (std::isnan(result_.before_s[i]) ? result_.unmatched : matched_).push_back(i);
      });
      if (matched_.size() > before) continue;
      const std::size_t first = measured_.begin_of(one.tables.front());
      fail("nothing-matches", fmt::format("no measured {} belongs to a simulated one", to_text(measured_.kind_of(first))),
           SourcePlace::named(measured_.file_of(first)),
           fmt::format("the first is {}; ends are called as `weft topology show` calls them, ops and jobs as the scenario does",
                       in_quotes(measured_[first].to_text())));
    }
    std::ranges::sort(matched_);
    std::ranges::sort(result_.unmatched);
  }

  /// In order of size and time. Repetitions, which nothing but their times tells apart, are one.
  std::vector<std::vector<std::size_t>> units() const {
    std::vector<std::size_t> order = matched_;
    std::erase_if(order, [&](std::size_t i) { return in_held_out_case_[i]; });
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      return std::tuple(measured_.kind_of(i), measured_[i].size_bytes.value_or(0), result_.before_s[i], measured_[i].time_s);
    });
    std::vector<std::vector<std::size_t>> all;
    for (const std::size_t i : order) {
      const bool repeats = !all.empty() && measured_.kind_of(i) != TimedKind::flow &&
                           measured_.kind_of(all.back().front()) == measured_.kind_of(i) &&
                           result_.before_s[all.back().front()] == result_.before_s[i];
      if (!repeats) all.emplace_back();
      all.back().push_back(i);
    }
    return all;
  }

  void divide() {
    const std::vector<std::vector<std::size_t>> all = units();
    result_.is_held_out = in_held_out_case_;
    const auto taken = [&](std::size_t i) { return std::floor(static_cast<double>(i) * hold_out_); };
    RandomStream random(seed_of_hold_out, 0, 0);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (taken(i + 1) == taken(i)) continue;
      for (const std::size_t time : all[begin + random.below(i + 1 - begin)]) result_.is_held_out[time] = true;
      begin = i + 1;
    }
    for (const std::size_t i : matched_) (result_.is_held_out[i] ? held_out_ : training_).push_back(i);
    take_training();
  }

  void check_has_iterations() {
    aligned_gpus_ = aligned_gpus();
    if (std::ranges::any_of(training_, [&](std::size_t i) { return is_aligned(i); })) return;
    fail("no-iterations", "an alignment corrects iteration times, and there are none to fit it to, of jobs that are known",
         SourcePlace::named("--align"), "measure iterations, with a column `job` where there are several, or leave --align out");
  }

  bool is_aligned(std::size_t i) const { return measured_.kind_of(i) == TimedKind::iteration && aligned_gpus_[i] > 0; }

  void take_training() {
    if (training_.size() <= space_.parameters().size()) {
      fail("too-few-measurements",
           fmt::format("{} measured times are too few to find {} parameters", training_.size(), space_.parameters().size()),
           SourcePlace::named(measured_.file_of(0)), "fit fewer parameters, hold out less (--hold-out), or measure more");
    }
    objective_.emplace(objective_of(training_));
  }

  /// By point, times by measured time; empty where there is no simulation. Cases run side by side.
  std::vector<std::vector<double>> simulated_at(std::span<const FitPoint> points) {
    const std::vector<CalibrationCase>& simulated = proposing_ ? *proposing_ : all_.cases;
    const std::size_t cases = simulated.size();
    std::vector<std::vector<double>> times_s(points.size(), std::vector<double>(measured_.size()));
    std::vector<char> is_simulated(points.size() * cases, 1);
    loop_.run(points.size() * cases, [&](std::size_t, std::size_t i) {
      const std::size_t one = i % cases;
      try {
        simulate_case(all_, one, space_.scenario_at(simulated[one].scenario, points[i / cases]), matchers_, times_s[i / cases]);
      } catch (const InputError&) {
        is_simulated[i] = 0;
      }
    });
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto begin = is_simulated.begin() + static_cast<std::ptrdiff_t>(i * cases);
      const bool is_whole = std::all_of(begin, begin + static_cast<std::ptrdiff_t>(cases), [](char is) { return is != 0; }) &&
                            std::ranges::none_of(matched_, [&](std::size_t time) { return std::isnan(times_s[i][time]); });
      if (!is_whole) times_s[i].clear();
    }
    return times_s;
  }

  std::vector<double> simulated_at(const FitPoint& point) { return simulated_at(std::span(&point, 1)).front(); }

  /// The same, counted.
  std::vector<std::vector<double>> times_at(std::span<const FitPoint> points) {
    (proposing_ ? result_.proposing_runs : result_.runs) += points.size();
    return simulated_at(points);
  }

  CandidateErrors errors_of(const std::vector<double>& times_s) const {
    if (times_s.empty()) return {std::numeric_limits<double>::infinity(), 0, std::numeric_limits<double>::infinity()};
    const std::vector<double> simulated = at_places(times_s, training_);
    CandidateErrors errors;
    errors.error = objective_->value(simulated, 0);
    errors.penalty = objective_->value(simulated, 1) - errors.error;
    errors.mape = mean_absolute_percentage_error(simulated, objective_->measured_s(), objective_->weights());
    return errors;
  }

  std::vector<double> costs_of(std::span<const FitPoint> points, double lambda) {
    std::vector<FitPoint> unknown;
    for (const FitPoint& point : points) {
      if (!journal_->known().contains(point)) unknown.push_back(point);
    }
    const std::vector<std::vector<double>> times_s = times_at(unknown);
    for (std::size_t i = 0; i < unknown.size(); ++i) journal_->add(unknown[i], errors_of(times_s[i]));
    journal_->flush();
    std::vector<double> costs;
    for (const FitPoint& point : points) costs.push_back(journal_->known().at(point).cost(lambda));
    return costs;
  }

  bool is_over() const { return result_.stopped || result_.spent_budget; }

  bool must_stop() {
    result_.stopped = result_.stopped || (options_.stop && options_.stop());
    return result_.stopped;
  }

  CandidateJournal journal_of(const char* suffix, const std::string& more) const {
    return {options_.journal.empty() ? "" : options_.journal + suffix, journal_title(more), space_.parameters().size(),
            options_.other_journal};
  }

  void check_weights() const {
    for (const TimedKind kind : timed_kinds) {
      if (options_.weights[static_cast<std::size_t>(kind)] == 1) continue;
      if (std::ranges::any_of(measured_.tables(), [&](const MeasuredTimes& table) { return table.kind == kind; })) continue;
      fail("unused-weight", fmt::format("there is a weight of {}s, and no table of them", to_text(kind)),
           SourcePlace::named("--weight"), "measure some, or leave the weight out");
    }
  }

  void check_packet_mode() const {
    for (const CalibrationCase& one : all_.cases) {
      if (one.scenario.mode == Mode::packet) continue;
      fail("not-in-packet-mode", fmt::format("{} is in {} mode", in_quotes(one.name), to_text(one.scenario.mode)),
           SourcePlace::named("--propose=flow"), "flow mode proposes to packet mode: add --mode=packet, or leave it out");
    }
  }

  /// Flow mode is searched as all are; the best point is the one of its best that costs least in
  /// packet mode.
  void propose() {
    proposing_ = all_.cases;
    for (CalibrationCase& one : *proposing_) one.scenario.mode = Mode::flow;
    // The best of them follow from how it was searched, too.
    std::string how = fmt::format("{} {}", options_.search.module(), options_.points_max);
    for (std::size_t i = 0; i < options_.search.table().size(); ++i) how += " " + options_.search.value_text(i);
    CandidateJournal proposals = journal_of(flow_suffix, how);
    CandidateJournal* const kept = std::exchange(journal_, &proposals);
    search(options_.lambda.value_or(0), true);
    journal_ = kept;
    proposing_.reset();
    points_ = 0;
    result_.spent_budget = false;
    if (result_.stopped) return;
    const std::vector<FitPoint> best = best_apart(proposals);
    const std::vector<double> costs = costs_of(best, options_.lambda.value_or(0));
    best_ = best[static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin())];
    is_near_ = true;
  }

  /// Some of the candidates of least cost, far enough from each other that they are different ones.
  std::vector<FitPoint> best_apart(const CandidateJournal& proposals) const {
    std::vector<std::pair<double, FitPoint>> order;
    for (const auto& [point, errors] : proposals.known()) order.emplace_back(errors.cost(options_.lambda.value_or(0)), point);
    std::ranges::stable_sort(order, {}, [](const auto& one) { return one.first; });
    std::vector<FitPoint> best;
    const auto is_near = [&](const FitPoint& a, const FitPoint& b) {
      const std::vector<double> places_a = places_of(space_.parameters(), a);
      const std::vector<double> places_b = places_of(space_.parameters(), b);
      for (std::size_t i = 0; i < places_a.size(); ++i) {
        if (std::abs(places_a[i] - places_b[i]) > proposals_apart) return false;
      }
      return true;
    };
    for (const auto& candidate : order) {
      if (best.size() == proposals_max) break;
      const FitPoint& point = candidate.second;
      if (std::ranges::none_of(best, [&](const FitPoint& taken) { return is_near(taken, point); })) best.push_back(point);
    }
    return best;
  }

  void report(const char* doing, double mape) const {
    if (options_.progress) options_.progress({doing, points_, options_.points_max, mape});
  }

  /// From the best so far. What it finds is the best if it is better with this lambda.
  void search(double lambda, bool from_anew) {
    std::vector<FitParameter> parameters = space_.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].start = best_[i];
    ParamSet settings = options_.search;
    if ((!from_anew || is_near_) && settings.has("restarts")) settings.set("restarts", "0", SourcePlace::named("restarts"));
    if (is_near_ && settings.has("step")) settings.set("step", near_step, SourcePlace::named("step"));
    const std::uint64_t before = points_;
    const auto costs = [&](std::span<const FitPoint> points) { return costs_of(points, lambda); };
    const auto watch = [&](const Evaluations& now) {
      points_ = before + now.points();
      report(proposing_ ? "searching in flow mode" : "searching", journal_->known().at(now.best()).mape);
    };
    Evaluations evaluations(
        costs, options_.points_max - before, [&] { return must_stop(); }, watch);
    find_module(searches(), settings.module(), SourcePlace::named("--search")).make(settings)->run(parameters, evaluations);
    result_.spent_budget = result_.spent_budget || (evaluations.is_over() && !result_.stopped);
    if (evaluations.has_best()) best_ = evaluations.best();
  }

  void search_all() {
    search(options_.lambda.value_or(0), true);
    result_.lambda = options_.lambda.value_or(0);
    if (options_.lambda || is_over()) return;
    result_.sigma = objective_->deviation(at_places(simulated_at(best_), training_));
    if (result_.sigma == 0) return;
    const FitPoint without = best_;
    const double mape_max = mape_stays * journal_->known().at(without).mape;
    FitPoint chosen = without;
    for (const double step : lambda_steps) {
      best_ = without;
      search(step * result_.sigma, false);
      if (is_over()) break;
      if (journal_->known().at(best_).mape > mape_max) continue;
      chosen = best_;
      result_.lambda = step * result_.sigma;
    }
    best_ = chosen;
  }

  /// The fit is made once more without them.
  void drop_outliers() {
    const std::vector<double> times_s = simulated_at(best_);
    result_.dropped = outliers_of(times_s, training_);
    if (result_.dropped.empty()) return;
    std::erase_if(training_, [&](std::size_t i) { return std::ranges::binary_search(result_.dropped, i); });
    take_training();
    // Candidates come to something else now.
    CandidateJournal again = journal_of(dropped_suffix, "");
    CandidateJournal* const kept = std::exchange(journal_, &again);
    search(result_.lambda, false);
    journal_ = kept;
  }

  /// Ascending.
  static std::vector<std::size_t> outliers_among(std::span<const std::size_t> places, std::span<const double> errors) {
    const double middle = median({errors.begin(), errors.end()});
    std::vector<double> deviations;
    for (const double error : errors) deviations.push_back(std::abs(error - middle));
    const double limit = std::max(outlier_min, outlier_deviations * deviations_per_mad * median(deviations));
    std::vector<std::size_t> outliers;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (deviations[i] > limit) outliers.push_back(places[i]);
    }
    std::ranges::sort(outliers);
    return outliers;
  }

  std::vector<std::size_t> outliers_of(std::span<const double> times_s, std::span<const std::size_t> places) const {
    const Objective of_places(measured_s(places), ErrorScale::per_flow);
    return outliers_among(places, of_places.residuals(at_places(times_s, places)));
  }

  /// Thrown through the search for intervals.
  struct Stopped {};

  void find_intervals() {
    report("finding intervals", 0);
    const auto errors_at = [&](std::span<const FitPoint> points) {
      if (must_stop()) throw Stopped();
      std::vector<PointErrors> all;
      for (const std::vector<double>& times_s : times_at(points)) {
        PointErrors& errors = all.emplace_back();
        errors.cost = static_cast<double>(training_.size()) * errors_of(times_s).cost(result_.lambda);
        errors.residuals =
            times_s.empty() ? std::vector<double>(training_.size(), 0) : objective_->residuals(at_places(times_s, training_));
      }
      return all;
    };
    try {
      ConfidenceResult found = find_confidence(space_.parameters(), best_, errors_at, options_.confidence, objective_->weights());
      best_ = std::move(found.best);
      result_.confidence = std::move(found.parameters);
    } catch (const Stopped&) {
      // without intervals, then
    }
  }

  TimeErrors errors_between(std::span<const double> times_s, std::span<const std::size_t> places) const {
    TimeErrors errors;
    errors.count = places.size();
    if (places.empty()) return errors;
    const Objective of_places = objective_of(places);
    const std::vector<double> simulated = at_places(times_s, places);
    errors.mape = mean_absolute_percentage_error(simulated, of_places.measured_s(), of_places.weights());
    errors.ordering_accuracy = order_agreement(simulated, of_places.measured_s(), of_places.weights()).accuracy;
    const auto [least, most] = std::ranges::minmax(of_places.measured_s());
    errors.plain = of_places.plain(simulated, result_.lambda * (most - least));
    return errors;
  }

  void tell() {
    result_.after_s = simulated_at(result_.best);
    WEFT_CHECK(!result_.after_s.empty(), "the best candidate has a simulation");
    result_.before = errors_between(result_.before_s, matched_);
    result_.training = errors_between(result_.after_s, training_);
    result_.hold_out = errors_between(result_.after_s, held_out_);
    result_.outliers = outliers_of(result_.after_s, matched_);
  }

  /// By measured time, 0 of those of jobs that the case does not have.
  std::vector<std::uint64_t> aligned_gpus() const {
    std::vector<std::uint64_t> gpus(measured_.size());
    for (const CalibrationCase& one : all_.cases) {
      const std::uint64_t of_cluster = cluster_gpus(one.scenario);
      const JobSizes of_job(one.scenario);
      for_times_of(measured_, one, [&](std::size_t i) {
        gpus[i] = *options_.align == AlignedGpus::cluster ? of_cluster : of_job.gpus(measured_[i]).value_or(0);
      });
    }
    return gpus;
  }

  void align() {
    const std::vector<std::uint64_t>& gpus = aligned_gpus_;
    std::vector<AlignmentSample> samples;
    for (const std::size_t i : training_) {
      if (is_aligned(i)) samples.push_back({result_.after_s[i], measured_[i].time_s, static_cast<double>(gpus[i])});
    }
    result_.alignment = fit_alignment(samples);
    result_.alignment->counted = *options_.align;
    result_.aligned_s.assign(measured_.size(), std::numeric_limits<double>::quiet_NaN());
    for (const std::size_t i : matched_) {
      if (is_aligned(i)) result_.aligned_s[i] = result_.alignment->corrected_s(result_.after_s[i], static_cast<double>(gpus[i]));
    }
    std::vector<std::size_t> held_out = held_out_;
    std::erase_if(held_out, [&](std::size_t i) { return !is_aligned(i); });
    result_.aligned_hold_out = errors_between(result_.aligned_s, held_out);
  }

  /// The same where candidates come to the same.
  std::string journal_title(const std::string& more) const {
    std::string inputs = more;
    for (const CalibrationCase& one : all_.cases)
      inputs += one.scenario.name + "\n" + manifest_of(one.scenario, RunOptions()).to_json();
    for (const FitParameter& parameter : space_.parameters()) inputs += parameter.name + "\n";
    for (const std::size_t i : training_) inputs += fmt::format("{} {:a} {:a}\n", i, measured_[i].time_s, weights_[i]);
    inputs += fmt::format("{} {}\n", static_cast<int>(options_.scale), static_cast<int>(options_.match));
    return "weft candidates of " + sha256_hex(inputs);
  }

  const CalibrationCases& all_;
  const MeasuredTables& measured_;
  const FitSpace& space_;
  const CalibrationOptions& options_;
  std::vector<double> weights_;  ///< by measured time
  std::vector<TimeMatcher> matchers_;
  double hold_out_;
  ParallelLoop loop_;
  CandidateJournal* journal_ = nullptr;
  std::vector<bool> in_held_out_case_;
  std::vector<std::size_t> matched_;
  std::vector<std::size_t> training_;
  std::vector<std::size_t> held_out_;
  std::optional<Objective> objective_;  ///< of what trains
  FitPoint best_;
  /// By measured time; empty without an alignment.
  std::vector<std::uint64_t> aligned_gpus_;
  std::optional<std::vector<CalibrationCase>> proposing_;  ///< while flow mode is searched
  bool is_near_ = false;                                   ///< best_ is one that flow mode proposed
  std::uint64_t points_ = 0;
  CalibrationResult result_;
};

}  // namespace

CalibrationResult calibrate(const CalibrationCases& all, const FitSpace& space, const CalibrationOptions& options) {
  WEFT_CHECK(options.before_s.empty() || options.before_s.size() == all.measured.size(), "times are by measured time");
  WEFT_CHECK(!space.parameters().empty(), "there is a parameter to be found");
  return Calibrator(all, space, options).run();
}

void remove_journals(const std::string& journal) {
  for (const char* suffix : {"", dropped_suffix, flow_suffix}) std::remove((journal + suffix).c_str());
}

}  // namespace weft
