// SPDX-License-Identifier: Apache-2.0
#include "host/transport/nic_reports.hpp"

#include <algorithm>

namespace weft {

void NicReports::tell_sent(const Transfer& transfer, Time begun, std::uint32_t order, Duration delay) {
  notices_.push_back({begun, order, wiring_.host_of(transfer.source), delay, transfer_sent, transfer});
}

void NicReports::tell_end(const Transfer& transfer, Time now) {
  if (!wiring_.fabric.is_none()) notices_.push_back({now, 0, wiring_.fabric, wiring_.fabric_delay, packets_end, transfer});
}

void NicReports::tell_delivered(const Transfer& transfer, Time entered, Time now, Duration latency) {
  notices_.push_back({now, 0, wiring_.host_of(transfer.destination), latency, transfer_delivered, transfer});
  if (is_control(transfer)) return;
  delivered_.push_back({transfer, entered, now + latency});
  if (wiring_.delivered != nullptr) wiring_.delivered->fetch_add(1, std::memory_order_relaxed);
}

void NicReports::send_all(BatchContext& context) {
  std::ranges::stable_sort(notices_, {}, [](const Notice& notice) { return std::pair(notice.now, notice.order); });
  for (const Notice& notice : notices_) context.events(notice.now).send(notice.target, notice.delay, notice.kind, notice.transfer);
  notices_.clear();
}

}  // namespace weft
