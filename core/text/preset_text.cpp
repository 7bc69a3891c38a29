// SPDX-License-Identifier: Apache-2.0
#include "core/text/preset_text.hpp"

#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"

namespace weft {

SourceText source_of(const PresetText& preset, std::string_view kind) {
  return SourceText(fmt::format("{} {}", kind, preset.name), std::string(preset.text));
}

bool names_file(std::string_view name) { return name.find_first_of("./") != std::string_view::npos; }

SourceText file_or_preset(const std::string& name, std::span<const PresetText> presets, std::string_view kind,
                          const SourcePlace& place) {
  if (names_file(name)) return SourceText::read(name);
  std::vector<std::string> names;
  for (const PresetText& preset : presets) {
    if (preset.name == name) return source_of(preset, kind);
    names.emplace_back(preset.name);
  }
  fail_unknown_module(std::string(kind), name, names, place);
}

}  // namespace weft
