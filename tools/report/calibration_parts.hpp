// SPDX-License-Identifier: Apache-2.0
// Calibration parts: what reports of calibrations and of nights have in common.
//
// Where it sits: calibration_report, nights_report.
// Threads: pure functions, which read files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tools/report/report_parts.hpp"

namespace weft {

/// times.csv of a fit: simulated against measured times, the distribution of errors, and errors by
/// size. Empty without that table.
ReportSection measured_times_section(const std::filesystem::path& folder);

/// "1.5us", "400Gbps", "4KiB", "0.9" in base units; none for what is no such quantity.
std::optional<double> number_in_base_units(const std::string& text);

}  // namespace weft
