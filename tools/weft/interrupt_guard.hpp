// SPDX-License-Identifier: Apache-2.0
// Interrupt guard: Ctrl-C and SIGTERM, as commands that take long answer them.
//
// Where it sits: commands that run, search or fit have one while they do.
// Model: the first signal sets a flag that the work looks at; the second ends the process at once.
// Threads: one guard at a time; the flag may be read from any thread.
#pragma once

#include <atomic>

namespace weft {

/// Set by the first signal under a guard, and never taken back.
const std::atomic<bool>& interrupt_flag();

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

}  // namespace weft
