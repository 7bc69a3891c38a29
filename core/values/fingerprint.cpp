// SPDX-License-Identifier: Apache-2.0
#include "core/values/fingerprint.hpp"

namespace weft {

void Fingerprint::add(std::string_view text) {
  add(static_cast<std::uint64_t>(text.size()));
  std::uint64_t word = 0;
  int held = 0;
  for (const char c : text) {
    word = word << 8 | static_cast<unsigned char>(c);
    if (++held == 8) {
      add(word);
      word = 0;
      held = 0;
    }
  }
  if (held > 0) add(word);
}

std::string Fingerprint::to_text() const {
  constexpr char hex_digits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[i] = hex_digits[(state_ >> (60 - 4 * i)) & 15];
  return text;
}

}  // namespace weft
