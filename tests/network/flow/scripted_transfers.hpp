// SPDX-License-Identifier: Apache-2.0
// Transfers that start at given times, run through the flow fabric, and what everyone is told.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/text/diagnostics.hpp"
#include "network/flow/flow_fabric.hpp"

namespace weft::scripted_transfers {

struct Planned {
  Time start;
  Transfer transfer;
};

struct Notice {
  std::uint16_t kind = 0;
  Time at;
  Transfer transfer;
};

/// Starts transfers at given times and writes down what it is told.
class ScriptedHost final : public Entity {
 public:
  explicit ScriptedHost(const NetworkPort& port) : port_(port) {}

  void handle(const Event& event, EventContext& context) override {
    if (event.kind == kStart) {
      port_.start(event.payload_as<Transfer>(), context);
    } else {
      notices.push_back({event.kind, context.now(), event.payload_as<Transfer>()});
    }
  }

  static constexpr std::uint16_t kStart = 1;
  std::vector<Notice> notices;

 private:
  const NetworkPort& port_;
};

class Recorder final : public FlowObserver {
 public:
  void on_transfer_finished(const FinishedTransfer& f) override { finished.push_back(f); }
  std::vector<FinishedTransfer> finished;
};

struct Outcome {
  std::map<std::uint64_t, Time> sent;  ///< by tag
  std::map<std::uint64_t, Time> delivered;
  /// of operations in switches, by tag and member
  std::map<std::pair<std::uint64_t, NodeId>, Time> results;
  std::vector<FinishedTransfer> finished;
  FlowFabricCounters counters;
  std::vector<LinkUsage> links;
  std::vector<UnfinishedTransfer> unfinished;
  std::vector<std::pair<Time, FlowLoads::LinkLoad>> loads;  ///< as told, beside packets
  RunReport report;
};

/// What the fabric is told of a transfer that is packets.
struct PacketsNews {
  Time at;
  std::uint16_t kind = 0;  ///< packets_start or packets_end
  Transfer transfer;
};

/// What is derived here is about fluids: packets are looked at in path_delay_test and where the
/// tests say so.
inline FlowSettings settings_with(std::initializer_list<std::pair<const char*, const char*>> parameters) {
  ParamSet flow("flow", flow_params());
  flow.set("forwarding", "cut_through", {"test", 0, 0, 1, ""});
  for (const auto& [key, value] : parameters) flow.set(key, value, {"test", 0, 0, 1, ""});
  return FlowSettings(flow);
}

inline std::unique_ptr<AllocationPolicy> policy_called(const char* name, std::vector<double> capacities) {
  const auto& module = find_module(allocation_policies(), name, {"test", 0, 0, 1, ""});
  return module.make(std::move(capacities), ParamSet(name, module.info.params));
}

inline Outcome run(const Topology& topology, const FlowSettings& settings, const std::vector<Planned>& script,
                   std::unique_ptr<AllocationPolicy> policy = nullptr, std::uint32_t threads = 1,
                   PartitionChoice partition = PartitionAutomatic{}, const SwitchOperations* operations = nullptr,
                   const std::vector<std::pair<Time, AttemptId>>& stops = {},
                   const std::vector<std::pair<Time, CableChanges>>& changes = {}, Duration reroute = Duration::zero(),
                   const std::vector<PacketsNews>& packets = {}) {
  if (policy == nullptr) policy = policy_called("max_min", link_capacities_bps(topology));
  const EntityId fabric_id(static_cast<std::uint32_t>(topology.host_count()));
  const FlowNetworkPort port(topology, settings, fabric_id);
  Recorder recorder;
  EngineBuilder builder;
  std::vector<EntityId> entity_of_host;
  for (std::uint32_t h = 0; h < topology.host_count(); ++h) {
    entity_of_host.push_back(builder.add_entity(std::make_unique<ScriptedHost>(port), "host" + std::to_string(h)));
  }
  auto flow_fabric =
      std::make_unique<FlowFabric>(topology, settings, std::move(policy), entity_of_host, &recorder, nullptr, operations);
  flow_fabric->take_other_routes_after(reroute);
  std::vector<std::pair<Time, FlowLoads::LinkLoad>> loads;
  if (!packets.empty()) {
    flow_fabric->share_with_packets([&](const FlowLoads::LinkLoad& load, double /*capacity_bps*/, EventContext& context) {
      loads.emplace_back(context.now(), load);
    });
  }
  const EntityId fabric = builder.add_entity(std::move(flow_fabric), "fabric");
  EXPECT_EQ(fabric, fabric_id);
  for (const EntityId host : entity_of_host) {
    builder.connect(host, fabric, settings.host_to_fabric_min());
    builder.connect(fabric, host, settings.fabric_to_host_min());
  }
  for (const Planned& planned : script) {
    const EntityId host = entity_of_host[topology.node(planned.transfer.source).host.index()];
    builder.post_initial(host, planned.start, EventClass::timer, ScriptedHost::kStart, planned.transfer);
  }
  for (const auto& [time, change] : changes) builder.post_initial(fabric, time, EventClass::message, cable_changes, change);
  for (const auto& [time, attempt] : stops)
    builder.post_initial(fabric, time, EventClass::message, attempt_stopped, AttemptStopped{attempt});
  for (const PacketsNews& news : packets) builder.post_initial(fabric, news.at, EventClass::message, news.kind, news.transfer);
  EngineOptions options;
  options.threads = threads;
  options.partition = partition;
  Engine engine = std::move(builder).build(options);
  Outcome outcome;
  outcome.report = engine.run({});
  for (std::uint32_t h = 0; h < topology.host_count(); ++h) {
    for (const Notice& notice : engine.entity_as<ScriptedHost>(entity_of_host[h]).notices) {
      if (SwitchOperationName::is_one(notice.transfer.destination)) {
        EXPECT_EQ(notice.kind, transfer_delivered);
        EXPECT_EQ(topology.node(notice.transfer.source).host, HostId(h));
        EXPECT_TRUE(outcome.results.emplace(std::pair(notice.transfer.tag, notice.transfer.source), notice.at).second);
        continue;
      }
      const bool is_sent = notice.kind == transfer_sent;
      const NodeId end = is_sent ? notice.transfer.source : notice.transfer.destination;
      EXPECT_EQ(topology.node(end).host, HostId(h)) << "notices go to the host concerned";
      const bool is_new = (is_sent ? outcome.sent : outcome.delivered).emplace(notice.transfer.tag, notice.at).second;
      EXPECT_TRUE(is_new) << "one notice of each kind";
    }
  }
  outcome.finished = recorder.finished;
  const auto& entity = engine.entity_as<FlowFabric>(fabric);
  outcome.counters = entity.counters();
  outcome.links = entity.link_usage(Time::zero(), outcome.report.end_time, outcome.report.end_time);
  outcome.unfinished = entity.unfinished();
  outcome.loads = std::move(loads);
  return outcome;
}

inline Transfer transfer(NodeId source, NodeId destination, std::int64_t bytes, std::uint64_t tag, std::uint32_t connection = 0,
                         std::uint8_t priority = 0) {
  return {AttemptId(0), source, destination, connection, priority, tag, Bytes::of(bytes)};
}

}  // namespace weft::scripted_transfers
