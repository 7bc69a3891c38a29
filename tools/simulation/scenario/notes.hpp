// SPDX-License-Identifier: Apache-2.0
// Notes: what a scenario assumes, as it is told to people.
//
// Where it sits: every step of loading adds to Scenario::assumptions; load_scenario() makes them
// readable once all are there.
// Thread safety: pure function.
#pragma once

#include <string>
#include <vector>

namespace weft {

/// Each note once, in order of the first. A note on an input ("PATH: text") begins with the name of
/// the file alone, unless another one of `inputs` has the same name in another folder.
std::vector<std::string> readable_notes(std::vector<std::string> notes, const std::vector<std::string>& inputs);

}  // namespace weft
