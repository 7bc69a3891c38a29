// SPDX-License-Identifier: Apache-2.0
// Ranks on a network without contention: every message takes alpha + bytes / rate, however many are
// under way. All expected times follow from that by hand.
#include "host/ranks/rank_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/engine/engine.hpp"
#include "core/text/diagnostics.hpp"
#include "host/collectives/collective_library.hpp"
#include "host/ranks/host_entity.hpp"

namespace weft::rank_runner_test {
namespace {

const Duration kAlpha = Duration::us(3);
const Bandwidth kRate = Bandwidth::gbps(100);
const Duration kControlDelay = Duration::us(1);

/// Delivers every message after alpha + bytes / rate; it has left the source alpha earlier.
class IdealNetwork final : public Entity {
 public:
  void handle(const Event& event, EventContext& context) override {
    const auto transfer = event.payload_as<Transfer>();
    const Duration wire = transmit_time(transfer.size, kRate);
    if (!is_control(transfer)) {
      messages[{transfer.source, transfer.destination}] += 1;
      context.send(event.key.source, wire + Duration::ns(500), transfer_sent, transfer);
    }
    context.send(host_of_endpoint.at(transfer.destination), wire + kAlpha - Duration::ns(500), transfer_delivered, transfer);
  }
  std::map<NodeId, EntityId> host_of_endpoint;
  std::map<std::pair<NodeId, NodeId>, int> messages;
};

class IdealPort final : public NetworkPort {
 public:
  void start(const Transfer& transfer, EventContext& context) const override {
    context.send(network, Duration::ns(500), transfer_start, transfer);
  }
  EntityId network;
};

/// Starts an attempt on all hosts at time zero and collects what they report; if told so, stops it
/// and starts the next attempt later on.
class Starter final : public Entity {
 public:
  void handle(const Event& event, EventContext& context) override {
    if (event.kind == iteration_done) {
      const auto done = event.payload_as<IterationDone>();
      reports[{done.rank, done.iteration}] = done;
      return;
    }
    const bool is_again = context.now() > Time::zero();
    for (const EntityId host : hosts) {
      if (is_again) context.send(host, kControlDelay, stop_job, StopJob{AttemptId(0)});
      context.send(host, kControlDelay, start_job, StartJob{AttemptId(is_again ? 1 : 0)});
    }
  }
  std::vector<EntityId> hosts;
  std::map<std::pair<RankId, std::uint32_t>, IterationDone> reports;
};

struct Outcome {
  std::map<std::pair<RankId, std::uint32_t>, IterationDone> reports;
  std::map<std::pair<NodeId, NodeId>, int> messages;
  std::vector<OpRecord> records;
  std::vector<WaitingRank> waiting;
  RunReport run;

  /// When an iteration of a rank ended, since the job's start on the hosts.
  Duration end(std::uint32_t rank, std::uint32_t iteration = 0) const {
    return reports.at({RankId(rank), iteration}).end - (Time::zero() + kControlDelay);
  }
  Duration exposed(std::uint32_t rank, std::uint32_t iteration = 0) const {
    return reports.at({RankId(rank), iteration}).exposed_communication;
  }
};

/// Hosts with two endpoints each on one switch; the cables are never used, only who is where
/// matters here.
std::shared_ptr<const Topology> two_endpoints_per_host(std::uint32_t ranks) {
  TopologyBuilder builder("pairs");
  const NodeId hub = builder.add_switch(1);
  for (std::uint32_t rank = 0; rank < ranks; rank += 2) {
    const HostId host = builder.add_host();
    for (std::uint32_t local = 0; local < 2 && rank + local < ranks; ++local) {
      builder.add_cable(builder.add_endpoint(host, NodeKind::gpu), hub, kRate, Duration::ns(100));
    }
  }
  return std::move(builder).build(nullptr, {});
}

struct RunOptions {
  std::uint64_t iterations = 1;
  std::uint32_t threads = 1;
  std::string algorithm = "ring";
  Duration reduction_time_per_mib;
  std::string protocol = "ideal";
  std::string slots = "8";
  std::string slot_size = "512KiB";
  std::string chunk = "auto";
  std::string broadcast_piece = "512KiB";
  std::string launch_latency = "0ns";
  Duration kernel_launch_latency;
  double compute_slowdown = 1;
  std::vector<HostSpeedEntry> speeds = {};
  std::uint64_t checkpoint_every = 0;
  Duration checkpoint_write;
  std::optional<Duration> again_at;  ///< the job is stopped and started again
  std::uint64_t again_from = 0;      ///< that iteration
};

Outcome run(Workload workload, const RunOptions& options = {}) {
  const auto topology = two_endpoints_per_host(workload.rank_count);
  ParamSet selection("collective", CollectiveLibrary::params());
  for (const char* type : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}) {
    selection.set(type, options.algorithm, {});
  }
  selection.set("protocol", options.protocol, {});
  selection.set("rule_set", "fastest", {});
  selection.set("launch_latency", options.launch_latency, {});
  selection.set("slots", options.slots, {});
  selection.set("slot_size", options.slot_size, {});
  selection.set("chunk", options.chunk, {});
  const auto& ring = find_module(collective_algorithms(), "ring", {});
  std::vector<ParamSet> module_params = {ParamSet("ring", ring.info.params)};
  module_params.front().set("broadcast_piece", options.broadcast_piece, {});
  CollectiveLibrary library(selection, module_params);
  auto shared = std::make_shared<const Workload>(std::move(workload));
  JobTable jobs;
  RunningJob job;
  job.attempt = jobs.next();
  job.job = JobId(0);
  job.workload = shared;
  job.iterations = options.iterations;
  job.endpoint_of_rank = std::make_shared<const std::vector<NodeId>>(topology->endpoints().begin(), topology->endpoints().end());
  job.collectives = library.prepare(*shared, *topology, *job.endpoint_of_rank, nullptr);
  job.tags = std::make_shared<const MessageTags>(*shared, *job.collectives);
  job.checkpoint_every = options.checkpoint_every;
  job.checkpoint_write = options.checkpoint_write;
  jobs.publish(job);
  job.attempt = jobs.next();
  job.first_iteration = options.again_from;
  jobs.publish(std::move(job));

  const HostSpeeds speeds(topology->host_count(), options.speeds, {});
  IdealPort port;
  EngineBuilder builder;
  auto starter = std::make_unique<Starter>();
  Starter& control = *starter;
  const EntityId control_id = builder.add_entity(std::move(starter), "control");
  auto ideal = std::make_unique<IdealNetwork>();
  IdealNetwork& network = *ideal;
  port.network = builder.add_entity(std::move(ideal), "network");
  const HostWiring wiring{
      *topology,
      jobs,
      speeds,
      {port, options.reduction_time_per_mib, options.kernel_launch_latency, options.compute_slowdown, Recording::everything},
      control_id,
      kControlDelay};
  for (std::uint32_t h = 0; h < topology->host_count(); ++h) {
    const EntityId id = builder.add_entity(std::make_unique<HostEntity>(HostId(h), wiring), "host" + std::to_string(h));
    control.hosts.push_back(id);
    for (const Time change : speeds.changes(HostId(h))) builder.post_initial(id, change, EventClass::timer, speed_changes);
    builder.connect_both(control_id, id, kControlDelay);
    builder.connect_both(id, port.network, Duration::ns(500));
    for (const NodeId endpoint : topology->endpoints_of(HostId(h))) network.host_of_endpoint[endpoint] = id;
  }
  builder.post_initial(control_id, Time::zero(), EventClass::timer, 1);
  if (options.again_at) builder.post_initial(control_id, Time::zero() + *options.again_at, EventClass::timer, 1);
  const std::vector<EntityId> hosts = control.hosts;
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  Engine engine = std::move(builder).build(engine_options);
  Outcome outcome;
  outcome.run = engine.run({});
  outcome.reports = control.reports;
  outcome.messages = network.messages;
  for (const EntityId host : hosts) {
    const auto& entity = engine.entity_as<HostEntity>(host);
    outcome.records.insert(outcome.records.end(), entity.records().begin(), entity.records().end());
    for (WaitingRank& waiting : entity.waiting_ranks()) outcome.waiting.push_back(std::move(waiting));
  }
  return outcome;
}

Op compute(Duration duration, std::uint16_t stream = 0) {
  Op op;
  op.duration = duration;
  op.stream = stream;
  return op;
}

Op collective(CollectiveType type, Bytes bytes, std::uint16_t stream = 0) {
  Op op;
  op.kind = OpKind::collective;
  op.collective = type;
  op.bytes = bytes;
  op.stream = stream;
  return op;
}

Op message(OpKind kind, std::int32_t peer, std::uint32_t tag, Bytes bytes, PeerAddressing addressing = PeerAddressing::absolute) {
  Op op;
  op.kind = kind;
  op.peer = peer;
  op.tag = tag;
  op.bytes = bytes;
  op.addressing = addressing;
  return op;
}

/// A workload in which all ranks play one role.
Workload uniform(std::uint32_t ranks, RoleBuilder role) {
  Workload workload;
  workload.name = "test";
  workload.rank_count = ranks;
  workload.communicators.push_back(Communicator::world(ranks));
  workload.roles.push_back(std::move(role).finish().dag);
  workload.role_names = {"all"};
  workload.role_of.assign(ranks, 0);
  return workload;
}

/// A workload in which every rank plays a role of its own.
Workload individual(std::vector<RoleBuilder> roles) {
  Workload workload;
  workload.rank_count = static_cast<std::uint32_t>(roles.size());
  workload.communicators.push_back(Communicator::world(workload.rank_count));
  for (std::size_t i = 0; i < roles.size(); ++i) {
    workload.roles.push_back(std::move(roles[i]).finish().dag);
    workload.role_names.push_back("rank" + std::to_string(i));
    workload.role_of.push_back(static_cast<std::uint16_t>(i));
  }
  return workload;
}

Workload one_collective(CollectiveType type, std::uint32_t ranks, Bytes bytes) {
  RoleBuilder role;
  role.add(collective(type, bytes));
  return uniform(ranks, std::move(role));
}

TEST(RankRunner, RingAllReduceTakesTwiceNMinusOneSteps) {
  // 8 ranks, 8 MB: 14 steps of alpha + 1 MB / 100 Gb/s = 3 us + 80 us.
  const Outcome outcome = run(one_collective(CollectiveType::all_reduce, 8, Bytes::of(8'000'000)));
  for (std::uint32_t rank = 0; rank < 8; ++rank) EXPECT_EQ(outcome.end(rank), Duration::us(14 * 83));
  // 14 messages from every rank to its right neighbour and to nobody else.
  EXPECT_EQ(outcome.messages.size(), 8u);
  for (const auto& [pair, count] : outcome.messages) EXPECT_EQ(count, 14);
}

TEST(RankRunner, RingReduceScatterAllGatherAndAllToAll) {
  EXPECT_EQ(run(one_collective(CollectiveType::reduce_scatter, 8, Bytes::of(8'000'000))).end(0), Duration::us(7 * 83));
  // The shard of an all-gather is its size: 7 steps of 3 us + 80 us for 1 MB.
  EXPECT_EQ(run(one_collective(CollectiveType::all_gather, 8, Bytes::of(1'000'000))).end(3), Duration::us(7 * 83));
  // Round s carries 7-s blocks of 1 MB: 7 alpha + (7+6+...+1) 80 us.
  EXPECT_EQ(run(one_collective(CollectiveType::all_to_all, 8, Bytes::of(8'000'000))).end(5), Duration::us(7 * 3 + 28 * 80));
}

TEST(RankRunner, RingBroadcastIsAPipeline) {
  // 2 MiB in 4 pieces of 512 KiB. Message time: 3 us + 524,288 x 8 / 100 Gb/s = 3 us + 41.94304 us.
  // On this network a rank's sends follow each other as soon as the previous has left (1 us after
  // its last bit at most), so the last of 4 ranks has its last piece after 3 hops of the first
  // piece plus 3 further pieces at the sender's pace: wire + 1 us (500 ns to the network, 500 ns
  // notice).
  const Duration wire = transmit_time(Bytes::kib(512), kRate);
  const Outcome outcome = run(one_collective(CollectiveType::broadcast, 4, Bytes::mib(2)));
  EXPECT_EQ(outcome.end(3), 3 * (kAlpha + wire) + 3 * (wire + Duration::us(1)));
}

// Six pieces of 1 us on the wire to one peer. Each is handed over 2 us after the one before (500 ns
// to the network, 1 us, 500 ns back), is there after 4 us, and frees its slots 3 us later.
TEST(RankRunner, AMessageWaitsForSlots) {
  const Workload broadcast = one_collective(CollectiveType::broadcast, 2, Bytes::of(75'000));
  RunOptions options;
  options.broadcast_piece = "12500B";
  // At 0, 2 .. 10 us; the last is there at 14 us.
  for (const char* slots : {"6", "8"}) {
    options.slots = slots;
    EXPECT_EQ(run(broadcast, options).end(1), Duration::us(14)) << slots;
  }
  // Two slots: at 0 and 2 us, then as they are free again: 7 and 9, 14 and 16 us; there at 20 us.
  options.slots = "2";
  EXPECT_EQ(run(broadcast, options).end(1), Duration::us(20));
  // Pieces of two slots of four: the same.
  options.slots = "4";
  options.slot_size = "6250B";
  EXPECT_EQ(run(broadcast, options).end(1), Duration::us(20));
  // No piece takes more than half.
  options.slot_size = "100B";
  EXPECT_EQ(run(broadcast, options).end(1), Duration::us(20));
  // One slot: every 7 us.
  options.slots = "1";
  EXPECT_EQ(run(broadcast, options).end(1), Duration::us(5 * 7 + 4));
  // Four slots, of which the sender hears when two are free: at 0, 2, 4, 6 us; the second is there
  // at 6, so at 9 us it goes on: 9 and 11, there at 15 us.
  options.slots = "4";
  options.slot_size = "12500B";
  EXPECT_EQ(run(broadcast, options).end(1), Duration::us(15));
}

// Two ranks send each other one message of 75,000 B, in six chunks that go as the six pieces of
// AMessageWaitsForSlots do.
TEST(RankRunner, ChunksOfAMessageWaitForSlots) {
  const Workload all_gather = one_collective(CollectiveType::all_gather, 2, Bytes::of(75'000));
  RunOptions options;
  // Whole it takes 6 us on the wire, and 3 us.
  for (const char* chunk : {"auto", "none", "75000B", "1MB"}) {
    options.chunk = chunk;
    EXPECT_EQ(run(all_gather, options).end(1), Duration::us(9)) << chunk;
  }
  options.chunk = "12500B";
  for (const auto& [slots, end_us] : {std::pair("8", 14), std::pair("6", 14), std::pair("2", 20), std::pair("1", 5 * 7 + 4)}) {
    options.slots = slots;
    EXPECT_EQ(run(all_gather, options).end(1), Duration::us(end_us)) << slots;
    EXPECT_EQ(run(all_gather, options).end(0), Duration::us(end_us)) << slots;
  }
  // Four slots, of which the sender hears when two are free.
  options.slots = "4";
  options.slot_size = "12500B";
  EXPECT_EQ(run(all_gather, options).end(1), Duration::us(15));
}

// Both ends cut a message into as many parts, whatever remains: 1,000,003 B over 3 ranks in chunks
// of 7,001 B, through 3 slots.
TEST(RankRunner, ChunksOfUnequalPartsAddUp) {
  RunOptions options;
  options.chunk = "7001B";
  options.slots = "3";
  options.slot_size = "5000B";
  for (const CollectiveType type : {CollectiveType::all_reduce, CollectiveType::reduce_scatter, CollectiveType::all_to_all}) {
    const Outcome outcome = run(one_collective(type, 3, Bytes::of(1'000'003)), options);
    EXPECT_TRUE(outcome.waiting.empty());
    EXPECT_GT(outcome.end(2), Duration::us(60));
  }
}

// The receiver comes to the collective after 100 us and finds two pieces; what it takes over then
// is known at 103 us. At 103, 105, 110, 112 us; there at 116 us.
TEST(RankRunner, NoMoreThanThereAreSlotsWaitsForAReceiverThatIsLate) {
  std::vector<RoleBuilder> roles(2);
  roles[0].add(collective(CollectiveType::broadcast, Bytes::of(75'000)));
  const std::uint32_t late = roles[1].add(compute(Duration::us(100)));
  roles[1].depend(roles[1].add(collective(CollectiveType::broadcast, Bytes::of(75'000))), late);
  RunOptions options;
  options.broadcast_piece = "12500B";
  options.slots = "2";
  EXPECT_EQ(run(individual(std::move(roles)), options).end(1), Duration::us(116));
}

TEST(RankRunner, DirectCollectivesTakeOneMessageTime) {
  RunOptions direct;
  direct.algorithm = "direct";
  // 8 MB over 8 ranks: every message is 1 MB and this network shares nothing.
  EXPECT_EQ(run(one_collective(CollectiveType::all_to_all, 8, Bytes::of(8'000'000)), direct).end(0), Duration::us(83));
  EXPECT_EQ(run(one_collective(CollectiveType::reduce_scatter, 8, Bytes::of(8'000'000)), direct).end(0), Duration::us(83));
  EXPECT_EQ(run(one_collective(CollectiveType::all_reduce, 8, Bytes::of(8'000'000)), direct).end(0), Duration::us(2 * 83));
  EXPECT_EQ(run(one_collective(CollectiveType::broadcast, 8, Bytes::of(1'000'000)), direct).end(7), Duration::us(83));
}

TEST(RankRunner, ReducingCostsTimePerReceivedByte) {
  // 4 ranks, 4 MiB: 3 reducing steps and 3 passing steps of 1 MiB each; reducing a MiB takes 7 us.
  RunOptions options;
  options.reduction_time_per_mib = Duration::us(7);
  const Duration step = kAlpha + transmit_time(Bytes::mib(1), kRate);
  const Outcome outcome = run(one_collective(CollectiveType::all_reduce, 4, Bytes::mib(4)), options);
  EXPECT_EQ(outcome.end(0), 6 * step + 3 * Duration::us(7));
}

TEST(RankRunner, ProtocolsCostTimePerCollectiveAndPerReceive) {
  RunOptions options;
  options.algorithm = "direct";
  options.protocol = "simple";
  options.launch_latency = "20us";
  // 8 ranks: everybody hears from other hosts. 1 MB messages take 83 us here; Simple takes 8.4 us
  // once and 14 us for a receive from afar.
  EXPECT_EQ(run(one_collective(CollectiveType::all_to_all, 8, Bytes::of(8'000'000)), options).end(0),
            Duration::us(20) + Duration::ns(8400) + Duration::us(83) + Duration::us(14));
  // Two ranks share a host: 3.4 us. Each half of 2 MB is reduced, then gathered.
  EXPECT_EQ(run(one_collective(CollectiveType::all_reduce, 2, Bytes::of(2'000'000)), options).end(0),
            Duration::us(20) + Duration::ns(8400) + 2 * (Duration::us(83) + Duration::ns(3400)));
  // LL moves twice the bytes: alpha + 160 us instead of alpha + 80 us.
  options.protocol = "ll";
  EXPECT_EQ(run(one_collective(CollectiveType::all_reduce, 2, Bytes::of(2'000'000)), options).end(0),
            Duration::us(20) + Duration::ns(6600) + 2 * (Duration::us(163) + Duration::ns(600)));
}

TEST(RankRunner, CommunicationSlowsGpuComputeDownWhileItLasts) {
  // All-reduce of 2 MB over 2 ranks: 166 us. Beside it a GPU op of 120 us at 1 / 1.5 of its speed:
  // 166 us do 110.67 us of work, the rest follows at full speed.
  RoleBuilder role;
  role.add(collective(CollectiveType::all_reduce, Bytes::of(2'000'000), 1));
  role.add(compute(Duration::us(120), 2));
  RunOptions options;
  options.compute_slowdown = 1.5;
  const Duration end = run(uniform(2, std::move(role)), options).end(0);
  EXPECT_NEAR(end.in_ns(), 166'000 + 120'000 - 166'000 / 1.5, 0.02);
}

TEST(RankRunner, KernelLaunchesDelayGpuOps) {
  RoleBuilder role;
  role.add(compute(Duration::us(10), 1));
  Op cpu = compute(Duration::us(10), 1);
  cpu.processor = Processor::cpu;
  role.add(cpu);
  RunOptions options;
  options.kernel_launch_latency = Duration::us(4);
  EXPECT_EQ(run(uniform(2, std::move(role)), options).end(0), Duration::us(24)) << "a CPU op needs no launch";
}

TEST(RankRunner, HostsThatThrottleFinishLaterAndTheOthersDoNot) {
  // Ranks 2 and 3 are on host 1. Its 100 us of work start after the control delay; from 40 us after
  // that on it runs at half speed for 30 us.
  RoleBuilder role;
  role.add(compute(Duration::us(100), 1));
  RunOptions options;
  const Time start = Time::zero() + kControlDelay;
  options.speeds = {{{HostId(1)}, 0.5, start + Duration::us(40), start + Duration::us(70)}};
  options.iterations = 2;
  const Outcome outcome = run(uniform(4, std::move(role)), options);
  EXPECT_EQ(outcome.end(0, 1), Duration::us(200));
  EXPECT_EQ(outcome.end(2, 0), Duration::us(115)) << "15 us of work are missing after the 30";
  EXPECT_EQ(outcome.end(2, 1), Duration::us(215));
}

TEST(RankRunner, ComputationAndCommunicationOverlapUnlessAnEdgeForbidsIt) {
  // fwd 100 us -> all-reduce (2 ranks, 2 MB: 2 steps of 83 us = 166 us), meanwhile bwd 120 us on
  // the compute stream; end needs both.
  RoleBuilder role;
  const std::uint32_t forward = role.add(compute(Duration::us(100), 1));
  const std::uint32_t reduce = role.add(collective(CollectiveType::all_reduce, Bytes::of(2'000'000), 2));
  const std::uint32_t backward = role.add(compute(Duration::us(120), 1));
  const std::uint32_t end = role.add(compute(Duration::us(10), 1));
  role.depend(reduce, forward);
  role.depend(end, reduce);
  role.depend(end, backward);
  const Outcome outcome = run(uniform(2, std::move(role)));
  EXPECT_EQ(outcome.end(0), Duration::us(100 + 166 + 10));
  // Of the 166 us of communication 120 are hidden behind bwd.
  EXPECT_EQ(outcome.exposed(0), Duration::us(46));
  ASSERT_EQ(outcome.records.size(), 8u);
}

TEST(RankRunner, WorkOnTheCpuDoesNotHideCommunication) {
  // The same DAG twice: 120 us beside a 166 us all-reduce, once on the GPU, once on the CPU.
  for (const Processor processor : {Processor::gpu, Processor::cpu}) {
    RoleBuilder role;
    role.add(collective(CollectiveType::all_reduce, Bytes::of(2'000'000), 2));
    Op beside = compute(Duration::us(120), 1);
    beside.processor = processor;
    role.add(beside);
    const Outcome outcome = run(uniform(2, std::move(role)));
    EXPECT_EQ(outcome.end(0), Duration::us(166));
    EXPECT_EQ(outcome.exposed(0), processor == Processor::gpu ? Duration::us(46) : Duration::us(166));
  }
}

TEST(RankRunner, AGroupOfOneHasNothingToExchange) {
  const Outcome outcome = run(one_collective(CollectiveType::all_reduce, 1, Bytes::mib(64)));
  EXPECT_EQ(outcome.end(0), Duration::zero());
  EXPECT_TRUE(outcome.messages.empty());
}

TEST(RankRunner, IterationsFollowEachOtherPerRank) {
  RoleBuilder role;
  role.add(compute(Duration::us(50), 1));
  role.add(collective(CollectiveType::all_reduce, Bytes::of(2'000'000), 1));
  RunOptions three;
  three.iterations = 3;
  const Outcome outcome = run(uniform(2, std::move(role)), three);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome.end(0, i), Duration::us(216) * (i + 1));
    EXPECT_EQ(outcome.exposed(1, i), Duration::us(166)) << "each iteration is accounted by itself";
  }
}

TEST(RankRunner, AnIterationWithoutOpsTakesNoTimeHoweverManyThereAre) {
  RunOptions many;
  many.iterations = 100'000;
  const Outcome outcome = run(uniform(1, RoleBuilder()), many);
  EXPECT_EQ(outcome.reports.size(), 100'000u);
  EXPECT_EQ(outcome.end(0, 99'999), Duration::zero());
}

TEST(RankRunner, IterationsThatNeverTakeTimeAreRefused) {
  RoleBuilder role;
  role.add(compute(Duration::zero()));
  RunOptions endless;
  endless.iterations = 4'000'000'000;
  EXPECT_THROW(run(uniform(1, std::move(role)), endless), InputError);
}

TEST(RankRunner, ALongChainOfOpsThatTakeNoTimeRunsInOneInstant) {
  RoleBuilder role;
  for (int i = 0; i < 200'000; ++i) role.add(compute(Duration::zero(), 1));
  EXPECT_EQ(run(uniform(1, std::move(role))).end(0), Duration::zero());
}

// More predecessors than 16 bits count: the last of them takes 7 us, then 2 us of its own.
TEST(RankRunner, AnOpMayWaitForAnyNumberOfOthers) {
  for (const int predecessors : {65'534, 65'535, 65'536, 70'000}) {
    RoleBuilder role;
    std::vector<std::uint32_t> before;
    for (int i = 0; i < predecessors; ++i) {
      Op op = compute(i == 3 ? Duration::us(7) : Duration::zero());
      op.processor = Processor::cpu;
      before.push_back(role.add(op));
    }
    const std::uint32_t end = role.add(compute(Duration::us(2)));
    for (const std::uint32_t op : before) role.depend(end, op);
    EXPECT_EQ(run(uniform(1, std::move(role))).end(0), Duration::us(9)) << predecessors;
  }
}

TEST(RankRunner, MessagesMatchBySourceTagAndOrder) {
  // Rank 0 sends 1 MB with tag 7, 2 MB with tag 7, then 3 MB with tag 9; rank 1 receives tag 9
  // first. Every message is on its own way: tag 9 arrives after 3 us + 240 us, the first of tag 7
  // after 83 us, the second after 163 us.
  RoleBuilder sender;
  sender.add(message(OpKind::send, 1, 7, Bytes::of(1'000'000)));
  sender.add(message(OpKind::send, 1, 7, Bytes::of(2'000'000)));
  sender.add(message(OpKind::send, 1, 9, Bytes::of(3'000'000)));
  RoleBuilder receiver;
  const std::uint32_t nine = receiver.add(message(OpKind::receive, 0, 9, Bytes::of(3'000'000)));
  const std::uint32_t first = receiver.add(message(OpKind::receive, 0, 7, Bytes::of(1'000'000)));
  const std::uint32_t second = receiver.add(message(OpKind::receive, 0, 7, Bytes::of(2'000'000)));
  receiver.depend(first, nine);
  static_cast<void>(second);
  std::vector<RoleBuilder> roles;
  roles.push_back(std::move(sender));
  roles.push_back(std::move(receiver));
  const Outcome outcome = run(individual(std::move(roles)));
  const Time start = Time::zero() + kControlDelay;
  std::map<std::uint32_t, Duration> ended;
  for (const OpRecord& record : outcome.records) {
    if (record.rank == RankId(1)) ended[record.op.index()] = record.end - start;
  }
  EXPECT_EQ(ended[nine], Duration::us(243));
  EXPECT_EQ(ended[first], Duration::us(243)) << "it had arrived early and waited for its receive";
  EXPECT_EQ(ended[second], Duration::us(163));
}

TEST(RankRunner, RelativePeersFormARing) {
  // Every rank sends to the next and receives from the previous one, by one shared role.
  RoleBuilder role;
  role.add(message(OpKind::send, +1, 0, Bytes::of(1'000'000), PeerAddressing::relative));
  role.add(message(OpKind::receive, -1, 0, Bytes::of(1'000'000), PeerAddressing::relative));
  const Outcome outcome = run(uniform(5, std::move(role)));
  for (std::uint32_t rank = 0; rank < 5; ++rank) EXPECT_EQ(outcome.end(rank), Duration::us(83));
  EXPECT_EQ(outcome.messages.size(), 5u);
}

TEST(RankRunner, ASenderMayRunAheadOfItsReceiver) {
  // Rank 0 sends once per iteration and never waits for rank 1, which computes 1 ms per iteration:
  // all messages come early.
  RoleBuilder sender;
  sender.add(message(OpKind::send, 1, 0, Bytes::of(1'000)));
  RoleBuilder receiver;
  const std::uint32_t receive = receiver.add(message(OpKind::receive, 0, 0, Bytes::of(1'000)));
  receiver.depend(receive, receiver.add(compute(Duration::ms(1))));
  std::vector<RoleBuilder> roles;
  roles.push_back(std::move(sender));
  roles.push_back(std::move(receiver));
  // Far more iterations than the 4,096 that a tag of 13 bits could tell apart, as an earlier
  // version had it.
  RunOptions many;
  many.iterations = 10'000;
  const Outcome outcome = run(individual(std::move(roles)), many);
  EXPECT_EQ(outcome.end(1, 9'999), Duration::s(10));
  EXPECT_LT(outcome.end(0, 9'999), Duration::ms(100));
}

TEST(RankRunner, ARankThatWaitsForeverIsNamed) {
  RoleBuilder idle;
  idle.add(compute(Duration::us(1)));
  RoleBuilder receiver;
  receiver.add(message(OpKind::receive, 0, 3, Bytes::of(1'000)));
  std::vector<RoleBuilder> roles;
  roles.push_back(std::move(idle));
  roles.push_back(std::move(receiver));
  const Outcome outcome = run(individual(std::move(roles)));
  ASSERT_EQ(outcome.waiting.size(), 1u);
  EXPECT_EQ(outcome.waiting[0].rank, RankId(1));
  EXPECT_EQ(outcome.waiting[0].ops, std::vector<OpId>{OpId(0)});
}

TEST(RankRunner, TheRunIsTheSameOnAnyNumberOfThreads) {
  const auto scenario = [] {
    RoleBuilder role;
    const std::uint32_t forward = role.add(compute(Duration::us(31), 1));
    const std::uint32_t exchange = role.add(collective(CollectiveType::all_to_all, Bytes::of(777'777), 2));
    const std::uint32_t reduce = role.add(collective(CollectiveType::all_reduce, Bytes::of(1'234'567), 3));
    role.depend(exchange, forward);
    role.depend(reduce, forward);
    return uniform(14, std::move(role));
  };
  RunOptions options;
  options.iterations = 4;
  const Outcome one = run(scenario(), options);
  for (const std::uint32_t threads : {2u, 8u}) {
    options.threads = threads;
    const Outcome other = run(scenario(), options);
    EXPECT_EQ(other.run.fingerprint.to_text(), one.run.fingerprint.to_text()) << threads << " threads";
    EXPECT_EQ(other.end(13, 3), one.end(13, 3));
  }
}

Workload compute_and_all_reduce() {
  RoleBuilder role;
  role.add(compute(Duration::us(7), 1));
  role.add(collective(CollectiveType::all_reduce, Bytes::of(400'000), 1));
  return uniform(4, std::move(role));
}

// Stopped in the middle of whatever goes on - ops, messages on their way, ranks at different steps
// - and begun again at once at the second iteration: the two iterations that are left take as long
// as ever.
TEST(RankRunner, AStopLeavesNothingBehind) {
  RunOptions options;
  options.iterations = 3;
  const Outcome undisturbed = run(compute_and_all_reduce(), options);
  const Duration iteration = undisturbed.end(0);
  ASSERT_EQ(undisturbed.end(3, 2), iteration * 3);
  options.again_from = 1;
  for (int percent = 1; percent < 300; percent += 7) {
    options.again_at = Duration::ticks(iteration.in_ticks() * percent / 100);
    const Outcome stopped = run(compute_and_all_reduce(), options);
    EXPECT_TRUE(stopped.waiting.empty());
    std::map<std::tuple<RankId, std::uint32_t, OpId>, int> runs;
    for (const OpRecord& record : stopped.records) {
      if (record.attempt == AttemptId(1)) ++runs[{record.rank, record.iteration, record.op}];
      EXPECT_TRUE(record.attempt == AttemptId(1) || record.end <= Time::zero() + *options.again_at + kControlDelay);
    }
    EXPECT_EQ(runs.size(), 4U * 2U * 2U);
    EXPECT_TRUE(std::ranges::all_of(runs, [](const auto& ran) { return ran.second == 1; }));
    for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(stopped.end(rank, 2), *options.again_at + iteration * 2) << percent;
  }
}

TEST(RankRunner, StandsStillWhileACheckpointIsWritten) {
  RunOptions options;
  options.iterations = 5;
  const Duration iteration = run(compute_and_all_reduce(), options).end(0);
  options.checkpoint_every = 2;
  options.checkpoint_write = Duration::us(40);
  const Outcome written = run(compute_and_all_reduce(), options);
  EXPECT_EQ(written.end(0, 1), iteration * 2);
  EXPECT_EQ(written.end(0, 2), iteration * 3 + Duration::us(40));
  EXPECT_EQ(written.end(0, 4), iteration * 5 + Duration::us(80));
  EXPECT_EQ(written.exposed(0, 4), written.exposed(0, 0));  // it is no communication
}

}  // namespace
}  // namespace weft::rank_runner_test
