// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/simulation/scenario/scenario.hpp"

namespace weft::switch_entries_test {
namespace {

namespace fs = std::filesystem;

class SwitchEntries : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_switch_entries_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write("work.textproto", "ranks: 2\nrole { name: \"all\" op { name: \"c\" compute { duration: \"1us\" } } }\n");
    // Hosts 0 and 1 at switches 2 and 3, which switch 4 joins. Formats of nodes and links know no
    // levels.
    write("net.txt", "5 3 4\n2 3 4\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 4 100Gbps 1us 0\n3 4 100Gbps 1us 0\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Scenario load(const std::string& entries, const std::string& topology = "file: \"net.txt\" format: \"hpcc\"",
                const std::string& mode = "PACKET") const {
    RunFlags flags;
    flags.scenario_file = write("s.textproto", "mode: " + mode + "\ntopology { " + topology +
                                                   " }\njob { workload { file: \"work.textproto\" } }\n" + entries);
    return load_scenario(flags, Probing::forbidden);
  }
  /// Names of the switches of the only entry.
  std::vector<std::string> named_by(const std::string& selector,
                                    const std::string& topology = "file: \"net.txt\" format: \"hpcc\"") const {
    const Scenario scenario = load("switches { " + selector + " buffer: \"1MB\" }\n", topology);
    std::vector<std::string> names;
    for (const NodeId node : scenario.switch_profiles.at(0).nodes) names.push_back(scenario.topology->node_name(node));
    return names;
  }
  /// "line:column code; " of each error.
  std::string errors(const std::string& entries) const {
    std::string codes;
    try {
      load(entries);
    } catch (const InputError& error) {
      for (const Diagnostic& found : error.diagnostics()) {
        codes += std::to_string(found.place.line) + ":" + std::to_string(found.place.column) + " " + found.code + "; ";
      }
    }
    return codes;
  }

  fs::path folder_;
};

TEST_F(SwitchEntries, NameTiersThatAreCountedFromTheHosts) {
  EXPECT_EQ(named_by("tier: 1"), (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(named_by("tier: 2"), (std::vector<std::string>{"4"}));
}

TEST_F(SwitchEntries, NameSwitchesByPatterns) {
  EXPECT_EQ(named_by("name: \"?\""), (std::vector<std::string>{"2", "3", "4"}));
  EXPECT_EQ(named_by("name: \"3*\""), (std::vector<std::string>{"3"}));
}

// A fat tree of k = 4 has 8 leaves, 8 aggregation switches and 4 spines.
TEST_F(SwitchEntries, NameSwitchesOfBuilders) {
  const std::string fat_tree = "builder: \"fat_tree\" set { name: \"k\" value: \"4\" }";
  EXPECT_EQ(named_by("tier: 3", fat_tree).size(), 4U);
  EXPECT_EQ(named_by("name: \"spine*\"", fat_tree), named_by("tier: 3", fat_tree));
  EXPECT_EQ(named_by("name: \"leaf?\"", fat_tree), named_by("tier: 1", fat_tree));
}

TEST_F(SwitchEntries, SayWhatTheSwitchesHave) {
  const Scenario scenario = load(
      "switches { tier: 1 buffer: \"64MB\" ecn_kmin: \"400kB\" ecn_kmax: \"1600kB\" ecn_pmax: 0.2 }\nswitches { name: \"4\" "
      "ecn_pmax: 0.5 }\n");
  ASSERT_EQ(scenario.switch_profiles.size(), 2U);
  EXPECT_EQ(scenario.switch_profiles[0].buffer, Bytes::of(64'000'000));
  EXPECT_EQ(scenario.switch_profiles[0].ecn_kmin, Bytes::of(400'000));
  EXPECT_EQ(scenario.switch_profiles[0].ecn_kmax, Bytes::of(1'600'000));
  EXPECT_EQ(scenario.switch_profiles[0].ecn_pmax, 0.2);
  EXPECT_FALSE(scenario.switch_profiles[1].buffer);
  EXPECT_EQ(scenario.switch_profiles[1].ecn_pmax, 0.5);
  EXPECT_NE(scenario.manifest.to_json().find("tier 1: buffer=64MB ecn_kmin=400kB ecn_kmax=1600kB ecn_pmax=0.2; 4: ecn_pmax=0.5"),
            std::string::npos);
}

// Entries begin in line 4.
TEST_F(SwitchEntries, AreRefusedTogether) {
  EXPECT_EQ(errors("switches { tier: 3 buffer: \"1MB\" }\nswitches { name: \"leaf*\" buffer: \"1MB\" }\n"),
            "4:18 unknown-switch; 5:18 unknown-switch; ");
  EXPECT_EQ(errors("switches { name: \"4\" tier: 1 buffer: \"1MB\" }\nswitches { buffer: \"1MB\" }\nswitches { tier: 1 }\n"),
            "4:10 switches-content; 5:10 switches-content; 6:10 switches-content; ");
  EXPECT_EQ(errors("switches { tier: 1 buffer: \"x\" ecn_pmax: 2 }\n"), "4:28 bad-value; 4:42 out-of-range; ");
}

TEST_F(SwitchEntries, AreNotedWhereNothingReadsThem) {
  const auto is_noted = [](const Scenario& scenario) {
    return std::ranges::any_of(scenario.assumptions,
                               [](const std::string& note) { return note.find("switches is set and changes nothing") == 0; });
  };
  const std::string entry = "switches { tier: 1 buffer: \"1MB\" }\n";
  EXPECT_FALSE(is_noted(load(entry)));
  EXPECT_TRUE(is_noted(load(entry, "file: \"net.txt\" format: \"hpcc\"", "FLOW")));
}

}  // namespace
}  // namespace weft::switch_entries_test
