// SPDX-License-Identifier: Apache-2.0
// Moves of files are all carried out or none, and a kill does not cut them in half.
#include "tools/results/file_moves.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/tools/weft/weft_process.hpp"

namespace weft::file_moves_test {
namespace {

namespace fs = std::filesystem;

TEST(FileMoves, RenameAndRemove) {
  const TestFolder folder;
  folder.write("a", "1");
  folder.write("b", "2");
  EXPECT_EQ(carry_out({{folder / "a", folder / "c"}, {folder / "b", {}}}), std::nullopt);
  EXPECT_FALSE(fs::exists(folder / "a"));
  EXPECT_FALSE(fs::exists(folder / "b"));
  EXPECT_EQ(content(folder / "c"), "1");
}

TEST(FileMoves, AreTakenBackWhenOneFails) {
  const TestFolder folder;
  for (const char* name : {"a", "b", "c"}) folder.write(name, name);
  fs::create_directory(folder / "in_the_way");
  const auto failed =
      carry_out({{folder / "a", folder / "new_a"}, {folder / "b", folder / "new_b"}, {folder / "c", folder / "in_the_way"}});
  ASSERT_NE(failed, std::nullopt);
  EXPECT_EQ(failed->move, 2u);
  EXPECT_EQ(failed->why.value(), EEXIST);
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(content(folder / name), name);
    EXPECT_FALSE(fs::exists(folder / (std::string("new_") + name)));
  }
}

TEST(FileMoves, NeverReplaceAFile) {
  const TestFolder folder;
  folder.write("a", "new");
  folder.write("b", "of somebody else");
  EXPECT_NE(carry_out({{folder / "a", folder / "b"}}), std::nullopt);
  EXPECT_EQ(content(folder / "b"), "of somebody else");
  EXPECT_EQ(content(folder / "a"), "new");
}

TEST(FileMoves, GoOnWhenTheProcessAndItsGroupAreKilled) {
  constexpr int count = 20'000;
  const TestFolder folder;
  std::vector<FileMove> moves;
  for (int i = 0; i < count; ++i) {
    folder.write("old" + std::to_string(i), "");
    moves.push_back({folder / ("old" + std::to_string(i)), folder / ("new" + std::to_string(i))});
  }
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    carry_out(moves);
    _exit(0);
  }
  while (!fs::exists(moves[100].to)) std::this_thread::yield();
  kill(-child, SIGTERM);
  kill(-child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  // It was killed, unless this machine is quicker than 20,000 renames.
  EXPECT_TRUE(WIFSIGNALED(status) || fs::exists(moves.back().to));
  for (int waited = 0; waited < 6000 && !fs::exists(moves.back().to); ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  int moved = 0;
  for (const FileMove& move : moves) moved += fs::exists(move.to) && !fs::exists(move.from) ? 1 : 0;
  EXPECT_EQ(moved, count);
}

}  // namespace
}  // namespace weft::file_moves_test
