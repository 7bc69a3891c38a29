// SPDX-License-Identifier: Apache-2.0
// The flags that say more about a foreign workload than its path, the same for every subcommand
// that reads one.
#pragma once

#include "workloads/formats/workload_reader.hpp"

namespace CLI {
class App;
}

namespace weft {

/// Adds --ranks, --scale-group, --iteration, --process-groups, --time-unit and --as-recorded.
/// `options` outlives the command.
void add_workload_flags(CLI::App& command, WorkloadOptions& options);

}  // namespace weft
