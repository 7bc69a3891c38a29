// SPDX-License-Identifier: Apache-2.0
// Settings in protobuf text: the repeated `set { name: "..." value: "..." }` of a message that
// names a module or a run.
//
// Where it sits: topology files and scenarios read their settings with it; Set hands each to a
// ParamSet or to the parameters of a run.
// Thread safety: pure functions.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/text/diagnostics.hpp"
#include "core/text/textproto.hpp"

namespace weft {

/// Calls set(name, value, place of the name) for each setting of `message`. Adds to `diagnostics`
/// what that throws, [missing-field] for one without a name and [duplicate-setting]. Of a wrong
/// value the value is underlined, otherwise the name.
template <class Message, class Set>
void for_each_setting(const Message& message, const FieldPlaces& places, Diagnostics& diagnostics, const Set& set) {
  std::map<std::string, int> lines;
  for (int i = 0; i < message.set_size(); ++i) {
    const auto& setting = message.set(i);
    const FieldPlaces inside = places.inside(message, "set", i);
    if (setting.name().empty()) {
      diagnostics.error("missing-field", "the setting has no name", places.of(message, "set", i),
                        "write set { name: \"...\" value: \"...\" }");
      continue;
    }
    const SourcePlace name_place = inside.of(setting, "name");
    const auto [first, is_new] = lines.emplace(setting.name(), name_place.line);
    if (!is_new) {
      diagnostics.error("duplicate-setting", in_quotes(setting.name()) + " is set twice", name_place,
                        "it is set first at line " + std::to_string(first->second) + "; keep one of the two");
      continue;
    }
    try {
      set(setting.name(), setting.value(), name_place);
    } catch (const InputError& error) {
      for (Diagnostic diagnostic : error.diagnostics()) {
        const bool is_value = diagnostic.code == "bad-value" || diagnostic.code == "out-of-range";
        if (is_value && !setting.value().empty()) diagnostic.place = inside.of(setting, "value");
        diagnostics.add(std::move(diagnostic));
      }
    }
  }
}

}  // namespace weft
