// SPDX-License-Identifier: Apache-2.0
// Frames: tables of a run as columns that NumPy reads where they lie.
//
// Where it sits: the Python module makes pandas frames of them.
// Model: a column is what tools/results/tables has under this name, in the same unit. Numbers are
// an array whose memory NumPy takes over; counts with holes come with a mask of the holes, real
// numbers have NaN there. Texts are an array of codes and the list of the distinct texts, -1 where
// there is none.
// Threads: with the interpreter's lock held.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "tools/results/memory_sink.hpp"

namespace weft::python {

/// By name: an array, an array and a mask, or codes and texts.
/// Throws KeyError for a table that is none of MemorySink's.
pybind11::dict columns_of(const MemorySink& rows, const std::string& table);

/// Of every table that a MemorySink has, by name: its meaning, when it is filled, and of each
/// column unit and meaning.
pybind11::dict table_descriptions();

}  // namespace weft::python
