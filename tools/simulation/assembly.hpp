// SPDX-License-Identifier: Apache-2.0
// Assembly: the parts of one run, which refer to each other, and how they are put together.
//
// Where it sits: tools/simulation/run makes one for every time that a run begins. Entities are the
// hosts in order, the scheduler (or the flow list's source) and the fabric; their ids depend
// neither on threads nor on the partition.
// Threads: belongs to one thread but while the engine runs.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "host/across/across_traffic.hpp"
#include "host/collectives/collective_library.hpp"
#include "host/inside/island.hpp"
#include "host/ranks/host_settings.hpp"
#include "host/ranks/host_speed.hpp"
#include "host/ranks/job.hpp"
#include "host/ranks/rank_runner.hpp"
#include "host/symmetry/coupled_jobs.hpp"
#include "host/transport/flow_list_source.hpp"
#include "host/transport/packet_network.hpp"
#include "network/congestion/congestion_monitor.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/in_network/switch_operations.hpp"
#include "network/transfer_records.hpp"
#include "scheduler/lifecycle/job_lifecycle.hpp"
#include "tools/simulation/folding_planner.hpp"
#include "tools/simulation/run.hpp"

namespace weft {

CollectiveLibrary collective_library(const Scenario& scenario);

/// Keeps the transfers that it is told of.
class TransferCollector final : public FlowObserver {
 public:
  void on_transfer_finished(const FinishedTransfer& finished) override { transfers.push_back(finished); }
  std::vector<FinishedTransfer> transfers;
};

/// Who is told of what happens, and what is recorded for them.
struct Observers {
  JobObserver& jobs;
  FlowObserver& transfers;
  Recording recording = Recording::communication;
  bool records_pauses = false;
};

struct Assembly {
  /// Keeps references to all but the options.
  Assembly(const Scenario& of, const RunOptions& how, CollectiveLibrary& collectives, FoldingPlan plan);
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  /// Registers the entities of the run and what it begins with.
  void add_entities(EngineBuilder& builder, const Observers& observers);
  /// That moves bytes over cables; null where packets alone do.
  const FlowFabric* flows_on_cables(const Engine& engine) const;

  const Scenario& scenario;
  RunOptions options;
  CollectiveLibrary& library;
  /// Packet mode: does any job put flows on the network?
  const bool has_flow_jobs;
  JobTable attempts;
  AttemptFoldings attempt_foldings{attempts};
  HostSpeeds speeds;
  std::optional<FlowSettings> flow_settings;  ///< but in job mode
  FoldingPlanner planner;
  std::atomic<bool> abandoned = false;          ///< for a run by the planner's plan as it is now
  std::optional<SwitchOperations> operations;   ///< but in job mode
  std::optional<CoupledJobs> coupled;           ///< in flow mode with fast forward
  std::optional<PacketNetwork> packet_network;  ///< in packet mode
  std::optional<CongestionMonitor> congestion;  ///< if it is looked for
  std::unique_ptr<InsideWiring> inside;         ///< where hosts have links of their own
  std::unique_ptr<AcrossDoor> across_door;      ///< where collectives between hosts may, too
  std::unique_ptr<AcrossTraffic> across;        ///< likewise
  std::unique_ptr<NetworkPort> port;
  TransferCollector moved_as_flows;  ///< in packet mode
  std::vector<EntityId> hosts;       ///< none in job mode and of flow lists
  EntityId scheduler = EntityId::none();
  EntityId fabric = EntityId::none();
  FlowFabric* flow_fabric = nullptr;      ///< null in job mode
  JobLifecycle* lifecycle = nullptr;      ///< null of flow lists
  FlowListSource* flow_source = nullptr;  ///< of flow lists in flow mode
  std::vector<FlowListSink*> flow_sinks;  ///< of those in packet mode, by host

 private:
  void add_hosts(EngineBuilder& builder, const Observers& observers);
  void add_scheduler(EngineBuilder& builder, const Observers& observers);
  void add_network(EngineBuilder& builder, const std::vector<EntityId>& entity_of_host, const Observers& observers);
  void add_flow_list(EngineBuilder& builder, const Observers& observers);
  SchedulerWiring scheduler_wiring();
  void complete_placed(RunningJob& job);
  bool goes_on_after_launch();
  std::unique_ptr<NetworkPort> make_port() const;
  bool has_private_links(PrivateLinksUse use) const;
  bool may_carry_out_across() const;
};

}  // namespace weft
