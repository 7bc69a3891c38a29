// SPDX-License-Identifier: Apache-2.0
// Unused flags: a flag that says something about an input that is not given would be ignored in
// silence, so it is an error.
//
// Where it sits: `weft run` and `weft check` ask before they read anything. What a format does not
// read its reader refuses itself.
// Thread safety: pure functions.
#pragma once

#include <string>

#include "core/text/diagnostics_fwd.hpp"
#include "workloads/formats/workload_reader.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"

namespace weft {

/// [unused-flag] if `flag` is given without `owner`, the flag or the kind of input that it belongs
/// to.
void refuse_unused_flag(bool is_given, const std::string& flag, bool has_owner, const std::string& owner, Diagnostics& diagnostics);

/// The same for every flag of a workload.
void refuse_unused_flags(const WorkloadOptions& options, bool has_owner, const std::string& owner, Diagnostics& diagnostics);

/// The same for every flag of a job trace; --strict says something about the traces that a scenario
/// names as well.
void refuse_unused_flags(const JobTraceOptions& options, bool has_owner, bool is_of_scenario, const std::string& owner,
                         Diagnostics& diagnostics);

/// Whether a scenario names job traces. Of a file that cannot be read nobody knows what it was to
/// name: true.
bool names_job_traces(const std::string& scenario_file);

}  // namespace weft
