// SPDX-License-Identifier: Apache-2.0
// Every folder below tests/golden/cases, run against the `weft` program of this build.
//
// WEFT_GOLDEN_UPDATE=1 in the environment writes what the program does as the new expectations
// instead of comparing; look at the difference in git before committing it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/golden/golden_case.hpp"

namespace weft::golden {
namespace {

const std::filesystem::path kRoot = WEFT_SOURCE_DIR;
const std::filesystem::path kCases = kRoot / "tests/golden/cases";

class GoldenCase : public testing::TestWithParam<std::string> {};

TEST_P(GoldenCase, PrintsWhatIsExpected) {
  const std::filesystem::path folder = kCases / GetParam();
  const char* wants_update = std::getenv("WEFT_GOLDEN_UPDATE");
  if (wants_update != nullptr && std::string(wants_update) == "1") {
    const std::string skipped = update(folder, WEFT_PROGRAM, kRoot);
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    return;
  }
  const Verdict verdict = check(folder, WEFT_PROGRAM, kRoot);
  if (!verdict.skipped.empty()) GTEST_SKIP() << verdict.skipped;
  EXPECT_EQ(verdict.differences, "") << "in tests/golden/cases/" << GetParam()
                                     << "; if that is meant, run this test with WEFT_GOLDEN_UPDATE=1 and look at the change\n"
                                     << verdict.differences;
}

/// gtest allows letters, digits and underscores only.
std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenCase, testing::ValuesIn(case_names(kCases)), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenCase);

TEST(GoldenCases, AreThere) { EXPECT_FALSE(case_names(kCases).empty()) << kCases << " holds no case"; }

}  // namespace
}  // namespace weft::golden
