// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/figure_text.hpp"

#include <fmt/format.h>

#include "core/text/readable.hpp"

namespace weft {

std::string_view unit_of_figure(std::string_view name) {
  if (name.ends_with("_s") && !name.ends_with("_per_s")) return "s";
  if (name.ends_with("_bytes")) return "bytes";
  return name.ends_with("_ns") ? "ns" : "";
}

std::string figure_text(double number, std::string_view unit, int digits) {
  constexpr double ns = 1e-9;
  if (unit == "s") return readable(number);
  if (unit == "ns") return readable(number * ns);
  if (unit == "bytes") return readable_bytes(number);
  return fmt::format("{:.{}g}{}{}", number, digits, unit.empty() ? "" : " ", unit);
}

}  // namespace weft
