// SPDX-License-Identifier: Apache-2.0
// Parameter of placers that look at leaves, for clusters that are given without a topology.
// Thread safety: constants and pure functions.
#pragma once

#include <cstdint>

#include "core/text/param_rows.hpp"

namespace weft {

/// What the parameter fills.
struct LeafSettings {
  std::uint32_t hosts_per_leaf;
};

inline constexpr ParamSpec hosts_per_leaf_param = param<&LeafSettings::hosts_per_leaf>(
    {.name = "hosts_per_leaf",
     .default_text = "16",
     .minimum = "1",
     .maximum = "1000000",
     .meaning = "without a topology: so many consecutive hosts are below one leaf, or one set of rail switches",
     .origin = "a rack of 2 x 8 hosts of 8 GPUs; with a topology its own leaves count"});
inline std::uint32_t hosts_per_leaf(const ParamSet& params) { return filled<LeafSettings>(params).hosts_per_leaf; }

}  // namespace weft
