#include "core/channel.hpp"

namespace weft {

// What this buffer held was read before the barrier that has just been passed.
void LocalChannel::open_window() {
  buffers_[writer_.parity].events.clear();
  buffers_[writer_.parity].parcels.clear();
}

void LocalChannel::write(const Event& event) { buffers_[writer_.parity].events.push_back(event); }

void LocalChannel::write(const ParcelTo& parcel) { buffers_[writer_.parity].parcels.push_back(parcel); }

void LocalChannel::close_window() { writer_.parity ^= 1U; }

Channel::Contents LocalChannel::read() {
  const Buffer& buffer = buffers_[reader_.parity];
  reader_.parity ^= 1U;
  return {buffer.events, buffer.parcels};
}

}  // namespace weft
