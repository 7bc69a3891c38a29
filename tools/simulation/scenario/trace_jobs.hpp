// SPDX-License-Identifier: Apache-2.0
// Trace jobs: job traces are read, share an origin of time, and give their jobs what the rules say.
//
// Where it sits: entries of a scenario file and the flag --jobs name traces. Rules may need to run
// a workload, so they are applied when everything else is known.
// Thread safety: belongs to one thread.
#pragma once

#include <string>

#include "tools/simulation/scenario/loading.hpp"

namespace weft {

/// Reads a trace into the manifest and the notes of the run. `place` is where the trace was named.
/// Throws InputError, among others [no-run-times].
JobTrace read_trace(Scenario& scenario, const std::string& path, const std::string& format, const JobTraceOptions& options,
                    bool has_rules, const SourcePlace& place);

/// Adds the jobs of all traces to the scenario, before other jobs of the same instant. Throws
/// InputError.
void apply_rules(Loading& loading, Probing probing);

}  // namespace weft
