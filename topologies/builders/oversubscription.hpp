// SPDX-License-Identifier: Apache-2.0
// Oversubscription: the number of up-links when a ratio is given instead of it.
//
// Where it sits: clos and rail_optimized read the switches above a tier with it.
//
// Model: a tier's oversubscription is what its switch can take in from below over what it can send
// up:
//   oversubscription = down_ports * down_rate / (up_ports * up_rate)
//   so up_ports = down_ports * down_rate / (oversubscription * up_rate), rounded up.
// Cables keep their rate, as those of a fabric that one buys do: with thinner cables each flow
// would be slow, even alone.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/text/params.hpp"

namespace weft {

/// Throws InputError [conflicting-params] when both parameters are given.
void refuse_both(const ParamSet& params, std::string_view count_name, std::string_view ratio_name, const SourcePlace& place);

struct UplinkChoice {
  std::string_view ratio_name;
  double ratio;
  std::string_view rate_name;
  Bandwidth rate;  ///< of a cable up
};

/// How many cables up give this oversubscription, at least. Throws InputError [bad-shape] when a
/// ratio above 1 cannot be, as one cable is more than it asks for, or it takes too many.
std::uint32_t uplinks_for(const ParamSet& params, const UplinkChoice& choice, Bandwidth down_rate, std::uint64_t down_ports,
                          const SourcePlace& place);

}  // namespace weft
