// SPDX-License-Identifier: Apache-2.0
// `weft completion SHELL`: a script that completes commands, flags, their values, modules and
// parameters in bash or zsh.
//
// Where it sits: packages install what it prints, and users may source it. All names come from the
// command line's own tables (CLI11's tree of commands and options); names of modules and parameters
// are asked of `weft modules` when a user completes.
//
// The bash script is one function for all commands with tables by command ("topology build"); bash
// splits words at "=" and ":", so the function splits the line itself and hands back what follows
// the last of these. The zsh script has a function for each command.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "tools/weft/command_tree.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

/// What the value of an option is, in the words of both scripts.
struct ValueKind {
  std::string_view command;
  std::string_view option;
  std::string_view kind;  ///< "modules KIND", "settings", "settings-of WHERE"
};

/// Values that name modules or parameters; all others are choices, files or free.
constexpr std::array<ValueKind, 12> module_values = {{
    {"run", "--scheduler", "modules scheduler"},
    {"run", "--placement", "modules placement"},
    {"run", "--set", "settings"},
    {"predict", "--set", "settings"},
    {"modules", "kind", "kinds"},
    {"modules", "--set", "settings-of nccl"},
    {"modules", "--machine", "modules machine"},
    {"topology build", "builder", "modules topology"},
    {"topology build", "--set", "settings-of builder"},
    {"workload make", "--template", "modules template"},
    {"workload make", "--set", "settings-of --template"},
    {"jobs make", "--template", "modules job-template"},
}};

/// "files", "folders", "commands", "choices a b c", one of the above, or "" for text of any kind.
std::string value_kind(const Command& command, const CommandOption& option) {
  for (const ValueKind& value : module_values) {
    if (value.command == command.path && value.option == option.name) return std::string(value.kind);
  }
  if (command.path == "jobs make" && option.name == "--set") return "settings-of --template";
  if (command.path == "help" && option.is_positional) return "commands";
  if (!option.choices.empty()) {
    std::string kind = "choices";
    for (const std::string& choice : option.choices) kind += fmt::format(" {}", choice);
    return kind;
  }
  if (option.type.starts_with("DIR")) return "folders";
  if (option.type.starts_with("FILE") || option.type.find(".textproto") != std::string::npos) return "files";
  return "";
}

/// Fails when a row above names what the command line no longer has.
void check_module_values(const std::vector<Command>& commands) {
  for (const ValueKind& value : module_values) {
    bool is_found = false;
    for (const Command& command : commands) {
      for (const CommandOption& option : command.options) {
        is_found = is_found || (command.path == value.command && option.name == value.option);
      }
    }
    WEFT_CHECK(is_found, "options that complete module names exist");
  }
}

constexpr std::string_view bash_functions = R"bash(
# The second column of `weft modules --names`: names of modules of a kind, or of all kinds that have parameters of a run.
_weft_names_of() {
  if [ -n "$1" ]; then
    weft modules "$1" --names 2>/dev/null | awk -v kind="$1" '$1 == kind { print $2 }'
  else
    weft modules --names 2>/dev/null | awk '$1 !~ /format$|template$|^(server|machine|preset|handler)$/ { print $2 }' | sort -u
  fi
}

# What may stand behind --set=: "module." or "preset=" first, then the module's parameters, then a parameter's choices. With a module
# as the second argument its parameters come without the module's name.
_weft_settings() {
  local value=$1 module=$2 name
  if [ -z "$module" ]; then
    case $value in
      preset=*) _weft_names_of preset | sed 's/^/preset=/' ; return ;;
      *.*) ;;
      *) _weft_names_of | sed 's/$/./' ; echo preset= ; return ;;
    esac
  fi
  if [[ $value == *=* ]]; then
    name=${value%%=*}
    weft modules "${module:+$module.}$name" 2>/dev/null | sed -n 's/^  [^ ].*(choice, \([^)]*\))$/\1/p' | tr '|' '\n' |
      sed "s/^/$name=/"
  else
    weft modules "${module:-${value%%.*}}" 2>/dev/null | sed -n 's/^  \([a-z0-9_]*\.[a-z0-9_]*\) = .*/\1=/p' |
      if [ -n "$module" ]; then sed 's/^[^.]*\.//'; else cat; fi
  fi
}

_weft() {
  local line=${COMP_LINE:0:COMP_POINT} words path='' word option='' value kind module='' prefix='' i
  read -r -a words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=('')
  local current=${words[${#words[@]} - 1]} positional=0
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    word=${words[i]}
    if [[ " $(_weft_commands "$path") " == *" $word "* ]]; then
      path=${path:+$path }$word
    elif [[ $word != -* ]] && [[ ${words[i - 1]} != -* || ${words[i - 1]} == *=* || -z $(_weft_takes_value "$path" "${words[i - 1]}") ]]; then
      positional=$((positional + 1))
      [ "$path" != 'topology build' ] || module=$word
    fi
    case $word in
      --template=*) module=${word#*=} ;;
      --template) module=${words[i + 1]} ;;
    esac
  done
  COMPREPLY=()
  word=${words[${#words[@]} - 2]}
  if [[ $current == --*=* ]]; then
    option=${current%%=*}
    prefix=$option=
  elif [[ ${#words[@]} -gt 2 && $word == -* && -n $(_weft_takes_value "$path" "$word") ]]; then
    option=$word
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_weft_options "$path")" -- "$current")
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
    return
  elif [ -n "$(_weft_commands "$path")" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_weft_commands "$path")" -- "$current")
    return
  fi
  value=${current#"$prefix"}
  kind=$(_weft_value "$path" "${option:-positional}")
  case $kind in
    choices\ *) mapfile -t COMPREPLY < <(compgen -W "${kind#choices }" -- "$value") ;;
    modules\ *) mapfile -t COMPREPLY < <(compgen -W "$(_weft_names_of "${kind#modules }")" -- "$value") ;;
    settings) mapfile -t COMPREPLY < <(compgen -W "$(_weft_settings "$value" '')" -- "$value") ;;
    settings-of\ nccl)
      if [[ $value == nccl.* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_weft_settings "$value" '')" -- "$value")
      else
        mapfile -t COMPREPLY < <(compgen -W nccl. -- "$value")
      fi
      ;;
    settings-of\ *) [ -z "$module" ] || mapfile -t COMPREPLY < <(compgen -W "$(_weft_settings "$value" "$module")" -- "$value") ;;
    kinds)
      if [[ $value == *.* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_weft_settings "$value" '' | sed 's/=$//')" -- "$value")
      else
        mapfile -t COMPREPLY < <(compgen -W "$(weft modules --names 2>/dev/null | awk '{ print $1; print $2 }' | sort -u)" -- "$value")
      fi
      ;;
    commands)
      path=''
      for word in "${words[@]:2:${#words[@]}-3}"; do path=${path:+$path }$word; done
      mapfile -t COMPREPLY < <(compgen -W "$(_weft_commands "$path")" -- "$value")
      ;;
    files)
      mapfile -t COMPREPLY < <(compgen -f -- "$value")
      compopt -o filenames 2>/dev/null
      ;;
    folders)
      mapfile -t COMPREPLY < <(compgen -d -- "$value")
      compopt -o filenames 2>/dev/null
      ;;
  esac
  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[.=] ]] || compopt -o nospace 2>/dev/null
  # Readline replaces what follows the last "=" or ":" only.
  if [[ $value == *[=:]* ]]; then
    prefix=${value%"${value##*[=:]}"}
    COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
  fi
}
complete -F _weft weft
)bash";

/// A function that prints a text for its first argument, or its first two ("run --mode").
std::string bash_table(std::string_view name, const std::vector<std::pair<std::string, std::string>>& rows, bool has_two_keys) {
  std::string out = fmt::format("{}() {{\n  case $1{} in\n", name, has_two_keys ? "\\ $2" : "");
  for (const auto& [key, text] : rows) out += fmt::format("    '{}') echo '{}' ;;\n", key, text);
  return out + "  esac\n}\n";
}

std::string bash_script(const std::vector<Command>& commands) {
  std::vector<std::pair<std::string, std::string>> subcommands;
  std::vector<std::pair<std::string, std::string>> flags;
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::pair<std::string, std::string>> with_value;
  for (const Command& command : commands) {
    std::string names;
    for (const std::string& name : command.subcommands) names += (names.empty() ? "" : " ") + name;
    if (!names.empty()) subcommands.emplace_back(command.path, names);
    std::string options;
    for (const CommandOption& option : command.options) {
      if (!option.is_positional) {
        options += (options.empty() ? "" : " ") + option.name + (option.takes_value && !option.value_is_optional ? "=" : "");
        if (option.takes_value && !option.value_is_optional)
          with_value.emplace_back(fmt::format("{} {}", command.path, option.name), "1");
      }
      const std::string kind = value_kind(command, option);
      if (!kind.empty())
        values.emplace_back(fmt::format("{} {}", command.path, option.is_positional ? "positional" : option.name), kind);
    }
    flags.emplace_back(command.path, options);
  }
  return fmt::format("# Completion of weft in bash, as `weft completion bash` prints it.\n{}{}{}{}{}",
                     bash_table("_weft_commands", subcommands, false), bash_table("_weft_options", flags, false),
                     bash_table("_weft_value", values, true), bash_table("_weft_takes_value", with_value, true), bash_functions);
}

constexpr std::string_view zsh_functions = R"zsh(
_weft_names_of() {
  local -a names
  names=(${(f)"$(weft modules $1 --names 2>/dev/null | awk -v kind=$1 '$1 == kind { print $2 }')"})
  compadd -a names
}

# What may stand behind --set=; with a module, its parameters come without the module's name.
_weft_settings() {
  local module=$1 name=${PREFIX%%=*}
  local -a found
  if [[ -z $module && $PREFIX == preset=* ]]; then
    found=(preset=${^${(f)"$(weft modules preset --names 2>/dev/null | awk '{ print $2 }')"}})
  elif [[ -z $module && $PREFIX != *.* ]]; then
    found=(${(f)"$(weft modules --names 2>/dev/null | awk '$1 !~ /format$|template$|^(server|machine|preset|handler)$/ { print $2 "." }' | sort -u)"} preset=)
    compadd -S '' -a found
    return
  elif [[ $PREFIX == *=* ]]; then
    found=(${(f)"$(weft modules ${module:+$module.}$name 2>/dev/null | sed -n 's/^  [^ ].*(choice, \([^)]*\))$/\1/p' | tr '|' '\n' | sed "s/^/$name=/")"})
  else
    found=(${(f)"$(weft modules ${module:-${PREFIX%%.*}} 2>/dev/null | sed -n 's/^  \([a-z0-9_]*\.[a-z0-9_]*\) = .*/\1=/p')"})
    [[ -z $module ]] || found=(${found#*.})
    compadd -S '' -a found
    return
  fi
  compadd -a found
}

_weft_settings_of() {
  local word module
  case $1 in
    nccl) compadd -S '' ${(f)"$(weft modules nccl 2>/dev/null | sed -n 's/^  \(nccl\.[a-z0-9_]*\) = .*/\1=/p')"} ; return ;;
    builder) module=${${(M)words[2,-1]:#[^-]*}[1]} ;;
    *) module=${${(M)words:#--template=*}#--template=}
       [[ -n $module ]] || module=${words[$((${words[(i)--template]} + 1))]} ;;
  esac
  [[ -z $module ]] || _weft_settings $module
}

_weft_kinds() {
  local -a found
  if [[ $PREFIX == *.* ]]; then
    found=(${(f)"$(weft modules ${PREFIX%%.*} 2>/dev/null | sed -n 's/^  \([a-z0-9_]*\.[a-z0-9_]*\) = .*/\1/p')"})
  else
    found=(${(f)"$(weft modules --names 2>/dev/null | awk '{ print $1; print $2 }' | sort -u)"})
  fi
  compadd -a found
}
)zsh";

/// Between single quotes and as part of an _arguments specification.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
      continue;
    }
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') out += '\\';
    out += letter == '\n' ? ' ' : letter;
  }
  return out;
}

std::string zsh_function_name(const std::string& path) {
  std::string name = fmt::format("_weft{}", path.empty() ? "" : fmt::format("_{}", path));
  for (char& letter : name) {
    if (letter == ' ' || letter == '-') letter = '_';
  }
  return name;
}

/// A blank in front: zsh adds no arguments of its own to the function's.
std::string zsh_action(const std::string& kind) {
  if (kind.starts_with("choices ")) return fmt::format("({})", kind.substr(8));
  if (kind.starts_with("modules ")) return fmt::format(" _weft_names_of {}", kind.substr(8));
  if (kind.starts_with("settings-of ")) return fmt::format(" _weft_settings_of {}", kind.substr(12));
  if (kind == "settings") return " _weft_settings";
  if (kind == "kinds") return " _weft_kinds";
  if (kind == "files") return "_files";
  if (kind == "folders") return "_files -/";
  return "";
}

/// The function of one command: its options, then its commands or what stands in their place.
std::string zsh_function(const Command& command, const std::vector<Command>& commands) {
  std::string out = fmt::format("{}() {{\n", zsh_function_name(command.path));
  const bool has_commands = !command.subcommands.empty() || command.path == "help";
  if (has_commands) out += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n";
  out += fmt::format("  _arguments{}", has_commands ? " -C" : "");
  for (const CommandOption& option : command.options) {
    const std::string action = zsh_action(value_kind(command, option));
    const std::string type = zsh_text(option.type.empty() ? "value" : option.type);
    if (option.is_positional) {
      if (!has_commands) out += fmt::format(" \\\n    '{}:{}:{}'", option.is_repeatable ? "*" : "", type, action);
      continue;
    }
    out += fmt::format(" \\\n    '{}{}", option.is_repeatable ? "*" : "", option.name);
    if (option.takes_value) out += option.value_is_optional ? "=-" : "=";
    out += fmt::format("[{}]", zsh_text(option.description));
    if (option.takes_value) out += fmt::format("{}{}:{}", option.value_is_optional ? "::" : ":", type, action);
    out += "'";
  }
  if (!has_commands) return out + "\n}\n";
  const Command& listed = command.path == "help" ? commands.front() : command;
  out += " \\\n    '1: :->command' '*:: :->arguments'\n  case $state in\n    command)\n      local -a names=(\n";
  for (const std::string& name : listed.subcommands) {
    for (const Command& other : commands) {
      if (other.path != (listed.path.empty() ? "" : fmt::format("{} ", listed.path)) + name) continue;
      out += fmt::format("        '{}:{}'\n", name, zsh_text(other.description));
    }
  }
  out += "      )\n      _describe command names ;;\n";
  if (command.path != "help") {
    out += "    arguments)\n      case $line[1] in\n";
    for (const std::string& name : command.subcommands) {
      out += fmt::format("        {}) {} ;;\n", name,
                         zsh_function_name((command.path.empty() ? "" : fmt::format("{} ", command.path)) + name));
    }
    out += "      esac ;;\n";
  }
  return out + "  esac\n}\n";
}

std::string zsh_script(const std::vector<Command>& commands) {
  std::string out =
      fmt::format("#compdef weft\n# Completion of weft in zsh, as `weft completion zsh` prints it.\n{}", zsh_functions);
  for (const Command& command : commands) out += fmt::format("\n{}", zsh_function(command, commands));
  return out + "\nif [ \"$funcstack[1]\" = _weft ]; then\n  _weft \"$@\"\nelse\n  compdef _weft weft\nfi\n";
}

}  // namespace

void add_completion_command(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes commands, flags and names in a shell");
  command->add_option("shell", *shell, "Which shell")->type_name("SHELL")->check(one_of({"bash", "zsh"}))->required();
  command->footer(
      "Examples:\n  source <(weft completion bash)      # in ~/.bashrc\n"
      "  source <(weft completion zsh)       # in ~/.zshrc, after compinit\nPackages install both.");
  command->callback([&app, shell, &action] {
    action = [&app, shell] {
      const std::vector<Command> commands = command_tree(app);
      check_module_values(commands);
      std::cout << (*shell == "bash" ? bash_script(commands) : zsh_script(commands));
      return exit_done;
    };
  });
}

}  // namespace weft
