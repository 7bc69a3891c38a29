// SPDX-License-Identifier: Apache-2.0
// Op record: one op's stretch of time at one rank.
//
// Where it sits: hosts keep them while a run goes on; results are read from them when it is over.
// Threads: values.
#pragma once

#include <cstdint>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

struct OpRecord {
  AttemptId attempt;
  RankId rank;
  std::uint32_t iteration = 0;
  OpId op;
  Time start;
  Time end;
};

}  // namespace weft
