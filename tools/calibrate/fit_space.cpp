// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/fit_space.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "host/collectives/nccl_constants.hpp"
#include "host/collectives/nccl_tuner.hpp"
#include "tools/simulation/scenario/unused_settings.hpp"

namespace weft {

namespace {

/// "module.param" with the row of its table and the value that it has.
struct FoundParameter {
  const ParamSpec* row = nullptr;
  std::string value;
};

/// What runs go by: a constant of NCCL that nobody gave is that of the first server's machine.
std::string applied_text(const Scenario& scenario, const ParamSet& set, std::size_t i) {
  if (set.module() != "nccl" || scenario.topology == nullptr) return set.value_text(i);
  const Topology& topology = *scenario.topology;
  const GroupLayout server(topology, topology.endpoints_of(topology.node(topology.endpoints().front()).host));
  return nccl_constant_text(set, NcclTuner(set).machine_of(server), set.table()[i].name);
}

FoundParameter find_parameter(const Scenario& scenario, const std::string& name, const SourcePlace& place) {
  const Parameters& parameters = scenario.parameters;
  const std::size_t dot = name.find('.');
  const std::string module = name.substr(0, dot);
  const std::string param = dot == std::string::npos ? "" : name.substr(dot + 1);
  for (const ParamSet& set : parameters.all()) {
    if (set.module() != module) continue;
    for (std::size_t i = 0; i < set.table().size(); ++i) {
      if (set.table()[i].name == param) return {&set.table()[i], applied_text(scenario, set, i)};
    }
  }
  const std::vector<std::string> known = fittable_parameters(parameters);
  fail("unknown-param", fmt::format("there is no parameter {}", in_quotes(name)), place, suggestion(name, known, "parameter"));
}

FitParameter fit_parameter(const ParamSpec& row, const std::string& name, const std::string& value) {
  FitParameter parameter;
  parameter.name = name;
  parameter.minimum = param_number(row, row.fit.minimum);
  parameter.maximum = param_number(row, row.fit.maximum);
  parameter.start = param_number(row, value);
  parameter.scale = row.fit.is_logarithmic ? FitParameter::Scale::logarithmic : FitParameter::Scale::linear;
  // As texts tell them apart: reals to seven digits, rates in Mb/s, others in units of their own.
  parameter.grain = row.kind == ParamKind::real        ? (parameter.maximum - parameter.minimum) / 1e6
                    : row.kind == ParamKind::bandwidth ? 1e6
                                                       : 1;
  return parameter;
}

/// Throws InputError [unused-param] if no scenario's runs depend on the parameter.
void check_used(const std::vector<const Scenario*>& scenarios, const ParamSpec& row, const std::string& name,
                const SourcePlace& place) {
  // Something other than the default, which would not be told of.
  const bool is_least = param_number(row, row.default_text) == param_number(row, row.fit.minimum);
  std::string note;
  for (const Scenario* const original : scenarios) {
    Scenario scenario = *original;
    scenario.parameters.apply(name, is_least ? row.fit.maximum : row.fit.minimum, place);
    scenario.assumptions.clear();
    if (!note_unused_settings(scenario).contains(name)) return;
    note = *std::ranges::find_if(scenario.assumptions, [&](const std::string& text) { return text.starts_with(name); });
  }
  fail("unused-param", fmt::format("no time depends on {}", name), place, note.substr(note.find(": ") + 2));
}

/// Names the scenarios that have another value than the first.
void note_other_starts(const std::vector<const Scenario*>& scenarios, const std::string& name, const std::string& value,
                       std::vector<std::string>& notes) {
  for (const Scenario* const scenario : scenarios) {
    const std::string other = find_parameter(*scenario, name, SourcePlace::named(name)).value;
    if (other != value)
      notes.push_back(fmt::format("{} is {} in {}: the search starts from {}", name, other, scenario->name, value));
  }
}

/// "MIN..MAX" in place of the table's range.
void take_range(FitParameter& parameter, const ParamSpec& row, const std::string& text, const SourcePlace& place) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    fail("bad-value", fmt::format("{}: {} is no range", parameter.name, in_quotes(text)), place,
         fmt::format("write {}={}..{}", parameter.name, row.fit.minimum, row.fit.maximum));
  }
  // A set of its own knows what the parameter may be at all.
  const auto number = [&](const std::string& end) {
    ParamSet set(parameter.name.substr(0, parameter.name.find('.')), ParamTable(&row, 1));
    set.set(row.name, end, place);
    return param_number(row, end);
  };
  parameter.minimum = number(text.substr(0, dots));
  parameter.maximum = number(text.substr(dots + 2));
  const bool is_logarithmic = parameter.scale == FitParameter::Scale::logarithmic;
  if (parameter.minimum < parameter.maximum && parameter.maximum - parameter.minimum >= parameter.grain &&
      (!is_logarithmic || parameter.minimum > 0)) {
    return;
  }
  fail("out-of-range", fmt::format("{}: nothing lies between the ends of {}", parameter.name, in_quotes(text)), place,
       is_logarithmic ? "the first is above zero, as orders of magnitude count, and below the second" : "the first is the smaller");
}

}  // namespace

std::vector<std::string> fittable_parameters(const Parameters& parameters) {
  std::vector<std::string> names;
  for (const ParamSet& set : parameters.all()) {
    for (const ParamSpec& row : set.table()) {
      if (!row.fit.minimum.empty()) names.push_back(fmt::format("{}.{}", set.module(), row.name));
    }
  }
  return names;
}

FitSpace::FitSpace(const std::vector<const Scenario*>& scenarios, std::span<const std::string> texts,
                   const std::string& place_name) {
  const Parameters& parameters = scenarios.front()->parameters;
  Diagnostics diagnostics;
  for (const std::string& text : texts) {
    const SourcePlace place = SourcePlace::named(fmt::format("{}={}", place_name, text));
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    try {
      const FoundParameter found = find_parameter(*scenarios.front(), name, place);
      if (found.row->fit.minimum.empty()) {
        const std::vector<std::string> known = fittable_parameters(parameters);
        fail("not-fittable", fmt::format("{} is not fitted to measurements", name), place, suggestion(name, known, "parameter"));
      }
      check_used(scenarios, *found.row, name, place);
      note_other_starts(scenarios, name, found.value, notes_);
      if (std::ranges::find(parameters_, name, &FitParameter::name) != parameters_.end())
        fail("duplicate-setting", fmt::format("{} is named twice", in_quotes(name)), place, "keep one of the two");
      FitParameter parameter = fit_parameter(*found.row, name, found.value);
      if (equals != std::string::npos) take_range(parameter, *found.row, text.substr(equals + 1), place);
      const double start = std::clamp(parameter.start, parameter.minimum, parameter.maximum);
      if (start != parameter.start) {
        notes_.push_back(fmt::format("{} = {} lies outside of what is looked at, {} to {}: the search starts from {}", name,
                                     found.value, param_text(*found.row, parameter.minimum),
                                     param_text(*found.row, parameter.maximum), param_text(*found.row, start)));
        parameter.start = start;
      }
      parameters_.push_back(std::move(parameter));
      rows_.push_back(found.row);
    } catch (const InputError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) diagnostics.add(diagnostic);
    }
  }
  diagnostics.throw_if_errors();
}

Scenario FitSpace::scenario_at(const Scenario& scenario, const FitPoint& point) const {
  Scenario candidate = scenario;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    candidate.parameters.apply(parameters_[i].name, text(i, point[i]), SourcePlace::named(parameters_[i].name));
  return candidate;
}

FitPoint FitSpace::start() const {
  FitPoint point;
  for (const FitParameter& parameter : parameters_) point.push_back(parameter.start);
  return point;
}

}  // namespace weft
