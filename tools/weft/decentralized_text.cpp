// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/decentralized_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/weft/aligned_rows.hpp"

namespace weft {

namespace {

std::string forecast_page(const DecentralizedForecast& forecast) {
  std::string text = fmt::format("mode {}: {}\n{:.6g} days, with {:.4g} of the tokens' worth; {:.6g} days before that\n\n",
                                 letter_of(forecast.mode), forecast.why, forecast.of("T_effective"), forecast.of("efficiency"),
                                 forecast.of("T_total"));
  std::vector<std::vector<std::string>> rows;
  for (const SiteQuantity& quantity : forecast.quantities) {
    rows.push_back({fmt::format("{:<20}  {}", quantity.name, quantity.meaning), fmt::format("{:.9g}", quantity.value),
                    std::string(quantity.unit)});
  }
  text += aligned_rows(rows, "  ");
  for (const std::string& warning : forecast.warnings) text += fmt::format("\nwarning: {}", warning);
  if (!forecast.warnings.empty()) text += '\n';
  return text;
}

std::string simulation_page(const SiteSimulation& simulation) {
  std::string text = fmt::format("\nsimulated with {} ranks\n\n", simulation.ranks);
  const std::vector<std::vector<std::string>> rows = {
      {"", "by formula", "simulated", "formula off by"},
      {fmt::format("{}, in s", simulation.quantity), fmt::format("{:.9g}", simulation.formula_s),
       fmt::format("{:.9g}", simulation.simulated_s), fmt::format("{:+.2f} %", 100 * simulation.formula_error())},
      {"utilisation", fmt::format("{:.6g}", simulation.formula_utilisation),
       fmt::format("{:.6g}", simulation.simulated_utilisation),
       fmt::format("{:+.2f} points", 100 * (simulation.formula_utilisation - simulation.simulated_utilisation))},
      {"the run, in days", fmt::format("{:.6g}", simulation.effective_days * (1 + simulation.formula_error())),
       fmt::format("{:.6g}", simulation.effective_days), ""},
  };
  text += aligned_rows(rows, "  ");
  for (const std::string& note : simulation.notes) text += fmt::format("\nnote: {}", note);
  if (!simulation.notes.empty()) text += '\n';
  return text;
}

nlohmann::ordered_json variables_json(const ParamSet& params) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < params.table().size(); ++i) json[std::string(params.table()[i].name)] = params.value_text(i);
  return json;
}

nlohmann::ordered_json simulation_json(const SiteSimulation& simulation, const ParamSet& world) {
  return {{"variables", variables_json(world)},
          {"ranks", simulation.ranks},
          {"quantity", simulation.quantity},
          {"formula_s", simulation.formula_s},
          {"simulated_s", simulation.simulated_s},
          {"formula_error", simulation.formula_error()},
          {"formula_utilisation", simulation.formula_utilisation},
          {"simulated_utilisation", simulation.simulated_utilisation},
          {"simulated_T_effective_d", simulation.effective_days},
          {"notes", simulation.notes}};
}

}  // namespace

std::string decentralized_page(const ProjectedSites& projected) {
  std::string text = forecast_page(projected.forecast);
  if (projected.simulation) text += simulation_page(*projected.simulation);
  return text;
}

nlohmann::ordered_json decentralized_json(const ProjectedSites& projected) {
  const DecentralizedForecast& forecast = projected.forecast;
  nlohmann::ordered_json json{{"mode", letter_of(forecast.mode)}, {"why", forecast.why}};
  json["variables"] = variables_json(projected.forms);
  json["quantities"] = nlohmann::ordered_json::object();
  for (const SiteQuantity& quantity : forecast.quantities)
    json["quantities"][std::string(quantity.name)] = {{"value", quantity.value}, {"unit", quantity.unit}};
  json["warnings"] = forecast.warnings;
  if (projected.simulation) json["simulated"] = simulation_json(*projected.simulation, projected.world);
  return json;
}

}  // namespace weft
