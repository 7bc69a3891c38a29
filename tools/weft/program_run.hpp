// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end, with this one's standard streams.
//
// Where it sits: `weft project memory --save-benchmark` starts the kernel sampler with it.
// Threads: one at a time, as the program shares the terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The command is a list of words that is run as it stands, found by PATH; no shell sees it. Its
/// standard output goes to this program's standard error. Throws InputError [program-failed] at
/// `flag` where it cannot be started or ends with another status than 0.
void run_program(const std::vector<std::string>& command, std::string_view flag);

}  // namespace weft
