// SPDX-License-Identifier: Apache-2.0
// Night date: the day that a night is of, "2026-01-31".
//
// Where it sits: nights (tools/calibrate/nightly) are named by it, and drawn where it is in the
// calendar.
// Threads: pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/diagnostics.hpp"

namespace weft {

/// Nothing if it is no date.
std::optional<std::chrono::sys_days> day_of(std::string_view date);
/// The other way round.
std::string date_of(std::chrono::sys_days day);

/// In UTC.
std::string yesterday();
/// Throws InputError [bad-value] unless it is a date.
void check_date(const std::string& date, const SourcePlace& place);

}  // namespace weft
