// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/decentralized_flags.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "tools/simulation/scenario/parameters.hpp"

namespace weft {

namespace {

bool is_of_world(const std::string& name) {
  return std::ranges::find(site_world_params(), name, &ParamSpec::name) != site_world_params().end();
}

void read_settings(const DecentralizedFlags& flags, ProjectedSites& projected) {
  const auto set = [&](const std::string& name, const std::string& value, const SourcePlace& place) {
    if (is_of_world(name) && !flags.simulate) {
      fail("unused-setting", fmt::format("closed forms know no {}", name), place,
           "add --simulate; `weft modules sites` lists what the simulated world has");
    }
    (is_of_world(name) ? projected.world : projected.forms).set(name, value, place);
  };
  for_each_setting(flags.settings, "variable=value", "", set);
}

}  // namespace

ProjectedSites projected_sites(const DecentralizedFlags& flags, const RunOptions& options) {
  ProjectedSites projected{ParamSet("decentralized", decentralized_params()), ParamSet("sites", site_world_params()), {}, {}};
  read_settings(flags, projected);
  const auto settings = filled<DecentralizedSettings>(projected.forms);
  projected.forecast = forecast_decentralized(settings, flags.as == "seed", SourcePlace::named("--set"));
  if (!flags.simulate) return projected;
  check_world(projected.world, projected.forecast.mode, SourcePlace::named("--set"));
  projected.simulation =
      simulate_sites(settings, projected.forecast, filled<SiteWorld>(projected.world), SourcePlace::named("--simulate"), options);
  return projected;
}

}  // namespace weft
