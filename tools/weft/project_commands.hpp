// SPDX-License-Identifier: Apache-2.0
// Subcommands of `weft project`, one source file each.
#pragma once

#include "tools/weft/commands.hpp"

namespace weft {

void add_project_decentralized_command(CLI::App& project, Action& action);
void add_project_memory_command(CLI::App& project, Action& action);
void add_project_search_command(CLI::App& project, Action& action);
void add_project_training_command(CLI::App& project, Action& action);

}  // namespace weft
