// SPDX-License-Identifier: Apache-2.0
// Egress port: one direction of a cable, as its sender sees it - how long packets take, and until
// when the wire is busy.
//
// Where it sits: whoever sends packets has one per cable (network/packet/packet_switch).
//
// Model: a packet of b bytes occupies the wire for 8 b / rate; what rounding up to ticks adds is
// taken off the next, so that a busy wire never drifts: n bytes in a row take 8 n / rate rounded
// up, at least a tick per packet. Its last bit is at the other end after the propagation delay.
// Store and forward: that is when it has arrived. A cable that is out takes no packet in; what is
// on it arrives. Where flows of flow mode take a part of the cable, each packet crosses it at the
// whole rate, and after it is the flows' turn, for as long as their part needs; only pauses go
// meanwhile.
// Threads: belongs to its node.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/engine/batch_process.hpp"
#include "core/engine/port_message.hpp"
#include "core/values/units.hpp"
#include "network/packet/packet.hpp"

namespace weft {

class EgressPort {
 public:
  EgressPort(Bandwidth rate, Duration delay, EntityId target, std::uint32_t target_port);

  Time free_at() const { return free_at_; }
  /// Whether the cable is. Nothing may be sent then.
  bool is_out() const { return is_out_; }
  /// Of packets that begin from now on; 0: the cable is out.
  void set_rate(std::int64_t rate_bps);
  Bandwidth rate() const { return Bandwidth::bps(static_cast<std::int64_t>(rate_bps_)); }
  double rate_bps() const { return static_cast<double>(rate_bps_); }
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  /// Whether flows take a part of it from now on: give_turn_to_flows() is then to be called after
  /// every packet.
  void set_shared_with_flows(bool is_shared) {
    duties_ = static_cast<std::uint8_t>(is_shared ? duties_ | shared_bit : duties_ & ~shared_bit);
    if (is_shared) return;
    free_at_ = free_at_ - Duration::ticks(turn_of_flows_);
    turn_of_flows_ = 0;
  }
  bool is_shared_with_flows() const { return (duties_ & shared_bit) != 0; }
  /// Its node writes telemetry.
  void set_tells() { duties_ |= tells_bit; }
  /// Whether there is something to do after every packet: flows' turn, or telemetry.
  bool has_duties() const { return duties_ != 0; }
  /// The packet that has just been sent began at `start`; flows take `load` of the cable.
  void give_turn_to_flows(Time start, Bandwidth load);

  /// The least that so many bytes ever take, one after another: rounded down, as rounding up may
  /// have been paid before them.
  static Duration least_time(Bytes size, Bandwidth rate);

  /// The packet goes out now, its first bit at `start` >= free_at(). Its last arrives what it takes
  /// and the propagation delay later.
  void send(const Packet& packet, Time start, BatchContext& context) {
    free_at_ = start + Duration::ticks(ticks_for(packet.wire_bytes()));
    bytes_sent_ += packet.wire_bytes();
    context.send(target_, free_at_ + delay_, target_port_, packet);
  }
  /// Sends a pause as soon as no other packet is entering the cable.
  void send_pause(const Packet& frame, Time now, BatchContext& context);

 private:
  static constexpr std::uint8_t shared_bit = 1;
  static constexpr std::uint8_t tells_bit = 2;
  /// What a byte takes in ticks, times the rate in bits per second.
  static constexpr std::uint64_t byte_work = std::uint64_t{8} * Duration::ticks_per_s;

  std::int64_t ticks_for(std::uint32_t bytes) {
    if (ticks_per_byte_ != 0) return std::int64_t{bytes} * ticks_per_byte_;
    const std::uint64_t work = bytes * byte_work;
    const std::uint64_t ticks = work > ahead_ ? (work - ahead_ - 1) / rate_bps_ + 1 : 1;
    ahead_ = std::min(ticks * rate_bps_ + ahead_ - work, rate_bps_);
    return static_cast<std::int64_t>(ticks);
  }

  Time free_at_;
  Duration delay_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t rate_bps_ = 0;
  /// How much too long the last packet took, in 1 / rate_bps_ ticks.
  std::uint64_t ahead_ = 0;
  std::uint32_t ticks_per_byte_ = 0;  ///< 0 if not whole
  std::uint32_t turn_of_flows_ = 0;   ///< in ticks, up to free_at_; 0 where they have none
  EntityId target_;
  std::uint16_t target_port_;
  bool is_out_ = false;
  std::uint8_t duties_ = 0;
};

}  // namespace weft
