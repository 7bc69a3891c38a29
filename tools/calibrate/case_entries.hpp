// SPDX-License-Identifier: Apache-2.0
// Case entries: the fields of a message that say what cases there are.
//
// Where it sits: readers of files that have cases (calibrate.proto).
// Threads: pure.
#pragma once

#include <vector>

#include <fmt/format.h>

#include "core/text/beside.hpp"
#include "core/text/textproto.hpp"
#include "tools/calibrate/calibrate.pb.h"
#include "tools/calibrate/calibration_cases.hpp"

namespace weft {

/// Of a message with a field `case`, in a file called `file`.
template <class Message>
std::vector<CaseFiles> read_case_entries(const Message& message, const FieldPlaces& places, const std::string& file,
                                         Diagnostics& diagnostics) {
  std::vector<CaseFiles> cases;
  for (int i = 0; i < message.case__size(); ++i) {
    const calibration::Case& from = message.case_(i);
    CaseFiles& to = cases.emplace_back();
    to.name = from.name();
    to.is_held_out = from.held_out();
    to.place = places.of(message, "case", i);
    if (from.has_weight()) to.weight = from.weight();
    if (!is_weight(to.weight)) {
      diagnostics.error("out-of-range", fmt::format("the weight is {}, and {}", to.weight, weight_range), to.place,
                        "write held_out: true for a case that does not count");
    }
    if ((from.scenario().empty() && from.topology().empty()) || from.measured().empty()) {
      diagnostics.error("missing-field", "the case has no scenario or nothing measured", to.place,
                        "write case { scenario: \"cluster.textproto\" measured: \"fct.csv\" }");
    }
    to.scenario = beside(file, from.scenario());
    to.topology = beside(file, from.topology());
    to.workload = beside(file, from.workload());
    to.flows = beside(file, from.flows());
    to.mode = from.mode();
    for (const std::string& measured : from.measured()) to.measured.push_back(beside(file, measured));
  }
  if (cases.empty()) {
    diagnostics.error("missing-field", "there is no case", SourcePlace::named(file),
                      "write case { scenario: \"cluster.textproto\" measured: \"fct.csv\" }");
  }
  return cases;
}

}  // namespace weft
