// SPDX-License-Identifier: Apache-2.0
// Reads the command line of `weft`, runs one subcommand, turns failures into messages and exit
// statuses.
#include "tools/weft/commands.hpp"
#include "tools/weft/help_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/out_of_memory.hpp"
#include "core/text/version.hpp"
#include "tools/weft/command_tree.hpp"

namespace weft {

namespace {

/// Names of the options that `app` and its chosen subcommands know, for suggestions.
std::vector<std::string> known_options(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(fmt::format("--{}", name));
  }
  for (const CLI::App* sub : app->get_subcommands()) {
    for (std::string& name : known_options(sub)) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> known_commands(const CLI::App* app) {
  const std::vector<CLI::App*> chosen = app->get_subcommands();
  if (!chosen.empty()) return known_commands(chosen.front());
  std::vector<std::string> names;
  for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) names.push_back(sub->get_name());
  return names;
}

std::string chosen_path(const CLI::App* app) {
  std::string path = app->get_name();
  for (const CLI::App* sub : app->get_subcommands()) path += fmt::format(" {}", chosen_path(sub));
  return path;
}

int report_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto place = SourcePlace::named(chosen_path(&app));
  std::string help = fmt::format("`{} --help` lists what it takes", chosen_path(&app));
  std::string message = error.what();
  // A word that nobody takes explains a missing subcommand as well.
  if (const std::vector<std::string> left = app.remaining(true); !left.empty()) {
    const std::string word = left.front().substr(0, left.front().find('='));
    const bool is_option = word.starts_with("-");
    const bool lacks_command = !is_option && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    message = is_option       ? fmt::format("there is no option \"{}\"", word)
              : lacks_command ? fmt::format("there is no command \"{}\"", word)
                              : fmt::format("\"{}\" is not expected here", word);
    const std::string best = closest(word, is_option ? known_options(&app) : known_commands(&app));
    if (!best.empty()) help = fmt::format("did you mean \"{}\"?", best);
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    message = std::string("something is missing: ") + error.what();
  }
  std::replace(message.begin(), message.end(), '\n', ' ');
  const Diagnostic diagnostic{Severity::error, "usage", message, place, help};
  std::fputs(diagnostic.to_text().c_str(), stderr);
  return exit_input;
}

/// CLI11 would take the next argument for the value.
void check_values(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return;
    if (!argument.starts_with("--") || argument.find('=') != argument.size() - 1) continue;
    fail("usage", fmt::format("{} has no value", argument), SourcePlace::named("weft"),
         "write one behind the equals sign, or leave the equals sign out");
  }
}

/// `weft help run`: as `weft run --help`. Returns the exit status.
int print_help(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* asked = &app;
  std::string parents;
  for (const std::string& word : words) {
    const std::vector<CLI::App*> commands = asked->get_subcommands([](const CLI::App*) { return true; });
    const auto next = std::ranges::find(commands, word, [](const CLI::App* command) { return command->get_name(); });
    if (next == commands.end()) {
      std::vector<std::string> known;
      for (const CLI::App* command : commands) known.push_back(command->get_name());
      fail("usage", fmt::format("there is no command {}", in_quotes(word)), SourcePlace::named("weft help"),
           suggestion(word, known, "command"));
    }
    parents += (parents.empty() ? "" : " ") + asked->get_name();
    asked = *next;
  }
  // CLI::App::help() would go on to the command that was parsed, which is `help`.
  const std::string name = (parents.empty() ? "" : fmt::format("{} ", parents)) + asked->get_name();
  std::cout << asked->get_formatter()->make_help(asked, name, CLI::AppFormatMode::Normal);
  return exit_done;
}

/// Help in lines that fit a terminal.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return wrapped_help(CLI::Formatter::make_help(app, std::move(name), mode));
  }
};

/// What other programs have as commands, too.
void add_help_and_version(CLI::App& app, Action& action) {
  auto words = std::make_shared<std::vector<std::string>>();
  auto is_manual = std::make_shared<bool>(false);
  CLI::App* const help = app.add_subcommand("help", "Print what a command does and takes, as its --help");
  help->add_option("command", *words, "Such as run, or workload make")->type_name("COMMAND");
  help->add_flag("--man", *is_manual, "Print the manual page of all commands instead, for man -l")->excludes("command");
  help->callback([&app, words, is_manual, &action] {
    action = [&app, words, is_manual] {
      if (!*is_manual) return print_help(app, *words);
      std::cout << manual_page(command_tree(app), version_text());
      return exit_done;
    };
  });
  app.add_subcommand("version", "Print the version, as --version")->callback([&action] {
    action = [] {
      std::cout << version_text() << "\n";
      return exit_done;
    };
  });
}

/// Standard streams that the caller closed are taken by nothing else: a file that was opened next
/// would get what is printed.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Reading and writing the wrong way round fails, as on a closed stream.
    if (fcntl(stream, F_GETFD) == -1) (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// Throws InputError [cannot-write] if any of what was printed is lost.
void check_standard_output() {
  errno = 0;
  std::cout.flush();
  const bool is_lost = !std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!is_lost) return;
  const std::string why = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  fail("cannot-write", fmt::format("what was to be printed cannot be written{}", why), SourcePlace::named("standard output"),
       "check where it goes: a full disk, a closed stream");
}

int report_out_of_memory(const char* message) {
  const Diagnostic diagnostic{Severity::error, "out-of-memory", message, SourcePlace::named("weft"),
                              "fewer jobs or ranks at a time, or a machine with more memory"};
  std::fputs(diagnostic.to_text().c_str(), stderr);
  return exit_input;
}

/// Reads the command line and runs what it says.
int read_and_run(int argc, char** argv) {
  check_values(argc, argv);
  CLI::App app{
      "Weft simulates AI training clusters: hosts with GPUs, the fabric between them, the jobs on them and the scheduler that\n"
      "places them.\n\n"
      "Exit status: 0 done, 1 the question's answer is no or a run stands still, 2 wrong input or use, 3 a bug in Weft, 130 "
      "interrupted.",
      "weft"};
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(1);
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(32);
  app.formatter(formatter);

  Action action;
  add_run_command(app, action);
  add_check_command(app, action);
  add_topology_command(app, action);
  add_workload_command(app, action);
  add_jobs_command(app, action);
  add_schedule_command(app, action);
  add_project_command(app, action);
  add_optimes_command(app, action);
  add_study_command(app, action);
  add_compare_command(app, action);
  add_explain_command(app, action);
  add_report_command(app, action);
  add_predict_command(app, action);
  add_calibrate_command(app, action);
  add_modules_command(app, action);
  add_tables_command(app, action);
  add_completion_command(app, action);
  add_help_and_version(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = &app;
    std::string parents;
    while (!asked->get_subcommands().empty()) {
      parents += (parents.empty() ? "" : " ") + asked->get_name();
      asked = asked->get_subcommands().front();
    }
    std::cout << asked->help(parents);
    return exit_done;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << "\n";
    return exit_done;
  } catch (const CLI::ParseError& error) {
    return report_usage_error(app, error);
  }

  return action();
}

}  // namespace

int run_command_line(int argc, char** argv) {
  keep_standard_streams();
  // A limit on the size of files is an error of writing, not a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = read_and_run(argc, argv);
    check_standard_output();
    return status;
  } catch (const InputError& error) {
    std::fputs(error.what(), stderr);
    return exit_input;
  } catch (const OverflowFailure& failure) {
    const auto place = SourcePlace::named("weft");
    const Diagnostic diagnostic{Severity::error, "beyond-clock", failure.what(), place,
                                "simulated time ends after 2.9 years of 10 ps ticks, sizes at 8 EiB: ask for less"};
    std::fputs(diagnostic.to_text().c_str(), stderr);
    return exit_input;
  } catch (const CheckFailure& failure) {
    std::fprintf(stderr,
                 "weft: internal error: %s\n  help: this is a bug in Weft; please report it with the command and its inputs\n",
                 failure.what());
    return exit_bug;
  } catch (const OutOfMemory& failure) {
    return report_out_of_memory(failure.what());
  } catch (const std::bad_alloc&) {
    return report_out_of_memory("out of memory");
  } catch (const std::filesystem::filesystem_error& failure) {
    const Diagnostic diagnostic{Severity::error, "unreadable", "the path cannot be looked at: " + failure.code().message(),
                                SourcePlace::named(failure.path1().string()), "check it and its permissions"};
    std::fputs(diagnostic.to_text().c_str(), stderr);
    return exit_input;
  } catch (const std::exception& failure) {
    std::fprintf(stderr,
                 "weft: internal error: %s\n  help: this is a bug in Weft; please report it with the command and its inputs\n",
                 failure.what());
    return exit_bug;
  }
}

}  // namespace weft
