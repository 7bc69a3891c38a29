// Every input that a fuzzer was started with or that once broke a reader, replayed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/readers.hpp"

namespace weft::corpus_test {
namespace {

std::filesystem::path corpus() { return std::filesystem::path(WEFT_SOURCE_DIR) / "tests/fuzz/corpus"; }

class Corpus : public testing::TestWithParam<FuzzedReader> {};

TEST_P(Corpus, IsReadOrRefused) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(corpus() / GetParam().name)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    SCOPED_TRACE(path);
    EXPECT_NO_THROW(feed(GetParam(), content));
  }
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
