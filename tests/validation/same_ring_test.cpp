// SPDX-License-Identifier: Apache-2.0
// One workload in several formats: the ring all-reduce of 64 ranks takes the same time to the tick,
// whichever format it was read from.
//
// 64 MiB in 64 parts of 1 MiB: 2 x 63 rounds, in each of which every rank sends a part to the next
// one and receives one from the one before (host/collectives/ring). GOAL has no collectives, so
// there each round is written out: a send waits for the send before it and for the part that it
// passes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "scenario_run.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::same_ring_test {
namespace {

constexpr int kRanks = 64;
constexpr std::int64_t kBytes = 64LL << 20;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number_field(std::uint64_t field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes_field(std::uint64_t field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string framed(const std::string& message) { return varint(message.size()) + message; }

std::string weft_flag(const ScratchFolder& folder) {
  return folder.write("ring.textproto", "ranks: 64\nrole { op { collective { type: ALL_REDUCE size: \"64MiB\" } } }\n");
}

std::string chakra_flag(const ScratchFolder& folder) {
  const auto attribute = [](const char* name, std::uint64_t value) {
    return bytes_field(10, bytes_field(1, name) + number_field(9, value));
  };
  // A collective (7) that is an all-reduce (0).
  const std::string node = number_field(1, 0) + bytes_field(2, "ring") + number_field(3, 7) + attribute("comm_type", 0) +
                           attribute("comm_size", static_cast<std::uint64_t>(kBytes));
  std::string path;
  for (int rank = 0; rank < kRanks; ++rank) {
    path = folder.write(fmt::format("ring.{}.et", rank), framed(bytes_field(1, "0.0.4")) + framed(node));
  }
  return path.substr(0, path.rfind("ring.") + 4) + ":chakra";
}

std::string goal_flag(const ScratchFolder& folder) {
  std::string text = "num_ranks 64\n";
  const std::string size = std::to_string(kBytes / kRanks) + "b";
  for (int rank = 0; rank < kRanks; ++rank) {
    text += fmt::format("rank {} {{\n", rank);
    for (int round = 0; round < 2 * (kRanks - 1); ++round) {
      const std::string n = std::to_string(round);
      text += fmt::format("s{}: send {} to {}\n", n, size, (rank + 1) % kRanks);
      text += fmt::format("r{}: recv {} from {}\n", n, size, (rank + kRanks - 1) % kRanks);
      if (round == 0) continue;
      const std::string before = std::to_string(round - 1);
      text += "s" + n + " requires s" + before + "\ns" + n + " requires r" + before + "\n";
    }
    text += "}\n";
  }
  return folder.write("ring.goal", text) + ":goal";
}

std::string simai_flag(const ScratchFolder& folder) {
  return folder.write("ring.txt", fmt::format("MICRO all_gpus: 64\n1\nring -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {} 0\n", kBytes)) +
         ":simai";
}

struct RingFormat {
  const char* name;
  /// Writes the ring into the folder; returns the value of --workload.
  std::string (*write)(const ScratchFolder& folder);
};

class SameRing : public testing::TestWithParam<RingFormat> {};

Duration makespan(const ScratchFolder& folder, const std::string& workload) {
  RunFlags flags;
  flags.topology = folder.write("net.textproto", "builder: \"fat_tree\"\nset { name: \"k\" value: \"8\" }\n");
  flags.workload = workload;
  return run_scenario(flags, ScenarioRunOptions{}).summary.makespan;
}

TEST_P(SameRing, TakesTheSameTimeToTheTick) {
  const ScratchFolder folder;
  const Duration own = makespan(folder, weft_flag(folder));
  EXPECT_GT(own, Duration::ms(1));
  EXPECT_EQ(makespan(folder, GetParam().write(folder)), own);
}

INSTANTIATE_TEST_SUITE_P(Formats, SameRing,
                         testing::Values(RingFormat{"chakra", chakra_flag}, RingFormat{"goal", goal_flag},
                                         RingFormat{"simai", simai_flag}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace weft::same_ring_test
