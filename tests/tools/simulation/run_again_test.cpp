// SPDX-License-Identifier: Apache-2.0
// Folders of runs give back the flags of the run, or say why not.
#include "tools/simulation/run_again.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/error_code.hpp"
#include "tests/validation/scenario_run.hpp"
#include "tools/results/folder_sink.hpp"
#include "tools/simulation/run.hpp"

namespace weft::run_again_test {
namespace {

/// The folder that a run of the flags leaves.
std::filesystem::path folder_of(const RunFlags& flags, const ScratchFolder& folder) {
  const Scenario scenario = load_scenario(flags);
  std::filesystem::path out = folder.path() / "out";
  FolderSink sink(out.string(), manifest_of(scenario, {}), folder_contents(scenario));
  const RunSummary summary = run(scenario, sink, {}).summary;
  sink.complete();
  sink.finish(summary);
  return out;
}

std::string fingerprint_of(const RunFlags& flags) {
  ResultSink nobody;
  return run(load_scenario(flags), nobody, {}).summary.fingerprint;
}

// Expectation: what --set said of a workload is said again, with commas of its own.
TEST(RunAgain, SettingsOfWorkloadsAreTakenBack) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.scenario_file = folder.write("s.textproto",
                                     "topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"2\" } }\n"
                                     "job { name: \"d\" workload { template: \"dlrm\" } }\n");
  const std::string as_it_stands = fingerprint_of(flags);
  flags.settings = {"dlrm.batch=65536", "flow.queue_pairs=2", "dlrm.tables=32"};
  const RunFlags again = flags_of_results(folder_of(flags, folder));
  EXPECT_EQ(fingerprint_of(again), fingerprint_of(flags));
  EXPECT_NE(fingerprint_of(again), as_it_stands);
}

// Expectation: a flow list has no scheduler, which is not asked for.
TEST(RunAgain, FlowListsAreRunAgain) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("t.textproto", "builder: \"single_switch\" set { name: \"hosts\" value: \"4\" }\n");
  flags.flows = folder.write("flows.txt", "1\n0 2 3 100 1000000 0\n") + ":hpcc";
  const RunFlags again = flags_of_results(folder_of(flags, folder));
  EXPECT_EQ(fingerprint_of(again), fingerprint_of(flags));
}

// Expectation: jobs of a trace, with a policy of the flags and hosts that only they name.
TEST(RunAgain, JobTracesAreRunAgain) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.jobs = folder.write("jobs.csv", "job,submit_s,gpus,run_s\na,0,8,60\nb,1,8,60\nc,2,4,30\n") + ":weft";
  flags.hosts = 1;
  flags.gpus_per_host = 8;
  flags.scheduler = "sjf";
  const RunFlags again = flags_of_results(folder_of(flags, folder));
  EXPECT_EQ(again.hosts, flags.hosts);
  EXPECT_EQ(again.scheduler, "sjf");
  EXPECT_EQ(fingerprint_of(again), fingerprint_of(flags));
}

TEST(RunAgain, FoldersOfWhatCannotBeRunAgainAreRefused) {
  const ScratchFolder folder;
  folder.write("chain.textproto", "ranks: 2\nrole { name: \"all\" op { name: \"make\" compute { duration: \"5ms\" } } }\n");
  RunFlags flags;
  flags.scenario_file = folder.write("s.textproto",
                                     "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } }\n"
                                     "job { name: \"chain\" gpus: 2 workload { file: \"chain.textproto\" } }\n"
                                     "set { name: \"flow.queue_pairs\" value: \"2\" }\n");
  const std::filesystem::path out = folder_of(flags, folder);
  EXPECT_TRUE(is_results_folder(out.string()));
  const RunFlags again = flags_of_results(out);
  EXPECT_EQ(again.scenario_file, flags.scenario_file);
  EXPECT_NE(std::ranges::find(again.settings, "flow.queue_pairs=2"), again.settings.end());
  EXPECT_EQ(error_code_of([&] { flags_of_results(folder.path()); }), "not-results");
  std::ofstream(folder.path() / "chain.textproto", std::ios::app) << "# another\n";
  EXPECT_EQ(error_code_of([&] { flags_of_results(out); }), "input-changed");
  std::filesystem::remove(folder.path() / "chain.textproto");
  EXPECT_EQ(error_code_of([&] { flags_of_results(out); }), "input-missing");
  std::filesystem::rename(out / "manifest.json", out / "manifest.json.partial");
  EXPECT_EQ(error_code_of([&] { flags_of_results(out); }), "unfinished-run");
  std::ofstream(out / "manifest.json") << "[]";
  EXPECT_EQ(error_code_of([&] { flags_of_results(out); }), "bad-manifest");
}

}  // namespace
}  // namespace weft::run_again_test
