// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/profile_use.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/readable.hpp"
#include "tools/simulation/scenario/parameters.hpp"

namespace weft {

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> names_where(const CalibrationProfile& profile, auto holds) {
  std::vector<std::string> names;
  for (const CalibrationProfile::Parameter& parameter : profile.parameters) {
    if (holds(parameter)) names.push_back(parameter.name);
  }
  return names;
}

SourcePlace place_of_row(const CalibrationProfile::Parameter& parameter, const std::string& file) {
  SourcePlace place = SourcePlace::named(file);
  place.line = parameter.line;
  return place;
}

}  // namespace

CalibrationProfile take_profile(const std::string& file, std::vector<std::string>& settings) {
  CalibrationProfile profile = CalibrationProfile::read(SourceText::read(file));
  Diagnostics diagnostics;
  Parameters known;
  for (const CalibrationProfile::Parameter& parameter : profile.parameters) {
    try {
      known.apply(parameter.name, parameter.value, place_of_row(parameter, file));
    } catch (const InputError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) diagnostics.add(diagnostic);
    }
    const std::string start = parameter.name + "=";
    if (std::ranges::any_of(settings, [&](const std::string& text) { return text.starts_with(start); })) continue;
    settings.push_back(start + parameter.value);
  }
  diagnostics.throw_if_errors();
  return profile;
}

void apply_profile(const CalibrationProfile& profile, const std::string& file, Scenario& scenario) {
  for (const CalibrationProfile::Parameter& parameter : profile.parameters)
    scenario.parameters.apply(parameter.name, parameter.value, place_of_row(parameter, file));
}

std::string machine_of(const Scenario& scenario) { return scenario.topology == nullptr ? "" : scenario.topology->machine(); }

void note_profile(const CalibrationProfile& profile, const std::string& file, bool takes_transferred, Scenario& scenario) {
  const std::string machine = machine_of(scenario);
  const auto named = [](const std::string& name) { return name.empty() ? "servers without a name" : name; };
  const std::vector<std::string> stamped =
      names_where(profile, [](const auto& parameter) { return parameter.stamp == CalibrationProfile::Stamp::transferred; });
  const bool is_other = profile.machine != machine;
  if ((is_other || !stamped.empty()) && !takes_transferred) {
    fail("transferred-profile",
         is_other ? fmt::format("the profile was fitted on {}, the scenario has {}", named(profile.machine), named(machine))
                  : fmt::format("the profile took {} from another machine", joined(stamped)),
         SourcePlace::named(file), "add --take-transferred to use the values all the same; they are not calibrated here");
  }
  scenario.manifest.add_input("profile", file, "textproto");
  std::string note = fmt::format("{}: {} of {}, fitted {} to {} measured times; mean error {}", file,
                                 joined(names_where(profile, [](const auto&) { return true; })), named(profile.machine),
                                 profile.date.substr(0, 10), profile.training.count, readable_share(profile.training.mape));
  if (profile.hold_out.count > 0)
    note += fmt::format(", {} of {} held out", readable_share(profile.hold_out.mape), profile.hold_out.count);
  if (is_other) note += fmt::format(": transferred to {}", named(machine));
  scenario.assumptions.push_back(std::move(note));
  const std::vector<std::string> unsure =
      names_where(profile, [](const auto& parameter) { return parameter.knowledge != CalibrationProfile::Knowledge::identified; });
  if (!unsure.empty())
    scenario.assumptions.push_back(fmt::format("{}: the measurements tell {} no better than to 5 %", file, joined(unsure)));
}

}  // namespace weft
