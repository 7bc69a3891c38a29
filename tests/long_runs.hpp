// SPDX-License-Identifier: Apache-2.0
// Whether tests that have a short and a long form run the long one: WEFT_LONG_TESTS in the
// environment, set by `tools/test --long`.
#pragma once

#include <cstdlib>

namespace weft {

inline bool long_runs() { return std::getenv("WEFT_LONG_TESTS") != nullptr; }

}  // namespace weft
