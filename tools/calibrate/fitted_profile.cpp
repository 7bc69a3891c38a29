// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/fitted_profile.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/version.hpp"
#include "core/values/median.hpp"
#include "tools/calibrate/profile_use.hpp"

namespace weft {

namespace {

CalibrationProfile::Errors errors_of(const TimeErrors& errors) { return {errors.count, errors.mape, errors.ordering_accuracy}; }

/// Each file once.
void add_inputs(const CalibrationCases& all, CalibrationProfile& profile) {
  const auto add = [&](const RunManifest& manifest) {
    const nlohmann::json written = nlohmann::json::parse(manifest.to_json());
    for (const auto& input : written["inputs"]) {
      const std::string path = input["path"];
      if (std::ranges::find(profile.inputs, path, &CalibrationProfile::Input::path) != profile.inputs.end()) continue;
      profile.inputs.push_back({input["role"], path, input["sha256"]});
    }
  };
  for (const CalibrationCase& one : all.cases) add(one.scenario.manifest);
  RunManifest measured;
  for (const MeasuredTimes& table : all.measured.tables()) measured.add_input("measured", table.file, "csv");
  add(measured);
}

/// Those that are not 1.
std::vector<CalibrationProfile::Weight> given_weights(const CalibrationCases& all, const KindWeights& kinds) {
  std::vector<CalibrationProfile::Weight> given;
  for (const TimedKind kind : timed_kinds) {
    if (const double weight = kinds[static_cast<std::size_t>(kind)]; weight != 1)
      given.push_back({std::string(to_text(kind)), weight});
  }
  for (const CalibrationCase& one : all.cases) {
    if (one.weight != 1) given.push_back({fmt::format("case {}", one.name), one.weight});
  }
  return given;
}

}  // namespace

CalibrationProfile fitted_profile(const CalibrationCases& all, const FitSpace& space, const CalibrationResult& result,
                                  const std::string& search) {
  CalibrationProfile profile;
  profile.weft_version = version_text();
  profile.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  profile.machine = machine_of(all.cases.front().scenario);
  add_inputs(all, profile);
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
  profile.alignment = result.alignment;
  profile.weights = given_weights(all, result.weights);
  return profile;
}

void keep_values(const CalibrationProfile& from, CalibrationProfile& profile) {
  for (const CalibrationProfile::Parameter& parameter : from.parameters) {
    if (std::ranges::find(profile.parameters, parameter.name, &CalibrationProfile::Parameter::name) != profile.parameters.end())
      continue;
    profile.parameters.push_back(parameter);
    if (from.machine != profile.machine) profile.parameters.back().stamp = CalibrationProfile::Stamp::transferred;
  }
}

std::string percent_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string meaning_of(const CalibrationProfile::Parameter& parameter) {
  if (parameter.stamp == CalibrationProfile::Stamp::transferred) return "transferred: of another machine";
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

std::vector<std::string> ranges_left(const FitSpace& space, const CalibrationResult& result) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < result.confidence.size(); ++i) {
    if (!result.confidence[i].is_outside) continue;
    names.push_back(
        fmt::format("{} ends at {}, an end of what is looked at, and would go on: look further, or check the measurements",
                    space.parameters()[i].name, space.text(i, result.best[i])));
  }
  return names;
}

double middle_ratio(const CalibrationCases& all, const CalibrationResult& result) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < all.measured.size(); ++i) {
    if (!std::isnan(result.after_s[i])) ratios.push_back(result.after_s[i] / all.measured[i].time_s);
  }
  return median(std::move(ratios));
}

}  // namespace weft
