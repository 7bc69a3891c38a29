// SPDX-License-Identifier: Apache-2.0
// Module uses: in which runs the parameters of a module are asked for.
//
// Where it sits: unused_settings notes parameters of modules that take no part in a run; `weft
// modules` prints the conditions (core/text/run_condition, run_facts).
// Thread safety: constants.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/text/params.hpp"

namespace weft {

/// A module is used where one of its conditions holds. Modules without any are used in every run.
struct ModuleUse {
  std::string_view kind;
  std::string_view name;
  std::string condition;
};

std::span<const ModuleUse> module_uses();

/// The conditions under which the parameter has no effect in a run that uses its module.
const UnusedList& unused_of(std::string_view module, const ParamSpec& row);

}  // namespace weft
