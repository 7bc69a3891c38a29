// SPDX-License-Identifier: Apache-2.0
#include "host/transport/packet_network_checks.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "host/transport/switch_profiles.hpp"

namespace weft {

namespace {

void check_delays(const PacketModel& model, const PacketNodeSettings& settings, Diagnostics& diagnostics) {
  std::size_t without = 0;
  LinkId first;
  for (std::uint32_t node = 0; node < model.nodes.node_count(); ++node) {
    for (const PacketTopology::Port& port : model.nodes.ports(node)) {
      if (settings.delay(port) == Duration::zero() && ++without == 1) first = port.out;
    }
  }
  if (without == 0) return;
  const bool to_host = !model.topology.node(model.topology.link(first).destination).host.is_none();
  diagnostics.error(
      "zero-lookahead",
      fmt::format("nothing delays what link {} brings, and packet mode goes on in windows of the least delay{}",
                  model.topology.link_name(first), without == 1 ? "" : fmt::format("; nor what {} others bring", without - 1)),
      SourcePlace::named(model.topology.name()),
      fmt::format("give it a propagation delay, such as 5ns for a metre of fibre, or {} some nanoseconds",
                  to_host ? "packet.card_delay" : "flow.switching_delay"));
}

void check_switch(std::uint32_t node, const PacketModel& model, const PacketNodeSettings& settings, Diagnostics& diagnostics) {
  const std::string name = model.topology.node_name(model.nodes.switch_of(node));
  const Bytes buffer = settings.buffer_of(node);
  const PacketSwitchSettings of_switch = settings.of_switch(node, false);
  if (of_switch.buffer.pool < settings.largest_packet().count()) {
    const std::size_t ports = model.nodes.ports(node).size();
    std::int64_t headrooms = 0;
    for (const PacketTopology::Port& port : model.nodes.ports(node)) {
      headrooms += settings.headroom(node, port) * std::ranges::count_if(settings.classes(), &PacketClass::lossless);
    }
    const std::int64_t reserved = buffer.count() - of_switch.buffer.pool - headrooms;
    diagnostics.error(
        "headroom-above-buffer",
        fmt::format(
            "{} has {} of packet memory, of which {} would be headroom of its {} ports and {} reserved: nothing is left to share",
            name, to_text(buffer), to_text(Bytes::of(headrooms)), ports, to_text(Bytes::of(reserved))),
        SourcePlace::named("packet.buffer"),
        "give it more, make packet.reserved smaller, cables shorter, on which headroom depends, or packet.pfc_reach");
    return;
  }
  double alpha = std::numeric_limits<double>::max();
  for (const PacketClass& c : of_switch.classes) alpha = std::min(alpha, c.lossless ? *c.alpha : *c.queue_alpha);
  const double first = static_cast<double>(of_switch.buffer.reserved) + alpha * static_cast<double>(of_switch.buffer.pool);
  if (first < static_cast<double>(settings.largest_packet().count())) {
    diagnostics.error("mtu-above-queue",
                      fmt::format("a packet of {} is more than a port of {} may hold while nothing else is there, {}",
                                  to_text(settings.largest_packet()), name, to_text(Bytes::of(static_cast<std::int64_t>(first)))),
                      SourcePlace::named("packet.alpha"), "make packet.reserved or packet.alpha larger, or flow.mtu smaller");
    return;
  }
  for (std::uint32_t priority = 0; priority < settings.classes().size(); ++priority) {
    const EcnCurve curve = settings.curve_of(node, priority);
    if (curve.queue_min <= curve.queue_max) continue;
    diagnostics.error(
        "bad-threshold",
        fmt::format("switch {} marks priority {} from ecn_kmin = {} on, and all of it above ecn_kmax = {}, which is less", name,
                    priority, to_text(Bytes::of(curve.queue_min)), to_text(Bytes::of(curve.queue_max))),
        SourcePlace::named(model.topology.name()), "set both in the same profile (packet.profiles, or switches of a scenario)");
    return;
  }
  for (const PacketTopology::Port& port : model.nodes.ports(node)) {
    const Link& out = model.topology.link(port.out);
    const Bytes needed = settings.headroom_needed(node, port);
    const bool has_lossless = std::ranges::any_of(settings.classes(), &PacketClass::lossless);
    if (has_lossless && settings.has_pfc(port) && !model.packet.is_unsafe && model.packet.headroom &&
        *model.packet.headroom < needed) {
      diagnostics.error(
          "bad-threshold",
          fmt::format("packet.headroom = {} is less than what can come by {} after a pause was asked for, {}",
                      to_text(*model.packet.headroom), model.topology.link_name(model.topology.reverse(port.out)), to_text(needed)),
          SourcePlace::named("packet.headroom"),
          "take auto, which gives every port what it needs, or packet.unsafe = true to see what is lost");
      return;
    }
    const Duration shortest =
        pause_time_min(out.rate, settings.largest_packet(), static_cast<std::uint32_t>(settings.classes().size()));
    if (model.packet.pause_time > Duration::zero() && model.packet.pause_time < shortest) {
      diagnostics.error("short-pause",
                        fmt::format("packet.pause_time = {} runs out before it can be sent again on {}",
                                    to_text(model.packet.pause_time), model.topology.link_name(port.out)),
                        SourcePlace::named("packet.pause_time"),
                        fmt::format("at least {}, or 0ns: until resumed", to_text(shortest)));
      return;
    }
  }
}

}  // namespace

void check_packet_choices(const PacketModel& model, bool hosts_start, Diagnostics& diagnostics) {
  if (model.flow.routing == Routing::adaptive_global) {
    diagnostics.error("not-in-packet-mode", "flow.routing = adaptive_global, and switches that pass on packets know of no others",
                      SourcePlace::named("flow.routing"), "take ecmp, spray or adaptive, or --mode=flow");
  }
  if (model.sprays() && model.packet.congestion->measures().telemetry) {
    diagnostics.error("needs-one-way",
                      fmt::format("hpcc compares what switches tell of the same ports, and with flow.routing = {} every packet of "
                                  "a queue pair goes by others",
                                  model.flow.routing == Routing::spray ? "spray" : "adaptive"),
                      SourcePlace::named("packet.congestion_control"), "take flow.routing=ecmp, or swift, dctcp or dcqcn");
  }
  if (hosts_start && model.flow.wqe_latency == Duration::zero()) {
    diagnostics.error("zero-lookahead",
                      "flow.wqe_latency is zero, and packet mode needs some time there: it goes on in windows of the least delay",
                      SourcePlace::named("flow.wqe_latency"), "give it some hundred nanoseconds");
  }
}

void check_packet_nodes(const PacketModel& model, const PacketNodeSettings& settings, Diagnostics& diagnostics) {
  if (model.packet.resume_offset && *model.packet.resume_offset < settings.largest_packet()) {
    diagnostics.error(
        "bad-threshold",
        fmt::format(
            "packet.resume_offset = {} is less than a packet of {}: a pause would be let go by the packet that it was asked for",
            to_text(*model.packet.resume_offset), to_text(settings.largest_packet())),
        SourcePlace::named("packet.resume_offset"), "take auto, or two packets");
  }
  check_profiles(model.packet.profiles, model.topology, static_cast<std::uint32_t>(settings.classes().size()), "packet.profiles",
                 diagnostics);
  check_defects(model.packet.slow_hosts, model.topology, "packet.slow_hosts", diagnostics);
  check_defects(model.packet.pausing_hosts, model.topology, "packet.pausing_hosts", diagnostics);
  check_delays(model, settings, diagnostics);
}

void check_packet_switches(const PacketModel& model, const PacketNodeSettings& settings, Diagnostics& diagnostics) {
  for (std::uint32_t node = model.nodes.host_count(); node < model.nodes.node_count() && !diagnostics.has_errors(); ++node) {
    check_switch(node, model, settings, diagnostics);
  }
}

}  // namespace weft
