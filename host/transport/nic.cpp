// SPDX-License-Identifier: Apache-2.0
#include "host/transport/nic.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/check.hpp"

namespace weft {

namespace {

const NicSettings& checked(const NicSettings& settings) {
  WEFT_CHECK(settings.congestion != nullptr, "a card has a congestion control");
  WEFT_CHECK(settings.queue_pairs >= 1 && settings.ack_interval >= 1, "a transfer has a queue pair, and packets are acknowledged");
  WEFT_CHECK(settings.wire_format.full_packet() <= Bytes::of(UINT16_MAX), "a packet has less than 64 KiB");
  return settings;
}

}  // namespace

Nic::Nic(const NicSettings& settings, const std::vector<EgressPort>& ports, std::uint32_t card, QueuePairs& queue_pairs,
         NicWiring wiring)
    : settings_(checked(settings)),
      wiring_(std::move(wiring)),
      reports_(wiring_),
      sender_(settings_, ports, card, queue_pairs, wiring_, reports_),
      receiver_(settings_, queue_pairs, sender_, reports_) {}

NicPortCounters Nic::port_counters(std::uint32_t number, Time now) const {
  const NicPort& port = sender_.ports()[number];
  NicPortCounters counters;
  counters.bytes = port.out.bytes_sent();
  counters.pauses = port.pauses;
  counters.paused = port.clock.total(port.paused, now);
  counters.holdups = port.holdups.times();
  return counters;
}

// bench/packet (run/shift) wants the loop over arrivals in one piece.
[[gnu::flatten]] BatchNode::WindowOutcome Nic::run_window(Time end, const Arrivals& arrivals, BatchContext& context) {
  WindowOutcome outcome;
  const auto come_to = [&](Time now) {
    context.set_now(now);
    outcome.last = now;
  };
  arrivals.in_order(
      [&](const Event& event) {
        if (event.key.time != outcome.last || event.kind != transfer_start) begin_transfers(outcome.last, context);
        come_to(event.key.time);
        take_event(event, context);
      },
      [&](const PortMessage& port_message) {
        begin_transfers(outcome.last, context);
        come_to(port_message.time);
        arrive(port_message.payload_as<Packet>(), port_message.port, port_message.time, context);
      });
  begin_transfers(outcome.last, context);
  outcome.events = arrivals.port_messages.size();
  outcome.next = std::max(end, sender_.run_all_until(end, context));
  reports_.send_notices(context);
  return outcome;
}

void Nic::prefetch() const {
  sender_.prefetch();
  receiver_.prefetch();
}

[[gnu::noinline]] void Nic::take_event(const Event& event, BatchContext& context) {
  const Time now = event.key.time;
  switch (event.kind) {
    case transfer_start:
      return beginning_.push_back(event.payload_as<Transfer>());
    case port_changes: {
      const auto changes = event.payload_as<PortChanges>();
      return sender_.change_port(static_cast<std::uint32_t>(changes.port), changes.rate_bps, now, context);
    }
    case flow_load_changes: {
      const auto changes = event.payload_as<FlowLoadChanges>();
      return sender_.change_flow_load(static_cast<std::uint32_t>(changes.port), changes.load_bps, now, context);
    }
    case pauses_for_good:
      return sender_.pause_for_good(now, context);
    case attempt_stopped:
      return sender_.stop(event.payload_as<AttemptStopped>().attempt, now, context);
    default:
      WEFT_CHECK(event.kind == routes_change, "a network card knows the kind of every event it gets");
      return sender_.change_routes(event.payload_as<RoutesChange>().version, now, context);
  }
}

/// Those of an instant.
void Nic::begin_transfers(Time now, BatchContext& context) {
  if (beginning_.empty()) return;
  // What is equal in all of these, as notices of slots may be, is the same.
  std::ranges::sort(beginning_, {}, [](const Transfer& of) {
    return std::tuple(of.source, of.tag, of.destination, std::uint32_t{of.connection}, std::uint32_t{of.priority}, of.attempt,
                      of.size);
  });
  for (const Transfer& transfer : beginning_) sender_.begin(transfer, now, context);
  beginning_.clear();
}

void Nic::arrive(const Packet& packet, std::uint32_t port, Time now, BatchContext& context) {
  add_arrival(context.chain(), packet, now);
  switch (packet.kind()) {
    case PacketKind::data:
      return receiver_.on_data(packet, port, now, context);
    case PacketKind::ack:
    case PacketKind::nack:
      return sender_.on_acknowledged(packet, now, context);
    case PacketKind::cnp:
      return sender_.on_notification(packet, now, context);
    case PacketKind::pfc:
      return sender_.on_pfc(packet, port, now, context);
  }
}

}  // namespace weft
