// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/figure_text.hpp"

#include <fmt/format.h>

#include "core/text/readable.hpp"

namespace weft {

std::string_view time_unit_of(std::string_view name) {
  if (name.ends_with("_s") && !name.ends_with("_per_s")) return "s";
  return name.ends_with("_ns") ? "ns" : "";
}

std::string figure_text(double number, std::string_view unit, int digits) {
  constexpr double ns = 1e-9;
  if (unit == "s") return readable(number);
  if (unit == "ns") return readable(number * ns);
  return fmt::format("{:.{}g}{}{}", number, digits, unit.empty() ? "" : " ", unit);
}

}  // namespace weft
