// SPDX-License-Identifier: Apache-2.0
// Calibration figures: the pictures of a calibration page, each with what it says in a sentence and
// its figures as a table.
//
// Where it sits: calibration_page puts them between its other sections.
// Threads: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "calibration/error_breakdown.hpp"
#include "tools/calibrate/calibration_page.hpp"

namespace weft {

/// Measured times that are drawn at most.
inline constexpr std::size_t drawn_times_max = 2'000;

// Sections of HTML; empty where there is nothing to show.
/// Simulated against measured times, before and after.
std::string times_figure(std::span<const TimedError> times);
/// Relative errors by message size: medians, quartiles, and 5 % to 95 %.
std::string residuals_figure(const ErrorBreakdown& breakdown);
std::string message_size_figure(const ErrorBreakdown& breakdown);
std::string job_size_figure(const ErrorBreakdown& breakdown);
std::string host_figure(const ErrorBreakdown& breakdown);
/// `drift_threshold`: a share.
std::string nights_figure(std::span<const NightPoint> nights, const std::optional<double>& drift_threshold);

}  // namespace weft
