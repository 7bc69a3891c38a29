// SPDX-License-Identifier: Apache-2.0
// Job traces of a scenario whose queue is held.
#include "tools/simulation/scenario/trace_entries.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/snapshot_file.hpp"

namespace weft::trace_entries_test {
namespace {

namespace fs = std::filesystem;

class HeldTrace : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_trace_entries_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write("jobs.csv", "job,submit_s,gpus,run_s\na,5,8,60\nb,10,8,60\nc,20,8,60\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  RunFlags with_queue(const std::string& queue) const {
    RunFlags flags;
    flags.scenario_file =
        write("s.textproto",
              "cluster { hosts: 1 gpus_per_host: 8 }\njobs { file: \"jobs.csv\" format: \"weft\" queue: " + queue + " }\n");
    return flags;
  }
  static std::string mistake_of(const RunFlags& flags) {
    try {
      load_scenario(flags);
    } catch (const InputError& error) {
      return error.diagnostics().front().code + ": " + error.diagnostics().front().message;
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(HeldTrace, HasNoTimesOfItsOwn) {
  const Scenario loaded = load_scenario(with_queue("2"));
  ASSERT_EQ(loaded.jobs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(loaded.jobs[i].submit, Time::zero());
    EXPECT_EQ(loaded.jobs[i].queue, 1U);
    EXPECT_EQ(loaded.jobs[i].is_held, i == 2);
  }
}

TEST_F(HeldTrace, HasFewerWaitingThanThereAre) {
  EXPECT_EQ(mistake_of(with_queue("0")), "out-of-range: nobody waits in a queue of 0 jobs");
  EXPECT_EQ(mistake_of(with_queue("3")),
            "out-of-range: " + (folder_ / "jobs.csv").string() + " has 3 jobs, no more than wait at a time");
}

// A job that was held says no time by itself: the snapshot does.
TEST_F(HeldTrace, KeepsSubmissionsInASnapshot) {
  const RunFlags flags = with_queue("2");
  const Scenario loaded = load_scenario(flags);
  ClusterSnapshot taken;
  taken.at = Time::zero() + Duration::s(90);
  taken.jobs.resize(loaded.jobs.size());
  taken.jobs[2].state = ClusterSnapshot::State::waits;
  taken.jobs[2].submitted = Time::zero() + Duration::s(60);
  const std::string path = write("snapshot.textproto", to_snapshot_text(flags, loaded, taken));
  EXPECT_EQ(read_snapshot(path, {}).snapshot.jobs[2].record.submit, Time::zero() + Duration::s(60));
}

}  // namespace
}  // namespace weft::trace_entries_test
