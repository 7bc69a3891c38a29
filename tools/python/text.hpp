// SPDX-License-Identifier: Apache-2.0
// Text between Weft and Python: names may hold bytes that are no UTF-8.
//
// Where it sits: all of the Python module.
// Threads: with the interpreter's lock held.
#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

namespace weft::python {

/// Bytes that are no UTF-8 become U+FFFD.
inline pybind11::str text_of(std::string_view text) {
  return pybind11::reinterpret_steal<pybind11::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

}  // namespace weft::python
