// SPDX-License-Identifier: Apache-2.0
// Hill climbing: changes one parameter after the other for as long as that helps.
//
// Where it sits: the default of calibration/search, as in the paper (section 7.2).
//
// Model: each parameter has a step, a part of its range. In its turn four values are looked at, at
// once: a step and a quarter of one on both sides. The best is taken if it is better than what
// there is. A step that was taken doubles, one of which a quarter was taken halves, and one that
// did not help becomes a quarter. After a round over all parameters, points 1, 2 and 4 times as far
// in the direction of the round are looked at, which follows valleys where parameters depend on
// each other (pattern moves, Hooke and Jeeves, J. ACM 8, 1961). Steps do not fall below the
// tolerance; a climb ends with a round of such steps that changes nothing. Others begin at drawn
// points.
// Threads: constant.
#pragma once

#include <memory>
#include <span>

#include "calibration/search.hpp"

namespace weft {

ParamTable hill_climbing_params();
std::unique_ptr<Search> make_hill_climbing(const ParamSet& params);

}  // namespace weft
