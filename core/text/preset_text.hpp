// SPDX-License-Identifier: Apache-2.0
// Preset texts: files that the program carries, under names of their own beside the user's files.
//
// Where it sits: readers of models and plans take either.
// Threads: constants and pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/text/diagnostics_fwd.hpp"
#include "core/text/source_text.hpp"

namespace weft {

struct PresetText {
  std::string_view name;  ///< "llama3_8b"
  std::string_view text;  ///< as a file
};

/// As errors name it: "model llama3_8b".
SourceText source_of(const PresetText& preset, std::string_view kind);

/// Does a name stand for a file, since it has a dot or a slash, and not for a preset?
bool names_file(std::string_view name);

/// What `name` stands for: a file if it has a dot or a slash, else a preset. `place` is where it
/// was named. Throws what SourceText::read() does and [unknown-module] with a suggestion.
SourceText file_or_preset(const std::string& name, std::span<const PresetText> presets, std::string_view kind,
                          const SourcePlace& place);

}  // namespace weft
