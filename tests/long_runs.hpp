// SPDX-License-Identifier: Apache-2.0
// Whether tests that have a short and a long form run the long one: WEFT_LONG_TESTS in the
// environment, set by `tools/test --long`. And whether tests that are long under a sanitizer only,
// where code takes ten to a hundred times as long, run a short form: their program is sanitized
// (WEFT_SANITIZED), and no long runs are asked for.
#pragma once

#include <cstdlib>

namespace weft {

inline bool long_runs() { return std::getenv("WEFT_LONG_TESTS") != nullptr; }

inline bool short_sanitized_runs() { return WEFT_SANITIZED && !long_runs(); }

}  // namespace weft
