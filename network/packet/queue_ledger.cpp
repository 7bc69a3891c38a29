// SPDX-License-Identifier: Apache-2.0
#include "network/packet/queue_ledger.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace weft {

QueueLedger::QueueLedger(const QueuePairs& queue_pairs, std::size_t ports, std::size_t priorities)
    : queue_pairs_(queue_pairs), priorities_(priorities), ports_(ports), queues_(ports * priorities) {}

AttemptId QueueLedger::owner_of(std::uint32_t queue_pair) {
  const auto [known, is_new] = owners_.try_emplace(queue_pair, AttemptId::none());
  if (!is_new) return known->second;
  std::uint32_t first = queue_pair;
  for (std::uint32_t before = first; before != QueuePairs::none; before = queue_pairs_.predecessor_of(before)) first = before;
  const QueuePairs::Details* const details = queue_pairs_[first].details;
  if (details != nullptr && details->messages != nullptr) known->second = details->messages->messages.front().transfer.attempt;
  return known->second;
}

void QueueLedger::on_joined(std::uint32_t port, const Packet& packet, bool is_paused, Time now) {
  if (packet.kind() != PacketKind::data) return;
  Queue& joined = queue(port, packet.priority());
  joined.waiting.push({now, owner_of(packet.queue_pair), joined.pauses, is_paused, ports_[port].last, ports_[port].sent});
}

void QueueLedger::on_sent(std::uint32_t port, const Packet& packet) {
  if (packet.kind() == PacketKind::pfc) return;
  Port& by = ports_[port];
  const AttemptId owner = owner_of(packet.queue_pair);
  const auto place = static_cast<std::size_t>(std::ranges::find(by.owners, owner) - by.owners.begin());
  if (place == by.owners.size()) {
    by.owners.push_back(owner);
    by.sent.push_back(0);
  }
  by.sent[place] += packet.wire_bytes();
  by.last = owner;
}

void QueueLedger::on_left_queue(std::uint32_t port, const Packet& packet, double rate_bps, Time now) {
  if (packet.kind() != PacketKind::data) return;
  Queue& left = queue(port, packet.priority());
  WEFT_CHECK(!left.waiting.empty(), "a data packet that leaves a queue has joined it");
  const Waiting& waited = left.waiting.front();
  Port& by = ports_[port];
  const double wait_s = (now - waited.since).in_s();
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < by.sent.size(); ++i) all += by.sent[i] - (i < waited.sent.size() ? waited.sent[i] : 0);
  const double sending_s = rate_bps > 0 ? std::min(wait_s, Bytes::of(static_cast<std::int64_t>(all)).in_bits() / rate_bps) : 0;
  const bool is_paused = waited.was_paused || left.pauses != waited.pauses;
  const double for_others_s = is_paused ? sending_s : wait_s;
  by.waits[{waited.owner, waited.owner}].for_pauses_s += wait_s - for_others_s;
  // Only the packet on the wire was before it.
  if (all == 0) by.waits[{waited.owner, waited.on_wire}].for_others_s += for_others_s;
  for (std::size_t i = 0; i < by.sent.size() && all > 0; ++i) {
    const std::uint64_t bytes = by.sent[i] - (i < waited.sent.size() ? waited.sent[i] : 0);
    if (bytes > 0)
      by.waits[{waited.owner, by.owners[i]}].for_others_s += for_others_s * static_cast<double>(bytes) / static_cast<double>(all);
  }
  left.waiting.pop();
}

}  // namespace weft
