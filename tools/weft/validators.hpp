// Checks of what flags are given, beyond those that CLI11 has.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace weft {

/// For whole numbers of which 0 makes no sense. CLI::PositiveNumber names the largest double when it refuses one.
inline CLI::Validator at_least_one() {
  const auto complaint = [](const std::string& text) {
    std::int64_t value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    return is_number && value < 1 ? text + " is too few, at least 1 is needed" : std::string();
  };
  return {complaint, "POSITIVE"};
}

}  // namespace weft
