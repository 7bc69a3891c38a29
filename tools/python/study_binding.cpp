// SPDX-License-Identifier: Apache-2.0
// Studies for Python: tools/study, whose records become columns.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printed_json.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/interruptible.hpp"
#include "tools/python/text.hpp"
#include "tools/study/study_runner.hpp"
#include "tools/weft/study_text.hpp"

namespace weft::python {

namespace {

namespace py = pybind11;

struct FinishedStudy {
  Study study;
  StudyResult result;
};

/// `alone`: carries out a run in a process of its own, as StudyOptions::run_alone, and is given a
/// function that tells whether it is to stop.
std::unique_ptr<FinishedStudy> study_wanted(const std::string& file, StudyOptions options, const py::object& alone,
                                            const py::object& progress) {
  return interruptible(progress, [&](Watch& watch) {
    if (!alone.is_none()) {
      options.run_alone = [&alone, &watch](std::size_t run, std::size_t runs) {
        const py::gil_scoped_acquire held;
        return alone(run, runs, py::cpp_function([&watch] { return watch.interrupt()->load(); })).cast<std::string>();
      };
    }
    auto finished = std::make_unique<FinishedStudy>();
    finished->study = read_study(file);
    options.interrupt = watch.interrupt();
    options.progress = [&watch](const StudyProgress& now) { watch.tell("runs", now.done, now.total); };
    finished->result = run_study(finished->study, options);
    return finished;
  });
}

/// The columns of study.csv, of the runs that have records.
py::dict columns_of_study(const FinishedStudy& finished) {
  const Study& study = finished.study;
  const StudyResult& result = finished.result;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    if (result.records[i]) rows.push_back(i);
  }
  py::dict columns;
  const auto numbers = [&](const char* name, const auto& number) {
    py::array_t<std::uint64_t> column(static_cast<py::ssize_t>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) column.mutable_at(static_cast<py::ssize_t>(i)) = number(result.points[rows[i]]);
    columns[name] = column;
  };
  const auto texts = [&](const std::string& name, const auto& text) {
    py::list column;
    for (const std::size_t row : rows) column.append(text_of(text(row)));
    columns[text_of(name)] = column;
  };
  numbers("run", [](const StudyPoint& point) { return point.number; });
  numbers("point", [&](const StudyPoint& point) { return point.number / study.replicates; });
  numbers("replicate", [](const StudyPoint& point) { return point.replicate; });
  numbers("seed", [](const StudyPoint& point) { return point.seed; });
  for (const std::string& name : study.names()) texts(name, [&](std::size_t row) { return result.points[row].value_of(name); });
  for (std::size_t metric = 0; metric < study.metrics.size(); ++metric) {
    py::array_t<double> column(static_cast<py::ssize_t>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<std::optional<double>>& values = result.records[rows[i]]->values;
      column.mutable_at(static_cast<py::ssize_t>(i)) = values.empty()
                                                           ? std::numeric_limits<double>::quiet_NaN()
                                                           : values[metric].value_or(std::numeric_limits<double>::quiet_NaN());
    }
    columns[text_of(study.metrics[metric].name)] = column;
  }
  texts("fingerprint", [&](std::size_t row) { return result.records[row]->fingerprint; });
  texts("error", [&](std::size_t row) { return result.records[row]->error; });
  return columns;
}

py::dict units_of_study(const FinishedStudy& finished) {
  py::dict units;
  for (const StudyMetric& metric : finished.study.metrics) units[text_of(metric.name)] = text_of(unit_of(metric));
  return units;
}

}  // namespace

void bind_studies(py::module_& module) {
  py::class_<FinishedStudy>(module, "FinishedStudy")
      .def("columns", &columns_of_study)
      .def("units", &units_of_study)
      .def("page", [](const FinishedStudy& finished) { return text_of(study_page(finished.study, finished.result)); })
      .def("json",
           [](const FinishedStudy& finished) { return text_of(printed_json(study_json(finished.study, finished.result), -1)); })
      .def_property_readonly("names", [](const FinishedStudy& finished) { return finished.study.names(); })
      .def_property_readonly("notes", [](const FinishedStudy& finished) { return study_notes(finished.study, finished.result); })
      .def_property_readonly("failed", [](const FinishedStudy& finished) { return finished.result.failed(); })
      .def_property_readonly("missing", [](const FinishedStudy& finished) { return finished.result.missing(); });
  module.def(
      "study",
      [](const std::string& file, std::string out, bool resume, std::uint32_t share, std::uint32_t shares, std::uint32_t threads,
         double time_limit_s, const py::object& alone, const py::object& progress) {
        StudyOptions options;
        options.out = std::move(out);
        options.earlier = resume ? StudyFolder::Earlier::kept : StudyFolder::Earlier::refused;
        options.share = share;
        options.shares = shares;
        options.threads = threads;
        options.time_limit = std::chrono::duration<double>(time_limit_s);
        return study_wanted(file, std::move(options), alone, progress);
      },
      py::arg("file"), py::arg("out"), py::arg("resume"), py::arg("share"), py::arg("shares"), py::arg("threads"),
      py::arg("time_limit_s"), py::arg("alone"), py::arg("progress"));
}

}  // namespace weft::python
