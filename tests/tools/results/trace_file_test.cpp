// trace.json: every track says which rank it is, and for how many it stands where ranks were folded.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft::trace_file_test {
namespace {

namespace fs = std::filesystem;

/// Runs with --trace.
void run_traced(const RunFlags& flags, const RunOptions& options, const fs::path& out) {
  const Scenario scenario = load_scenario(flags);
  FolderContents contents = folder_contents(scenario);
  contents.trace = true;
  contents.link_samples = options.sample_links.has_value();
  FolderSink folder(out, manifest_of(scenario, options), contents);
  folder.finish(finish_run(scenario, folder, options).summary);
}

/// Names of the tracks of a run in which four ranks compute and reduce on one switch.
std::set<std::string> track_names(const std::string& fold_ranks) {
  const fs::path folder = fs::temp_directory_path() / ("weft_trace_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "work.textproto")
      << "ranks: 4\n"
         "role { name: \"all\"\n"
         "  op { name: \"fwd\" compute { duration: \"1us\" } }\n"
         "  op { name: \"sum\" collective { type: ALL_REDUCE size: \"1MiB\" } deps: \"fwd\" }\n"
         "}\n";
  std::ofstream(folder / "s.textproto") << "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } }\n"
                                           "job { workload { file: \"work.textproto\" } }\n";
  RunFlags flags;
  flags.scenario_file = (folder / "s.textproto").string();
  flags.settings = {"host.fold_ranks=" + fold_ranks};
  run_traced(flags, {}, folder / "out");
  std::ifstream file(folder / "out" / "trace.json");
  std::set<std::string> names;
  const auto trace = nlohmann::json::parse(file);
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "thread_name") names.insert(event.at("args").at("name"));
  }
  fs::remove_all(folder);
  return names;
}

TEST(Trace, TracksAreNamedAfterTheirRanks) {
  EXPECT_EQ(track_names("off"), (std::set<std::string>{"rank 0", "rank 0 communication", "rank 1", "rank 1 communication", "rank 2",
                                                       "rank 2 communication", "rank 3", "rank 3 communication"}));
}

// Tracks of folded runs had no names, so that a trace of one track looked like a run of one rank.
TEST(Trace, TracksOfFoldedRunsSayForHowManyTheyStand) {
  // On one switch all four ranks of a ring are alike.
  EXPECT_EQ(track_names("on"), (std::set<std::string>{"rank 0 (for 4 alike)", "rank 0 communication (for 4 alike)"}));
}

// Counters of a link say what samples do, and are back to zero in the end.
TEST(Trace, SamplesOfLinksAreCounters) {
  const fs::path folder = fs::temp_directory_path() / ("weft_counters_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "flow.txt") << "2\n0 1 3 100 1000000 0\n2 1 3 100 1000000 0\n";
  std::ofstream(folder / "net.textproto") << "builder: \"single_switch\" set { name: \"hosts\" value: \"4\" }\n";
  RunFlags flags;
  flags.topology = (folder / "net.textproto").string();
  flags.flows = (folder / "flow.txt").string() + ":hpcc";
  flags.mode = "packet";
  RunOptions options;
  options.sample_links = Duration::us(5);
  run_traced(flags, options, folder / "out");
  std::ifstream file(folder / "out" / "trace.json");
  std::map<std::string, double> last, most;
  const auto trace = nlohmann::json::parse(file);
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "C") continue;
    const double value = event.at("args").at("value");
    last[event.at("name")] = value;
    most[event.at("name")] = std::max(most[event.at("name")], value);
  }
  fs::remove_all(folder);
  ASSERT_FALSE(last.empty());
  for (const auto& [name, value] : last) EXPECT_EQ(value, 0) << name;
  double fastest = 0;
  double longest = 0;
  for (const auto& [name, value] : most) {
    if (name.ends_with(" Gb/s")) fastest = std::max(fastest, value);
    if (name.ends_with(" queued bytes")) longest = std::max(longest, value);
  }
  EXPECT_NEAR(fastest, 400, 8) << "the link to host 1 is busy throughout an interval, give or take a packet";
  EXPECT_GT(longest, 100'000) << "two senders fill its queue";
}

}  // namespace
}  // namespace weft::trace_file_test
