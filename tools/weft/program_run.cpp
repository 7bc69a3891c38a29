// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/program_run.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

extern char** environ;

namespace weft {

void run_program(const std::vector<std::string>& command, std::string_view flag) {
  const auto failed = [&](const std::string& why, const char* help) {
    fail("program-failed", fmt::format("{} {}", in_quotes(command.front()), why), SourcePlace::named(std::string(flag)), help);
  };
  const char* const wrote = "what it wrote stands above";
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t process = -1;
  const int error = posix_spawnp(&process, words.front(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) failed(fmt::format("cannot be started: {}", std::strerror(error)), "is it installed, and found by PATH?");
  int status = 0;
  while (waitpid(process, &status, 0) == -1) {
    if (errno != EINTR) failed(fmt::format("cannot be waited for: {}", std::strerror(errno)), wrote);
  }
  if (WIFSIGNALED(status)) failed(fmt::format("was ended by signal {}", WTERMSIG(status)), wrote);
  if (WEXITSTATUS(status) != 0) failed(fmt::format("ended with status {}", WEXITSTATUS(status)), wrote);
}

}  // namespace weft
