// SPDX-License-Identifier: Apache-2.0
// Run conditions: in which runs a parameter or a module has no effect, or has one, as text in
// tables.
//
//   condition    comparison { " and " comparison }
//   comparison   subject ( " = " | " != " ) value { "|" value }
//   subject      "module.param", or a fact of the run
//
// "flow.routing != ecmp|e_ecmp" holds where the parameter has neither value. Facts, such as "mode",
// are the run's to answer: it hands holds() a function. A value of a parameter is compared in the
// units of its kind: 0ns is 0s.
// Thread safety: pure functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/params.hpp"

namespace weft {

struct RunComparison {
  std::string subject;
  bool is_equal = true;
  std::vector<std::string> values;
};

/// The comparisons of a condition, all of which have to hold. Requires: the text is one
/// (WEFT_CHECK).
std::vector<RunComparison> parse_run_condition(std::string_view condition);

/// Whether the subject of a comparison has the value.
using HasValue = std::function<bool(std::string_view subject, std::string_view value)>;

/// Whether the condition holds in a run. Requires: as parse_run_condition().
bool holds(std::string_view condition, const HasValue& has_value);

/// The first of the conditions that holds; null if none does.
const UnusedWhen* first_that_holds(const UnusedList& unused, const HasValue& has_value);

/// Whether a parameter has the value. Requires: there is such a parameter, and of a quantity the
/// value is one of its kind (WEFT_CHECK).
bool has_value(const ParamSet& params, std::string_view name, std::string_view value);

}  // namespace weft
