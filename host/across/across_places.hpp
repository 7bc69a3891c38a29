// SPDX-License-Identifier: Apache-2.0
// Across places: which position of a group an endpoint is.
//
// Where it sits: whoever carries out collectives of the group asks for both ends of every message.
// Thread safety: immutable.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/values/ids.hpp"

namespace weft {

class AcrossPlaces {
 public:
  /// `ranks`: by position. Requires: no two ranks have one endpoint.
  AcrossPlaces(const std::vector<NodeId>& endpoint_of_rank, std::span<const RankId> ranks)
      : entries_(std::bit_ceil(2 * ranks.size())) {
    for (std::uint32_t position = 0; position < ranks.size(); ++position) {
      const NodeId endpoint = endpoint_of_rank[ranks[position].index()];
      entries_[place_of(endpoint)] = {endpoint, position};
    }
  }

  /// Requires: it is one of the group's.
  std::uint32_t position_of(NodeId endpoint) const {
    const Entry& entry = entries_[place_of(endpoint)];
    WEFT_CHECK(entry.endpoint == endpoint, "a group's messages stay among its ranks");
    return entry.position;
  }

 private:
  struct Entry {
    NodeId endpoint = NodeId::none();
    std::uint32_t position = 0;
  };

  /// Of its entry, or of the unused one that it would take.
  std::size_t place_of(NodeId endpoint) const {
    constexpr std::uint32_t golden = 0x9e3779b9;  // 2^32 / golden ratio: spreads small numbers
    const std::size_t last = entries_.size() - 1;
    std::size_t place = (endpoint.index() * golden >> 8) & last;
    while (!entries_[place].endpoint.is_none() && entries_[place].endpoint != endpoint) place = (place + 1) & last;
    return place;
  }

  std::vector<Entry> entries_;  ///< a power of two of places, at least half of which are unused
};

}  // namespace weft
