// SPDX-License-Identifier: Apache-2.0
// Forecasts for Python: what `weft predict` asks, as the dictionary that its JSON is.
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

namespace weft::python {

namespace {

namespace py = pybind11;

Duration horizon_of(const std::string& text) {
  const ParsedQuantity<Duration> horizon = parse_duration(text);
  if (!horizon.value || *horizon.value <= Duration::zero()) {
    fail("bad-value", fmt::format("horizon: {}", horizon.value ? "it is a time ahead" : horizon.error.message),
         SourcePlace::named("horizon"), "write a duration such as 1h");
  }
  return *horizon.value;
}

const char* name_of(ClusterSnapshot::State state) {
  switch (state) {
    case ClusterSnapshot::State::not_arrived:
      return "not arrived";
    case ClusterSnapshot::State::waits:
      return "waits";
    case ClusterSnapshot::State::runs:
      return "runs";
    case ClusterSnapshot::State::ended:
      return "ended";
  }
  return "";
}

py::object if_known(const std::optional<double>& value) { return value ? py::object(py::float_(*value)) : py::object(py::none()); }

py::dict to_python(const JobOutlook& outlook) {
  py::dict told;
  told["state"] = name_of(outlook.state);
  told["iteration_s"] = if_known(outlook.iteration_s);
  told["end_s"] = if_known(outlook.end_s);
  return told;
}

py::dict to_python(const JobForecast& answer) {
  py::dict job;
  job["job"] = text_of(answer.name);
  job["gpus"] = answer.gpus;
  job["hit"] = answer.is_hit;
  job["now"] = to_python(answer.now);
  job["then"] = to_python(answer.then);
  if (answer.waited_s) {
    job["starts_after_s"] = *answer.waited_s;
    job["placement"] = text_of(answer.placement);
  }
  return job;
}

py::dict to_python(const Forecast& forecast) {
  py::dict told;
  told["name"] = text_of(forecast.name);
  told["at_s"] = forecast.at.in_s();
  told["horizon_s"] = forecast.horizon.in_s();
  told["question"] = text_of(forecast.question);
  told["possible"] = forecast.is_possible;
  if (!forecast.refusal.empty()) told["refusal"] = text_of(forecast.refusal);
  if (forecast.waits_by_itself) told["starts_by_itself_s"] = if_known(forecast.starts_by_itself_s);
  py::list drained;
  for (const HostId host : forecast.drained) drained.append(fmt::format("host{}", host.index()));
  told["drained_hosts"] = drained;
  if (forecast.crossing) told["jobs_crossing"] = *forecast.crossing;
  if (forecast.slow_cables > 0) told["slow_cables"] = forecast.slow_cables;
  py::list jobs;
  for (const JobForecast& answer : forecast.jobs) jobs.append(to_python(answer));
  told["jobs"] = jobs;
  return told;
}

py::dict predict_wanted(const std::string& snapshot, const std::string& drain, const std::string& start, const std::string& horizon,
                        const std::vector<std::string>& settings, std::uint32_t threads) {
  return to_python(interruptible(py::none(), [&](Watch&) {
    const ForecastOptions how{horizon_of(horizon), threads};
    LoadedSnapshot loaded = read_snapshot(snapshot, settings);
    return drain.empty() ? forecast_start(std::move(loaded), start, how) : forecast_drain(std::move(loaded), drain, how);
  }));
}

}  // namespace

void bind_forecasts(py::module_& module) {
  module.def("predict", &predict_wanted, py::arg("snapshot"), py::arg("drain"), py::arg("start"), py::arg("horizon"),
             py::arg("settings"), py::arg("threads"));
}

}  // namespace weft::python
