// SPDX-License-Identifier: Apache-2.0
// Ctrl-C: a run that is interrupted says so, ends with status 130, and leaves complete files with
// what was finished.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

extern char** environ;

namespace weft::interrupt_test {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Interrupt, LeavesWhatWasFinishedReadableAndSaysSo) {
  const fs::path folder = fs::temp_directory_path() / ("weft_interrupt_" + std::to_string(getpid()));
  fs::create_directories(folder);
  // Far more iterations than anyone waits for; the first ones end at once.
  std::ofstream(folder / "work.textproto") << "ranks: 2\nrole { name: \"all\" op { name: \"c\" compute { duration: \"1us\" } } }\n";
  std::ofstream(folder / "scenario.textproto")
      << "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"2\" } }\n"
         "job { name: \"endless\" iterations: 1000000000 workload { file: \"work.textproto\" } }\n";
  const fs::path out = folder / "out";
  const std::string scenario = (folder / "scenario.textproto").string();
  const std::string out_flag = "--out=" + out.string();
  const fs::path errors = folder / "stderr";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = WEFT_PROGRAM;
  std::string command = "run";
  std::string scenario_argument = scenario;
  std::string out_argument = out_flag;
  char* arguments[] = {program.data(), command.data(), scenario_argument.data(), out_argument.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);

  // The table grows under its temporary name; once rows are there, interrupt.
  const fs::path growing = out / "iterations.csv.partial";
  for (int waited = 0; waited < 6000; ++waited) {
    std::error_code error;
    if (fs::exists(growing, error) && fs::file_size(growing, error) > 1000) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(fs::exists(out / "iterations.csv")) << "no table has its final name before the run ends";
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_NE(content(errors).find("interrupted: 0 of 1 job and "), std::string::npos) << content(errors);

  for (const char* name :
       {"summary.json", "manifest.json", "jobs.csv", "iterations.csv", "collectives.csv", "flows.csv", "links.csv"}) {
    EXPECT_TRUE(fs::exists(out / name)) << name;
    EXPECT_FALSE(fs::exists(out / (std::string(name) + ".partial"))) << name;
  }
  const auto summary = nlohmann::json::parse(content(out / "summary.json"));
  EXPECT_EQ(summary.at("interrupted"), true);
  EXPECT_EQ(summary.at("jobs_finished"), 0);
  EXPECT_GT(summary.at("iterations"), 0);
  // Every row is whole.
  std::ifstream table(out / "iterations.csv");
  std::uint64_t rows = 0;
  for (std::string line; std::getline(table, line); ++rows) {
    ASSERT_EQ(std::count(line.begin(), line.end(), ','), 5) << line;
  }
  EXPECT_EQ(rows, summary.at("iterations").get<std::uint64_t>() + 1);
  EXPECT_NE(content(out / "jobs.csv").find("endless,2,0,"), std::string::npos) << "a started job keeps its row";
  fs::remove_all(folder);
}

}  // namespace
}  // namespace weft::interrupt_test
