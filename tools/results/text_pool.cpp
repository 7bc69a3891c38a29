// SPDX-License-Identifier: Apache-2.0
#include "tools/results/text_pool.hpp"

#include <cstddef>
#include <cstdint>

namespace weft {

std::string_view TextPool::keep(std::string_view text) {
  const auto address = reinterpret_cast<std::uintptr_t>(text.data());
  Recent& recent = recent_[(address ^ (address >> 8)) / 8 % recent_.size()];
  // What is there may be another text by now.
  if (recent.kept.data() == nullptr || recent.given.data() != text.data() || recent.kept != text)
    recent = {text, *texts_.emplace(text).first};
  return recent.kept;
}

void TextPool::clear() {
  texts_.clear();
  recent_ = {};
}

}  // namespace weft
