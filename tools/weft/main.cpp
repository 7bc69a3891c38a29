// SPDX-License-Identifier: Apache-2.0
// The `weft` command: all of it is in the library, so that tests can link it.
#include "tools/weft/commands.hpp"

int main(int argc, char** argv) { return weft::run_command_line(argc, argv); }
