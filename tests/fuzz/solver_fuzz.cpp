// SPDX-License-Identifier: Apache-2.0
// The fuzzer of the max-min solver: solver_fuzz [libFuzzer's options] CORPUS...
//
// Built and run as reader_fuzz is. A finding is left in crash-*; once mended, it goes to
// solver_corpus/ so that the usual suite replays it.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/solver_steps.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::drive_solver({data, size});
  return 0;
}
