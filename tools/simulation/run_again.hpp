// SPDX-License-Identifier: Apache-2.0
// Run again: the scenario of a results folder, read anew from the inputs that its manifest names.
//
// Where it sits: commands that take a folder or a scenario file and run it: `weft explain`, and
// `weft compare` with several seeds.
// Model: flags come from the manifest: inputs by role with their options, mode, seed, policies,
// settings of workloads, and each parameter that is not at its default. What they load must have
// the same inputs, bit by bit, and the same manifest otherwise; else the run cannot be repeated and
// that is said.
// Threads: one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/simulation/scenario/run_flags.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// Whether the path is a folder, which can only be that of a run's results.
bool is_results_folder(const std::string& path);

/// Throws InputError [not-results], [unfinished-run], [bad-manifest], [input-missing],
/// [input-changed], and [cannot-repeat] where what the manifest says is not all of the run.
RunFlags flags_of_results(const std::filesystem::path& folder);

}  // namespace weft
