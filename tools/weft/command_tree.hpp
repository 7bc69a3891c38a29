// SPDX-License-Identifier: Apache-2.0
// The commands of `weft` and their options as plain data, read from CLI11's tree, for what is
// generated from them: completions and the manual page.
//
// Thread safety: plain values; reading the tree belongs to the thread that parses the command line.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft {

struct CommandOption {
  std::string name;          ///< "--mode"; of a positional, "scenario"
  std::string names;         ///< "-h, --help"
  std::string type;          ///< "MODE", "FILE[:format]"; "" for a flag
  std::string default_text;  ///< "" for none
  std::string description;
  std::vector<std::string> choices;  ///< where only some words are taken
  bool is_positional = false;
  bool is_required = false;
  bool is_repeatable = false;
  bool takes_value = false;
  bool value_is_optional = false;
};

struct Command {
  std::string path;  ///< "topology build"; "" for weft itself
  std::string description;
  std::string footer;
  std::vector<CommandOption> options;
  std::vector<std::string> subcommands;
};

/// weft itself first, then every command, each before its subcommands.
std::vector<Command> command_tree(const CLI::App& app);

/// The manual page weft(1) in roff.
std::string manual_page(const std::vector<Command>& commands, const std::string& version);

}  // namespace weft
