// SPDX-License-Identifier: Apache-2.0
// The tree of commands as data, and the manual page that is made of it.
#include "tools/weft/command_tree.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/weft/validators.hpp"

namespace weft::command_tree_test {
namespace {

/// weft with one command, `run FILE [--mode=] [--set=]... [--quiet]`, and a group of commands, `net
/// build`.
class SmallTree : public testing::Test {
 protected:
  SmallTree() : app_("A small tree.\n\n.Second paragraph", "weft") {
    CLI::App* run = app_.add_subcommand("run", "Runs it");
    run->add_option("file", file_, "What")->type_name("FILE")->required();
    run->add_option("--mode", mode_, "How - or not")->type_name("MODE")->check(one_of({"job", "flow"}));
    run->add_option("--set", settings_, "Settings")->type_name("NAME=VALUE");
    run->add_flag("--quiet", is_quiet_, "Says nothing");
    run->footer("Example:\n  weft run a\\b");
    app_.add_subcommand("net", "Networks")->add_subcommand("build", "Builds one");
  }

  CLI::App app_;
  std::string file_;
  std::string mode_;
  std::vector<std::string> settings_;
  bool is_quiet_ = false;
};

TEST_F(SmallTree, HasEveryCommandBeforeItsSubcommands) {
  std::vector<std::string> paths;
  for (const Command& command : command_tree(app_)) paths.push_back(command.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"", "run", "net", "net build"}));
}

TEST_F(SmallTree, SaysWhatOptionsTake) {
  const Command run = command_tree(app_)[1];
  ASSERT_EQ(run.options.size(), 5U);  // --help is the first
  EXPECT_FALSE(run.options[0].takes_value);
  EXPECT_EQ(run.options[0].names, "-h, --help");
  EXPECT_TRUE(run.options[1].is_positional);
  EXPECT_TRUE(run.options[1].is_required);
  EXPECT_EQ(run.options[1].type, "FILE");
  EXPECT_EQ(run.options[2].name, "--mode");
  EXPECT_EQ(run.options[2].type, "MODE");
  EXPECT_EQ(run.options[2].choices, (std::vector<std::string>{"job", "flow"}));
  EXPECT_FALSE(run.options[2].is_repeatable);
  EXPECT_TRUE(run.options[3].is_repeatable);
  EXPECT_FALSE(run.options[4].takes_value);
}

TEST_F(SmallTree, MakesAManualPageWhoseTextIsNoRequestOfRoff) {
  const std::string page = manual_page(command_tree(app_), "1.2-3");
  EXPECT_NE(page.find("\"weft 1.2\\-3\""), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.Second paragraph\n"), std::string::npos) << page;
  EXPECT_NE(page.find(".TP\n\\fB\\-\\-mode\\fR=\\fIMODE\\fR\nHow \\- or not (one of job, flow)\n"), std::string::npos) << page;
  EXPECT_NE(page.find(".SS \"weft net build\"\n"), std::string::npos) << page;
  EXPECT_NE(page.find("weft run a\\eb"), std::string::npos) << page;
}

}  // namespace
}  // namespace weft::command_tree_test
