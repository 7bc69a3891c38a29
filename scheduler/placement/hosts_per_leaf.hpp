// Parameter of placers that look at leaves, for clusters that are given without a topology.
// Thread safety: constants and pure functions.
#pragma once

#include <cstdint>

#include "core/text/params.hpp"

namespace weft {

inline constexpr ParamSpec hosts_per_leaf_param = {
    "hosts_per_leaf",
    ParamKind::integer,
    "16",
    "1",
    "1000000",
    "",
    "without a topology: so many consecutive hosts are below one leaf, or one set of rail switches",
    "a rack of 2 x 8 hosts of 8 GPUs; with a topology its own leaves count"};
inline std::uint32_t hosts_per_leaf(const ParamSet& params) { return static_cast<std::uint32_t>(params.integer("hosts_per_leaf")); }

}  // namespace weft
