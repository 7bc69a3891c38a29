// SPDX-License-Identifier: Apache-2.0
// Limits of what a file may say about a link, and the checks that every reader shares.
//
// Where it sits: the readers of topologies call read_link_rate() and read_link_delay() on the texts
// of a file.
//
// Limits keep simulated arithmetic far from overflow: a path of a thousand links of the longest
// delay still fits the clock.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/units.hpp"

namespace weft {

/// 1,000 Tb/s.
inline constexpr Bandwidth link_rate_max = Bandwidth::bps(1'000'000'000'000'000);
/// One hour.
inline constexpr Duration link_delay_max = Duration::ticks(3600 * Duration::ticks_per_s);
inline constexpr std::uint32_t nodes_of_file_max = 4'000'000;

/// Reads a rate; adds [bad-value] or [zero-bandwidth] or [out-of-range] at `place` and returns
/// nothing if it is none.
std::optional<Bandwidth> read_link_rate(std::string_view text, const SourcePlace& place, Diagnostics& diagnostics);

/// Reads a delay; adds [bad-value] (a negative one too) or [out-of-range].
std::optional<Duration> read_link_delay(std::string_view text, const SourcePlace& place, Diagnostics& diagnostics);

/// Reads a length of fibre as its delay; adds [bad-value] or [out-of-range].
std::optional<Duration> read_fibre_delay(std::string_view text, const SourcePlace& place, Diagnostics& diagnostics);

}  // namespace weft
