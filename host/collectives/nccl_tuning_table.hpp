// SPDX-License-Identifier: Apache-2.0
// NCCL tuning table: what the tuner takes from which size on, and latency and bus bandwidth of
// everything that it weighs.
//
// Where it sits: `weft modules --rules` prints it for every machine. Nothing here is written down:
// the tuner is asked for each size.
//
// Model: sizes are whole buffers (CollectiveRequest::whole_buffer). Ranges: the tuner is asked at
// every power of two between `smallest` and `largest`; where two neighbours get different answers
// the size at which they change is found by bisection, to 1/64 of it. A choice that stands between
// two neighbours that agree is not seen. Costs: latency is the time of the smallest size that a
// choice is there for, bus bandwidth, as nccl-tests counts it, what the last doubling of size adds:
// both as the tuner's closed forms have them, on idle links.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/units.hpp"
#include "host/collectives/group_layout.hpp"
#include "host/collectives/nccl_tuner.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

/// Sizes from `from` on until the next range that are carried out alike.
struct NcclTunedRange {
  Bytes from;
  std::string algorithm;
  std::string protocol;
  std::uint32_t channels_min = 1;  ///< at `from`, or wherever there are fewest
  std::uint32_t channels_max = 1;
};

/// In order of size, the first from `smallest`. Requires: 0 < smallest <= largest, and a group of
/// at least two.
std::vector<NcclTunedRange> nccl_tuned_ranges(const NcclTuner& tuner, const GroupLayout& layout, CollectiveType type,
                                              Bytes smallest, Bytes largest);

struct NcclTunedCost {
  std::string algorithm;
  std::string protocol;
  double latency_us = 0;
  double bus_gbytes_per_s = 0;  ///< 0 where the choice is there for one size only
};

/// All that is there for some size between those, in order of name and protocol. Requires as above.
std::vector<NcclTunedCost> nccl_tuned_costs(const NcclTuner& tuner, const GroupLayout& layout, CollectiveType type, Bytes smallest,
                                            Bytes largest);

}  // namespace weft
