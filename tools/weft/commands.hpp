// SPDX-License-Identifier: Apache-2.0
// The command line of `weft`, and its subcommands, one source file each. Each adds itself to the
// command line and leaves behind what to do when it is chosen.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace weft {

/// What the chosen subcommand does; returns the exit status. 0 done, 1 the question's answer is no
/// or a run stands still, 2 wrong input or use, 3 a bug in Weft, 130 interrupted by the user.
using Action = std::function<int()>;

inline constexpr int exit_done = 0;
inline constexpr int exit_no = 1;
inline constexpr int exit_input = 2;
inline constexpr int exit_bug = 3;
inline constexpr int exit_interrupted = 130;

/// Reads the command line, runs the subcommand, turns failures into messages on standard error.
/// Returns the exit status.
int run_command_line(int argc, char** argv);

void add_run_command(CLI::App& app, Action& action);
void add_check_command(CLI::App& app, Action& action);
void add_topology_command(CLI::App& app, Action& action);
void add_workload_command(CLI::App& app, Action& action);
void add_jobs_command(CLI::App& app, Action& action);
void add_schedule_command(CLI::App& app, Action& action);
void add_project_command(CLI::App& app, Action& action);
void add_optimes_command(CLI::App& app, Action& action);
void add_compare_command(CLI::App& app, Action& action);
void add_study_command(CLI::App& app, Action& action);
void add_explain_command(CLI::App& app, Action& action);
void add_report_command(CLI::App& app, Action& action);
void add_predict_command(CLI::App& app, Action& action);
void add_calibrate_command(CLI::App& app, Action& action);
void add_modules_command(CLI::App& app, Action& action);
void add_tables_command(CLI::App& app, Action& action);
void add_completion_command(CLI::App& app, Action& action);

}  // namespace weft
