// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/group_size.hpp"

#include "core/text/plain_number.hpp"

namespace weft {

std::optional<GroupSize> parse_group_size(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  const auto size = plain_number<std::uint32_t>(text.substr(equals + 1));
  if (!size || *size == 0) return std::nullopt;
  return GroupSize{std::string(text.substr(0, equals)), *size};
}

}  // namespace weft
