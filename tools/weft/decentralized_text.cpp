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
