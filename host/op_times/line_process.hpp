// SPDX-License-Identifier: Apache-2.0
// Line process: a user's program that is asked line by line, on its standard input, and answers
// line by line, on its standard output.
//
// Where it sits: under external_times.
// The command is a list of words that is run as it stands, found by PATH; no shell sees it. Its
// standard error is that of this process. Both ends of the conversation are one socket, so that a
// program that is gone is an error here and no signal.
// Invariants: 1. the process is waited for before the object is gone: it is told by the end of its
// input, after a second by SIGTERM, after another by SIGKILL; what it started goes with it. 2.
// After a failure it is stopped.
// Threads: belongs to one thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class LineProcess {
 public:
  /// Throws InputError [external-not-started].
  LineProcess(std::vector<std::string> command, std::chrono::milliseconds timeout);
  ~LineProcess();
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  /// Writes a line and reads the next one, both without their ends. Throws InputError
  /// [external-timeout], [external-ended], [external-bad-answer] for a line without end.
  std::string ask(std::string_view line);
  static constexpr std::size_t answer_max = 65536;

  /// Ends the process and waits for it; "ended with status 3", "was ended by signal 15".
  std::string stop();
  const std::string& name() const { return name_; }

 private:
  using Instant = std::chrono::steady_clock::time_point;
  void write(std::string_view text, Instant deadline, std::string_view asked);
  std::string read_line(Instant deadline, std::string_view asked);
  bool wait_for(std::chrono::milliseconds patience);
  [[noreturn]] void fail_timeout(std::string_view asked);
  [[noreturn]] void fail_ended(std::string_view asked);

  std::string name_;  ///< the command, for messages
  std::chrono::milliseconds timeout_;
  int socket_ = -1;
  pid_t process_ = -1;  ///< -1: it was waited for
  int status_ = 0;
  std::string received_;  ///< behind the last line
};

/// Words of a command, at blanks outside '...' and "..."; nothing else has a meaning. Throws
/// InputError [bad-value] for an open quote and for no word.
std::vector<std::string> command_words(std::string_view command, std::string_view flag);

}  // namespace weft
