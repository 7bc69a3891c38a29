// SPDX-License-Identifier: Apache-2.0
// Times table: every measured time beside the simulated ones, as CSV.
//
// Where it sits: `weft calibrate --table`, and the folder of a night.
// Threads: one at a time.
#pragma once

#include "tools/calibrate/calibrator.hpp"
#include "tools/results/output_file.hpp"

namespace weft {

/// Columns of the table.
inline constexpr std::string_view times_table_header =
    "case,file,line,what,size_bytes,ranks,measured_s,before_s,fitted_s,aligned_s,part,outlier";

/// Writes all rows and commits. aligned_s: empty but for iterations of a fit with an alignment.
/// part: training, held_out, dropped or unmatched. Throws InputError [cannot-write].
void write_times_table(CsvFile& file, const CalibrationCases& all, const CalibrationResult& result);

}  // namespace weft
