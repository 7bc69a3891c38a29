// SPDX-License-Identifier: Apache-2.0
// Data flow: follows whose contributions every part of every buffer holds while a plan is carried
// out, and says where it is not the collective that it should be.
//
// Where it sits: algorithms that are read from files are held to it before they run.
//
// Model: at first a rank's parts hold its own contribution, where the collective gives it input
// there. A send copies what its parts hold (of an all_to_all: moves it), a receive replaces, a
// reducing receive adds. An in_network step reads what all its members' parts hold when the last of
// them has come to it, adds that up or passes it on as its kind says, and writes. Steps that use a
// part must be ordered by dependencies within their rank unless all of them read it or all of them
// add to it; so the result does not depend on timing and one order of execution tells it. Not for
// barriers and all_to_all_v, whose messages carry no parts.
// Thread safety: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "host/collectives/collective_program.hpp"

namespace weft {

struct DataFlowFault {
  static constexpr std::uint32_t at_end = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t position = 0;
  std::uint32_t step = at_end;        ///< of the position's program
  std::uint32_t other_step = at_end;  ///< of [unordered-steps]: the other one of the two
  std::string
      /// [sends-nothing], [mixed-blocks], [added-twice], [unordered-steps], [waits-for-ever],
      /// [incomplete-collective]
      code;
  std::string message;
};

/// The first faults, at most `faults_max`; those of earlier kinds hide those of later ones, and a
/// rank lacks one contribution at most. Requires: every send has a receive with equal parts.
/// Memory: a bit per rank, rank and part, and a bit per pair of steps of one program.
std::vector<DataFlowFault> find_data_flow_faults(const CollectivePlan& plan, std::size_t faults_max);

}  // namespace weft
