// SPDX-License-Identifier: Apache-2.0
// What `weft study` prints.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/study/slurm_backend.hpp"
#include "tools/study/study.hpp"
#include "tools/study/study_runner.hpp"

namespace weft {

/// A row for each point: what it sets and its metrics, with replicates their means and how far
/// those may be off (95 %, Student's t).
std::string study_page(const Study& study, const StudyResult& result);
/// What runs noted, each once and with how many runs said so; the first twenty.
std::vector<std::string> study_notes(const Study& study, const StudyResult& result);
nlohmann::ordered_json study_json(const Study& study, const StudyResult& result);

/// "array 17: 42 of 200 runs, 8 tasks run, 4 wait (Resources)"
std::string slurm_progress_text(const SlurmProgress& progress);
/// " 42 % of 200 runs  12 s left"
std::string study_progress_text(const StudyProgress& progress, double elapsed_s);

}  // namespace weft
