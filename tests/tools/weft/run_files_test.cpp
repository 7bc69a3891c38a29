// SPDX-License-Identifier: Apache-2.0
// What happens to files when runs go wrong: killed, starved of disk, two at a time, over their own
// inputs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "tests/long_runs.hpp"
#include "tests/tools/weft/weft_process.hpp"

namespace weft::run_files_test {
namespace {

namespace fs = std::filesystem;

/// Some tenths of a second of work, with rows in most tables.
void write_inputs(const TestFolder& folder) {
  folder.write("work.textproto",
               "ranks: 8\n"
               "communicator { name: \"all\" size: 8 }\n"
               "role { name: \"r\" op { name: \"c\" compute { duration: \"10us\" } }\n"
               "  op { name: \"a\" deps: \"c\" collective { type: ALL_REDUCE communicator: \"all\" size: \"1MiB\" } } }\n");
  const std::string topology = "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"8\" } }\n";
  const std::string job = "workload { file: \"work.textproto\" } }\n";
  folder.write("flow.textproto", topology + "job { name: \"llm\" iterations: 2000 " + job);
  folder.write("packet.textproto", topology + "mode: PACKET\njob { name: \"llm\" iterations: 10 " + job);
  std::string trace = "job,submit_s,gpus,run_s\n";
  for (int i = 0; i < 20'000; ++i) trace += fmt::format("j{},{},4,3\n", i, i / 4);
  folder.write("jobs.csv", trace);
}

std::vector<std::string> arguments_of(const std::string& mode) {
  if (mode == "job") return {"run", "--jobs=jobs.csv:weft", "--hosts=4", "--quiet", "--out=out"};
  return {"run", mode + ".textproto", "--quiet", "--trace", "--no-flow-comparison", "--out=out"};
}

/// Lines under the header, each with as many cells; -1 if one is not whole.
std::int64_t whole_rows(const fs::path& table) {
  std::ifstream file(table);
  std::string line;
  if (!std::getline(file, line)) return -1;
  const auto commas = std::count(line.begin(), line.end(), ',');
  std::int64_t rows = 0;
  for (; std::getline(file, line); ++rows) {
    if (file.eof() || std::count(line.begin(), line.end(), ',') != commas) return -1;
  }
  return rows;
}

/// A run that was killed while names changed has a child that changes the rest; it holds the lock.
void wait_until_unlocked(const fs::path& out) {
  for (int waited = 0; waited < 10'000; ++waited) {
    const int file = open((out / "manifest.json.partial").c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    const bool is_free = flock(file, LOCK_EX | LOCK_NB) == 0;
    close(file);
    if (is_free) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ADD_FAILURE() << "the lock does not die with its process";
}

/// A complete set of one run, or no final name at all. Returns whether it is a set.
bool holds_one_run_or_none(const fs::path& out) {
  std::set<std::string> names;
  if (!fs::exists(out)) return false;
  for (const auto& entry : fs::directory_iterator(out)) {
    if (const std::string name = entry.path().filename(); !name.ends_with(".partial")) names.insert(name);
  }
  if (names.empty()) return false;
  const auto manifest = nlohmann::json::parse(content(out / "manifest.json"), nullptr, false);
  EXPECT_FALSE(manifest.is_discarded());
  if (manifest.is_discarded()) return false;
  const std::set<std::string> listed = manifest.at("results");
  EXPECT_EQ(names, listed);
  const auto summary = nlohmann::json::parse(content(out / "summary.json"), nullptr, false);
  EXPECT_FALSE(summary.is_discarded());
  if (summary.is_discarded()) return false;
  EXPECT_EQ(manifest.at("name"), summary.at("name"));
  // It was written before it was set once, as 0.
  EXPECT_GT(summary.at("machine").at("load_wall_time_s").get<double>(), 0);
  EXPECT_EQ(whole_rows(out / "jobs.csv"), summary.at("jobs_total").get<std::int64_t>());
  EXPECT_EQ(whole_rows(out / "iterations.csv"), summary.at("iterations").get<std::int64_t>());
  for (const char* name : {"cluster.csv", "communicators.csv", "collectives.csv", "flows.csv", "links.csv"}) {
    EXPECT_GE(whole_rows(out / name), 0) << name;
  }
  EXPECT_TRUE(!fs::exists(out / "trace.json") || nlohmann::json::accept(content(out / "trace.json")));
  return true;
}

double seconds_of_a_run(const TestFolder& folder, const std::vector<std::string>& words) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run_weft({folder.path()}, words).status, 0);
  EXPECT_TRUE(holds_one_run_or_none(folder / "out"));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class RunFilesByMode : public testing::TestWithParam<const char*> {};

TEST_P(RunFilesByMode, AKillLeavesACompleteSetOrNone) {
  const TestFolder folder;
  write_inputs(folder);
  const std::vector<std::string> words = arguments_of(GetParam());
  const double seconds = seconds_of_a_run(folder, words);
  const int kills = long_runs() ? 50 : 8;
  std::mt19937 random(7);
  int complete = 0;
  for (int i = 0; i < kills; ++i) {
    // A little beyond its end, which is where names change; over the results of the one before
    // every second time.
    const double moment = std::uniform_real_distribution(0.0, 1.1)(random) * seconds;
    if (i % 2 == 0) fs::remove_all(folder / "out");
    WeftProcess process({folder.path()}, words);
    std::this_thread::sleep_for(std::chrono::duration<double>(moment));
    process.kill(SIGKILL);
    process.wait();
    wait_until_unlocked(folder / "out");
    SCOPED_TRACE(fmt::format("killed after {} of {} s", moment, seconds));
    complete += holds_one_run_or_none(folder / "out") ? 1 : 0;
  }
  // The next run finds nothing in its way.
  EXPECT_EQ(run_weft({folder.path()}, words).status, 0);
  EXPECT_TRUE(holds_one_run_or_none(folder / "out"));
  RecordProperty("complete", complete);
  RecordProperty("kills", kills);
}

INSTANTIATE_TEST_SUITE_P(Modes, RunFilesByMode, testing::Values("job", "flow", "packet"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST(RunFiles, TwoRunsIntoOneFolderNeverMix) {
  const TestFolder folder;
  write_inputs(folder);
  const std::string all = content(folder / "jobs.csv");
  folder.write("fewer_jobs.csv", all.substr(0, all.rfind("\nj1")));
  const std::vector<std::string> first = arguments_of("job");
  std::vector<std::string> second = first;
  second[1] = "--jobs=fewer_jobs.csv:weft";
  const double seconds = seconds_of_a_run(folder, first);
  const int pairs = long_runs() ? 200 : 12;
  std::mt19937 random(11);
  int both = 0;
  for (int i = 0; i < pairs; ++i) {
    WeftProcess one({folder.path()}, first);
    std::this_thread::sleep_for(std::chrono::duration<double>(std::uniform_real_distribution(0.0, 1.1)(random) * seconds));
    WeftProcess two({folder.path()}, second);
    const int status_of_one = one.wait();
    const int status_of_two = two.wait();
    // Both only one after the other; who comes while the other is at it is told so.
    EXPECT_TRUE(status_of_one == 0 || status_of_two == 0);
    for (const auto& [status, errors] : {std::pair(status_of_one, one.errors()), std::pair(status_of_two, two.errors())}) {
      if (status == 0) continue;
      EXPECT_EQ(status, 2);
      EXPECT_NE(errors.find("another run writes its results into this folder [folder-in-use]"), std::string::npos) << errors;
    }
    EXPECT_TRUE(holds_one_run_or_none(folder / "out"));
    // Who was refused left nothing there.
    const auto name = nlohmann::json::parse(content(folder / "out/summary.json")).at("name");
    EXPECT_TRUE(status_of_one == 0 || name == "fewer_jobs.csv") << name;
    EXPECT_TRUE(status_of_two == 0 || name == "jobs.csv") << name;
    both += status_of_one == 0 && status_of_two == 0 ? 1 : 0;
  }
  RecordProperty("pairs", pairs);
  RecordProperty("both", both);
}

TEST(RunFiles, ARunKeepsItsInputs) {
  const TestFolder folder;
  write_inputs(folder);
  const auto refused = [&](const std::string& input, const std::vector<std::string>& words) {
    const std::string before = content(folder / input);
    const WeftAnswer answer = run_weft({folder.path()}, words);
    EXPECT_EQ(answer.status, 2) << answer.errors;
    EXPECT_NE(answer.errors.find("[input-in-the-way]"), std::string::npos) << answer.errors;
    EXPECT_EQ(content(folder / input), before);
  };
  fs::create_directory(folder / "d");
  fs::copy(folder / "jobs.csv", folder / "d/jobs.csv");
  refused("d/jobs.csv", {"run", "--jobs=d/jobs.csv:weft", "--hosts=4", "--out=d"});
  refused("jobs.csv", {"run", "--jobs=jobs.csv:weft", "--hosts=4", "--out=."});
  // What a scenario names.
  fs::rename(folder / "work.textproto", folder / "flows.csv");
  folder.write("s.textproto",
               "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"8\" } }\n"
               "job { name: \"llm\" workload { file: \"flows.csv\" } }\n");
  refused("flows.csv", {"run", "s.textproto", "--out=."});
  fs::rename(folder / "s.textproto", folder / "links.csv.partial");
  refused("links.csv.partial", {"run", "links.csv.partial", "--out=."});
}

TEST(RunFiles, CommandsKeepWhatTheyRead) {
  const TestFolder folder;
  write_inputs(folder);
  const std::string before = content(folder / "work.textproto");
  fs::create_symlink("work.textproto", folder / "link.textproto");
  for (const char* out : {"work.textproto", "link.textproto", "./work.textproto"}) {
    const WeftAnswer answer = run_weft({folder.path()}, {"workload", "import", "work.textproto", std::string("--out=") + out});
    EXPECT_EQ(answer.status, 2) << out;
    EXPECT_NE(answer.errors.find("[input-in-the-way]"), std::string::npos) << answer.errors;
    EXPECT_EQ(content(folder / "work.textproto"), before);
  }
  ASSERT_EQ(run_weft({folder.path()}, {"topology", "build", "single_switch", "--set=hosts=2", "--out=net.textproto"}).status, 0);
  EXPECT_EQ(run_weft({folder.path()}, {"topology", "convert", "net.textproto", "--out=net.textproto"}).status, 2);
}

TEST(RunFiles, ADiskThatFillsUpIsAnError) {
  const TestFolder folder;
  write_inputs(folder);
  // 2 MB of jobs.csv do not fit into 200 kB; neither do they at the end, when a table is less than
  // that but for its last rows.
  for (const rlim_t most : {rlim_t{200'000}, rlim_t{1'000}}) {
    const WeftAnswer answer = run_weft({folder.path(), {{RLIMIT_FSIZE, most}}}, arguments_of("job"));
    EXPECT_EQ(answer.status, 2) << answer.errors;
    EXPECT_NE(answer.errors.find("the file cannot be written: File too large [cannot-write]"), std::string::npos) << answer.errors;
    EXPECT_FALSE(holds_one_run_or_none(folder / "out"));
  }
  EXPECT_EQ(run_weft({folder.path()}, arguments_of("job")).status, 0);
}

TEST(RunFiles, WhatIsPrintedIsWrittenOrTheStatusSaysSo) {
  const TestFolder folder;
  write_inputs(folder);
  const std::vector<std::vector<std::string>> commands = {{"--help"},
                                                          {"--version"},
                                                          {"run", "--help"},
                                                          {"modules"},
                                                          {"check", "flow.textproto"},
                                                          {"topology", "build", "single_switch"},
                                                          {"workload", "show", "work.textproto"},
                                                          {"workload", "show", "work.textproto", "--json"},
                                                          {"run", "--jobs=jobs.csv:weft", "--hosts=4", "--json", "--out=out"},
                                                          {"run", "--jobs=jobs.csv:weft", "--hosts=4", "--out=out"}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(command.front() + " " + command.back());
    EXPECT_EQ(run_weft({folder.path()}, command).status, 0);
    const WeftAnswer full = run_weft({folder.path(), {}, "/dev/full"}, command);
    EXPECT_EQ(full.status, 2);
    EXPECT_NE(full.errors.find("what was to be printed cannot be written"), std::string::npos) << full.errors;
    EXPECT_EQ(run_weft({folder.path(), {}, ""}, command).status, 2);
  }
  // The results are there, and nothing that was printed is among them.
  EXPECT_TRUE(holds_one_run_or_none(folder / "out"));
}

}  // namespace
}  // namespace weft::run_files_test
