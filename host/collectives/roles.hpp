// SPDX-License-Identifier: Apache-2.0
// Roles: numbers what positions do, so that those that do the same share a program.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace weft {

/// Numbers descriptions from 0 in order of first appearance.
class RoleNumbers {
 public:
  using Description = std::vector<std::uint32_t>;

  std::uint32_t number_of(const Description& description) {
    const auto next = static_cast<std::uint32_t>(descriptions_.size());
    const auto [found, is_new] = numbers_.try_emplace(description, next);
    if (is_new) descriptions_.push_back(description);
    return found->second;
  }
  /// By number.
  const std::vector<Description>& descriptions() const { return descriptions_; }

 private:
  std::map<Description, std::uint32_t> numbers_;
  std::vector<Description> descriptions_;
};

}  // namespace weft
