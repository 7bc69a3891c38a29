// SPDX-License-Identifier: Apache-2.0
#include "network/packet/egress_port.hpp"

#include <algorithm>
#include <cstdint>

#include "core/check.hpp"

namespace weft {

EgressPort::EgressPort(Bandwidth rate, Duration delay, EntityId target, std::uint32_t target_port)
    : delay_(delay), target_(target), target_port_(static_cast<std::uint16_t>(target_port)) {
  WEFT_CHECK(rate.in_bps() > 0 && target_port < message_ports_max, "a port has a rate, and its number fits a port message");
  set_rate(rate.in_bps());
}

void EgressPort::set_rate(std::int64_t rate_bps) {
  is_out_ = rate_bps == 0;
  if (is_out_) return;
  rate_bps_ = static_cast<std::uint64_t>(rate_bps);
  ahead_ = 0;
  const std::uint64_t ticks = byte_work / rate_bps_;
  ticks_per_byte_ = byte_work % rate_bps_ == 0 && ticks <= UINT32_MAX ? static_cast<std::uint32_t>(ticks) : 0;
}

Duration EgressPort::least_time(Bytes size, Bandwidth rate) {
  __extension__ using Wide = unsigned __int128;
  return Duration::ticks(static_cast<std::int64_t>(static_cast<Wide>(size.count()) * byte_work / static_cast<Wide>(rate.in_bps())));
}

// bench/packet (run/shift) wants this rare case kept out of the loops that send packets.
[[gnu::noinline]] void EgressPort::give_turn_to_flows(Time start, Bandwidth load) {
  __extension__ using Wide = unsigned __int128;
  // A cable may have become slower than flows know yet.
  const std::uint64_t load_bps = std::min(static_cast<std::uint64_t>(load.in_bps()), rate_bps_ - rate_bps_ / 100 - 1);
  const Wide turn = static_cast<Wide>((free_at_ - start).in_ticks()) * load_bps / (rate_bps_ - load_bps);
  turn_of_flows_ = static_cast<std::uint32_t>(std::min<Wide>(turn, UINT32_MAX));
  free_at_ = free_at_ + Duration::ticks(turn_of_flows_);
}

void EgressPort::send_pause(const Packet& frame, Time now, BatchContext& context) {
  const Time turn_ends = free_at_;
  send(frame, std::max(now, turn_ends - Duration::ticks(turn_of_flows_)), context);
  turn_of_flows_ = 0;
  if (free_at_ >= turn_ends) return;
  turn_of_flows_ = static_cast<std::uint32_t>((turn_ends - free_at_).in_ticks());
  free_at_ = turn_ends;
}

}  // namespace weft
