// SPDX-License-Identifier: Apache-2.0
// Whole runs give the same bits for any number of threads and any partition: fingerprint, every
// table, every figure of the model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenario_run.hpp"
#include "tests/determinism/fingerprint_matrix.hpp"
#include "tests/long_runs.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::threads_test {
namespace {

/// Sanitizers look for races, which three combinations show as well as sixteen.
bool is_left_out(std::uint32_t threads, const std::string& zeta) {
  if (!WEFT_SANITIZED || long_runs()) return false;
  return threads == 1 || zeta != (threads == 2 ? "auto" : threads == 4 ? "1ns" : "table");
}

void expect_one_result(const RunFlags& flags) {
  const ScenarioRun first = run_scenario(flags, ScenarioRunOptions{});
  for (const std::uint32_t threads : {1u, 2u, 4u, 8u}) {
    for (const char* zeta : {"auto", "table", "1ns", "1s"}) {
      if (is_left_out(threads, zeta)) continue;
      ScenarioRunOptions options;
      options.threads = threads;
      options.zeta = zeta;
      options.trace = threads == 4;
      const ScenarioRun other = run_scenario(flags, options);
      const std::string combination = fmt::format("{} threads, zeta {}", threads, zeta);
      EXPECT_EQ(other.summary.fingerprint, first.summary.fingerprint) << combination;
      EXPECT_EQ(other.summary.events, first.summary.events) << combination;
      EXPECT_EQ(other.summary.makespan, first.summary.makespan) << combination;
      EXPECT_EQ(other.jobs, first.jobs) << combination;
      EXPECT_EQ(other.iterations, first.iterations) << combination;
      EXPECT_EQ(other.collectives, first.collectives) << combination;
      EXPECT_EQ(other.flows, first.flows) << combination;
      EXPECT_EQ(other.links, first.links) << combination;
      EXPECT_EQ(other.congestion, first.congestion) << combination;
      EXPECT_EQ(other.congested_jobs, first.congested_jobs) << combination;
    }
  }
}

TEST(Threads, TwoJobsOnARailOptimizedFabric) {
  const ScratchFolder folder;
  folder.write(
      "work.textproto",
      "ranks: 24\ncommunicator { name: \"tp\" size: 4 }\ncommunicator { name: \"dp\" size: 6 stride: 4 }\n"
      "role { name: \"all\"\n"
      "  op { name: \"f\" compute { duration: \"37us\" } stream: 1 }\n"
      "  op { name: \"t\" collective { type: ALL_GATHER communicator: \"tp\" size: \"333kB\" } deps: \"f\" stream: 2 }\n"
      "  op { name: \"b\" compute { duration: \"61us\" } stream: 1 }\n"
      "  op { name: \"d\" collective { type: ALL_REDUCE communicator: \"dp\" size: \"1234567B\" } deps: \"t\" stream: 3 }\n"
      "  op { name: \"x\" collective { type: ALL_TO_ALL size: \"777777B\" } deps: \"b\" stream: 4 }\n"
      "}\n");
  RunFlags flags;
  flags.scenario_file =
      folder.write("scenario.textproto",
                   "topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"6\" } }\n"
                   "job { name: \"a\" iterations: 3 workload { file: \"work.textproto\" } }\n"
                   "job { name: \"b\" iterations: 2 submit: \"111us\" workload { file: \"work.textproto\" } }\n"
                   "job { name: \"waits\" iterations: 1 submit: \"120us\" workload { file: \"work.textproto\" } }\n"
                   "set { name: \"flow.queue_pairs\" value: \"3\" }\n"
                   "set { name: \"flow.detect_congestion\" value: \"on\" }\n"
                   "set { name: \"flow.congestion_gap\" value: \"1us\" }\n");
  EXPECT_GT(run_scenario(flags, ScenarioRunOptions{}).congestion.size(), 10U);
  expect_one_result(flags);
}

// Six hosts on threads of their own find and use the same replays (host/inside/collective_replay).
TEST(Threads, HostsThatReplayCollectives) {
  const ScratchFolder folder;
  folder.write("work.textproto",
               "ranks: 24\ncommunicator { name: \"tp\" size: 4 }\ncommunicator { name: \"dp\" size: 6 stride: 4 }\n"
               "role { name: \"all\"\n"
               "  op { name: \"t\" collective { type: ALL_GATHER communicator: \"tp\" size: \"333kB\" } }\n"
               "  op { name: \"d\" collective { type: ALL_REDUCE communicator: \"dp\" size: \"1234567B\" } deps: \"t\" }\n"
               "  op { name: \"f\" compute { duration: \"37us\" } deps: \"t\" }\n"
               "  op { name: \"s\" collective { type: REDUCE_SCATTER communicator: \"tp\" size: \"1MB\" } deps: \"f\" }\n"
               "  op { name: \"g\" collective { type: ALL_GATHER communicator: \"tp\" size: \"333kB\" } deps: \"d\" }\n"
               "}\n");
  RunFlags flags;
  flags.scenario_file = folder.write("scenario.textproto",
                                     "topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"6\" } }\n"
                                     "job { name: \"a\" iterations: 3 workload { file: \"work.textproto\" } }\n"
                                     "job { name: \"b\" iterations: 2 submit: \"111us\" workload { file: \"work.textproto\" } }\n"
                                     "set { name: \"host.private_links\" value: \"on\" }\n");
  expect_one_result(flags);
}

// Jobs whose collectives cross switches with little memory: pauses, marks and notifications,
// several priorities and queue pairs.
TEST(Threads, TwoJobsInPacketMode) {
  const ScratchFolder folder;
  folder.write("work.textproto",
               "ranks: 24\ncommunicator { name: \"tp\" size: 4 }\ncommunicator { name: \"dp\" size: 6 stride: 4 }\n"
               "role { name: \"all\"\n"
               "  op { name: \"t\" collective { type: ALL_GATHER communicator: \"tp\" size: \"33kB\" } stream: 2 }\n"
               "  op { name: \"b\" compute { duration: \"6us\" } stream: 1 }\n"
               "  op { name: \"d\" collective { type: ALL_REDUCE communicator: \"dp\" size: \"123456B\" priority: 1 } deps: \"t\" "
               "stream: 3 }\n"
               "  op { name: \"x\" collective { type: ALL_TO_ALL size: \"77777B\" } deps: \"b\" stream: 4 }\n"
               "}\n");
  RunFlags flags;
  flags.mode = "packet";
  flags.scenario_file =
      folder.write("scenario.textproto",
                   "topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"6\" } }\n"
                   "job { name: \"a\" iterations: 2 workload { file: \"work.textproto\" } }\n"
                   "job { name: \"b\" iterations: 1 submit: \"11us\" workload { file: \"work.textproto\" } }\n"
                   "set { name: \"flow.queue_pairs\" value: \"3\" }\n"
                   "set { name: \"packet.ecn_kmin\" value: \"5kB\" }\nset { name: \"packet.ecn_kmax\" value: \"20kB\" }\n");
  expect_one_result(flags);
}

// Jobs that lose their GPUs to others, to failures and to maintenance in the middle of collectives,
// some of which switches reduce.
TEST(Threads, JobsThatStop) {
  const ScratchFolder folder;
  folder.write("work.textproto",
               "ranks: 16\ncommunicator { name: \"tp\" size: 4 }\ncommunicator { name: \"dp\" size: 4 stride: 4 }\n"
               "role { name: \"all\"\n"
               "  op { name: \"t\" collective { type: ALL_GATHER communicator: \"tp\" size: \"33kB\" } stream: 2 }\n"
               "  op { name: \"b\" compute { duration: \"6us\" } stream: 1 }\n"
               "  op { name: \"d\" collective { type: ALL_GATHER communicator: \"dp\" size: \"123456B\" } deps: \"t\" stream: 3 }\n"
               "  op { name: \"x\" collective { type: ALL_REDUCE communicator: \"tp\" size: \"77777B\" } deps: \"b\" stream: 4 }\n"
               "}\n");
  folder.write("failures.csv",
               "time_s,part,repair_s\n0.00012,host0/gpu2,0.00002\n0.00022,host1,0.00001\n0.00031,host1/nic1,0.00005\n");
  folder.write("plan.csv", "time_s,host,duration_s\n0.00042,host1,0.00005\n");
  const std::string scenario =
      "topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"3\" } set { name: \"gpus_per_host\" value: \"8\" } }\n"
      "job { name: \"a\" iterations: 15 workload { file: \"work.textproto\" } }\n"
      "job { name: \"b\" iterations: 2 priority: 1 submit: \"73us\" workload { file: \"work.textproto\" } }\n"
      "job { name: \"c\" iterations: 3 priority: 2 submit: \"271us\" workload { file: \"work.textproto\" } }\n"
      "scheduler { policy: \"priority\" }\n"
      "set { name: \"scheduler.control_delay\" value: \"2us\" }\n"
      "set { name: \"failure.log\" value: \"failures.csv\" }\nset { name: \"failure.detection\" value: \"5us\" }\n"
      "set { name: \"maintenance.plan\" value: \"plan.csv\" }\n"
      "set { name: \"checkpoint.every\" value: \"2\" }\nset { name: \"checkpoint.write\" value: \"3us\" }\n"
      "set { name: \"collective.all_reduce\" value: \"";
  for (const auto& [mode, algorithm] : {std::pair("flow", "nvls"), std::pair("packet", "ring")}) {
    SCOPED_TRACE(mode);
    RunFlags flags;
    flags.mode = mode;
    flags.scenario_file = folder.write("scenario.textproto", scenario + algorithm + "\" }\n");
    const RunSummary summary = run_scenario(flags, ScenarioRunOptions{}).summary;
    EXPECT_EQ(summary.jobs_finished, 3U);
    EXPECT_GE(summary.preemptions, 2U);
    EXPECT_GE(summary.failures, 3U);
    expect_one_result(flags);
    if (flags.mode != "flow") continue;
    flags.settings = {"scheduler.fast_forward=1"};
    EXPECT_GT(run_scenario(flags, ScenarioRunOptions{}).summary.fast_forward->skipped, 0U);
    expect_one_result(flags);
    flags.scenario_file = folder.write("folded.textproto", scenario + "ring\" }\n");
    flags.settings = {"scheduler.fast_forward=1", "host.fold_ranks=on", "host.fold_tolerance=3us", "flow.routing=spray"};
    EXPECT_GT(run_scenario(flags, ScenarioRunOptions{}).summary.ranks_simulated, 0U);
    expect_one_result(flags);
  }
}

TEST(Threads, AnIncastInPacketMode) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.mode = "packet";
  flags.topology = folder.write("net.textproto", "builder: \"fat_tree\"\nset { name: \"k\" value: \"4\" }\n");
  std::string flows = "12\n";
  for (int i = 0; i < 12; ++i) {
    flows += fmt::format("{} {} 3 100 {} 0\n", 1 + i, i % 2 * 15, 60'000 + 7'919 * i);
  }
  flags.flows = folder.write("flow.txt", flows) + ":hpcc";
  flags.settings = {"packet.buffer=700kB", "packet.pause_time=10us", "packet.ecn_kmin=10kB", "packet.ecn_kmax=100kB"};
  expect_one_result(flags);
  flags.settings = {"packet.buffer=700kB", "packet.congestion_control=dctcp", "packet.ecn_kmin=10kB", "packet.ecn_kmax=30kB",
                    "flow.routing=static"};
  expect_one_result(flags);
  flags.settings = {"packet.buffer=700kB", "flow.routing=adaptive", "packet.lossy=0", "packet.retransmission_timeout=50us"};
  expect_one_result(flags);
  flags.settings.insert(flags.settings.end(), {"packet.lossy_queues=wred", "packet.ecn_kmin=10kB", "packet.ecn_kmax=100kB"});
  expect_one_result(flags);
}

TEST(Threads, DurationsFromDistributions) {
  const ScratchFolder folder;
  std::string scenario = "cluster { hosts: 3 gpus_per_host: 8 }\nseed: 7\n";
  for (int i = 0; i < 60; ++i) {
    scenario += fmt::format("job {{ gpus: {} submit: \"{}s\" duration: \"lognormal(10min, 0.8)\" }}\n", 1 + i * 5 % 16, i * 90);
  }
  RunFlags flags;
  flags.scenario_file = folder.write("scenario.textproto", scenario);
  expect_one_result(flags);
}

TEST(Threads, AFlowList) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("net.textproto", "builder: \"fat_tree\"\nset { name: \"k\" value: \"4\" }\n");
  std::string flows = "60\n";
  for (int i = 0; i < 60; ++i) {
    flows += fmt::format("{} {} 3 100 {} 0.00000{}\n", i * 7 % 16, (i * 7 + 1 + i % 13) % 16, 10'000 + 7'919 * i, i % 10);
  }
  flags.flows = folder.write("flow.txt", flows) + ":hpcc";
  expect_one_result(flags);
}

// Regions of nodes that differ, leave and come back, on lines that differ and lose packets.
TEST(Threads, TrainingAcrossSites) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.scenario_file = folder.write(
      "across.textproto",
      "topology { builder: \"multi_site\" set { name: \"sites\" value: \"4\" } set { name: \"wan\" value: \"hub\" }\n"
      "  set { name: \"fabric\" value: \"single_switch\" }\n"
      "  set { name: \"fabric_params\" value: \"hosts=3 gpus_per_host=1 nics_per_host=1 nic_rate=1Gbps\" }\n"
      "  set { name: \"wan_rate\" value: \"100Mbps\" } set { name: \"wan_rate_down\" value: \"300Mbps\" }\n"
      "  set { name: \"wan_rate_spread\" value: \"0.5\" } set { name: \"wan_rtt_spread\" value: \"0.5\" }\n"
      "  set { name: \"wan_loss\" value: \"0.001\" } set { name: \"wan_jitter\" value: \"3ms\" } }\n"
      "set { name: \"flow.queue_pairs\" value: \"3\" }\n"
      "job { name: \"a\" workload { template: \"across_sites\" set { name: \"method\" value: \"hierarchical\" }\n"
      "  set { name: \"nodes\" value: \"12\" } set { name: \"group\" value: \"3\" } set { name: \"regional_steps\" value: \"2\" }\n"
      "  set { name: \"regional_exchange\" value: \"ring\" } set { name: \"exchange\" value: \"gossip\" }\n"
      "  set { name: \"outer_steps\" value: \"3\" } set { name: \"inner_steps\" value: \"6\" } set { name: \"fragments\" value: "
      "\"2\" }\n"
      "  set { name: \"overlap_steps\" value: \"2\" } set { name: \"step_time\" value: \"100ms\" }\n"
      "  set { name: \"parameters\" value: \"1e6\" } set { name: \"compression\" value: \"1\" }\n"
      "  set { name: \"speed_spread\" value: \"0.3\" } set { name: \"leave_probability\" value: \"0.2\" } } }\n");
  expect_one_result(flags);
}

/// Everything that is shipped as an example, by the name that the fingerprint table holds it under.
class ShippedExamples : public testing::TestWithParam<std::string> {};

TEST_P(ShippedExamples, GiveTheFingerprintOfTheTableOnAnyNumberOfThreads) {
  const std::string root = WEFT_SOURCE_DIR;
  RunFlags flags;
  if (GetParam() == "quickstart") {
    flags.scenario_file = root + "/tools/examples/quickstart.textproto";
  } else {
    flags.topology = root + "/topologies/presets/rail_128_h100.textproto";
    flags.workload = root + "/workloads/examples/" + GetParam() + ".textproto";
  }
  for (const std::uint32_t threads : {1u, 2u, 8u}) {
    ScenarioRunOptions options;
    options.threads = threads;
    options.collectives_by_rules = true;
    const std::string fingerprint = run_scenario(flags, options).summary.fingerprint;
    EXPECT_EQ(fingerprint, expected_fingerprint(GetParam()).value_or("missing in tests/determinism/fingerprints.txt"))
        << threads << " threads; a change that moves simulated behaviour edits the table and says so in the change log";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedExamples,
                         testing::Values("quickstart", "data_parallel_128", "expert_parallel_16", "pipeline_4"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace weft::threads_test
