// SPDX-License-Identifier: Apache-2.0
// Scenarios: what the file and the flags say ends up in the run, flags win, and the manifest
// records it.
#include "tools/simulation/scenario/scenario.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/text/manifest.hpp"
#include "tests/error_code.hpp"
#include "tools/simulation/scenario/input_kind.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::scenario_test {
namespace {

namespace fs = std::filesystem;

class Scenarios : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_scenario_" + std::to_string(getpid()));
    fs::create_directories(folder_ / "sub");
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string code_of(const RunFlags& flags) const {
    return error_code_of([&] { load_scenario(flags); });
  }
  fs::path folder_;
};

constexpr const char* kWork = "ranks: 2\nrole { name: \"all\" op { name: \"c\" compute { duration: \"1us\" } } }\n";

TEST_F(Scenarios, PathsAreRelativeToTheScenarioAndAWorkloadIsReadOnce) {
  write("sub/work.textproto", kWork);
  RunFlags flags;
  flags.scenario_file = write("sub/s.textproto",
                              "topology { builder: \"single_switch\" }\n"
                              "job { name: \"late\" submit: \"1ms\" workload { file: \"work.textproto\" } }\n"
                              "job { name: \"early\" iterations: 5 workload { file: \"work.textproto\" } }\n");
  const Scenario scenario = load_scenario(flags);
  EXPECT_EQ(scenario.mode, Mode::flow);
  ASSERT_EQ(scenario.jobs.size(), 2u);
  EXPECT_EQ(scenario.jobs[0].name, "early") << "jobs are sorted by submission";
  EXPECT_EQ(scenario.jobs[0].gpus, 2u) << "the workload's ranks are the default";
  EXPECT_EQ(scenario.jobs[0].workload, scenario.jobs[1].workload);
  EXPECT_EQ(scenario.workloads.size(), 1u);
}

TEST_F(Scenarios, FlagsWinOverTheFile) {
  RunFlags flags;
  flags.scenario_file = write("s.textproto",
                              "seed: 7\ncluster { hosts: 2 gpus_per_host: 4 }\njob { gpus: 3 duration: \"1h\" }\n"
                              "set { name: \"scheduler.control_delay\" value: \"5us\" }\n");
  EXPECT_EQ(load_scenario(flags).seed, 7u);
  EXPECT_EQ(load_scenario(flags).parameters.of("scheduler").duration("control_delay"), Duration::us(5));
  flags.seed = 9;
  flags.settings = {"scheduler.control_delay=6us"};
  EXPECT_EQ(load_scenario(flags).seed, 9u);
  EXPECT_EQ(load_scenario(flags).parameters.of("scheduler").duration("control_delay"), Duration::us(6));
}

TEST_F(Scenarios, BuilderParametersCanBeSetFromTheCommandLine) {
  RunFlags flags;
  flags.scenario_file = write("s.textproto", "topology { builder: \"single_switch\" }\njob { gpus: 3 duration: \"1h\" }\n");
  flags.settings = {"single_switch.hosts=5"};
  EXPECT_EQ(load_scenario(flags).topology->host_count(), 5u);
}

TEST_F(Scenarios, ContradictionsAreRefused) {
  write("work.textproto", kWork);
  RunFlags flags;
  flags.scenario_file =
      write("both.textproto",
            "topology { builder: \"single_switch\" }\ncluster { hosts: 1 gpus_per_host: 1 }\njob { gpus: 1 duration: \"1h\" }\n");
  EXPECT_EQ(code_of(flags), "topology-and-cluster");
  flags.scenario_file = write("no_topology.textproto",
                              "cluster { hosts: 1 gpus_per_host: 2 }\nmode: FLOW\njob { workload { file: \"work.textproto\" } }\n");
  EXPECT_EQ(code_of(flags), "no-topology");
  flags.scenario_file =
      write("no_duration.textproto",
            "topology { builder: \"single_switch\" }\nmode: JOB\njob { workload { file: \"work.textproto\" } }\n");
  EXPECT_EQ(code_of(flags), "no-duration");
}

// Only the first setting used to be reported, so that a user found three mistakes in three runs.
TEST_F(Scenarios, AllWrongSettingsAreReportedTogether) {
  const auto codes_of = [](const RunFlags& flags) {
    std::string codes;
    try {
      load_scenario(flags);
    } catch (const InputError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) {
        codes += fmt::format("{}:{} {}; ", diagnostic.place.line, diagnostic.place.column, diagnostic.code);
      }
    }
    return codes;
  };
  RunFlags flags;
  flags.scenario_file = write("template.textproto",
                              "topology { builder: \"single_switch\" }\n"
                              "job { workload {\n"
                              "  template: \"llm\"\n"
                              "  set { name: \"hiden\" value: \"4096\" }\n"
                              "  set { name: \"tp\" value: \"0\" }\n"
                              "  set { name: \"dp\" value: \"x\" }\n"
                              "} }\n");
  // A name stands in column 15, the values of two letters' names in column 27.
  EXPECT_EQ(codes_of(flags), "4:15 unknown-param; 5:27 out-of-range; 6:27 bad-value; ");
  flags.scenario_file = write("builder.textproto",
                              "topology { builder: \"single_switch\"\n"
                              "  set { name: \"hots\" value: \"4\" }\n"
                              "  set { name: \"hosts\" value: \"0\" }\n"
                              "}\n"
                              "job { gpus: 1 duration: \"1h\" }\n");
  EXPECT_EQ(codes_of(flags), "2:15 unknown-param; 3:30 out-of-range; ");
  flags.scenario_file = write("flags.textproto", "cluster { hosts: 2 gpus_per_host: 4 }\njob { gpus: 3 duration: \"1h\" }\n");
  flags.settings = {"flow.mtuu=4096B", "scheduler.control_delay", "scheduler.control_delay=5"};
  EXPECT_EQ(codes_of(flags), "0:0 unknown-param; 0:0 bad-setting; 0:0 bad-value; ");
  // Of two values for one parameter the last once won without a word.
  flags.settings = {"scheduler.control_delay=5us", "scheduler.control_delay=6us"};
  EXPECT_EQ(codes_of(flags), "0:0 duplicate-setting; ");
}

// A run time of 0 used to be taken for a job without duration: "[job-content] neither workload nor
// duration" at a row that has one.
TEST_F(Scenarios, ATraceMayHoldAJobWithoutRunTimeInFlowMode) {
  write("jobs.csv", "job,submit_s,gpus,run_s\nempty,0,1,0\n");
  RunFlags flags;
  flags.scenario_file =
      write("s.textproto", "mode: FLOW\ntopology { builder: \"single_switch\" }\njobs { file: \"jobs.csv\" format: \"weft\" }\n");
  const Scenario scenario = load_scenario(flags);
  ASSERT_EQ(scenario.jobs.size(), 1u);
  EXPECT_EQ(scenario.jobs[0].duration, DurationModel::fixed(Duration::zero()));
}

TEST_F(Scenarios, TheManifestHoldsInputsWithHashesAndParametersWithOrigin) {
  RunFlags flags;
  const std::string text = "cluster { hosts: 2 gpus_per_host: 4 }\njob { gpus: 3 duration: \"1h\" }\n";
  flags.scenario_file = write("s.textproto", text);
  const auto manifest = nlohmann::json::parse(load_scenario(flags).manifest.to_json());
  ASSERT_EQ(manifest.at("inputs").size(), 1u);
  EXPECT_EQ(manifest.at("inputs")[0].at("sha256"), sha256_hex(text));
  EXPECT_EQ(manifest.at("inputs")[0].at("size_bytes"), text.size());
}

// Named by the scenario, relative to its folder; one that the run has no use for is not an input.
TEST_F(Scenarios, TheManifestHoldsFilesThatParametersName) {
  RunFlags flags;
  const std::string rules = "rule { algorithm: \"ring\" }\n";
  const std::string path = write("rules.textproto", rules);
  write("ring.textproto", "ranks: 2 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"1MB\" } } }\n");
  flags.scenario_file = write("s.textproto",
                              "topology { builder: \"single_switch\" } job { workload { file: \"ring.textproto\" } }\n"
                              "set { name: \"collective.rules\" value: \"rules.textproto\" }\n"
                              "set { name: \"flow.routes\" value: \"nowhere.textproto\" }\n");
  flags.settings = {"collective.all_reduce=auto"};
  const auto manifest = nlohmann::json::parse(load_scenario(flags).manifest.to_json());
  ASSERT_EQ(manifest.at("inputs").size(), 3u);
  EXPECT_EQ(manifest.at("inputs")[2].at("role"), "collective.rules");
  EXPECT_EQ(manifest.at("inputs")[2].at("path"), path);
  EXPECT_EQ(manifest.at("inputs")[2].at("sha256"), sha256_hex(rules));
}

TEST(Sha256, MatchesThePublishedExample) {
  // FIPS 180-4 example "abc".
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(SplitFormat, TakesTheLastColonUnlessItBelongsToAPath) {
  EXPECT_EQ(split_format("a/b.txt:hpcc").file, "a/b.txt");
  EXPECT_EQ(split_format("a/b.txt:hpcc").format, "hpcc");
  EXPECT_EQ(split_format("a:b/c.txt").file, "a:b/c.txt");
  EXPECT_EQ(split_format("plain.textproto").format, "");
}

TEST_F(Scenarios, OwnFilesAreToldApartByTheirFields) {
  EXPECT_EQ(recognise_input(write("w.textproto", kWork)).kind, InputKind::workload);
  EXPECT_EQ(recognise_input(write("s.textproto", "# role { }\nname: \"ranks: 4\"\njob { gpus: 1 }\n")).kind, InputKind::scenario);
  EXPECT_EQ(recognise_input(write("t.textproto", "builder: \"clos\"\n")).kind, InputKind::topology);
  EXPECT_EQ(recognise_input("x.csv").kind, InputKind::jobs);
  EXPECT_EQ(recognise_input("flow.txt:hpcc-flows").kind, InputKind::flows);
  EXPECT_THROW(recognise_input(write("u.textproto", "name: \"x\"\n")), InputError);
}

}  // namespace
}  // namespace weft::scenario_test
