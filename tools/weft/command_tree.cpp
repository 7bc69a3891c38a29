// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/command_tree.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

namespace {

CommandOption read_option(const CLI::Option& option) {
  CommandOption read;
  read.is_positional = option.get_positional();
  for (const std::string& name : option.get_snames()) read.names += (read.names.empty() ? "" : ", ") + fmt::format("-{}", name);
  for (const std::string& name : option.get_lnames()) read.names += (read.names.empty() ? "" : ", ") + fmt::format("--{}", name);
  if (read.is_positional) read.names = option.get_name(true, false);
  read.name = read.is_positional ? read.names : fmt::format("--{}", option.get_lnames().front());
  read.takes_value = option.get_items_expected_max() != 0;
  read.value_is_optional = read.takes_value && option.get_expected_min() == 0;
  read.is_repeatable = read.takes_value && option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  read.is_required = option.get_required();
  read.description = option.get_description();
  if (!read.takes_value) return read;
  read.default_text = option.get_default_str();
  read.type = option.get_type_name();
  // Validators say what they take behind a colon: "MODE:{job,flow,packet}", "N:1..1024".
  const std::size_t brace = read.type.find(":{");
  if (brace == std::string::npos) return read;
  std::istringstream words(read.type.substr(brace + 2, read.type.size() - brace - 3));
  for (std::string word; std::getline(words, word, ',');) read.choices.push_back(word);
  read.type.resize(brace);
  return read;
}

void add_commands(const CLI::App& app, const std::string& path, std::vector<Command>& commands) {
  Command command;
  command.path = path;
  command.description = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) command.options.push_back(read_option(*option));
  }
  const std::vector<const CLI::App*> subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* sub : subcommands) command.subcommands.push_back(sub->get_name());
  commands.push_back(std::move(command));
  for (const CLI::App* sub : subcommands)
    add_commands(*sub, (path.empty() ? "" : fmt::format("{} ", path)) + sub->get_name(), commands);
}

/// Text of a manual page: nothing in it is a request of roff.
std::string roff(std::string_view text) {
  std::string out;
  bool is_line_start = true;
  for (const char letter : text) {
    if (is_line_start && (letter == '.' || letter == '\'')) out += "\\&";
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
    is_line_start = letter == '\n';
  }
  return out;
}

std::string roff_option(const CommandOption& option) {
  std::string out = fmt::format(".TP\n\\fB{}\\fR", roff(option.names));
  if (option.takes_value) {
    const std::string value = fmt::format("\\fI{}\\fR", roff(option.type));
    if (option.is_positional) {
      out = fmt::format(".TP\n{}", value);
    } else {
      out += option.value_is_optional ? fmt::format("[={}]", value) : fmt::format("={}", value);
    }
    if (option.is_repeatable) out += " ...";
  }
  out += fmt::format("\n{}", roff(option.description));
  std::string more;
  for (const std::string& choice : option.choices) more += (more.empty() ? "one of " : ", ") + choice;
  if (!option.default_text.empty()) more += (more.empty() ? "" : "; ") + fmt::format("default {}", option.default_text);
  if (option.is_required) more += fmt::format("{}required", more.empty() ? "" : "; ");
  return fmt::format("{}{}\n", out, more.empty() ? "" : roff(fmt::format(" ({})", more)));
}

}  // namespace

std::vector<Command> command_tree(const CLI::App& app) {
  std::vector<Command> commands;
  add_commands(app, "", commands);
  return commands;
}

std::string manual_page(const std::vector<Command>& commands, const std::string& version) {
  std::string out = fmt::format(
      ".TH WEFT 1 \"\" \"weft {}\" \"User Commands\"\n.SH NAME\nweft \\- simulate AI training clusters\n.SH SYNOPSIS\n.B weft\n"
      ".I COMMAND\n[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n",
      roff(version));
  // Blank lines part paragraphs.
  std::istringstream description(commands.front().description);
  for (std::string line; std::getline(description, line);) out += line.empty() ? ".PP\n" : fmt::format("{}\n", roff(line));
  out += ".SH OPTIONS\n";
  for (const CommandOption& option : commands.front().options) out += roff_option(option);
  out += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    const Command& command = commands[i];
    out += fmt::format(".SS \"weft {}\"\n{}.\n", roff(command.path), roff(command.description));
    for (const CommandOption& option : command.options) {
      if (option.name != "--help") out += roff_option(option);
    }
    if (!command.footer.empty()) out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.footer));
  }
  return out +
         ".SH SEE ALSO\n`weft modules` lists all modules and their parameters; `weft help COMMAND` prints one of the sections "
         "above.\n"
         "The package's folder share/weft/examples holds scenarios to begin with.\n";
}

}  // namespace weft
