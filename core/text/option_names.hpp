// SPDX-License-Identifier: Apache-2.0
// Option names: how messages call the options of a reader, which users give as flags or as fields.
//
// Where it sits: `weft run --workload=FILE --ranks=4` and a scenario's `workload { file: "..."
// ranks: 4 }` say the same to a reader. Its options say which of the two it is, so that its
// messages name what the user wrote; a Diagnostic says which option is wrong (Diagnostic::option),
// by its field's name.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// A call names an option: names("ranks", "4").
class OptionNames {
 public:
  constexpr OptionNames() = default;
  static constexpr OptionNames of_fields() {
    OptionNames names;
    names.are_fields_ = true;
    return names;
  }

  /// "--time-unit" or "time_unit", with a value "--ranks=4" or "ranks: 4". `option` is the field's
  /// name.
  std::string operator()(std::string_view option, std::string_view value = {}) const;
  bool are_fields() const { return are_fields_; }
  friend bool operator==(const OptionNames&, const OptionNames&) = default;

 private:
  bool are_fields_ = false;
};

}  // namespace weft
