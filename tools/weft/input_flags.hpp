// SPDX-License-Identifier: Apache-2.0
// The flags of every subcommand that reads files.
#pragma once

namespace CLI {
class App;
}

namespace weft {

/// Adds --unpacked-max.
void add_input_flags(CLI::App& command);

}  // namespace weft
