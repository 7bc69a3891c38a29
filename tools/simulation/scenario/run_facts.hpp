// SPDX-License-Identifier: Apache-2.0
// Run facts: what conditions in tables of parameters ask about a run beside its parameters.
//
// Where it sits: rows and modules say in which runs they have an effect (core/text/run_condition);
// unused_settings asks for a scenario, `weft modules` prints the conditions.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string_view>

#include "core/text/run_condition.hpp"

namespace weft {

struct Scenario;

struct RunFact {
  std::string_view name;
  std::string_view values;  ///< "job|flow|packet"; empty: names of modules
  bool (*has)(const Scenario& scenario, std::string_view value);
};

/// Every fact that conditions may name. A run may have several values of one.
std::span<const RunFact> run_facts();

/// Answers for a scenario, whose parameters, mode and jobs are known; it has to outlive the result.
HasValue facts_of(const Scenario& scenario);

}  // namespace weft
