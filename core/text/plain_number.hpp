// SPDX-License-Identifier: Apache-2.0
// Plain number: a text that is one number from its first to its last character, without unit or
// blanks.
//
// Where it sits: under the readers of text formats and tables. Values with units are
// core/values/units.
// Thread safety: pure functions.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace weft {

/// The number, in decimal; none if the text is anything else or does not fit the type. Negative
/// ones only if the type has them.
template <class Number>
std::optional<Number> plain_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional<Number>(value) : std::nullopt;
}

/// Whether the text is a whole number of any size, so that plain_number() has only refused it for
/// its size.
inline bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace weft
