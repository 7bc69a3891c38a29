// SPDX-License-Identifier: Apache-2.0
// Group size: a process group of a recorded trace, and of how many ranks the user wants it to be.
//
// Where it sits: `--scale-group=NAME=SIZE` and a scenario's `scale_group`; formats/group_growth
// carries it out.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// A group by its name or description, and of how many ranks the user wants it to be.
struct GroupSize {
  std::string name;
  std::uint32_t size = 0;

  friend bool operator==(const GroupSize&, const GroupSize&) = default;
};

/// "dp=64"; none if the text is something else.
std::optional<GroupSize> parse_group_size(std::string_view text);

}  // namespace weft
