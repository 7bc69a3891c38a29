// SPDX-License-Identifier: Apache-2.0
// Inputs of the solver's fuzzer replayed: those kept in solver_corpus/, and random bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/values/random.hpp"
#include "tests/fuzz/solver_steps.hpp"

namespace weft::solver_corpus_test {
namespace {

TEST(SolverCorpus, AgreesWithTheOracle) {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = std::filesystem::path(WEFT_SOURCE_DIR) / "tests/fuzz/solver_corpus";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    SCOPED_TRACE(path);
    EXPECT_NO_THROW(drive_solver(bytes));
  }
}

TEST(SolverCorpus, RandomBytesAgreeWithTheOracle) {
  SolverSteps all;
  std::size_t of_several_classes = 0;
  constexpr std::uint32_t inputs = WEFT_SANITIZED ? 100 : 500;
  for (std::uint32_t i = 0; i < inputs; ++i) {
    RandomStream random(31, i, 1);
    std::vector<std::uint8_t> bytes(40 + random.below(2000));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
    SCOPED_TRACE(i);
    SolverSteps steps;
    ASSERT_NO_THROW(steps = drive_solver(bytes));
    all.batches += steps.batches;
    all.flows_checked += steps.flows_checked;
    all.repairs += steps.repairs;
    all.full_solves += steps.full_solves;
    of_several_classes += steps.classes > 1 ? 1U : 0U;
  }
  EXPECT_GT(all.batches, 10U * inputs) << "a batch takes 100 bytes at the most";
  EXPECT_GT(all.flows_checked, all.batches);
  EXPECT_GT(all.repairs, all.batches / 4) << "a quarter of the fabrics is repaired and nothing else";
  EXPECT_GT(all.full_solves, all.batches / 4) << "a quarter is solved from nothing";
  EXPECT_GT(of_several_classes, inputs / 5);
}

}  // namespace
}  // namespace weft::solver_corpus_test
