// SPDX-License-Identifier: Apache-2.0
// Runs in which nothing gets on end by themselves, say why, and leave what was finished: status 1.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/weft/weft_process.hpp"

namespace weft::standstill_test {
namespace {

/// Without a bound these run for hours.
constexpr rlim_t cpu_max_s = 20;

struct Outcome {
  int status = 0;
  std::string errors;
  nlohmann::json summary = {};
  std::string jobs = {};
};

Outcome run(const TestFolder& folder, std::vector<std::string> words) {
  words.insert(words.end(), {"--out=out", "--quiet"});
  const WeftAnswer answer = run_weft({.folder = folder.path(), .limits = {{RLIMIT_CPU, cpu_max_s}}}, words);
  Outcome outcome{answer.status, answer.errors};
  if (std::filesystem::exists(folder / "out" / "summary.json")) {
    outcome.summary = nlohmann::json::parse(content(folder / "out" / "summary.json"));
    outcome.jobs = content(folder / "out" / "jobs.csv");
  }
  return outcome;
}

// An iteration takes more than 2 ms, of 50 one checkpoint is written, and some host fails every
// half a millisecond: no start of the second job gets that far. The first needs a single iteration.
const std::string futile_text =
    "topology { builder: \"fat_tree\" set { name: \"k\" value: \"4\" } }\n"
    "job { name: \"short\" gpus: 1 duration: \"1us\" }\n"
    "job { name: \"llm\" iterations: 100 workload { template: \"data_parallel\" set { name: \"ranks\" value: \"16\" }\n"
    "  set { name: \"parameters\" value: \"100000\" } set { name: \"buckets\" value: \"1\" }\n"
    "  set { name: \"forward_time\" value: \"1ms\" } set { name: \"backward_time\" value: \"1ms\" } } }\n"
    "set { name: \"failure.host_mtbf_hours\" value: \"2e-6\" }\n"
    "set { name: \"failure.repair\" value: \"100us\" }\n"
    "set { name: \"failure.detection\" value: \"0s\" }\n"
    "set { name: \"checkpoint.every\" value: \"50\" }\n"
    "set { name: \"scheduler.setbacks_max\" value: \"100\" }\n";

TEST(Standstill, OfJobsThatLoseMoreThanTheyGain) {
  for (const std::string mode : {"flow", "packet"}) {
    const TestFolder folder;
    folder.write("futile.textproto", futile_text);
    const Outcome one = run(folder, {"run", "futile.textproto", "--mode=" + mode});
    EXPECT_EQ(one.status, 1) << one.errors;
    EXPECT_NE(one.errors.find("[no-progress]"), std::string::npos) << one.errors;
    EXPECT_NE(one.errors.find("job \"llm\""), std::string::npos) << one.errors;
    ASSERT_EQ(one.summary["standstill"].size(), 1U);
    EXPECT_EQ(one.summary["standstill"][0]["code"], "no-progress");
    EXPECT_EQ(one.summary["jobs_finished"], 1) << "what was finished is there";
    EXPECT_NE(one.jobs.find("\nshort,"), std::string::npos);
    EXPECT_NE(one.jobs.find("\nllm,"), std::string::npos);
    const Outcome two = run(folder, {"run", "futile.textproto", "--mode=" + mode, "--threads=2"});
    EXPECT_EQ(two.summary["fingerprint"], one.summary["fingerprint"]);
    EXPECT_EQ(two.errors, one.errors);
    EXPECT_EQ(two.jobs, one.jobs);
  }
}

// The first host's switch port drops all that it is sent, and cards may try for ever.
TEST(Standstill, OfPacketsThatNeverCome) {
  const TestFolder folder;
  folder.write("net.txt", "4 1 3\n3\n0 3 100Gbps 0.001ms 0\n1 3 100Gbps 0.001ms 0\n2 3 100Gbps 0.001ms 0\n");
  folder.write("flow.txt", "3\n0 1 3 100 100000 0.0\n2 1 3 100 200000 0.0\n1 0 3 100 10 0.000001\n");
  const std::vector<std::string> words = {"run",
                                          "--topology=net.txt:hpcc",
                                          "--flows=flow.txt:hpcc",
                                          "--mode=packet",
                                          "--set=packet.pausing_hosts=host1:0s",
                                          "--set=packet.watchdog=1ms",
                                          "--set=packet.watchdog_restoration=1ms",
                                          "--set=packet.retransmission_timeout=1ns",
                                          "--set=packet.retries=0"};
  const Outcome one = run(folder, words);
  EXPECT_EQ(one.status, 1) << one.errors;
  EXPECT_NE(one.errors.find("host0 has sent 100"), std::string::npos) << one.errors;
  EXPECT_NE(one.errors.find("dropped in 3 [livelock]"), std::string::npos) << one.errors;
  EXPECT_EQ(one.summary["standstill"][0]["code"], "livelock");
  EXPECT_EQ(one.summary["flows_finished"], 1) << "what was finished is there";
  std::vector<std::string> on_two = words;
  on_two.emplace_back("--threads=2");
  EXPECT_EQ(run(folder, on_two).errors, one.errors);
  std::vector<std::string> bounded = words;
  bounded.emplace_back("--set=packet.repeats_max=1000");
  const Outcome sooner = run(folder, bounded);
  EXPECT_EQ(sooner.status, 1);
  EXPECT_LT(sooner.summary["makespan_s"], one.summary["makespan_s"]);
}

}  // namespace
}  // namespace weft::standstill_test
