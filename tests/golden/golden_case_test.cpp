// SPDX-License-Identifier: Apache-2.0
// The canary of the golden harness: with the shell as the program, what is right passes and every
// kind of wrong is found.
#include "tests/golden/golden_case.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace weft::golden {
namespace {

namespace fs = std::filesystem;

class GoldenHarness : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weft-golden-canary-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    fs::create_directory(root_ / "case");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file, std::ios::binary) << text;
  }
  std::string read(const fs::path& file) const {
    std::ostringstream text;
    text << std::ifstream(root_ / file, std::ios::binary).rdbuf();
    return text.str();
  }
  Verdict verdict() const { return check(root_ / "case", "/bin/sh", root_); }

  fs::path root_;
};

TEST_F(GoldenHarness, AcceptsWhatIsRight) {
  write("case/command", "-c 'cat in.txt; echo bad >&2; echo made > made.txt; exit 2'\n");
  write("case/in.txt", "hello\n");
  write("case/expected_stdout", "hello\n");
  write("case/expected_stderr", "bad\n");
  write("case/expected_status", "2\n");
  write("case/absent_paths", "partial.csv\n");
  write("case/expected_files/made.txt", "made\n");
  EXPECT_EQ(verdict().differences, "");
  EXPECT_EQ(verdict().skipped, "");
  EXPECT_FALSE(fs::exists(root_ / "case/made.txt")) << "a run works on a copy";
}

TEST_F(GoldenHarness, ExpectsNothingWhereNothingIsWritten) {
  write("case/command", "-c 'true'\n");
  EXPECT_EQ(verdict().differences, "");
}

TEST_F(GoldenHarness, FindsWrongOutput) {
  write("case/command", "-c 'echo one; echo two; echo three'\n");
  write("case/expected_stdout", "one\n2\nthree\n");
  EXPECT_EQ(verdict().differences, "stdout:\n  one\n- 2\n+ two\n  three\n");
}

TEST_F(GoldenHarness, FindsUnexpectedOutput) {
  write("case/command", "-c 'echo surprise >&2'\n");
  EXPECT_EQ(verdict().differences, "stderr:\n+ surprise\n");
}

TEST_F(GoldenHarness, FindsMissingOutput) {
  write("case/command", "-c 'true'\n");
  write("case/expected_stdout", "one\n");
  EXPECT_EQ(verdict().differences, "stdout:\n- one\n");
}

TEST_F(GoldenHarness, FindsWrongStatus) {
  write("case/command", "-c 'exit 3'\n");
  EXPECT_EQ(verdict().differences, "exit status: expected 0, got 3\n");
}

TEST_F(GoldenHarness, CountsASignalAsAStatus) {
  write("case/command", "-c 'kill -KILL $$'\n");
  EXPECT_EQ(verdict().differences, "exit status: expected 0, got 137\n");
}

TEST_F(GoldenHarness, FindsALeftover) {
  write("case/command", "-c 'mkdir out; : > out/flows.csv'\n");
  write("case/absent_paths", "out/flows.csv\n");
  EXPECT_EQ(verdict().differences, "out/flows.csv exists and must not\n");
}

TEST_F(GoldenHarness, FindsAWrongAndAMissingFile) {
  write("case/command", "-c 'echo 2 > a.csv'\n");
  write("case/expected_files/a.csv", "1\n");
  write("case/expected_files/out/b.csv", "1\n");
  EXPECT_EQ(verdict().differences, "a.csv:\n- 1\n+ 2\nout/b.csv was not written\n");
}

TEST_F(GoldenHarness, LinksInputsOfTheProject) {
  write("examples/small.txt", "small\n");
  write("case/inputs", "examples/small.txt\n");
  write("case/command", "-c 'cat small.txt'\n");
  write("case/expected_stdout", "small\n");
  EXPECT_EQ(verdict().differences, "");
}

TEST_F(GoldenHarness, SkipsWhereDataOutsideTheProjectIsAbsent) {
  write("case/inputs", "../no_such_data/trace.csv\n");
  write("case/command", "-c 'exit 1'\n");
  EXPECT_EQ(verdict().skipped, "../no_such_data/trace.csv is not there");
}

TEST_F(GoldenHarness, RefusesAnInputThatTheProjectLacks) {
  write("case/inputs", "examples/gone.txt\n");
  write("case/command", "-c 'true'\n");
  EXPECT_THROW(verdict(), std::runtime_error);
}

TEST_F(GoldenHarness, UpdateWritesWhatCheckThenAccepts) {
  write("case/command", "-c 'echo took 7 ms; echo events 5; echo why >&2; echo x > a.csv; exit 2'\n");
  write("case/expected_stdout", "took {{*}} ms\nevents 4\n");
  write("case/expected_files/a.csv", "old\n");
  EXPECT_NE(verdict().differences, "");
  EXPECT_EQ(update(root_ / "case", "/bin/sh", root_), "");
  EXPECT_EQ(verdict().differences, "");
  EXPECT_EQ(read("case/expected_stdout"), "took {{*}} ms\nevents 5\n");
  EXPECT_EQ(read("case/expected_stderr"), "why\n");
  EXPECT_EQ(read("case/expected_status"), "2\n");
  EXPECT_EQ(read("case/expected_files/a.csv"), "x\n");
}

TEST_F(GoldenHarness, UpdateRemovesExpectationsOfNothing) {
  write("case/command", "-c 'true'\n");
  write("case/expected_stderr", "old\n");
  write("case/expected_status", "2\n");
  EXPECT_EQ(update(root_ / "case", "/bin/sh", root_), "");
  EXPECT_FALSE(fs::exists(root_ / "case/expected_stderr"));
  EXPECT_FALSE(fs::exists(root_ / "case/expected_status"));
}

TEST_F(GoldenHarness, ListsCasesInOrder) {
  fs::create_directories(root_ / "cases/b");
  fs::create_directories(root_ / "cases/a");
  write("cases/notes.md", "x\n");
  EXPECT_EQ(case_names(root_ / "cases"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(case_names(root_ / "none").empty());
}

TEST(GoldenLines, AnyTextFitsWithinALine) {
  EXPECT_TRUE(line_fits("a", "a"));
  EXPECT_FALSE(line_fits("a", "b"));
  EXPECT_TRUE(line_fits("{{*}}", ""));
  EXPECT_TRUE(line_fits("took {{*}} ms", "took 1.5 ms"));
  EXPECT_FALSE(line_fits("took {{*}} ms", "took 1.5 s"));
  EXPECT_FALSE(line_fits("ab{{*}}ba", "aba"));  // the two ends may not share a letter
  EXPECT_TRUE(line_fits("{{*}}x{{*}}y", "axbxcy"));
  EXPECT_FALSE(line_fits("{{*}}x{{*}}y", "abxcyz"));
}

TEST(GoldenDifference, LeavesOutEqualLinesFarFromADifference) {
  EXPECT_EQ(difference("1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nfour\n5\n6\n7\n"), "  ...\n  2\n  3\n- 4\n+ four\n  5\n  6\n");
  EXPECT_EQ(difference("a\nb\nc\n", "a\nc\n"), "  a\n- b\n  c\n");
  EXPECT_EQ(difference("a\n", "a\n"), "");
}

TEST(GoldenDifference, MindsTheLastNewline) {
  EXPECT_NE(difference("a\n", "a"), "");
  EXPECT_NE(difference("a", "a\n"), "");
}

}  // namespace
}  // namespace weft::golden
