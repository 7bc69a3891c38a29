// SPDX-License-Identifier: Apache-2.0
// Window barrier: lets every worker of a run wait for the others between two windows.
//
// Model: the last to arrive opens the next phase. The others watch for it for a moment, because
// windows are often microseconds long, and then sleep, because cores may be shared and windows
// long. With more workers than cores nobody watches. Everything a worker wrote before wait() is
// seen by all after it.
// Threads: any number up to `parties`, each calling wait() once per phase.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

class WindowBarrier {
 public:
  explicit WindowBarrier(std::uint32_t parties);
  void wait();

 private:
  const std::uint32_t parties_;
  const std::uint32_t spins_max_;
  alignas(64) std::atomic<std::uint32_t> arrived_ = 0;
  alignas(64) std::atomic<std::uint32_t> phase_ = 0;
};

}  // namespace weft
