// SPDX-License-Identifier: Apache-2.0
#include "host/transport/nic_port.hpp"

namespace weft {

bool NicPort::on_pfc(const Packet& frame, Time time, Duration pause_time) {
  if (frame.sequence != pfc_resume) {
    ++pauses;
    const Duration full = frame.sequence == pfc_pause_for_good ? Duration::zero() : pause_time;
    clock.pause(paused, frame.priority(), time, pause_time_at(out.rate(), rate, full));
    return false;
  }
  if (paused == 0) return false;
  clock.resume(paused, frame.priority(), time);
  return true;
}

Duration NicPort::take_in(const Packet& packet, const NicSettings& settings, Time time, BatchContext& context) {
  const auto rate_bps = static_cast<double>(settings.drain_rate->in_bps());
  backlog_bits = std::max(0.0, backlog_bits - (time - backlog_at).in_s() * rate_bps) + Bytes::of(packet.wire_bytes()).in_bits();
  backlog_at = time;
  const double limit_bits = settings.receive_buffer.in_bits();
  const auto bit = static_cast<std::uint8_t>(1U << packet.priority());
  if (backlog_bits > limit_bits && (settings.lossless & ~asks & bit) != 0) {
    asks |= bit;
    pause_switch(packet.priority(), time, context);
  }
  if (asks != 0) resumes_at = time + fluid_transmit_time(std::max(0.0, backlog_bits - limit_bits / 2), rate_bps);
  return fluid_transmit_time(backlog_bits, rate_bps);
}

void NicPort::resume_switch(Time time, BatchContext& context) {
  resumes_at = Time::max();
  for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
    if ((asks >> priority & 1U) == 0 || out.is_out()) continue;
    out.send_pause(Packet(PacketKind::pfc, 0, pfc_resume, pfc_frame_wire_bytes, priority), time, context);
  }
  asks = 0;
}

void NicPort::pause_switch(std::uint32_t priority, Time time, BatchContext& context) {
  if (!out.is_out()) out.send_pause(Packet(PacketKind::pfc, 0, pfc_pause_for_good, pfc_frame_wire_bytes, priority), time, context);
}

}  // namespace weft
