// SPDX-License-Identifier: Apache-2.0
// `weft project decentralized`: how long training across sites takes, by closed forms and simulated.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "core/text/printed_json.hpp"
#include "tools/projections/site_simulation.hpp"
#include "tools/weft/decentralized_text.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct DecentralizedFlags {
  std::vector<std::string> settings;
  std::string as = "weft";
  bool simulate = false;
  bool json = false;
};

struct DecentralizedParams {
  ParamSet forms{"decentralized", decentralized_params()};
  ParamSet world{"sites", site_world_params()};
};

/// A variable of closed forms, or of the simulated world.
DecentralizedParams params_of(const DecentralizedFlags& flags) {
  DecentralizedParams params;
  for (const std::string& text : flags.settings) {
    const SourcePlace place = SourcePlace::named(fmt::format("--set={}", text));
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) fail("bad-setting", "a setting is variable=value", place, "for example --set=numNodes=50");
    const std::string name = text.substr(0, equals);
    const bool is_of_world = std::ranges::find(site_world_params(), name, &ParamSpec::name) != site_world_params().end();
    if (is_of_world && !flags.simulate) {
      fail("unused-setting", fmt::format("closed forms know no {}", name), place,
           "add --simulate; `weft modules sites` lists what the simulated world has");
    }
    (is_of_world ? params.world : params.forms).set(name, text.substr(equals + 1), place);
  }
  return params;
}

int project_decentralized_command(const DecentralizedFlags& flags) {
  const DecentralizedParams params = params_of(flags);
  const auto settings = filled<DecentralizedSettings>(params.forms);
  const SourcePlace place = SourcePlace::named("--set");
  const DecentralizedForecast forecast = forecast_decentralized(settings, flags.as == "seed", place);
  std::optional<SiteSimulation> simulation;
  if (flags.simulate) {
    ProgressLine line(stderr_is_terminal());
    RunOptions options;
    options.progress = [&line](const RunState& state) { line.update(state); };
    simulation = simulate_sites(settings, forecast, filled<SiteWorld>(params.world), SourcePlace::named("--simulate"), options);
  }
  if (flags.json) {
    nlohmann::ordered_json json = decentralized_json(forecast, params.forms);
    if (simulation) json["simulated"] = simulation_json(*simulation, params.world);
    std::cout << printed_json(json) << "\n";
  } else {
    std::cout << decentralized_page(forecast);
    if (simulation) std::cout << simulation_page(*simulation);
  }
  return exit_done;
}

}  // namespace

void add_project_decentralized_command(CLI::App& project, Action& action) {
  CLI::App* command =
      project.add_subcommand("decentralized", "Training across sites: how long it takes, by closed forms and simulated");
  auto flags = std::make_shared<DecentralizedFlags>();
  command
      ->add_option("--set", flags->settings,
                   "A variable of `weft modules decentralized`, with --simulate of `weft modules sites`, too; repeatable")
      ->type_name("variable=value")
      ->allow_extra_args(false);
  command
      ->add_option("--as", flags->as,
                   "weft: what is right; seed: what the source of the formulas prints, where it contradicts itself")
      ->type_name("WHOSE")
      ->capture_default_str()
      ->check(one_of({"weft", "seed"}));
  command->add_flag("--simulate", flags->simulate, "Run it on a network, too, and say how far closed forms are off");
  command->add_flag("--json", flags->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  weft project decentralized\n"
      "  weft project decentralized --set=numNodes=1000 --set=bandwidthMbps=1000 --set=innerSteps=300\n"
      "  weft project decentralized --set=hierarchicalEnabled=true --set=streamingEnabled=false --json\n"
      "  weft project decentralized --set=parameters=300 --set=numNodes=5\n"
      "  weft project decentralized --simulate --set=stragglerCoefficient=0 --set=exchange=ring\n"
      "  weft project decentralized --simulate --set=packetLoss=0.0001 --set=streams=16 --set=speedSpread=0.2 --set=rounds=10\n"
      "Modes: A, DiLoCo, where a model fits a node; A', with regional groups; C, DiLoCo among groups of pipelines, where it does\n"
      "not; B, one pipeline over the WAN, with too few nodes for two groups.");
  command->callback([flags, &action] { action = [flags] { return project_decentralized_command(*flags); }; });
}

}  // namespace weft
