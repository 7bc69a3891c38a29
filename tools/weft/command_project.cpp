// SPDX-License-Identifier: Apache-2.0
// `weft project`: what training a model under a parallel plan takes of a cluster.
#include "tools/weft/command_project.hpp"

#include <CLI/CLI.hpp>

namespace weft {

void add_project_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("project", "What training a model takes: time and plans, on the cluster's own fabric");
  command->require_subcommand(1);
  add_project_training_command(*command, action);
}

}  // namespace weft
