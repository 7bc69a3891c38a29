// SPDX-License-Identifier: Apache-2.0
// `weft project decentralized`: how long training across sites takes, by closed forms.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "core/text/printed_json.hpp"
#include "tools/weft/decentralized_text.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct DecentralizedFlags {
  std::vector<std::string> settings;
  std::string as = "weft";
  bool json = false;
};

ParamSet params_of(const DecentralizedFlags& flags) {
  ParamSet params("decentralized", decentralized_params());
  for (const std::string& text : flags.settings) {
    const SourcePlace place = SourcePlace::named(fmt::format("--set={}", text));
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) fail("bad-setting", "a setting is variable=value", place, "for example --set=numNodes=50");
    params.set(text.substr(0, equals), text.substr(equals + 1), place);
  }
  return params;
}

int project_decentralized_command(const DecentralizedFlags& flags) {
  const ParamSet params = params_of(flags);
  const DecentralizedForecast forecast =
      forecast_decentralized(filled<DecentralizedSettings>(params), flags.as == "seed", SourcePlace::named("--set"));
  std::cout << (flags.json ? printed_json(decentralized_json(forecast, params)) + "\n" : decentralized_page(forecast));
  return exit_done;
}

}  // namespace

void add_project_decentralized_command(CLI::App& project, Action& action) {
  CLI::App* command = project.add_subcommand("decentralized", "Training across sites: how long it takes, by closed forms");
  auto flags = std::make_shared<DecentralizedFlags>();
  command->add_option("--set", flags->settings, "A variable of `weft modules decentralized`; repeatable")
      ->type_name("variable=value")
      ->allow_extra_args(false);
  command
      ->add_option("--as", flags->as,
                   "weft: what is right; seed: what the source of the formulas prints, where it contradicts itself")
      ->type_name("WHOSE")
      ->capture_default_str()
      ->check(one_of({"weft", "seed"}));
  command->add_flag("--json", flags->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  weft project decentralized\n"
      "  weft project decentralized --set=numNodes=1000 --set=bandwidthMbps=1000 --set=innerSteps=300\n"
      "  weft project decentralized --set=hierarchicalEnabled=true --set=streamingEnabled=false --json\n"
      "  weft project decentralized --set=parameters=300 --set=numNodes=5\n"
      "Modes: A, DiLoCo, where a model fits a node; A', with regional groups; C, DiLoCo among groups of pipelines, where it does\n"
      "not; B, one pipeline over the WAN, with too few nodes for two groups.");
  command->callback([flags, &action] { action = [flags] { return project_decentralized_command(*flags); }; });
}

}  // namespace weft
