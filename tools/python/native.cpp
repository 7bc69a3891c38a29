// SPDX-License-Identifier: Apache-2.0
// The compiled part of the Python module `weft`: calls, tables and messages.
#include <pybind11/pybind11.h>

#include <exception>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/version.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/frames.hpp"
#include "tools/python/messages.hpp"
#include "tools/python/text.hpp"

namespace weft::python {

namespace {

namespace py = pybind11;

void raise_input_error(const InputError& error) {
  py::list diagnostics;
  for (const Diagnostic& one : error.diagnostics()) {
    py::dict entry;
    entry["severity"] = one.severity == Severity::error ? "error" : "warning";
    entry["code"] = text_of(one.code);
    entry["message"] = text_of(one.message);
    entry["file"] = text_of(one.place.file);
    entry["line"] = one.place.line;
    entry["column"] = one.place.column;
    entry["help"] = text_of(one.help);
    diagnostics.append(entry);
  }
  const py::object type = py::module_::import("weft._errors").attr("InputError");
  const py::object raised = type(text_of(error.what()), diagnostics);
  PyErr_SetObject(type.ptr(), raised.ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    raise_input_error(error);
  } catch (const OverflowFailure& failure) {
    PyErr_SetString(PyExc_OverflowError, failure.what());
  } catch (const CheckFailure& failure) {
    const py::object type = py::module_::import("weft._errors").attr("InternalError");
    PyErr_SetObject(type.ptr(), text_of(failure.what()).ptr());
  }
}

}  // namespace

}  // namespace weft::python

PYBIND11_MODULE(_native, module) {
  using namespace weft::python;
  pybind11::register_exception_translator(&translate);
  module.doc() = "The compiled part of weft; use the package.";
  module.attr("version") = weft::version_text();
  module.def("message_text", &message_text, pybind11::arg("type"), pybind11::arg("fields"), pybind11::arg("called"));
  module.def("table_descriptions", &table_descriptions);
  bind_runs(module);
  bind_studies(module);
  bind_calibrations(module);
  bind_projections(module);
  bind_forecasts(module);
}
