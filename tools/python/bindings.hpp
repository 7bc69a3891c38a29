// SPDX-License-Identifier: Apache-2.0
// Bindings: what the compiled part of the Python module, weft._native, consists of.
//
// Where it sits: native.cpp calls each once; the package in tools/python/weft gives its users
// keywords, frames and documentation on top.
// Threads: with the interpreter's lock held.
#pragma once

#include <pybind11/pybind11.h>

namespace weft::python {

void bind_runs(pybind11::module_& module);
void bind_studies(pybind11::module_& module);
void bind_calibrations(pybind11::module_& module);
void bind_projections(pybind11::module_& module);
void bind_forecasts(pybind11::module_& module);

}  // namespace weft::python
