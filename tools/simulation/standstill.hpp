// SPDX-License-Identifier: Apache-2.0
// Standstill: why a run that has ended did not finish what it was to do.
//
// Where it sits: tools/simulation/run asks once the engine has stopped by itself.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/text/diagnostics.hpp"
#include "tools/simulation/assembly.hpp"
#include "tools/simulation/run_loop.hpp"

namespace weft {

/// Of a run without events left, or one in which nothing comes of them: why it stands still; empty
/// if all is done. Throws InputError [beyond-clock] and [stuck], the latter with the ranks that
/// wait and what for.
std::vector<Diagnostic> why_nothing_gets_on(const Assembly& parts, const Engine& engine, const std::optional<Livelock>& livelock);

}  // namespace weft
