// SPDX-License-Identifier: Apache-2.0
// Presets: parameters under one name, from a scenario or from --set, below every other setting.
#include "host/presets.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/parameters.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "topologies/builders/server_presets.hpp"

namespace weft::presets_test {
namespace {

const SourcePlace kPlace = SourcePlace::named("test");

TEST(Presets, EveryValueIsAParametersAndHasAnOrigin) {
  for (const ModuleInfo& preset : run_presets()) {
    Parameters parameters;
    parameters.apply("preset", preset.name, kPlace);
    EXPECT_NO_THROW(parameters.fill_in_preset()) << preset.name;
    for (const NamedValue& value : preset.values) {
      const std::size_t dot = value.name.find('.');
      const std::string_view module = value.name.substr(0, dot);
      EXPECT_TRUE(module == "flow" || module == "packet" || module == "dcqcn" || module == "nccl" || module == "host")
          << value.name;
      const ParamSet& set = parameters.of(module);
      for (std::size_t i = 0; i < set.table().size(); ++i) {
        if (set.table()[i].name == value.name.substr(dot + 1)) {
          EXPECT_EQ(set.value_text(i), value.value) << value.name;
        }
      }
      EXPECT_TRUE(parameters.is_of_preset(module, value.name.substr(dot + 1)));
      EXPECT_FALSE(value.origin.empty()) << value.name;
    }
  }
}

TEST(Presets, EveryMachineHasAServerOfItsName) {
  for (const ModuleInfo& preset : run_presets()) {
    // Others are of simulators and network cards.
    if (preset.values.empty() || preset.values.front().name != "nccl.machine") continue;
    const auto servers = server_presets();
    EXPECT_TRUE(std::any_of(servers.begin(), servers.end(), [&](const ModuleInfo& server) { return server.name == preset.name; }))
        << preset.name;
  }
}

TEST(Presets, OtherSettingsOverrideWhicheverComesFirst) {
  for (const bool preset_first : {false, true}) {
    Parameters parameters;
    if (preset_first) parameters.apply("preset", "gh200", kPlace);
    // Its default, and given all the same.
    parameters.apply("flow.protocol", "rocev2_ipv4", kPlace);
    if (!preset_first) parameters.apply("preset", "gh200", kPlace);
    parameters.fill_in_preset();
    EXPECT_EQ(parameters.of("flow").text("protocol"), "rocev2_ipv4");
    EXPECT_FALSE(parameters.is_of_preset("flow", "protocol"));
    EXPECT_TRUE(parameters.is_of_preset("nccl", "machine"));
  }
}

TEST(Presets, TheLastOneStandsAlone) {
  Parameters parameters;
  parameters.apply("preset", "gh200", kPlace);
  parameters.apply_flags(std::vector<std::string>{"preset=hgx_b200", "flow.mtu=2048B"});
  parameters.fill_in_preset();
  EXPECT_EQ(parameters.preset(), "hgx_b200");
  EXPECT_EQ(parameters.of("nccl").text("machine"), "hgx_b200");
  EXPECT_EQ(parameters.of("flow").text("protocol"), "rocev2_ipv4") << "what only gh200 sets";
  EXPECT_EQ(parameters.of("flow").bytes("mtu"), Bytes::of(2048));
}

TEST(Presets, AMisspeltNameIsAnError) {
  Parameters parameters;
  try {
    parameters.apply("preset", "hgx_a10", kPlace);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().to_text(),
              "test: error: there is no preset \"hgx_a10\" [bad-value]\n  help: did you mean \"hgx_a100\"?\n");
  }
}

/// The manifest of a scenario of one compute op on two ranks.
nlohmann::json manifest_with(const std::string& topology, const std::vector<std::string>& settings) {
  const auto folder = std::filesystem::temp_directory_path() / ("weft_presets_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "work.textproto") << "ranks: 2\nrole { name: \"all\" op { name: \"c\" compute { duration: \"1us\" } } }\n";
  std::ofstream(folder / "s.textproto") << topology << "\njob { workload { file: \"work.textproto\" } }\n"
                                        << "set { name: \"preset\" value: \"gh200\" }\n";
  RunFlags flags;
  flags.scenario_file = (folder / "s.textproto").string();
  flags.settings = settings;
  const RunManifest manifest = manifest_of(load_scenario(flags), {});
  std::filesystem::remove_all(folder);
  return nlohmann::json::parse(manifest.to_json());
}

TEST(Presets, TheManifestHasTheValuesOfServerAndPreset) {
  const std::string topology = "topology { builder: \"single_switch\" set { name: \"server\" value: \"hgx_a100\" } }";
  const auto of_file = manifest_with(topology, {});
  EXPECT_EQ(of_file.at("preset"), "gh200");
  const auto& parameters = of_file.at("parameters");
  EXPECT_EQ(parameters.at("flow").at("protocol").at("value"), "infiniband");
  EXPECT_EQ(parameters.at("single_switch").at("server").at("value"), "hgx_a100");
  EXPECT_EQ(parameters.at("single_switch").at("gpus_per_host").at("value"), "8");
  EXPECT_EQ(parameters.at("single_switch").at("nic_rate").at("value"), "200Gbps");
  const auto of_flags = manifest_with(topology, {"preset=hgx_b200", "single_switch.nic_rate=100Gbps"});
  EXPECT_EQ(of_flags.at("preset"), "hgx_b200");
  EXPECT_NE(of_flags.at("parameters").at("flow").at("protocol").at("value"), "infiniband");
  EXPECT_EQ(of_flags.at("parameters").at("single_switch").at("nic_rate").at("value"), "100Gbps");
}

TEST(Presets, ARunWithoutANetworkSaysThatTheyChangeNothing) {
  RunFlags flags;
  flags.hosts = 1;
  const auto file = std::filesystem::temp_directory_path() / fmt::format("weft_presets_{}.csv", getpid());
  std::ofstream(file) << "job,submit_s,gpus,run_s\na,0,1,5\n";
  flags.jobs = file.string() + ":weft";
  flags.settings = {"preset=hgx_a100"};
  const std::vector<std::string> assumptions = load_scenario(flags).assumptions;
  std::filesystem::remove(file);
  EXPECT_EQ(std::count_if(assumptions.begin(), assumptions.end(),
                          [](const std::string& text) { return text.find("changes nothing") != std::string::npos; }),
            1);
}

/// Links of a run whose topology comes from a file that names a builder.
double rate_gbps(const std::vector<std::string>& settings, bool in_scenario) {
  const auto folder = std::filesystem::temp_directory_path() / ("weft_topology_params_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string net = (folder / "net.textproto").string();
  std::ofstream(net)
      << "builder: \"single_switch\" set { name: \"hosts\" value: \"2\" } set { name: \"nic_rate\" value: \"100Gbps\" }\n";
  std::ofstream(folder / "work.textproto") << "ranks: 2\nrole { name: \"all\" op { name: \"c\" compute { duration: \"1us\" } } }\n";
  std::ofstream(folder / "s.textproto") << (in_scenario ? "topology { file: \"net.textproto\" }\n" : "")
                                        << "job { workload { file: \"work.textproto\" } }\n";
  RunFlags flags;
  flags.scenario_file = (folder / "s.textproto").string();
  if (!in_scenario) flags.topology = net;
  flags.settings = settings;
  const Scenario scenario = load_scenario(flags);
  std::filesystem::remove_all(folder);
  return static_cast<double>(scenario.topology->link(LinkId(0)).rate.in_bps()) / 1e9;
}

// Parameters of a builder are set by its name or as those of the topology, wherever it is named.
TEST(Presets, ParametersOfTopologyFilesCanBeSet) {
  for (const bool in_scenario : {true, false}) {
    EXPECT_EQ(rate_gbps({}, in_scenario), 100);
    EXPECT_EQ(rate_gbps({"topology.nic_rate=400Gbps"}, in_scenario), 400);
    EXPECT_EQ(rate_gbps({"single_switch.nic_rate=200 Gb/s"}, in_scenario), 200);
    EXPECT_THROW(rate_gbps({"topology.nic_rat=400Gbps"}, in_scenario), InputError);
    EXPECT_THROW(rate_gbps({"fat_tree.k=8"}, in_scenario), InputError);
  }
}

}  // namespace
}  // namespace weft::presets_test
