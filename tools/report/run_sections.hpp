// SPDX-License-Identifier: Apache-2.0
// Sections of a run's report, each of what one or two tables of the run say.
//
// Where it sits: run_report puts them into order. A section whose tables have no rows is empty.
// Threads: pure functions, which read files.
#pragma once

#include "tools/report/report_parts.hpp"
#include "tools/report/run_folder.hpp"

namespace weft {

/// attempts.csv, cluster.csv and jobs.csv: who ran when, and what GPUs did.
ReportSection jobs_section(const RunFolder& run);
/// iterations.csv and communicators.csv: what an iteration's time goes into.
ReportSection iterations_section(const RunFolder& run);
/// tier_samples.csv and links.csv: which links are busy, and when.
ReportSection links_section(const RunFolder& run);
/// flows.csv: how long transfers take.
ReportSection transfers_section(const RunFolder& run);
/// tier_samples.csv, link_samples.csv: queues, rates and pauses in packet mode.
ReportSection packets_section(const RunFolder& run);
/// explanation.json, if it is of this run: critical paths, links to raise, who waited for whom,
/// what would help.
ReportSection explained_section(const RunFolder& run);

}  // namespace weft
