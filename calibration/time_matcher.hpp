// SPDX-License-Identifier: Apache-2.0
// Time matcher: which simulated times measured ones belong to.
//
// Where it sits: of each table there is one for all candidates of a fit, as what rows say stays the
// same.
//
// Model: simulated ones that agree with a row in all that the row says belong to it. Flows that are
// equal in all that counts are paired with as many simulated ones in order of their start; of
// collectives and iterations the mean counts, as tables leave out which of many was measured.
// Threads: const functions from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "calibration/measured_times.hpp"

namespace weft {

/// What rows are told apart by.
enum class MatchBy : std::uint8_t {
  automatic,  ///< input_row where there is one, else ends where src and dst are, else flow_id
  input_row,
  flow_id,  ///< numbers of a run, which may change with its parameters
  ends,     ///< source, destination, size and start
};

class TimeMatcher {
 public:
  explicit TimeMatcher(const MeasuredTimes& measured, MatchBy by = MatchBy::automatic);

  /// For each measured time that of the simulated ones that belong to it, NaN where there is none,
  /// or where several flows agree in all that counts, and there are more of one than of the other
  /// or no starts. Simulated ones of another kind do not count.
  std::vector<double> match(std::span<const TimedEntity> simulated) const;

 private:
  struct Index;
  std::shared_ptr<const Index> index_;
};

/// Of each table, in their order.
std::vector<TimeMatcher> matchers_of(const MeasuredTables& measured, MatchBy by);

}  // namespace weft
