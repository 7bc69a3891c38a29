// SPDX-License-Identifier: Apache-2.0
// `weft project decentralized`: how long training across sites takes, by formula and simulated.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/text/printed_json.hpp"
#include "tools/weft/decentralized_flags.hpp"
#include "tools/weft/decentralized_text.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct ProjectDecentralizedFlags {
  DecentralizedFlags asked;
  bool json = false;
};

int project_decentralized_command(const ProjectDecentralizedFlags& flags) {
  std::optional<ProjectedSites> projected;
  {
    ProgressLine line(flags.asked.simulate && stderr_is_terminal());
    RunOptions options;
    options.progress = [&line](const RunState& state) { line.update(state); };
    projected = projected_sites(flags.asked, options);
  }
  std::cout << (flags.json ? printed_json(decentralized_json(*projected)) + "\n" : decentralized_page(*projected));
  return exit_done;
}

}  // namespace

void add_project_decentralized_command(CLI::App& project, Action& action) {
  CLI::App* command =
      project.add_subcommand("decentralized", "Training across sites: how long it takes, by closed forms and simulated");
  auto flags = std::make_shared<ProjectDecentralizedFlags>();
  command
      ->add_option("--set", flags->asked.settings,
                   "A variable of `weft modules decentralized`, with --simulate of `weft modules sites`, too; repeatable")
      ->type_name("variable=value")
      ->allow_extra_args(false);
  command
      ->add_option("--as", flags->asked.as,
                   "weft: what is right; seed: what the source of the formulas prints, where it contradicts itself")
      ->type_name("WHOSE")
      ->capture_default_str()
      ->check(one_of({"weft", "seed"}));
  command->add_flag("--simulate", flags->asked.simulate, "Run it on a network, too, and say how far closed forms are off");
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
