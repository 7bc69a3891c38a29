// SPDX-License-Identifier: Apache-2.0
// Figures of summaries and tables as people read them.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// "s", "ns" or "bytes" of names that end so; "" of others, rates such as events_per_s among them.
std::string_view unit_of_figure(std::string_view name);

/// Times and bytes in the unit that suits them, other numbers with so many digits and their unit.
std::string figure_text(double number, std::string_view unit, int digits = 6);

}  // namespace weft
