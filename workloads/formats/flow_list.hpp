// SPDX-License-Identifier: Apache-2.0
// Flow list: transfers that start at given times, with no job around them.
//
// Where it sits: readers (formats/hpcc_flows) make one; `weft run --flows` replays it on a
// topology.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/units.hpp"

namespace weft {

struct ListedFlow {
  /// Node number of the topology file (its endpoint index where nodes are endpoints only).
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  /// Class of the network, at most op_priority_max; a higher one goes first.
  std::uint8_t priority = 0;
  std::uint32_t destination_port = 0;
  Bytes size;
  Duration start;
  int line = 0;  ///< of the file, for messages
};

struct FlowList {
  std::string name;
  std::vector<ListedFlow> flows;  ///< in file order
};

}  // namespace weft
