// The subcommands of `weft`, one source file each. Each adds itself to the command line and leaves behind what to do when it is chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace weft {

/// What the chosen subcommand does; returns the exit status. 0 done, 1 the question's answer is no, 2 wrong input or use, 3 a bug in Weft,
/// 130 interrupted by the user.
using Action = std::function<int()>;

inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;
inline constexpr int kExitInput = 2;
inline constexpr int kExitBug = 3;
inline constexpr int kExitInterrupted = 130;

void add_run_command(CLI::App& app, Action& action);
void add_check_command(CLI::App& app, Action& action);
void add_topology_command(CLI::App& app, Action& action);
void add_workload_command(CLI::App& app, Action& action);
void add_modules_command(CLI::App& app, Action& action);

/// For whole numbers of which 0 makes no sense. CLI::PositiveNumber names the largest double when it refuses one.
inline CLI::Validator at_least_one() {
  const auto complaint = [](const std::string& text) {
    std::int64_t value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    return is_number && value < 1 ? text + " is too few, at least 1 is needed" : std::string();
  };
  return {complaint, "POSITIVE"};
}

/// "FILE[:format]" as given on the command line. The part after the last colon is a format only if it holds no slash or dot.
struct FileAndFormat {
  std::string file;
  std::string format;  ///< empty: by the file's ending
};
FileAndFormat split_format(const std::string& text);

}  // namespace weft
