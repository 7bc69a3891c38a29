// SPDX-License-Identifier: Apache-2.0
// Run loop: drives the engine to the end of a run, takes samples on the way, and ends runs in which
// nothing gets on any more though events go on.
//
// Where it sits: tools/simulation/run calls it once all entities are there.
//
// Model: switches that wait for each other, or for a host that pauses for good, refresh their
// pauses for ever, and cards send for ever what never comes. So in packet mode the loop looks every
// 10 ms: where no card got anything between two looks, it asks for circles of pauses and for what
// is sent again.
// Threads: belongs to the thread that runs the engine.
#pragma once

#include <cstdint>
#include <optional>

#include "core/engine/engine.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "tools/simulation/assembly.hpp"
#include "tools/simulation/link_sampler.hpp"
#include "tools/simulation/tier_sampler.hpp"

namespace weft {

/// Packets are sent again and again, and do not come.
struct Livelock {
  HostId host;
  std::uint64_t repeats;
  Time since;
};

struct LoopSamplers {
  LinkSampler* links = nullptr;
  TierSampler* tiers = nullptr;
};

struct LoopResult {
  RunReport report;
  std::optional<Livelock> livelock;
};

/// Samplers may be null. nullopt: the run was abandoned for a new plan (Assembly::abandoned),
/// whatever else happened until it ended. Throws what entities do.
std::optional<LoopResult> run_to_end(const Assembly& parts, Engine& engine, const LoopSamplers& samplers, RunControl control);

}  // namespace weft
