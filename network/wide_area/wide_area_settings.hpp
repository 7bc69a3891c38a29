// SPDX-License-Identifier: Apache-2.0
// Wide-area settings: how hosts send between sites (`wan.congestion_control=bbr`).
//
// Where it sits: part of FlowSettings, as both modes go by them (wide_area_paths).
// Threads: values.
#pragma once

#include <cstdint>
#include <optional>

#include "core/text/params.hpp"
#include "network/wide_area/tcp_rate.hpp"

namespace weft {

/// Parameter table "wan".
ParamTable wan_params();

/// By the table "wan", which has the only defaults.
struct WideAreaSettings {
  /// As if nothing was set.
  WideAreaSettings();
  /// `run_seed` is that of the run. Throws InputError [bad-value] or [out-of-range] for the window,
  /// which may be a word.
  WideAreaSettings(const ParamSet& wan, std::uint64_t run_seed);

  WideAreaControl congestion_control;
  Bytes segment;
  std::optional<Bytes> window;  ///< none: unlimited
  std::uint64_t seed = 1;       ///< of jitter
};

}  // namespace weft
