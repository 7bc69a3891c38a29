// SPDX-License-Identifier: Apache-2.0
#include "host/transport/packet_node_settings.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/values/fingerprint.hpp"

namespace weft {

namespace {

constexpr Bytes default_buffer = Bytes::of(32'000'000);
// Of the port that ecn_kmin and ecn_kmax are given for
const Bandwidth ecn_rate = Bandwidth::gbps(100);

Bytes largest_packet_of(const FlowSettings& flow) {
  const Bytes largest = flow.wire_format.full_packet();
  if (largest > Bytes::of(UINT16_MAX)) {
    fail("mtu-too-large",
         fmt::format("packets of {} with their headers are larger than packet mode holds, {}", to_text(largest),
                     to_text(Bytes::of(UINT16_MAX))),
         SourcePlace::named("flow.mtu"), "take a smaller one; Ethernet's jumbo frames have 9000B");
  }
  // Answers are packets as well.
  return std::max(largest, Bytes::of(notification_wire_bytes));
}

}  // namespace

PacketNodeSettings::PacketNodeSettings(const PacketModel& model, std::uint64_t seed)
    : model_(model), seed_(seed), largest_packet_(largest_packet_of(model.flow)) {}

void PacketNodeSettings::assign_classes(const PacketTraffic& traffic, Diagnostics& diagnostics) {
  const std::uint32_t classes = model_.flow.priorities == Priorities::none ? 1 : traffic.priorities;
  classes_.assign(classes, PacketClass{true, true, 0});
  answer_priority_ = std::min<std::uint32_t>(classes, packet_classes_max - 1);
  if (!model_.packet.answers_with_data && classes < packet_classes_max) classes_.push_back({false, false, 0});
  const auto class_called = [&](const char* param, std::uint32_t priority) -> PacketClass* {
    if (priority < classes) return &classes_[priority];
    diagnostics.error("unknown-priority",
                      fmt::format("{} names priority {}, and this run's transfers have {}", param, priority,
                                  classes == 1 ? "0 only" : fmt::format("0 to {}", classes - 1)),
                      SourcePlace::named(param), "leave it out");
    return nullptr;
  };
  for (const std::uint32_t priority : model_.packet.lossy) {
    if (PacketClass* const c = class_called("packet.lossy", priority))
      *c = {false, !model_.packet.drops_early, 0, model_.packet.drops_early};
  }
  for (const auto& [priority, weight] : model_.packet.weights) {
    if (PacketClass* const c = class_called("packet.weights", priority))
      c->weight = weight * static_cast<std::uint32_t>(largest_packet_.count());
  }
  for (PacketClass& c : classes_) {
    c.alpha = model_.packet.alpha;
    c.queue_alpha = model_.packet.lossy_alpha;
  }
}

Bytes PacketNodeSettings::buffer_of(std::uint32_t node) const {
  // The last one that says so stands.
  for (auto profile = model_.packet.profiles.rbegin(); profile != model_.packet.profiles.rend(); ++profile) {
    if (profile->buffer && selects(*profile, model_.topology, model_.nodes.switch_of(node))) return *profile->buffer;
  }
  const std::span<const BufferClass> known = model_.topology.buffer_classes();
  const std::uint16_t buffer_class = model_.topology.node(model_.nodes.switch_of(node)).buffer_class;
  const bool is_border = buffer_class < known.size() && known[buffer_class].name == border_buffer_class;
  if (model_.packet.buffer && !is_border) return *model_.packet.buffer;
  return buffer_class < known.size() ? known[buffer_class].size : default_buffer;
}

std::vector<PacketClass> PacketNodeSettings::classes_of(std::uint32_t node) const {
  std::vector<PacketClass> classes = classes_;
  for (const SwitchProfile& profile : model_.packet.profiles) {
    if ((!profile.alpha && !profile.lossy_alpha) || !selects(profile, model_.topology, model_.nodes.switch_of(node))) continue;
    for (std::uint32_t priority = 0; priority < classes.size(); ++priority) {
      if (!profile.is_for(priority)) continue;
      if (profile.alpha) classes[priority].alpha = profile.alpha;
      if (profile.lossy_alpha) classes[priority].queue_alpha = profile.lossy_alpha;
    }
  }
  return classes;
}

EcnCurve PacketNodeSettings::curve_of(std::uint32_t node, std::uint32_t priority) const {
  EcnCurve curve{model_.packet.ecn_kmin.count(), model_.packet.ecn_kmax.count(), model_.packet.ecn_pmax};
  for (const SwitchProfile& profile : model_.packet.profiles) {
    if (!profile.is_for(priority) || !selects(profile, model_.topology, model_.nodes.switch_of(node))) continue;
    if (profile.ecn_kmin) curve.queue_min = profile.ecn_kmin->count();
    if (profile.ecn_kmax) curve.queue_max = profile.ecn_kmax->count();
    if (profile.ecn_pmax) curve.probability_max = *profile.ecn_pmax;
  }
  return curve;
}

Duration PacketNodeSettings::delay(const PacketTopology::Port& port) const {
  const Duration inside = model_.nodes.is_host(port.peer_node) ? model_.packet.card_delay : model_.flow.switching_delay;
  return model_.topology.link(port.out).propagation_delay + inside;
}

Bytes PacketNodeSettings::headroom_needed(std::uint32_t node, const PacketTopology::Port& port) const {
  const Link& in = model_.topology.link(model_.topology.reverse(port.out));
  const Duration round_trip = delay(port) + delay({model_.topology.reverse(port.out), node, 0});
  const auto priorities = static_cast<std::uint32_t>(classes_.size());
  const Bytes needed = headroom_bytes(in.rate, round_trip, largest_packet_, priorities);
  // Where the pause itself leaves more slowly, it waits longer.
  const double slower = static_cast<double>(in.rate.in_bps()) / static_cast<double>(model_.topology.link(port.out).rate.in_bps());
  const Bytes before_it = largest_packet_ + Bytes::of(pfc_frame_wire_bytes) * priorities;
  return slower <= 1 ? needed : needed + Bytes::of(std::llround(std::ceil(static_cast<double>(before_it.count()) * (slower - 1))));
}

bool PacketNodeSettings::has_pfc(const PacketTopology::Port& port) const {
  return model_.topology.link(model_.topology.reverse(port.out)).propagation_delay <= model_.packet.pfc_reach;
}

std::int64_t PacketNodeSettings::headroom(std::uint32_t node, const PacketTopology::Port& port) const {
  if (!has_pfc(port)) return 0;
  return model_.packet.headroom ? std::max<std::int64_t>(1, model_.packet.headroom->count()) : headroom_needed(node, port).count();
}

PacketSwitchSettings PacketNodeSettings::of_switch(std::uint32_t node, bool keeps_pauses) const {
  PacketSwitchSettings settings;
  settings.classes = classes_of(node);
  settings.marks_at_dequeue = model_.packet.marks_at_dequeue;
  if (model_.sprays()) {
    settings.port_choice.adaptive = model_.flow.routing == Routing::adaptive;
    settings.port_choice.adaptive_band = model_.packet.adaptive_band;
    settings.port_choice.seed = mix64(model_.flow.path_rule.seed + (std::uint64_t{node} << 32));
  }
  settings.pause_time = model_.packet.pause_time;
  settings.watchdog = model_.packet.watchdog;
  settings.keeps_pauses = keeps_pauses;
  settings.may_overflow = model_.packet.is_unsafe;
  settings.writes_telemetry = model_.packet.congestion->measures().telemetry;
  settings.largest_packet = largest_packet_;
  settings.seed = mix64(seed_ + (std::uint64_t{node} << 32));
  settings.buffer.reserved = model_.packet.reserved.count();
  settings.buffer.resume_offset = model_.packet.resume_offset.value_or(largest_packet_ * 2).count();
  settings.buffer.pool = buffer_of(node).count();
  const std::span<const PacketTopology::Port> ports = model_.nodes.ports(node);
  // What comes by cables without PFC is charged to egress queues, which then have accounts of their
  // own.
  const bool has_lossy_cables = std::ranges::any_of(ports, [this](const PacketTopology::Port& port) { return !has_pfc(port); });
  for (const PacketTopology::Port& port : ports) {
    for (const PacketClass& c : classes_) {
      const std::int64_t accounts = c.lossless && has_lossy_cables ? 2 : 1;
      settings.buffer.pool -= accounts * model_.packet.reserved.count() + (c.lossless ? headroom(node, port) : 0);
    }
  }
  return settings;
}

Bandwidth PacketNodeSettings::full_rate(std::uint32_t node, LinkId link) const {
  const Bandwidth rate = model_.topology.link(link).rate;
  return model_.nodes.is_host(node) ? scaled_rate(rate, model_.flow.network_efficiency) : rate;
}

NicSettings PacketNodeSettings::of_cards(bool keeps_pauses, bool expects_failures) const {
  NicSettings settings{model_.flow.wire_format};
  settings.queue_pairs = model_.flow.queue_pairs;
  settings.ack_interval = model_.packet.ack_interval;
  settings.retransmission_timeout = model_.packet.retransmission_timeout;
  settings.retries = expects_failures ? 0 : model_.packet.retries;
  settings.slow_restart = model_.packet.slow_restart;
  for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
    const bool is_lossy = std::ranges::count(model_.packet.lossy, priority) > 0;
    const bool adapts = model_.packet.adaptive_retransmission == PacketSettings::Adaptive::on ||
                        (model_.packet.adaptive_retransmission == PacketSettings::Adaptive::lossy && is_lossy);
    if (adapts) settings.adapts_timeout |= static_cast<std::uint8_t>(1U << priority);
  }
  settings.pause_time = model_.packet.pause_time;
  if (!model_.packet.answers_with_data) settings.answer_priority = answer_priority_;
  settings.keeps_early = model_.packet.selective_repeat || model_.sprays();
  settings.reports_gaps = !model_.sprays();
  settings.window_follows_rate = model_.packet.window_follows_rate;
  settings.uses_priorities = model_.flow.priorities == Priorities::strict;
  settings.congestion = model_.packet.congestion;
  settings.receive_latency = std::max(model_.flow.receive_latency, model_.packet.card_delay) - model_.packet.card_delay;
  settings.completion_latency = model_.flow.completion_latency;
  settings.receive_buffer = model_.packet.receive_buffer;
  for (std::size_t priority = 0; priority < classes_.size(); ++priority) {
    if (classes_[priority].lossless) settings.lossless |= static_cast<std::uint8_t>(1U << priority);
  }
  settings.keeps_pauses = keeps_pauses;
  return settings;
}

EcnCurve PacketNodeSettings::curve_at(EcnCurve curve, Bandwidth rate) const {
  const double share = static_cast<double>(rate.in_bps()) / static_cast<double>(ecn_rate.in_bps());
  curve.queue_min = static_cast<std::int64_t>(static_cast<double>(curve.queue_min) * share);
  curve.queue_max = static_cast<std::int64_t>(static_cast<double>(curve.queue_max) * share);
  return curve;
}

}  // namespace weft
