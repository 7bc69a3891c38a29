// SPDX-License-Identifier: Apache-2.0
// Study report: what the page says of a study.
//
// Where it sits: report_page asks for it where the folder is a study's.
// Model: a point is the mean of its replicates with its 95 % interval (core/values/mean_interval).
// One axis: a line for each metric over it. Two: lines over the first, one for each value of the
// second, and a heat map. More: the axes beyond the second make series of their own. Two metrics
// and more: points by the first two, and those that no other point beats in both (Pareto), taking
// less of either for better.
// Threads: pure function, which reads files.
#pragma once

#include <filesystem>

#include "tools/report/report_parts.hpp"

namespace weft {

/// Throws InputError [bad-results] and what readers of the tables do. Requires: study.csv is there.
Report study_report(const std::filesystem::path& folder);

}  // namespace weft
