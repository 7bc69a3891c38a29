// SPDX-License-Identifier: Apache-2.0
// Forecasts for Python: what `weft predict` asks, and the JSON that it prints.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/units.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/interruptible.hpp"
#include "tools/python/text.hpp"
#include "tools/simulation/forecast.hpp"
#include "tools/simulation/operator_snapshot.hpp"
#include "tools/weft/predict_text.hpp"

namespace weft::python {

namespace {

namespace py = pybind11;

/// Of "" none.
std::optional<Duration> horizon_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const ParsedQuantity<Duration> horizon = parse_duration(text);
  if (!horizon.value || *horizon.value <= Duration::zero()) {
    fail("bad-value", fmt::format("horizon: {}", horizon.value ? "it is a time ahead" : horizon.error.message),
         SourcePlace::named("horizon"), "write a duration such as 1h");
  }
  return horizon.value;
}

struct Asked {
  std::string drain;
  std::string start;
  std::string horizon;
  std::uint32_t threads = 0;
};

struct Answer {
  std::string json;
  std::vector<std::string> notes;
};

/// `load` returns a LoadedSnapshot.
template <class Load>
py::tuple answered(const Load& load, const Asked& asked) {
  const std::optional<Duration> horizon = horizon_of(asked.horizon);
  const Answer answer = interruptible(py::none(), [&](Watch&) {
    LoadedSnapshot loaded = load();
    std::vector<std::string> notes = loaded.scenario.assumptions;
    const ForecastOptions how{horizon.value_or(default_horizon(loaded.scenario)), asked.threads};
    const Forecast forecast = asked.drain.empty() ? forecast_start(std::move(loaded), asked.start, how)
                                                  : forecast_drain(std::move(loaded), asked.drain, how);
    return Answer{to_json_text(forecast), std::move(notes)};
  });
  py::list notes;
  for (const std::string& note : answer.notes) notes.append(text_of(note));
  return py::make_tuple(text_of(answer.json), notes);
}

}  // namespace

void bind_forecasts(py::module_& module) {
  py::class_<Asked>(module, "Forecasting")
      .def(py::init<>())
      .def_readwrite("drain", &Asked::drain)
      .def_readwrite("start", &Asked::start)
      .def_readwrite("horizon", &Asked::horizon)
      .def_readwrite("threads", &Asked::threads);
  py::class_<OperatorFlags>(module, "OperatorFlags")
      .def(py::init<>())
      .def_readwrite("nodes", &OperatorFlags::nodes)
      .def_readwrite("jobs", &OperatorFlags::jobs)
      .def_readwrite("scenario", &OperatorFlags::scenario)
      .def_readwrite("topology", &OperatorFlags::topology)
      .def_readwrite("scheduler", &OperatorFlags::scheduler)
      .def_readwrite("placement", &OperatorFlags::placement)
      .def_readwrite("at", &OperatorFlags::at)
      .def_readwrite("settings", &OperatorFlags::settings)
      .def_readwrite("jobs_options", &OperatorFlags::jobs_options);
  module.def("predict", [](const std::string& snapshot, const std::vector<std::string>& settings, const Asked& asked) {
    return answered([&] { return read_snapshot(snapshot, settings); }, asked);
  });
  module.def("predict_cluster", [](const OperatorFlags& flags, const Asked& asked) {
    return answered([&] { return read_operator_snapshot(flags); }, asked);
  });
}

}  // namespace weft::python
