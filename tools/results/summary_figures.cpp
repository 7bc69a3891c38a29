// SPDX-License-Identifier: Apache-2.0
#include "tools/results/summary_figures.hpp"

#include <nlohmann/json.hpp>

namespace weft {

namespace {

void flatten(const nlohmann::ordered_json& json, const std::string& prefix, SummaryFigures& figures) {
  for (const auto& [key, value] : json.items()) {
    if (key == "machine") continue;
    if (value.is_object()) flatten(value, prefix + key + '.', figures);
    if (value.is_number()) figures.numbers.emplace_back(prefix + key, value.get<double>());
    if (value.is_string()) figures.texts.emplace_back(prefix + key, value.get<std::string>());
  }
}

}  // namespace

SummaryFigures figures_in(std::string_view summary_json) {
  SummaryFigures figures;
  const auto json = nlohmann::ordered_json::parse(summary_json, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) flatten(json, "", figures);
  return figures;
}

}  // namespace weft
