// SPDX-License-Identifier: Apache-2.0
// Host settings: what it costs a rank to compute and to reduce, and which ranks are simulated.
//
// Where it sits: tools fill them from the table "host"; host entities, speeds of hosts
// (host/ranks/host_speed) and the folding of ranks (host/symmetry) go by them.
// Thread safety: values.
#pragma once

#include <cstdint>

#include "core/text/params.hpp"
#include "core/values/units.hpp"

namespace weft {

/// Parameter table "host".
ParamTable host_params();

/// Whether ranks that behave alike are simulated once.
enum class FoldRanks : std::uint8_t { automatic, on, off };
/// Whether hosts move what stays on links of their own (host/inside/inside_traffic).
enum class PrivateLinksUse : std::uint8_t { automatic, on, off };

struct HostSettings {
  Duration reduction_time_per_mib;  ///< of received data, after it has arrived
  FoldRanks fold_ranks = FoldRanks::automatic;
  Duration fold_tolerance;  ///< zero: exactly
  PrivateLinksUse private_links = PrivateLinksUse::automatic;
  Duration kernel_launch_latency;  ///< of GPU compute ops
  double compute_slowdown = 1;     ///< of GPU compute beside communication of the rank; >= 1
  double straggler_share = 0;      ///< probability of a host to be one
  double straggler_speed = 0.8;    ///< of its compute ops
  double speed_spread = 0;         ///< of all hosts' speeds, over their mean
};

}  // namespace weft
