// SPDX-License-Identifier: Apache-2.0
// Trace entries: the `jobs { file: ... rule { ... } }` messages of a scenario file, and their
// rules.
//
// Where it sits: the scenario file hands each entry on; its trace and rules join those of the
// loading, to be applied when everything else is known (trace_jobs).
// Thread safety: belongs to one thread.
#pragma once

#include "core/text/textproto.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/loading.hpp"

namespace weft {

/// Reads a trace and its rules. Throws InputError.
void read_trace_entry(Loading& loading, const scenario::JobTrace& trace, const SourcePlace& place, const FieldPlaces& inside);

}  // namespace weft
