// SPDX-License-Identifier: Apache-2.0
#include "tools/study/captured_command.hpp"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

extern char** environ;

namespace weft {

namespace {

/// A file in memory that a program writes to.
class CapturedStream {
 public:
  CapturedStream() : descriptor_(memfd_create("captured", MFD_CLOEXEC)) {
    WEFT_CHECK(descriptor_ >= 0, "memory for what a program prints");
  }
  ~CapturedStream() { ::close(descriptor_); }
  CapturedStream(const CapturedStream&) = delete;
  CapturedStream& operator=(const CapturedStream&) = delete;

  int descriptor() const { return descriptor_; }
  std::string text() const {
    std::string all;
    std::array<char, 4096> buffer{};
    for (off_t at = 0;;) {
      const ssize_t count = ::pread(descriptor_, buffer.data(), buffer.size(), at);
      if (count <= 0) return all;
      all.append(buffer.data(), static_cast<std::size_t>(count));
      at += count;
    }
  }

 private:
  int descriptor_;
};

}  // namespace

CapturedCommand run_captured(const std::vector<std::string>& command, const std::string& flag) {
  const auto failed = [&](int error) {
    fail("program-failed", fmt::format("{} cannot be started: {}", in_quotes(command.front()), std::strerror(error)),
         SourcePlace::named(flag), "is it installed, and found by PATH?");
  };
  const CapturedStream output;
  const CapturedStream errors;
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.descriptor(), STDERR_FILENO);
  pid_t process = -1;
  const int error = posix_spawnp(&process, words.front(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) failed(error);
  int status = 0;
  while (waitpid(process, &status, 0) == -1) {
    if (errno != EINTR) failed(errno);
  }
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  CapturedCommand result{signal != 0 ? 128 + signal : WEXITSTATUS(status), signal, output.text(), errors.text()};
  while (result.errors.ends_with('\n')) result.errors.pop_back();
  return result;
}

}  // namespace weft
