// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/operator_time_flags.hpp"

#include <CLI/CLI.hpp>

#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/chained_times.hpp"
#include "host/op_times/cluster_gpu.hpp"
#include "host/op_times/external_times.hpp"
#include "host/op_times/line_process.hpp"
#include "host/op_times/regressor_times.hpp"
#include "tools/projections/projected_cluster.hpp"

namespace weft {

void add_operator_time_flags(CLI::App& command, OperatorTimeFlags& flags) {
  command.add_option("--gpu,--gpu-arch", flags.gpu, "One of `weft modules gpu`; default: that of the cluster's servers")
      ->type_name("GPU");
  command.add_option("--gpu-clock", flags.clock, "Clock to which the GPU is locked, such as 1.4GHz; default: as the preset says")
      ->type_name("FREQUENCY");
  command
      .add_option("--optimes", flags.profiles,
                  "Operator times that were measured: a profile of `weft optimes fit`, repeatable; what it does not know the "
                  "analytical model answers")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--external", flags.external, "Ask this program for operator times first, over lines of JSON; no shell runs it")
      ->type_name("COMMAND");
}

std::vector<std::string> take_operator_settings(std::vector<std::string>& settings) {
  std::vector<std::string> taken;
  std::erase_if(settings, [&](const std::string& text) {
    const bool is_of_operators = text.starts_with("gpu.") || text.starts_with("analytical.");
    if (is_of_operators) taken.push_back(text);
    return is_of_operators;
  });
  return taken;
}

FlaggedTimes flagged_times(const OperatorTimeFlags& flags, const Topology& cluster, const std::string& cluster_name,
                           const SourcePlace& cluster_place) {
  const std::string preset(flags.gpu.empty() ? gpu_of_server(cluster.machine()) : flags.gpu);
  if (preset.empty()) {
    fail("missing-flag", fmt::format("{} does not say whose GPUs it has", cluster_name), cluster_place, "give --gpu=NAME");
  }
  const SourcePlace place = SourcePlace::named(fmt::format("--gpu={}", preset));
  OperatorParams params = operator_params(flags.settings);
  if (!flags.clock.empty()) params.gpu.set("clock", flags.clock, SourcePlace::named(fmt::format("--gpu-clock={}", flags.clock)));
  params.gpu.set("preset", preset, place);
  const Gpu gpu = read_gpu(params.gpu, place);

  std::vector<std::unique_ptr<OperatorTimes>> sources;
  if (!flags.external.empty()) sources.push_back(std::make_unique<ExternalTimes>(command_words(flags.external, "--external")));
  for (const std::string& profile : flags.profiles)
    sources.push_back(std::make_unique<RegressorTimes>(RegressorProfile::read(SourceText::read(profile)), OutsideRange::decline));
  sources.push_back(std::make_unique<AnalyticalTimes>(gpu, filled<AnalyticalSettings>(params.analytical)));
  if (sources.size() == 1) return {gpu, std::move(sources.front())};
  return {gpu, std::make_unique<ChainedTimes>(std::move(sources))};
}

}  // namespace weft
