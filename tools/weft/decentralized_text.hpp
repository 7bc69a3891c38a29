// SPDX-License-Identifier: Apache-2.0
// What `weft project decentralized` prints: a page and JSON.
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/text/params.hpp"
#include "tools/projections/site_simulation.hpp"
#include "workloads/decentralized/closed_forms.hpp"

namespace weft {

std::string decentralized_page(const DecentralizedForecast& forecast);
/// `params`: what was asked, variable by variable.
nlohmann::ordered_json decentralized_json(const DecentralizedForecast& forecast, const ParamSet& params);

/// What follows where it was simulated.
std::string simulation_page(const SiteSimulation& simulation);
/// `world`: what was asked of the simulated world.
nlohmann::ordered_json simulation_json(const SiteSimulation& simulation, const ParamSet& world);

}  // namespace weft
