// SPDX-License-Identifier: Apache-2.0
// NLopt search: local searches without derivatives of the NLopt library, behind the interface of
// our own.
//
// Where it sits: calibration/search lists them; what a calibration finds can be checked with a
// search that has nothing in common with hill climbing.
// Threads: constant.
#pragma once

#include <memory>

#include "calibration/search.hpp"

namespace weft {

ParamTable nlopt_params();
std::unique_ptr<Search> make_bobyqa(const ParamSet& params);
std::unique_ptr<Search> make_sbplx(const ParamSet& params);

}  // namespace weft
