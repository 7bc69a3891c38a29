// SPDX-License-Identifier: Apache-2.0
// Log: what a part of Weft wants to say while it works. A logger is passed in; there is no global
// one, and the default says nothing.
//
// Where it sits: tools makes one and hands it down in options (EngineOptions::log). Underneath is
// spdlog, which no header shows. Messages are whole sentences without a final stop. Results never
// go through here.
// Threads: copies share their target; any thread may write.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

enum class LogLevel { debug, info, warning, error };

class Log {
 public:
  /// Says nothing.
  Log() = default;
  /// Writes "time level message" lines to standard error.
  static Log to_standard_error(LogLevel least);
  /// Hands every message to `receive`, one at a time.
  static Log to_function(std::function<void(LogLevel, std::string_view)> receive, LogLevel least);

  /// Whether a message of this level goes anywhere: ask before making an expensive one.
  bool wants(LogLevel level) const;
  void debug(std::string_view message) const { write(LogLevel::debug, message); }
  void info(std::string_view message) const { write(LogLevel::info, message); }
  void warning(std::string_view message) const { write(LogLevel::warning, message); }
  void error(std::string_view message) const { write(LogLevel::error, message); }

 private:
  struct Target;
  void write(LogLevel level, std::string_view message) const;
  std::shared_ptr<const Target> target_;
};

}  // namespace weft
