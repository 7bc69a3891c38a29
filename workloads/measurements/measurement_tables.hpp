// SPDX-License-Identifier: Apache-2.0
// Measurement tables: foreign tables that are no workload and no job trace, by format.
//
// Where it sits: `weft check FILE:format` checks and prints them; scenarios use pollux and
// gavel-throughputs as measured iteration times. A new format is a file in measurements/ and an
// entry of measurement_tables().
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/text/source_text.hpp"

namespace weft {

struct MeasurementTable {
  std::string_view name;
  std::string_view summary;  ///< one paragraph
  /// Reads and checks a file and says what it holds, in lines. Throws InputError.
  std::string (*describe)(const SourceText& source);
};

std::span<const MeasurementTable> measurement_tables();

/// Throws InputError: [unknown-format], and what the reader throws.
std::string describe_measurements(const std::string& path, std::string_view format);

}  // namespace weft
