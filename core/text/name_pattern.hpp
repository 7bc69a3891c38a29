// SPDX-License-Identifier: Apache-2.0
// Name pattern: which names a pattern such as spine* means, as in a shell.
//
// Where it sits: rules for jobs of a trace, profiles of switches, defects of hosts.
// Threads: a function without side effects.
#pragma once

#include <string>

namespace weft {

/// * stands for any letters, ? for one, [ab] for one of these.
bool matches_pattern(const std::string& pattern, const std::string& name);

}  // namespace weft
