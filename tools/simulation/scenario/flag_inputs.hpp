// SPDX-License-Identifier: Apache-2.0
// Flag inputs: what the flags of a run name and override, beside or in place of a scenario file.
//
// Where it sits: load_scenario() calls it when the scenario file, if there is one, has been read.
// Thread safety: belongs to one thread.
#pragma once

#include "tools/simulation/scenario/loading.hpp"

namespace weft {

/// A flag that belongs to another one says nothing without it.
void check_flags(const RunFlags& flags, Diagnostics& diagnostics);

/// Reads what the flags name. `is_mode_open`: whether no scenario file says the mode. Mistakes go
/// to the loading's diagnostics.
void read_flags(Loading& loading, bool is_mode_open);

}  // namespace weft
