// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/calibrate_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/text/counted.hpp"
#include "core/text/printed_json.hpp"
#include "tools/calibrate/fitted_profile.hpp"

namespace weft {

namespace {

/// Without blanks at its end.
void print_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print("{}\n", line);
}

void print_parameters(const std::vector<CalibrationProfile::Parameter>& parameters) {
  std::size_t name_width = 9;
  std::size_t value_width = 6;
  std::size_t interval_width = 13;
  const auto interval = [](const CalibrationProfile::Parameter& p) {
    return p.low.empty() ? std::string() : fmt::format("{} .. {}", p.low, p.high);
  };
  for (const CalibrationProfile::Parameter& p : parameters) {
    name_width = std::max(name_width, p.name.size());
    value_width = std::max({value_width, p.value.size(), p.start.size()});
    interval_width = std::max(interval_width, interval(p).size());
  }
  const auto print_row = [&](const auto& name, const auto& before, const auto& fitted, const auto& low_high, const auto& meaning) {
    print_line(fmt::format("{:{}}  {:>{}}  {:>{}}  {:{}}  {}", name, name_width, before, value_width, fitted, value_width, low_high,
                           interval_width, meaning));
  };
  print_row("parameter", "before", "fitted", "95 % interval", "");
  for (const CalibrationProfile::Parameter& p : parameters) print_row(p.name, p.start, p.value, interval(p), meaning_of(p));
}

/// Errors above it count by them.
void print_weights(const CalibrationProfile& profile) {
  if (!profile.weights.empty()) fmt::print("weights: {}\n", to_text(profile.weights));
}

void print_alignment(const Alignment& alignment, const TimeErrors& hold_out) {
  fmt::print("\naligned by GPUs N of the {}, T simulated, in s:\n  ", to_text(alignment.counted));
  std::vector<std::string_view> left_out;
  bool is_first = true;
  for (std::size_t i = 0; i < Alignment::term_count; ++i) {
    const std::string_view name = Alignment::term_names[i];
    if (!alignment.is_fitted[i]) {
      left_out.push_back(name);
      continue;
    }
    const double coefficient = alignment.coefficients[i];
    const char* sign = coefficient < 0 ? (is_first ? "-" : " - ") : (is_first ? "" : " + ");
    fmt::print("{}{:.4g}{}", sign, std::abs(coefficient), name == "1" ? "" : fmt::format(" {}", name));
    is_first = false;
  }
  fmt::print("\n");
  if (!left_out.empty()) fmt::print("  without {}, which the measurements do not tell from these\n", fmt::join(left_out, ", "));
  fmt::print("  mean error of {}: {} simulated, {} aligned", counted(alignment.count, "iteration", "iterations"),
             percent_text(alignment.mape_before), percent_text(alignment.mape_after));
  if (std::isfinite(alignment.mape_leave_one_out)) {
    fmt::print(", {} each by the others' fit\n", percent_text(alignment.mape_leave_one_out));
  } else {
    fmt::print("; too few for an error of each by the others' fit\n");
  }
  if (hold_out.count > 0)
    fmt::print("  of {} held out: {} aligned\n", counted(hold_out.count, "iteration", "iterations"), percent_text(hold_out.mape));
}

}  // namespace

void print_calibration(const CalibrationProfile& profile, const CalibrationResult& result) {
  print_parameters(profile.parameters);
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
  print_weights(profile);
  if (result.alignment) print_alignment(*result.alignment, result.aligned_hold_out);
  fmt::print("\nlambda {:.4g}{}, {} with {}\n", profile.lambda,
             result.sigma > 0 ? fmt::format(" ({:.3g} sigma)", profile.lambda / result.sigma) : std::string(),
             result.proposing_runs > 0
                 ? fmt::format("{} in packet mode and {} in flow mode", counted(profile.runs, "run", "runs"), result.proposing_runs)
                 : counted(profile.runs, "run", "runs"),
             profile.search);
}

std::string calibration_json(const CalibrationProfile& profile, const CalibrationResult& result, double wall_time_s) {
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
  if (result.alignment) {
    const Alignment& alignment = *result.alignment;
    nlohmann::ordered_json terms;
    for (std::size_t i = 0; i < Alignment::term_count; ++i) {
      if (alignment.is_fitted[i]) terms[std::string(Alignment::term_names[i])] = alignment.coefficients[i];
    }
    json["alignment"] = {{"gpus", to_text(alignment.counted)},
                         {"terms", terms},
                         {"count", alignment.count},
                         {"mape_before", alignment.mape_before},
                         {"mape_after", alignment.mape_after}};
    // JSON has no infinity: a time that decides a term alone.
    if (std::isfinite(alignment.mape_leave_one_out)) json["alignment"]["mape_leave_one_out"] = alignment.mape_leave_one_out;
    if (result.aligned_hold_out.count > 0) json["alignment"]["hold_out_mape"] = result.aligned_hold_out.mape;
  }
  for (const CalibrationProfile::Weight& one : profile.weights) json["weights"][one.of] = one.weight;
  json["sigma"] = result.sigma;
  json["lambda"] = profile.lambda;
  json["unmatched"] = profile.unmatched;
  json["outliers"] = profile.outliers;
  json["runs"] = profile.runs;
  json["wall_time_s"] = wall_time_s;
  return printed_json(json) + "\n";
}

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

void print_night(const NightResult& night) {
  const NightRecord& record = night.record;
  if (night.fitted) {
    print_parameters(night.fitted->parameters);
    fmt::print("\n");
  }
  const auto print_share = [](const char* what, double share) {
    if (!std::isnan(share)) fmt::print("{:40}  {:>10}\n", what, percent_text(share));
  };
  fmt::print("{:40}  {:>10}\n", "measured times", record.rows);
  print_share("error as scenarios stand", record.uncalibrated_mape);
  print_share("error with the reference", record.reference_mape);
  print_share("error of times held out, before", record.hold_out_before);
  print_share("error of times held out, with the fit", record.hold_out_after);
  print_share("error with the values in force", record.published_mape);
  print_share("drift from the reference", record.drift);
  print_share("drift, median of the last nights", record.drift_median);
  if (night.fitted) print_weights(*night.fitted);
  fmt::print("\n{}: {}", record.date, to_text(record.status));
  for (const std::string& reason : record.reasons) fmt::print("\n  {}", reason);
  for (const std::string& alarm : record.alarms) fmt::print("\nalarm: {}", alarm);
  fmt::print("\n");
}

}  // namespace weft
