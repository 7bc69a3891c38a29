// SPDX-License-Identifier: Apache-2.0
// Calibrations for Python: tools/calibrate, whose profile and times become text and columns.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/profile.hpp"
#include "calibration/search.hpp"
#include "core/text/diagnostics.hpp"
#include "tools/calibrate/calibration_cases.hpp"
#include "tools/calibrate/calibrator.hpp"
#include "tools/calibrate/fitted_profile.hpp"
#include "tools/calibrate/profile_use.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/interruptible.hpp"
#include "tools/python/text.hpp"
#include "tools/weft/calibrate_text.hpp"

namespace weft::python {

namespace {

namespace py = pybind11;

/// As the flags of `weft calibrate` have it.
struct RequestedFit {
  RunFlags flags = {};
  std::vector<std::string> measured = {};
  std::string cases = {};
  std::vector<std::string> fit = {};
  std::string profile = {};
  std::string search = "hill_climbing";
  std::vector<std::string> search_settings = {};
  std::vector<std::pair<std::string, double>> weights = {};
  std::optional<double> lambda = {};
  std::string errors = "per_flow";
  std::string match = "auto";
  std::string outliers = "drop";
  std::string align = {};
  std::string propose = {};
  std::optional<double> hold_out = {};
  std::uint64_t runs = 10'000;
  std::uint32_t threads = 1;
};

struct FinishedFit {
  CalibrationCases all;
  CalibrationResult result;
  CalibrationProfile profile;
  std::vector<std::string> notes;
};

CalibrationOptions options_of(const RequestedFit& wanted) {
  const auto& module = find_module(searches(), wanted.search, SourcePlace::named("search"));
  ParamSet search{std::string(module.info.name), module.info.params};
  set_from_flags(search, wanted.search_settings);
  CalibrationOptions options{std::move(search)};
  options.scale = wanted.errors == "range" ? ErrorScale::range : ErrorScale::per_flow;
  for (const auto& [of, weight] : wanted.weights) {
    const auto kind = std::ranges::find(timed_kinds, of, [](TimedKind one) { return to_text(one); });
    const SourcePlace place = SourcePlace::named(fmt::format("weights[{}]", in_quotes(of)));
    if (kind == timed_kinds.end())
      fail("bad-value", fmt::format("{} is no kind of measured times", in_quotes(of)), place, "flow, collective or iteration");
    if (!is_weight(weight)) fail("out-of-range", fmt::format("the weight is {}, and {}", weight, weight_range), place);
    options.weights[static_cast<std::size_t>(*kind)] = weight;
  }
  options.lambda = wanted.lambda;
  options.hold_out = wanted.hold_out;
  options.match = match_called(wanted.match);
  options.drops_outliers = wanted.outliers == "drop";
  if (!wanted.align.empty()) options.align = wanted.align == "job" ? AlignedGpus::job : AlignedGpus::cluster;
  options.flow_mode_proposes = wanted.propose == "flow";
  options.points_max = wanted.runs;
  options.threads = wanted.threads;
  return options;
}

std::unique_ptr<FinishedFit> fit_wanted(const RequestedFit& wanted, const py::object& progress) {
  return interruptible(progress, [&](Watch& watch) {
    CalibrationOptions options = options_of(wanted);
    options.progress = [&watch](const CalibrationOptions::Progress& now) { watch.tell(now.doing, now.points, now.points_max); };
    options.stop = [&watch] { return watch.interrupt()->load(); };
    RequestedFit begun = wanted;
    std::optional<CalibrationProfile> from;
    if (!begun.profile.empty()) from = take_profile(begun.profile, begun.flags.settings);
    auto fit = std::make_unique<FinishedFit>(FinishedFit{read_cases(begun.cases, begun.measured, begun.flags), {}, {}, {}});
    const FitSpace space(fit->all.scenarios(), begun.fit, "fit");
    fit->notes = fit->all.notes;
    fit->notes.insert(fit->notes.end(), space.notes().begin(), space.notes().end());
    fit->result = calibrate(fit->all, space, options);
    fit->profile = fitted_profile(fit->all, space, fit->result, begun.search);
    if (from) keep_values(*from, fit->profile);
    for (std::string& note : ranges_left(space, fit->result)) fit->notes.push_back(std::move(note));
    return fit;
  });
}

/// A row for each parameter.
py::dict parameter_columns(const FinishedFit& fit) {
  py::dict columns;
  const auto texts = [&](const char* name, const auto& text) {
    py::list column;
    for (const CalibrationProfile::Parameter& one : fit.profile.parameters) column.append(text_of(text(one)));
    columns[name] = column;
  };
  using Parameter = CalibrationProfile::Parameter;
  texts("parameter", [](const Parameter& one) { return std::string_view(one.name); });
  texts("before", [](const Parameter& one) { return std::string_view(one.start); });
  texts("fitted", [](const Parameter& one) { return std::string_view(one.value); });
  texts("low", [](const Parameter& one) { return std::string_view(one.low); });
  texts("high", [](const Parameter& one) { return std::string_view(one.high); });
  texts("knowledge", [](const Parameter& one) { return to_text(one.knowledge); });
  return columns;
}

/// A row for each measured time beside the simulated ones, as `weft calibrate --table` writes them.
py::dict time_columns(const FinishedFit& fit) {
  const CalibrationResult& result = fit.result;
  const MeasuredTables& measured = fit.all.measured;
  const auto is_in = [](const std::vector<std::size_t>& numbers, std::size_t i) {
    return std::ranges::find(numbers, i) != numbers.end();
  };
  std::map<std::string, py::list> columns;
  const auto add = [&](const char* name, const auto& value) { columns[name].append(value); };
  const auto if_known = [](const auto& number) { return number ? py::object(py::int_(*number)) : py::object(py::none()); };
  for (const CalibrationCase& one : fit.all.cases) {
    for_times_of(measured, one, [&](std::size_t i) {
      const TimedEntity& timed = measured[i];
      add("case", text_of(one.name));
      add("file", text_of(measured.file_of(i)));
      add("line", timed.line);
      add("what", text_of(timed.to_text()));
      add("size_bytes", if_known(timed.size_bytes));
      add("ranks", if_known(timed.ranks));
      add("measured_s", timed.time_s);
      add("before_s", result.before_s[i]);
      add("fitted_s", result.after_s[i]);
      add("aligned_s", result.aligned_s.empty() ? std::nan("") : result.aligned_s[i]);
      const bool is_matched = !std::isnan(result.before_s[i]);
      add("part", !is_matched                ? "unmatched"
                  : result.is_held_out[i]    ? "held_out"
                  : is_in(result.dropped, i) ? "dropped"
                                             : "training");
      add("outlier", is_in(result.outliers, i));
    });
  }
  py::dict told;
  for (const char* name : {"case", "file", "line", "what", "size_bytes", "ranks", "measured_s", "before_s", "fitted_s", "aligned_s",
                           "part", "outlier"})
    told[name] = columns[name];
  return told;
}

}  // namespace

void bind_calibrations(py::module_& module) {
  py::class_<RequestedFit>(module, "RequestedFit")
      .def(py::init<>())
      .def_readwrite("flags", &RequestedFit::flags)
      .def_readwrite("measured", &RequestedFit::measured)
      .def_readwrite("cases", &RequestedFit::cases)
      .def_readwrite("fit", &RequestedFit::fit)
      .def_readwrite("profile", &RequestedFit::profile)
      .def_readwrite("search", &RequestedFit::search)
      .def_readwrite("search_settings", &RequestedFit::search_settings)
      .def_readwrite("weights", &RequestedFit::weights)
      .def_readwrite("lambda_", &RequestedFit::lambda)
      .def_readwrite("errors", &RequestedFit::errors)
      .def_readwrite("match", &RequestedFit::match)
      .def_readwrite("outliers", &RequestedFit::outliers)
      .def_readwrite("align", &RequestedFit::align)
      .def_readwrite("propose", &RequestedFit::propose)
      .def_readwrite("hold_out", &RequestedFit::hold_out)
      .def_readwrite("runs", &RequestedFit::runs)
      .def_readwrite("threads", &RequestedFit::threads);
  py::class_<FinishedFit>(module, "FinishedFit")
      .def("json", [](const FinishedFit& fit) { return text_of(calibration_json(fit.profile, fit.result, 0)); })
      .def("profile_text", [](const FinishedFit& fit) { return text_of(fit.profile.to_text()); })
      .def("parameters", &parameter_columns)
      .def("times", &time_columns)
      .def_readonly("notes", &FinishedFit::notes);
  module.def("calibrate", &fit_wanted, py::arg("wanted"), py::arg("progress"));
}

}  // namespace weft::python
