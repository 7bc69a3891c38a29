// SPDX-License-Identifier: Apache-2.0
#include "core/text/option_names.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft {

std::string OptionNames::operator()(std::string_view option, std::string_view value) const {
  std::string text(option);
  if (are_fields_) return value.empty() ? text : fmt::format("{}: {}", text, value);
  std::replace(text.begin(), text.end(), '_', '-');
  return fmt::format("--{}{}", text, value.empty() ? "" : fmt::format("={}", value));
}

}  // namespace weft
