// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window_barrier.hpp"

#include <thread>

namespace weft {

namespace {

// About 20 us of watching on current cores: longer than most waits, shorter than the time slice of
// a thread that shares the core.
constexpr std::uint32_t spins = 600;

void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

WindowBarrier::WindowBarrier(std::uint32_t parties)
    : parties_(parties), spins_max_(parties <= std::thread::hardware_concurrency() ? spins : 0) {}

void WindowBarrier::wait() {
  const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.store(phase + 1, std::memory_order_release);
    phase_.notify_all();
    return;
  }
  for (std::uint32_t spin = 0; spin < spins_max_; ++spin) {
    if (phase_.load(std::memory_order_acquire) != phase) return;
    pause_core();
  }
  phase_.wait(phase, std::memory_order_acquire);
}

}  // namespace weft
