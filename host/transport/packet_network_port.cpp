// SPDX-License-Identifier: Apache-2.0
#include "host/transport/packet_network_port.hpp"

#include "network/in_network/switch_operations.hpp"

namespace weft {

PacketNetworkPort::PacketNetworkPort(const Topology& topology, const FlowSettings& settings, EntityId fabric,
                                     std::span<const EntityId> cards, const JobTable* attempts)
    : topology_(topology),
      inside_host_(topology),
      staging_(topology, settings),
      wqe_latency_(settings.wqe_latency),
      nvlink_latency_(settings.nvlink_latency),
      fabric_(fabric),
      cards_(cards),
      attempts_(attempts) {}

void PacketNetworkPort::start(const Transfer& transfer, EventContext& context) const {
  const Entry to = entry(transfer);
  context.send(to.node, to.latency, transfer_start, transfer);
  if (attempts_ != nullptr && to.node != fabric_ && transfer.size > Bytes::zero())
    context.send(fabric_, to.latency, packets_start, transfer);
}

bool PacketNetworkPort::is_flow(const Transfer& transfer) const {
  return attempts_ != nullptr && attempts_->at(transfer.attempt).is_in_flow_mode;
}

void PacketNetworkPort::stop(AttemptId attempt, HostId host, EventContext& context) const {
  context.send(cards_[host.index()], wqe_latency_, attempt_stopped, AttemptStopped{attempt});
}

PacketNetworkPort::Entry PacketNetworkPort::entry(const Transfer& transfer) const {
  if (SwitchOperationName::is_one(transfer.destination) || inside_host_.joins(transfer.source, transfer.destination)) {
    return {fabric_, nvlink_latency_};
  }
  const Duration latency = wqe_latency_ + staging_.delay(transfer.source);
  if (is_flow(transfer)) return {fabric_, latency};
  return {cards_[topology_.node(transfer.source).host.index()], latency};
}

}  // namespace weft
