// SPDX-License-Identifier: Apache-2.0
// Fingerprint matrix: runs one scenario under every combination of threads, partition and
// re-dealing (with changes between one thread and all) and expects one fingerprint, the one that
// tests/determinism/fingerprints.txt holds for it.
//
//   TEST(Determinism, Phold) {
//     expect_one_fingerprint("phold", partitions_of(64, Duration::ns(50)), [](const EngineOptions&
//     options) {
//       Engine engine = make_my_scenario().build(options);
//       return engine.run({.until = Time::at_ticks(...), .interrupt = nullptr, .progress = {}});
//     });
//   }
//
// A change that moves simulated behaviour must edit the table; the failure prints the new line. A
// scenario test of another folder may include this header as it is.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"

namespace weft {

struct NamedPartition {
  std::string name;
  PartitionChoice choice;
};

/// All entities in one LP, one LP per entity, a zeta in between, and the automatic choice.
/// Requires: no connection of zero delay.
inline std::vector<NamedPartition> partitions_of(std::size_t entity_count, Duration zeta) {
  PartitionExplicit one;
  PartitionExplicit each;
  for (std::uint32_t i = 0; i < entity_count; ++i) {
    one.lp_of_entity.push_back(LpId(0));
    each.lp_of_entity.push_back(LpId(i));
  }
  return {{"one LP", one},
          {"one LP per entity", each},
          {"zeta " + to_text(zeta), PartitionByZeta{zeta}},
          {"automatic", PartitionAutomatic{}}};
}

/// The fingerprint that the table holds for `scenario`, if any.
inline std::optional<std::string> expected_fingerprint(const std::string& scenario) {
  std::ifstream table(WEFT_SOURCE_DIR "/tests/determinism/fingerprints.txt");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string name;
    std::string value;
    if (words >> name >> value && name == scenario) return value;
  }
  return std::nullopt;
}

/// `run` builds the scenario with the options given and runs it to its end.
inline void expect_one_fingerprint(const std::string& scenario, const std::vector<NamedPartition>& partitions,
                                   const std::function<RunReport(const EngineOptions&)>& run) {
  std::optional<RunReport> first;
  for (const NamedPartition& partition : partitions) {
    for (const std::uint32_t threads : {1U, 2U, 8U}) {
      for (const std::uint64_t redeal_every_windows : {0U, 3U}) {
        if (redeal_every_windows > 0 && threads == 1) continue;
        EngineOptions options;
        options.threads = threads;
        options.partition = partition.choice;
        options.redeal_every_windows = redeal_every_windows;
        options.alternate_every_windows = redeal_every_windows + redeal_every_windows / 2;
        const RunReport report = run(options);
        if (!first) first = report;
        const std::string combination =
            fmt::format("{}, {}, {} threads, re-dealt every {} windows", scenario, partition.name, threads, redeal_every_windows);
        EXPECT_EQ(report.fingerprint.to_text(), first->fingerprint.to_text()) << combination;
        EXPECT_EQ(report.events, first->events) << combination;
        EXPECT_EQ(report.end_time.in_ticks(), first->end_time.in_ticks()) << combination;
      }
    }
  }
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(expected_fingerprint(scenario), first->fingerprint.to_text())
      << "if simulated behaviour was meant to change, put this line into tests/determinism/fingerprints.txt:\n"
      << scenario << " " << first->fingerprint.to_text();
}

}  // namespace weft
