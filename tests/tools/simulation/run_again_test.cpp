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

TEST(RunAgain, FoldersOfWhatCannotBeRunAgainAreRefused) {
  const ScratchFolder folder;
  folder.write("chain.textproto", "ranks: 2\nrole { name: \"all\" op { name: \"make\" compute { duration: \"5ms\" } } }\n");
  RunFlags flags;
  flags.scenario_file = folder.write("s.textproto",
                                     "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } }\n"
                                     "job { name: \"chain\" gpus: 2 workload { file: \"chain.textproto\" } }\n"
                                     "set { name: \"flow.queue_pairs\" value: \"2\" }\n");
  const Scenario scenario = load_scenario(flags);
  const std::filesystem::path out = folder.path() / "out";
  {
    FolderSink sink(out.string(), manifest_of(scenario, {}), folder_contents(scenario));
    const RunSummary summary = run(scenario, sink, {}).summary;
    sink.complete();
    sink.finish(summary);
  }
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
