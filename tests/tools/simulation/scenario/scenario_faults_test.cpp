// SPDX-License-Identifier: Apache-2.0
// Faults of scenarios: what would be ignored is refused, all mistakes are reported together, and
// messages speak of the file's own fields.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/simulation/scenario/scenario.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::scenario_faults_test {
namespace {

namespace fs = std::filesystem;

class ScenarioFaults : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_scenario_faults_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write("work.textproto", "ranks: 2\nrole { name: \"all\" op { name: \"c\" compute { duration: \"1us\" } } }\n");
    write("jobs.csv", "job,submit_s,gpus,run_s\na,0,2,5\n");
    write("net.txt", "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n");
    write("flows.txt", "1\n0 1 3 100 1000 0\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  RunFlags flags_for(const std::string& text) const {
    RunFlags flags;
    flags.scenario_file = write("s.textproto", text);
    return flags;
  }
  static std::vector<Diagnostic> errors_of(const RunFlags& flags) {
    try {
      load_scenario(flags, Probing::forbidden);
    } catch (const InputError& error) {
      return {error.diagnostics().begin(), error.diagnostics().end()};
    }
    return {};
  }
  /// "line:column code; " of each error, "flag code; " where it is one of the command line.
  static std::string codes_of(const RunFlags& flags) {
    std::string codes;
    for (const Diagnostic& error : errors_of(flags)) {
      const std::string place = fmt::format("{}:{}", error.place.line, error.place.column);
      codes += (error.place.line > 0 ? place : fs::path(error.place.file).filename().string()) + " " + error.code + "; ";
    }
    return codes;
  }
  std::string codes_of(const std::string& text) const { return codes_of(flags_for(text)); }

  fs::path folder_;
};

constexpr const char* kCluster = "cluster { hosts: 2 gpus_per_host: 4 }\n";
constexpr const char* kSwitch = "topology { builder: \"single_switch\" }\n";

// --hosts=3 over a cluster of 4 GPUs per host used to make hosts of 8, the default of a run without
// a scenario.
TEST_F(ScenarioFaults, AFlagOfTheClusterLeavesTheOtherHalfAsItIs) {
  RunFlags flags = flags_for(std::string(kCluster) + "job { gpus: 3 duration: \"1h\" }\n");
  flags.hosts = 3;
  EXPECT_EQ(load_scenario(flags).hosts, 3u);
  EXPECT_EQ(load_scenario(flags).gpus_per_host, 4u);
  flags.hosts.reset();
  flags.gpus_per_host = 7;
  EXPECT_EQ(load_scenario(flags).hosts, 2u);
  EXPECT_EQ(load_scenario(flags).gpus_per_host, 7u);

  RunFlags bare;
  bare.jobs = (folder_ / "jobs.csv").string();
  bare.hosts = 1;
  EXPECT_EQ(load_scenario(bare).gpus_per_host, 8u);
  bare.hosts.reset();
  bare.gpus_per_host = 4;
  EXPECT_EQ(codes_of(bare), "--gpus-per-host unused-flag; ");
  bare = flags_for(std::string(kSwitch) + "job { gpus: 3 duration: \"1h\" }\n");
  bare.hosts = 1;
  EXPECT_EQ(codes_of(bare), "--hosts topology-and-cluster; ");
}

// The first mistake used to end the reading, so that a user found twelve of them in twelve runs.
TEST_F(ScenarioFaults, AreReportedTogether) {
  EXPECT_EQ(
      codes_of("topology { file: \"absent.textproto\" }\n"
               "set { name: \"collective.all_reduce\" value: \"rign\" }\n"
               "set { name: \"flow.mtuu\" value: \"4096B\" }\n"
               "scheduler { policy: \"fcsf\" placement: \"first_fitt\" }\n"
               "job { submit: \"-1s\" workload { file: \"gone.textproto\" } }\n"
               "job { submit: \"1\" gpus: 4 duration: \"-1h\" iterations: 0 }\n"
               "job { workload { file: \"work.textproto\" format: \"chakraa\" } }\n"
               "jobs { file: \"jobs.csv\" format: \"wefft\" }\n"
               "jobs { file: \"none.csv\" format: \"weft\" rule { gpus: \"x\" workload { template: \"lm\" } } }\n"),
      "2:44 bad-value; 3:13 unknown-param; 1:18 no-file; 4:21 unknown-module; 4:39 unknown-module; 5:15 bad-value; 5:38 no-file; "
      "6:15 bad-value; 6:55 no-iterations; 6:37 bad-duration; 7:49 unknown-format; 8:33 unknown-format; 9:53 bad-value; 9:78 "
      "unknown-module; "
      "9:14 no-file; ");
  // A workload that several jobs run is read for each, its mistakes are told once.
  write("bad.textproto", "ranks: 2\nrole { name: \"all\" op { name: \"c\" compute { duration: \"1\" } } }\n");
  EXPECT_EQ(codes_of(std::string(kSwitch) +
                     "job { workload { file: \"bad.textproto\" } }\njob { workload { file: \"bad.textproto\" } }\n")
                .find("; 2:"),
            std::string::npos);
  RunFlags flags = flags_for("job { gpus: 3 duration: \"1\" }\n");
  flags.scheduler = "fcsf";
  flags.settings = {"flow.mtuu=1B"};
  EXPECT_EQ(codes_of(flags),
            "--set=flow.mtuu=1B unknown-param; 1:25 bad-duration; --scheduler=fcsf unknown-module; s.textproto nowhere-to-run; ");
}

struct Ignored {
  std::string text;
  std::string codes;
};

// `weft check` said of this file that 280 more errors are not shown, `weft run --jobs` said 1: it
// counted the closing line of the reader's report. A file that is read twice has no more mistakes
// for it.
TEST_F(ScenarioFaults, ErrorsThatAReaderLeftOutAreCounted) {
  std::string rows = "job,submit_s,gpus,run_s\n";
  for (int i = 0; i < 300; ++i) rows += fmt::format("j{},soon,1,10\n", i);
  RunFlags flags;
  flags.jobs = write("bad.csv", rows) + ":weft";
  flags.hosts = 1;
  const std::vector<Diagnostic> of_flag = errors_of(flags);
  ASSERT_EQ(of_flag.size(), 21u);
  EXPECT_EQ(of_flag.back().message, "280 more errors are not shown");
  const std::string trace = "jobs { file: \"bad.csv\" format: \"weft\" }\n";
  const std::vector<Diagnostic> of_file = errors_of(flags_for(kCluster + trace + trace + "scheduler { policy: \"fcsf\" }\n"));
  ASSERT_EQ(of_file.size(), 21u);
  EXPECT_EQ(of_file.back().message, "281 more errors are not shown");
}

// A name by an escape that is no UTF-8 made tables that their own readers refuse.
TEST_F(ScenarioFaults, NamesAreUtf8) {
  EXPECT_EQ(codes_of(kCluster + std::string("job { name: \"tr\\377ain\" gpus: 2 duration: \"1h\" }\n")), "2:13 not-utf8; ");
  EXPECT_EQ(codes_of(kCluster + std::string("job { name: \"\\303\\274ben\" gpus: 2 duration: \"1h\" }\n")), "");
}

// Only names within the file were compared, so that two jobs "a" stood in the results where a trace
// has one.
TEST_F(ScenarioFaults, NamesOfTracesAndFlagsAreTakenToo) {
  const std::string trace = "jobs { file: \"jobs.csv\" format: \"weft\" }\n";
  const std::string named = kCluster + std::string("job { name: \"a\" gpus: 2 duration: \"1h\" }\n");
  const std::string nameless = kCluster + std::string("job { gpus: 2 duration: \"1h\" }\n");
  EXPECT_EQ(codes_of(named + trace), "2:13 duplicate-job; ");
  EXPECT_EQ(codes_of(nameless + trace), "");
  RunFlags flags = flags_for(named);
  flags.jobs = (folder_ / "jobs.csv").string();
  EXPECT_EQ(codes_of(flags), "2:13 duplicate-job; ");
  write("automatic.csv", "job,submit_s,gpus,run_s\njob1,0,2,5\njob0,7,2,5\n");
  const std::vector<Diagnostic> errors = errors_of(flags_for(nameless + "jobs { file: \"automatic.csv\" format: \"weft\" }\n"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "duplicate-job");
  EXPECT_NE(errors[0].help.find("at line 3 of"), std::string::npos) << errors[0].help;
  RunFlags with_workload = flags_for(kSwitch + std::string("job { name: \"work.textproto\" gpus: 2 duration: \"1h\" }\n"));
  with_workload.workload = (folder_ / "work.textproto").string();
  EXPECT_EQ(codes_of(with_workload), "2:13 duplicate-job; ");
}

// --jobs made job mode of `mode: FLOW`, and --workload and --flows flow mode of `mode: JOB`, which
// only --mode may.
TEST_F(ScenarioFaults, OnlyTheFlagOfTheModeOverridesTheMode) {
  const std::string job = "job { gpus: 2 duration: \"1h\" }\n";
  RunFlags flags = flags_for("mode: FLOW\n" + std::string(kSwitch) + job);
  flags.jobs = (folder_ / "jobs.csv").string();
  EXPECT_EQ(load_scenario(flags).mode, Mode::flow);
  flags.mode = "job";
  EXPECT_EQ(load_scenario(flags).mode, Mode::job);
  // As without --jobs: flow mode, which the workload of the file's own job asks for.
  flags = flags_for(kSwitch + std::string("job { workload { file: \"work.textproto\" } }\n"));
  flags.jobs = (folder_ / "jobs.csv").string();
  EXPECT_EQ(load_scenario(flags).mode, Mode::flow);
  // A cluster has no network.
  flags = flags_for("mode: FLOW\n" + std::string(kCluster));
  flags.jobs = (folder_ / "jobs.csv").string();
  EXPECT_EQ(codes_of(flags), "1:7 no-topology; ");

  RunFlags of_workload = flags_for("mode: JOB\n" + std::string(kSwitch));
  of_workload.workload = (folder_ / "work.textproto").string();
  EXPECT_EQ(codes_of(of_workload), "work.textproto no-duration; ");
  of_workload.mode = "flow";
  EXPECT_EQ(load_scenario(of_workload).mode, Mode::flow);
  RunFlags of_flows = flags_for("mode: JOB\ntopology { file: \"net.txt\" format: \"hpcc\" }\n");
  of_flows.flows = (folder_ / "flows.txt").string();
  EXPECT_EQ(codes_of(of_flows), "1:7 unused-field; ");
  of_flows = flags_for("topology { file: \"net.txt\" format: \"hpcc\" }\n");
  of_flows.flows = (folder_ / "flows.txt").string();
  EXPECT_EQ(load_scenario(of_flows).mode, Mode::flow);
}

// With a scenario --strict was taken for granted, though one without traces has no rows to be
// strict about.
TEST_F(ScenarioFaults, StrictNeedsATrace) {
  RunFlags flags = flags_for(kCluster + std::string("job { gpus: 2 duration: \"1h\" }\n"));
  flags.jobs_options.strict = true;
  EXPECT_EQ(codes_of(flags), "--strict unused-flag; ");
  flags.jobs = (folder_ / "jobs.csv").string();
  EXPECT_EQ(codes_of(flags), "");
  flags = flags_for(kCluster + std::string("jobs { file: \"jobs.csv\" format: \"weft\" }\n"));
  flags.jobs_options.strict = true;
  EXPECT_EQ(codes_of(flags), "");
}

TEST_F(ScenarioFaults, SkippingLargerJobsNeedsATrace) {
  RunFlags flags = flags_for(kCluster + std::string("job { gpus: 2 duration: \"1h\" }\n"));
  flags.skip_larger_jobs = true;
  EXPECT_EQ(codes_of(flags), "--skip-larger-jobs unused-flag; ");
  flags.jobs = (folder_ / "jobs.csv").string();
  EXPECT_EQ(codes_of(flags), "");
  flags = flags_for(kCluster + std::string("jobs { file: \"jobs.csv\" format: \"weft\" }\n"));
  flags.skip_larger_jobs = true;
  EXPECT_EQ(codes_of(flags), "");
}

// Each of these fields used to be read and then not used, without a word.
TEST_F(ScenarioFaults, WhatWouldBeIgnoredIsRefused) {
  const std::string job = "job { gpus: 2 duration: \"1h\" }\n";
  const std::string trace = "jobs { file: \"jobs.csv\" format: \"weft\" rule { ";
  const std::string template_of_4 = "workload { template: \"collectives\" set { name: \"ranks\" value: \"4\" } } } }\n";
  const std::vector<Ignored> cases = {
      {"topology { builder: \"single_switch\" format: \"hpcc\" }\n" + job, "1:45 unused-field; "},
      {"topology { file: \"net.txt\" format: \"hpcc\" set { name: \"hosts\" value: \"4\" } }\n" + job, "1:47 unused-field; "},
      {"topology { builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } set { name: \"hosts\" value: \"5\" } }\n" + job,
       "1:82 duplicate-setting; "},
      {kCluster + job +
           "set { name: \"scheduler.control_delay\" value: \"5us\" }\nset { name: \"scheduler.control_delay\" value: \"6us\" }\n",
       "4:13 duplicate-setting; "},
      {kCluster + job + "set { value: \"5us\" }\n", "3:5 missing-field; "},
      {kCluster + std::string("job { gpus: 2 duration: \"1h\" iterations: 0 }\n"), "2:42 no-iterations; "},
      {kSwitch + std::string("job { workload { file: \"work.textproto\" } iterations: 0 }\n"), "2:55 no-iterations; "},
      {kSwitch + std::string("job { gpus: 0 workload { file: \"work.textproto\" } }\n"), "2:13 no-gpus; "},
      {kSwitch + std::string("job { workload { file: \"work.textproto\" ranks: 0 } }\n"), "2:48 out-of-range; "},
      {kCluster + std::string("job { name: \"a\" gpus: 2 duration: \"1h\" }\njob { name: \"a\" gpus: 4 duration: \"2h\" }\n"),
       "3:13 duplicate-job; "},
      {kCluster + std::string("job { gpus: 2 duration: \"exponential(0h)\" }\n"), "2:25 out-of-range; "},
      // Job mode never makes the template, which has 4 ranks where the rule matches jobs of 2 GPUs.
      {kCluster + trace + "gpus: \"2\" " + template_of_4, "2:66 rank-count-mismatch; "},
      {kCluster + trace + "iteration_time: \"0s\" " + template_of_4, "2:63 out-of-range; "},
      {kCluster + trace + "iterations: 3 iteration_time: \"1s\" " + template_of_4, "2:77 rule-content; "},
      {kCluster + trace + "iterations: 0 " + template_of_4, "2:59 no-iterations; "},
      // Nor does it read the workload.
      {kCluster + trace + "workload { file: \"gone.textproto\" } } }\n", "2:64 no-file; "},
      {kCluster + trace + "workload { file: \"gone\" format: \"chakraa\" } } }\n", "2:79 unknown-format; "},
  };
  for (const Ignored& ignored : cases) EXPECT_EQ(codes_of(ignored.text), ignored.codes) << ignored.text;
}

TEST_F(ScenarioFaults, AFlowListTakesNothingOfJobs) {
  RunFlags flags;
  flags.topology = (folder_ / "net.txt").string() + ":hpcc";
  flags.flows = (folder_ / "flows.txt").string();
  EXPECT_EQ(codes_of(flags), "");
  flags.scheduler = "fcfs";
  flags.placement = "first_fit";
  flags.mode = "job";
  EXPECT_EQ(codes_of(flags), "--scheduler unused-flag; --placement unused-flag; --mode=job unused-flag; ");
  RunFlags of_scenario = flags_for("topology { file: \"net.txt\" format: \"hpcc\" }\nscheduler { policy: \"fcfs\" }\n");
  of_scenario.flows = flags.flows;
  EXPECT_EQ(codes_of(of_scenario), "2:11 unused-field; ");
  of_scenario = flags_for(std::string(kSwitch) + "jobs { file: \"jobs.csv\" format: \"weft\" }\n");
  of_scenario.flows = flags.flows;
  EXPECT_EQ(codes_of(of_scenario), "--flows flows-and-jobs; ");
}

// A setting of the builder at the top level came after the topology was built, and the manifest
// recorded what nobody had used.
TEST_F(ScenarioFaults, SettingsOfTheBuilderReachItFromTheTopLevel) {
  const RunFlags flags =
      flags_for(std::string(kSwitch) + "set { name: \"single_switch.hosts\" value: \"5\" }\njob { gpus: 3 duration: \"1h\" }\n");
  EXPECT_EQ(load_scenario(flags).topology->host_count(), 5u);
}

// The topology of the scenario was built and noted in the manifest although the run took place on
// another.
TEST_F(ScenarioFaults, AnotherTopologyReplacesThatOfTheScenario) {
  RunFlags flags = flags_for(
      "topology { file: \"gone.textproto\" }\nset { name: \"flow.mtu\" value: \"8192B\" }\njob { workload { file: "
      "\"work.textproto\" } }\n");
  flags.topology = (folder_ / "net.txt").string() + ":hpcc";
  EXPECT_EQ(load_scenario(flags).topology->host_count(), 2u);
  flags = flags_for(
      "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"5\" } }\njob { workload { file: \"work.textproto\" } "
      "}\n");
  flags.topology = (folder_ / "net.txt").string() + ":hpcc";
  EXPECT_EQ(load_scenario(flags).assumptions.back(),
            "single_switch.hosts is set and changes nothing: this run in flow mode does not use single_switch");
  flags = flags_for(std::string(kCluster) + "job { workload { file: \"work.textproto\" } }\n");
  flags.topology = (folder_ / "net.txt").string() + ":hpcc";
  EXPECT_EQ(load_scenario(flags).mode, Mode::flow);
}

// A setting that nothing asks for changes nothing, which used to be left to the user to find out.
TEST_F(ScenarioFaults, SettingsThatNothingAsksForAreNoted) {
  RunFlags flags =
      flags_for(std::string(kCluster) + "set { name: \"flow.mtu\" value: \"8192B\" }\njob { gpus: 3 duration: \"1h\" }\n");
  flags.settings = {"scheduler.control_delay=5us", "host.reduction_time_per_mib=1us"};
  EXPECT_EQ(load_scenario(flags).assumptions,
            (std::vector<std::string>{"host.reduction_time_per_mib is set and changes nothing: job mode simulates no ranks",
                                      "flow.mtu is set and changes nothing: this run in job mode does not use flow"}));
  flags = flags_for(std::string(kSwitch) +
                    "set { name: \"flow.mtu\" value: \"8192B\" }\njob { workload { file: \"work.textproto\" } }\n");
  EXPECT_TRUE(load_scenario(flags).assumptions.empty());
  RunFlags list;
  list.topology = (folder_ / "net.txt").string() + ":hpcc";
  list.flows = (folder_ / "flows.txt").string();
  list.settings = {"scheduler.control_delay=5us"};
  const std::vector<std::string> notes = load_scenario(list).assumptions;
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes.back(), "scheduler.control_delay is set and changes nothing: a flow list in flow mode does not use scheduler");
  // Settings that another one makes idle.
  list.mode = "packet";
  list.settings = {"flow.routing=static",   "flow.source_ports=8",
                   "flow.ecmp_seed=3",      "packet.congestion_control=dctcp",
                   "packet.ack_interval=4", "packet.watchdog_restoration=1ms"};
  EXPECT_EQ(load_scenario(list).assumptions,
            (std::vector<std::string>{
                "flow.ecmp_seed is set and changes nothing: flow.routing = static hashes nothing",
                "flow.source_ports is set and changes nothing: only flow.routing = ecmp goes by them",
                "packet.ack_interval is set and changes nothing: with packet.congestion_control = dctcp every packet is answered",
                "packet.watchdog_restoration is set and changes nothing: packet.watchdog is off"}));
  list.settings = {"flow.source_ports=8", "flow.ecmp_seed=3", "packet.ack_interval=4", "packet.watchdog=1ms",
                   "packet.watchdog_restoration=1ms"};
  EXPECT_TRUE(load_scenario(list).assumptions.empty());
  list.settings = {"flow.forwarding=cut_through", "packet.adaptive_band=2us", "packet.receive_buffer=1MB",
                   "packet.retransmission_timeout=0ns", "packet.retries=3"};
  EXPECT_EQ(load_scenario(list).assumptions,
            (std::vector<std::string>{"flow.forwarding is set and changes nothing: switches of packet mode store and forward",
                                      "packet.retries is set and changes nothing: packet.retransmission_timeout is 0: never",
                                      "packet.receive_buffer is set and changes nothing: no host is slow (packet.slow_hosts)",
                                      "packet.adaptive_band is set and changes nothing: flow.routing is not adaptive"}));
  list.settings = {"packet.adaptive_retransmission=off"};
  EXPECT_EQ(
      load_scenario(list).assumptions,
      std::vector<std::string>{"packet.adaptive_retransmission is set and changes nothing: no priority is lossy (packet.lossy)"});
  list.settings = {"flow.routing=adaptive",     "packet.adaptive_band=2us",           "packet.slow_hosts=host1:10Gbps",
                   "packet.receive_buffer=1MB", "packet.adaptive_retransmission=off", "packet.lossy=0"};
  EXPECT_TRUE(load_scenario(list).assumptions.empty());
}

// A scenario's fields were called by the flags of the command line, which the scenario does not
// have: "--time-zone says nothing about ...".
TEST_F(ScenarioFaults, MessagesSpeakOfFields) {
  const std::vector<Diagnostic> errors =
      errors_of(flags_for(std::string(kSwitch) +
                          "jobs { file: \"jobs.csv\" format: \"weft\" time_zone: \"Asia/Shanghai\" gpu_type: \"v100\" }\n"
                          "job { workload { file: \"work.textproto\" time_unit: \"us\" ranks: 3 } }\n"
                          "job { workload { file: \"work.textproto\" ranks: 3 } }\n"
                          "jobs { file: \"jobs.csv\" format: \"helios\" time_zone: \"Mars/Olympus\" }\n"));
  std::string texts;
  for (const Diagnostic& error : errors) texts += error.to_text();
  for (const char* expected : {
           ":3:52: error: time_unit says nothing about a workload of format weft [unused-field]",
           ":4:48: error: ranks: 3 contradicts the file, which has 2 ranks [rank-conflict]",
           "help: change ranks: in the file; ranks replays traces of one rank",
           ":2:51: error: time_zone says nothing about a job trace of format weft [unused-field]",
           ":2:77: error: gpu_type says nothing about a job trace of format weft [unused-field]",
           ":5:53: error:",
       }) {
    EXPECT_NE(texts.find(expected), std::string::npos) << expected << "\n" << texts;
  }
  EXPECT_EQ(texts.find("--"), std::string::npos) << texts;
}

// `weft check` of a scenario without jobs complained about `weft run` and its flags.
TEST_F(ScenarioFaults, WhatIsMissingIsMissedInTheFile) {
  EXPECT_EQ(codes_of(kCluster), "s.textproto nothing-to-run; ");
  EXPECT_EQ(codes_of("job { gpus: 3 duration: \"1h\" }\n"), "s.textproto nowhere-to-run; ");
  EXPECT_EQ(codes_of(std::string("mode: FLOW\n") + kCluster + "job { gpus: 3 duration: \"1h\" }\n"), "1:7 no-topology; ");
  EXPECT_EQ(codes_of("cluster { hosts: 100000000 gpus_per_host: 4 }\njob { gpus: 3 duration: \"1h\" }\n"),
            "1:9 cluster-too-large; ");
  EXPECT_EQ(codes_of("topology { file: \"net.txt\" }\njob { gpus: 3 duration: \"1h\" }\n"), "1:18 missing-field; ");
}

}  // namespace
}  // namespace weft::scenario_faults_test
