// SPDX-License-Identifier: Apache-2.0
// Result files appear complete or not at all, and tables quote and print exactly.
#include "tools/results/output_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/text/diagnostics.hpp"

namespace weft::output_file_test {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_output_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  fs::path folder_;
};

TEST_F(OutputFiles, GetTheirNameOnCommitOnly) {
  OutputFile file(folder_ / "a.txt");
  file.write("half");
  EXPECT_FALSE(fs::exists(folder_ / "a.txt"));
  EXPECT_TRUE(fs::exists(folder_ / "a.txt.partial"));
  file.write(" and whole\n");
  file.commit();
  EXPECT_FALSE(fs::exists(folder_ / "a.txt.partial"));
  EXPECT_EQ(content("a.txt"), "half and whole\n");
}

TEST_F(OutputFiles, AnAbandonedFileLeavesAnOlderResultAlone) {
  {
    OutputFile file(folder_ / "a.txt");
    file.write("old");
    file.commit();
  }
  { OutputFile(folder_ / "a.txt").write("new"); }
  EXPECT_EQ(content("a.txt"), "old");
}

TEST_F(OutputFiles, RefuseAFolderThatIsNotThere) {
  try {
    OutputFile file(folder_ / "missing" / "a.txt");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "cannot-write");
  }
}

TEST_F(OutputFiles, TablesQuoteWhatNeedsIt) {
  CsvFile table(folder_ / "t.csv", "a,b,c");
  table.text("plain").text("one, two").text("say \"x\"").end_row();
  table.number(std::int64_t{-5}).number(std::uint64_t{18446744073709551615ULL}).number(0.1).end_row();
  EXPECT_EQ(table.rows(), 2u);
  table.commit();
  EXPECT_EQ(content("t.csv"), "a,b,c\nplain,\"one, two\",\"say \"\"x\"\"\"\n-5,18446744073709551615,0.1\n");
}

TEST_F(OutputFiles, NanosecondsAreExactToTheTickHoweverLate) {
  CsvFile table(folder_ / "t.csv", "a,b,c,d");
  table.nanoseconds(Duration::ns(5)).nanoseconds(Duration::ticks(123)).nanoseconds(Duration::ticks(150));
  table.nanoseconds(Duration::s(31'535'999) + Duration::ticks(408'784)).end_row();
  table.commit();
  EXPECT_EQ(content("t.csv"), "a,b,c,d\n5,1.23,1.5,31535999000004087.84\n");
}

TEST(Shortest, ReadsBackToTheSameNumber) {
  for (const double value : {0.0, 0.1, 1.0 / 3, 1e-300, 123456789.123456789, std::nextafter(1.0, 2.0)}) {
    EXPECT_EQ(std::strtod(shortest(value).c_str(), nullptr), value);
  }
}

}  // namespace
}  // namespace weft::output_file_test
