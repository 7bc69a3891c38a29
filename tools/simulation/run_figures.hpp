// SPDX-License-Identifier: Apache-2.0
// Run figures: what a run that has stopped came to as a whole - its makespan, counts and GPU time,
// and the notes on what set its pace.
//
// Where it sits: tools/simulation/run fills the summary with it; what rows come to is added by
// tools/results/summary_statistics.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "network/transfer_records.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/simulation/assembly.hpp"

namespace weft {

/// When a run was cut off. Both are empty of a run that went on to its end.
struct CutOff {
  std::optional<Time> at;         ///< told to stop, or stood still from then on
  std::optional<Time> engine_at;  ///< told to stop, and may have had events left
};

struct TimeSpan {
  Time begin;
  Time end;
  Duration length() const { return end - begin; }
};

/// The makespan, and after it until the network has moved what jobs left behind: the last
/// checkpoints of jobs that have ended, packets sent again that had come after all.
TimeSpan network_span(const Assembly& parts, const Engine& engine, const CutOff& cut_off, Time now);

/// What the run came to, but for what its rows do.
RunSummary summarise(const Assembly& parts, const RunReport& report, const CutOff& cut_off);

/// What settings, not the network, held back (tools/simulation/run_notes). Requires: a network was
/// simulated.
std::vector<std::string> notes_on(const Assembly& parts, const Engine& engine, Time now, std::span<const LinkUsage> usage);

}  // namespace weft
