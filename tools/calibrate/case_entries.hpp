// SPDX-License-Identifier: Apache-2.0
// Case entries: the fields of a message that say what cases there are.
//
// Where it sits: readers of files that have cases (calibrate.proto).
// Threads: pure.
#pragma once

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "core/text/textproto.hpp"
#include "tools/calibrate/calibrate.pb.h"
#include "tools/calibrate/calibration_cases.hpp"

namespace weft {

/// A path of a file, as the program finds it from where it runs.
inline std::string beside(const std::string& file, const std::string& path) {
  return (std::filesystem::path(file).parent_path() / path).string();
}

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
    const auto path_of = [&](const std::string& path) { return path.empty() ? path : beside(file, path); };
    to.scenario = path_of(from.scenario());
    to.topology = path_of(from.topology());
    to.workload = path_of(from.workload());
    to.flows = path_of(from.flows());
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
