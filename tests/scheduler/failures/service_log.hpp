// SPDX-License-Identifier: Apache-2.0
// Service log: a listener that writes down what failures and drains ask of it.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "scheduler/failures/service_listener.hpp"

namespace weft::testing_scheduler {

class ServiceLog final : public ServiceListener {
 public:
  void gpu_failed(GpuSlot gpu, EventContext&) override { add("fails " + std::to_string(gpu.index())); }
  void failure_known(GpuSlot gpu, Time failed_at, EventContext&) override {
    add(fmt::format("known {}@{}", gpu.index(), static_cast<int>(failed_at.in_s())));
  }
  void gpu_is_wanted(GpuSlot gpu, EventContext&) override { add("wanted " + std::to_string(gpu.index())); }
  void cables_changed(std::span<const CableShare> cables, EventContext&) override {
    for (const CableShare& cable : cables) add(fmt::format("cable at {} %", static_cast<int>(cable.share * 100)));
  }
  void service_changed(EventContext&) override { add("pass"); }
  void happened(const ClusterEvent& cluster_event) override {
    add("event " + std::to_string(static_cast<int>(cluster_event.kind)));
  }

  /// What was asked since the last call.
  std::string take() { return std::exchange(text_, {}); }

 private:
  void add(const std::string& what) { text_ += (text_.empty() ? "" : ", ") + what; }

  std::string text_;
};

/// As ServiceLog writes it.
inline std::string event_text(ClusterEvent::Kind kind) { return "event " + std::to_string(static_cast<int>(kind)); }

}  // namespace weft::testing_scheduler
