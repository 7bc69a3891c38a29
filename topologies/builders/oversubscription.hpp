// SPDX-License-Identifier: Apache-2.0
// Oversubscription: the rate of up-links when a ratio is given instead of a rate.
//
// Where it sits: clos and rail_optimized read the up-links of a tier with it.
//
// Model: a tier's oversubscription is what its switch can take in from below over what it can send
// up:
//   oversubscription = down_ports * down_rate / (up_ports * up_rate)
//   so up_rate = down_ports * down_rate / (oversubscription * up_ports).
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/text/params.hpp"

namespace weft {

/// The two parameters of the same links, of which one is given.
struct UplinkChoice {
  std::string_view rate_name;
  Bandwidth rate;
  std::string_view ratio_name;
  double ratio;  ///< 0: the rate stands
};

/// The rate, or, where the ratio is not 0, that which gives this oversubscription, to the nearest
/// bit per second. Throws InputError [conflicting-params] when both are set, [bad-shape] when the
/// ratio leaves less than 1 bps or there are no up-links to apply it to.
Bandwidth uplink_rate(const ParamSet& params, const UplinkChoice& choice, Bandwidth down_rate, std::uint64_t down_ports,
                      std::uint64_t up_ports, const SourcePlace& place);

}  // namespace weft
