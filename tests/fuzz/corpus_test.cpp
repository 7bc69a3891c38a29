// SPDX-License-Identifier: Apache-2.0
// Every input that a fuzzer was started with or that once broke a reader, replayed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/readers.hpp"

namespace weft::corpus_test {
namespace {

std::filesystem::path corpus() { return std::filesystem::path(WEFT_SOURCE_DIR) / "tests/fuzz/corpus"; }

/// How many inputs of its folder each reader refuses.
const std::map<std::string_view, int> refusals = {
    {"topology_weft", 3},
    {"topology_hpcc", 0},
    {"topology_simai", 0},
    {"topology_simgrid", 1},
    {"topology_astra", 1},
    {"topology_nccl", 1},
    {"workload_weft", 1},
    {"chakra", 0},
    {"chakra_json", 2},
    {"goal", 4},
    {"simai_text", 2},
    {"astrasim_text", 0},
    {"kineto", 6},
    {"htsim", 4},
    {"flows_hpcc", 1},
    {"collective_program", 5},
    {"collective_rules", 5},
    {"component_times", 3},
    {"hardware", 3},
    {"layer_benchmark", 2},
    {"model", 2},
    {"plan", 2},
    {"replica_plan", 2},
    {"routes", 5},
    {"failure_log", 1},
    {"maintenance_plan", 1},
    {"jobs_weft", 1},
    {"jobs_philly", 0},
    {"jobs_muri", 0},
    {"jobs_muri_result", 0},
    {"jobs_gavel", 0},
    {"jobs_helios", 0},
    {"jobs_acme", 1},
    {"jobs_openb", 0},
    {"jobs_squeue", 2},
    {"jobs_sacct", 1},
    {"jobs_swf", 1},
    {"slurm_nodes", 2},
    {"pollux", 1},
    {"gavel_throughputs", 2},
    {"cluster_summary", 1},
    {"virtual_clusters", 0},
    {"measured_times", 1},
    {"nccl_tests", 1},
    {"calibration_profile", 1},
    {"sampled_table", 2},
    {"operator_profile", 3},
};

class Corpus : public testing::TestWithParam<FuzzedReader> {};

TEST_P(Corpus, IsReadOrRefused) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(corpus() / GetParam().name)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  int refused = 0;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    SCOPED_TRACE(path);
    EXPECT_NO_THROW(refused += feed(GetParam(), content) ? 0 : 1);
  }
  EXPECT_EQ(refused, refusals.at(GetParam().name)) << "of " << files.size();
}

INSTANTIATE_TEST_SUITE_P(Readers, Corpus, testing::ValuesIn(fuzzed_readers().begin(), fuzzed_readers().end()),
                         [](const testing::TestParamInfo<FuzzedReader>& reader) { return std::string(reader.param.name); });

TEST(CorpusFolders, BelongToAReader) {
  std::set<std::string> names;
  for (const FuzzedReader& reader : fuzzed_readers()) names.emplace(reader.name);
  for (const auto& entry : std::filesystem::directory_iterator(corpus())) {
    EXPECT_TRUE(names.contains(entry.path().filename().string())) << entry.path();
  }
}

}  // namespace
}  // namespace weft::corpus_test
