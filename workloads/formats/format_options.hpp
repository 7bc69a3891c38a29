// Format options: formats chosen by name from a list, the options that each of them reads, and the refusal of an option that would be
// ignored in silence.
//
// Where it sits: the readers of workloads and job traces refuse with it; the command line takes its help texts from it. A Format has
// `name` and `reads`, a sum of bits.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/text/diagnostics.hpp"

namespace weft {

/// "weft, chakra, ...", in the order of the list.
template <class Format>
std::string format_names(std::span<const Format> formats) {
  std::string names;
  for (const Format& format : formats) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

/// "goal, simai": the formats that read an option.
template <class Format>
std::string readers_of(std::span<const Format> formats, std::uint8_t option) {
  std::string names;
  for (const Format& format : formats) {
    if ((format.reads & option) != 0) names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return names;
}

/// Adds [unused-flag] at the file `path` if `flag` is given and `format` does not read it. `noun` is what the formats are of.
template <class Format>
void refuse_unread_flag(bool is_given, const std::string& flag, std::uint8_t option, const Format& format,
                        std::span<const Format> formats, const std::string& noun, const std::string& path,
                        Diagnostics& diagnostics) {
  if (!is_given || (format.reads & option) != 0) return;
  diagnostics.error("unused-flag", flag + " says nothing about a " + noun + " of format " + std::string(format.name),
                    SourcePlace::named(path), "drop it; formats that read it: " + readers_of(formats, option));
}

}  // namespace weft
