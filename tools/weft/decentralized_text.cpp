// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/decentralized_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/weft/aligned_rows.hpp"

namespace weft {

std::string decentralized_page(const DecentralizedForecast& forecast) {
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

nlohmann::ordered_json simulation_json(const SiteSimulation& simulation, const ParamSet& world) {
  nlohmann::ordered_json json;
  json["variables"] = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < world.table().size(); ++i)
    json["variables"][std::string(world.table()[i].name)] = world.value_text(i);
  json["ranks"] = simulation.ranks;
  json["quantity"] = simulation.quantity;
  json["formula_s"] = simulation.formula_s;
  json["simulated_s"] = simulation.simulated_s;
  json["formula_error"] = simulation.formula_error();
  json["formula_utilisation"] = simulation.formula_utilisation;
  json["simulated_utilisation"] = simulation.simulated_utilisation;
  json["simulated_T_effective_d"] = simulation.effective_days;
  json["notes"] = simulation.notes;
  return json;
}

nlohmann::ordered_json decentralized_json(const DecentralizedForecast& forecast, const ParamSet& params) {
  nlohmann::ordered_json json{{"mode", letter_of(forecast.mode)}, {"why", forecast.why}};
  json["variables"] = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < params.table().size(); ++i)
    json["variables"][std::string(params.table()[i].name)] = params.value_text(i);
  json["quantities"] = nlohmann::ordered_json::object();
  for (const SiteQuantity& quantity : forecast.quantities)
    json["quantities"][std::string(quantity.name)] = {{"value", quantity.value}, {"unit", quantity.unit}};
  json["warnings"] = forecast.warnings;
  return json;
}

}  // namespace weft
