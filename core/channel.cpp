#include "core/channel.hpp"

namespace weft {

// What this buffer held was read before the barrier that has just been passed.
void LocalChannel::open_window() { buffers_[writer_.parity].events.clear(); }

void LocalChannel::write(const Event& event) { buffers_[writer_.parity].events.push_back(event); }

void LocalChannel::close_window() { writer_.parity ^= 1U; }

std::span<const Event> LocalChannel::read() {
  const std::span<const Event> events = buffers_[reader_.parity].events;
  reader_.parity ^= 1U;
  return events;
}

}  // namespace weft
