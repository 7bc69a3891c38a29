// SPDX-License-Identifier: Apache-2.0
#include "core/engine/channel.hpp"

namespace weft {

// What this buffer held was read before the barrier that has just been passed.
void LocalChannel::open_window() {
  Buffer& buffer = buffers_[writer_.parity];
  buffer.events.clear();
  for (const LpId lp : buffer.lps) buffer.port_messages_to[lp.index()].clear();
  buffer.lps.clear();
}

void LocalChannel::write(const Event& event) { buffers_[writer_.parity].events.push_back(event); }

void LocalChannel::write(const PortMessageTo& port_message, LpId lp) {
  Buffer& buffer = buffers_[writer_.parity];
  if (buffer.port_messages_to.size() <= lp.index()) buffer.port_messages_to.resize(lp.index() + 1);
  std::vector<PortMessageTo>& port_messages = buffer.port_messages_to[lp.index()];
  if (port_messages.empty()) buffer.lps.push_back(lp);
  port_messages.push_back(port_message);
}

void LocalChannel::close_window() { writer_.parity ^= 1U; }

Channel::Contents LocalChannel::read() {
  const Buffer& buffer = buffers_[reader_.parity];
  reader_.parity ^= 1U;
  return {buffer.events, buffer.lps, buffer.port_messages_to};
}

}  // namespace weft
