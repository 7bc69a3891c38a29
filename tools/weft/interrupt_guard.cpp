// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/interrupt_guard.hpp"

#include <csignal>

namespace weft {

namespace {

std::atomic<bool> is_interrupted{false};

extern "C" void on_interrupt(int signal) {
  is_interrupted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& interrupt_flag() { return is_interrupted; }

InterruptGuard::InterruptGuard() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace weft
