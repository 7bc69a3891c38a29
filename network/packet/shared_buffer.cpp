// SPDX-License-Identifier: Apache-2.0
#include "network/packet/shared_buffer.hpp"

#include "network/packet/packet.hpp"

namespace weft {

Bytes headroom_bytes(Bandwidth rate, Duration round_trip, Bytes largest_packet, std::uint32_t priorities) {
  // Bits per second x ticks, rounded up.
  __extension__ using Wide = unsigned __int128;
  const Wide work = static_cast<Wide>(rate.in_bps()) * static_cast<Wide>(round_trip.in_ticks());
  const auto per_byte = static_cast<Wide>(8) * Duration::ticks_per_s;
  const Bytes in_flight = Bytes::of(static_cast<std::int64_t>((work + per_byte - 1) / per_byte));
  return in_flight + largest_packet * 3 + Bytes::of(pfc_frame_wire_bytes) * priorities;
}

}  // namespace weft
