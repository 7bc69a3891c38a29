// SPDX-License-Identifier: Apache-2.0
// Study points: which runs a study has, in which order.
//
// Where it sits: study_runner carries them out, study.csv has a row for each.
// Model: points in the order of the file - of a grid the last axis changes fastest - and of each
// point its replicates one after the other. Of a Latin hypercube of n samples each axis is cut into
// n equal parts, of which every sample has another; where in its part a number lies is drawn, too.
// An axis of k values has each of them in n / k samples, give or take one.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/study/study.hpp"

namespace weft {

struct StudyPoint {
  std::size_t number = 0;  ///< from 0; of the run, not of the point alone
  std::uint32_t replicate = 0;
  std::uint64_t seed = 0;
  std::vector<StudySetting> settings = {};

  /// "" where it leaves what the base has.
  std::string value_of(const std::string& name) const;
};

/// Runs: points times replicates.
std::uint64_t point_count(const Study& study);
std::vector<StudyPoint> points_of(const Study& study);

/// What `weft run` would be told. Throws InputError of apply().
RunFlags flags_of(const Study& study, const StudyPoint& point);

}  // namespace weft
