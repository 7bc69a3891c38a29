// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/line_process.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds patience_with_end{1000};
constexpr milliseconds look_again{2};
constexpr int not_reaped = -1;

std::string text_of_errno(int number) { return std::generic_category().message(number); }

std::string text_of_status(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

/// What a new process begins with: the socket as input and output, signals as usual, and a process
/// group of its own, which whatever it starts belongs to.
class SpawnSettings {
 public:
  explicit SpawnSettings(int socket) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files_, socket, STDOUT_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&signals, signal);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  int spawn(std::vector<std::string>& command, pid_t& process) {
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    return posix_spawnp(&process, words.front(), &files_, &attributes_, words.data(), environ);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

/// Waits until the socket is ready for this, or the deadline is over.
bool is_ready(int socket, short what, steady_clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    pollfd ready{socket, what, 0};
    const int found = poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000)));
    if (found > 0) return true;
    if (found == 0 || errno != EINTR) return false;
  }
}

}  // namespace

LineProcess::LineProcess(std::vector<std::string> command, milliseconds timeout)
    : name_(fmt::format("{}", fmt::join(command, " "))), timeout_(timeout) {
  std::array<int, 2> ends{};
  int error = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0 ? 0 : errno;
  if (error == 0) {
    error = SpawnSettings(ends[1]).spawn(command, process_);
    close(ends[1]);
    socket_ = ends[0];
  }
  if (error == 0) return;
  process_ = not_reaped;
  if (socket_ >= 0) close(socket_);
  fail("external-not-started", fmt::format("the program cannot be started: {}", text_of_errno(error)), SourcePlace::named(name_),
       "give its path, or a name that is found by PATH");
}

LineProcess::~LineProcess() { stop(); }

std::string LineProcess::ask(std::string_view line) {
  if (process_ == not_reaped) fail_ended(line);
  const Instant deadline = steady_clock::now() + timeout_;
  write(std::string(line) + "\n", deadline, line);
  return read_line(deadline, line);
}

void LineProcess::write(std::string_view text, Instant deadline, std::string_view asked) {
  while (!text.empty()) {
    if (!is_ready(socket_, POLLOUT, deadline)) fail_timeout(asked);
    const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      fail_ended(asked);
    }
  }
}

std::string LineProcess::read_line(Instant deadline, std::string_view asked) {
  while (true) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    if (received_.size() > answer_max) {
      const std::string begin = received_.substr(0, quoted_length_max);
      stop();
      fail("external-bad-answer",
           fmt::format("the answer to {} is a line of more than {} letters: {}", in_quotes(asked), answer_max, in_quotes(begin)),
           SourcePlace::named(name_), "answer every line by one line");
    }
    if (!is_ready(socket_, POLLIN, deadline)) fail_timeout(asked);
    std::array<char, 4096> bytes{};
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      received_.append(bytes.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      fail_ended(asked);
    }
  }
}

bool LineProcess::wait_for(milliseconds patience) {
  const Instant deadline = steady_clock::now() + patience;
  while (true) {
    const pid_t found = waitpid(process_, &status_, WNOHANG);
    if (found == process_ || (found < 0 && errno != EINTR)) {
      process_ = not_reaped;
      return true;
    }
    if (steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(look_again);
  }
}

std::string LineProcess::stop() {
  if (process_ == not_reaped) return text_of_status(status_);
  close(socket_);
  socket_ = -1;
  const pid_t group = process_;
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (wait_for(patience_with_end)) break;
    kill(-group, signal);
  }
  while (process_ != not_reaped) wait_for(patience_with_end);
  // What the program had started and left behind.
  kill(-group, SIGKILL);
  return text_of_status(status_);
}

void LineProcess::fail_timeout(std::string_view asked) {
  stop();
  fail("external-timeout",
       fmt::format("no answer within {} s to {}", static_cast<double>(timeout_.count()) / 1000, in_quotes(asked)),
       SourcePlace::named(name_), "write a line for every line that is read, and flush it");
}

void LineProcess::fail_ended(std::string_view asked) {
  fail("external-ended", fmt::format("the program {} instead of answering {}", stop(), in_quotes(asked)), SourcePlace::named(name_),
       "it must read and answer lines until its input ends");
}

std::vector<std::string> command_words(std::string_view command, std::string_view flag) {
  std::vector<std::string> words;
  bool is_in_word = false;
  char quote = 0;
  for (const char letter : command) {
    if (quote != 0) {
      if (letter == quote) {
        quote = 0;
      } else {
        words.back() += letter;
      }
      continue;
    }
    if (letter == ' ' || letter == '\t') {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    if (letter == '\'' || letter == '"') {
      quote = letter;
    } else {
      words.back() += letter;
    }
  }
  const SourcePlace place = SourcePlace::named(std::string(flag));
  if (quote != 0) fail("bad-value", fmt::format("a quote is open in {}", in_quotes(command)), place, "close it");
  if (words.empty() || words.front().empty()) {
    fail("bad-value", "the command has no program", place, "write it as in \"python3 chip.py\"");
  }
  return words;
}

}  // namespace weft
