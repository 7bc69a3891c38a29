// SPDX-License-Identifier: Apache-2.0
// `weft project`: what a model under a plan needs on a cluster, calculated before it is run.
#include <CLI/CLI.hpp>

#include "tools/weft/project_commands.hpp"

namespace weft {

void add_project_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("project", "Project what a model under a parallel plan needs on a cluster");
  command->require_subcommand(1);
  add_project_memory_command(*command, action);
  add_project_training_command(*command, action);
  add_project_search_command(*command, action);
  add_project_decentralized_command(*command, action);
}

}  // namespace weft
