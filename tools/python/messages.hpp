// SPDX-License-Identifier: Apache-2.0
// Messages: what Python says in dictionaries, as the protobuf text that files have.
//
// Where it sits: the Python module's Topology, Workload, Scenario and Study; what they write is
// read like a file that a person wrote.
// Model: keys are fields. A list fills a repeated field, a single value fills it once. Enumerators
// go by their names in any case. Settings - fields of a name and a value each - may be a
// dictionary, {"flow.queue_pairs": 4}. Numbers and truth values may stand where text is wanted.
// Paths become absolute, as the file that is written lies elsewhere: os.PathLike objects anywhere,
// and text in the fields that name files.
// Threads: with the interpreter's lock held.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace weft::python {

/// `type`: "scenario", "topology", "workload", "study" or "cases". `called`: what messages say for
/// it, "Scenario". Throws InputError [unknown-field], [bad-value], with all that is wrong.
std::string message_text(const std::string& type, const pybind11::dict& fields, const std::string& called);

}  // namespace weft::python
