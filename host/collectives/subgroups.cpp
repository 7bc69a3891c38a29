// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/subgroups.hpp"

#include "core/check.hpp"

namespace weft {

Subgroups::Subgroups(std::uint32_t positions, const std::vector<std::vector<std::uint32_t>>& subgroups)
    : positions_(positions), places_(positions) {
  for (const std::vector<std::uint32_t>& subgroup : subgroups) {
    const auto first = static_cast<std::uint32_t>(members_.size());
    for (const std::uint32_t position : subgroup) {
      WEFT_CHECK(position < positions && places_[position].size == 0, "subgroups are disjoint parts of the group");
      const auto index = static_cast<std::uint32_t>(members_.size()) - first;
      places_[position] = {first, index, static_cast<std::uint32_t>(subgroup.size())};
      members_.push_back(position);
    }
  }
  WEFT_CHECK(!members_.empty(), "a division has at least one subgroup");
}

}  // namespace weft
