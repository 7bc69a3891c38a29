// SPDX-License-Identifier: Apache-2.0
// Format options: formats chosen by name from a list, the options that each of them reads, and the
// refusal of an option that would be ignored in silence.
//
// Where it sits: the readers of workloads and job traces refuse with it; the command line takes its
// help texts from it. A Format has `name` and `reads`, a sum of bits.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/option_names.hpp"

namespace weft {

/// "weft, chakra, ...", in the order of the list.
template <class Format>
std::string format_names(std::span<const Format> formats) {
  std::vector<std::string_view> names;
  for (const Format& format : formats) names.push_back(format.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "goal, simai": the formats that read an option.
template <class Format>
std::string readers_of(std::span<const Format> formats, std::uint8_t option) {
  std::vector<std::string_view> names;
  for (const Format& format : formats) {
    if ((format.reads & option) != 0) names.push_back(format.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What an option is called that says nothing.
inline std::string unused_code(const OptionNames& names) { return names.are_fields() ? "unused-field" : "unused-flag"; }

/// Adds [unused-flag] or [unused-field] at the file `path` if an option is given that `format` does
/// not read. `noun` is what the formats are of.
template <class Format>
void refuse_unread_option(bool is_given, const std::string& name, const OptionNames& names, std::uint8_t option,
                          const Format& format, std::span<const Format> formats, const std::string& noun, const std::string& path,
                          Diagnostics& diagnostics) {
  if (!is_given || (format.reads & option) != 0) return;
  diagnostics.add({Severity::error, unused_code(names),
                   fmt::format("{} says nothing about a {} of format {}", names(name), noun, format.name), SourcePlace::named(path),
                   fmt::format("drop it; formats that read it: {}", readers_of(formats, option)), name});
}

}  // namespace weft
