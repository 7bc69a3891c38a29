// SPDX-License-Identifier: Apache-2.0
// Rank list: "0-7,16,32-62:2" - numbers, ranges, and ranges with a step, separated by commas.
//
// Where it sits: hand-written workloads name ranks of roles and groups this way; the writer prints
// them this way. The order of the text is the order of the list (positions in a group follow it).
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/ids.hpp"

namespace weft {

struct ParsedRankList {
  std::vector<RankId> ranks;
  std::string error;         ///< empty if the text is a list of ranks below the limit
  std::size_t error_at = 0;  ///< offset of what is wrong
  std::size_t error_length = 1;
};

/// Requires nothing of `text`; every rank must be < rank_count.
ParsedRankList parse_rank_list(std::string_view text, std::uint32_t rank_count);

/// Shortest such text that keeps the order.
std::string to_text(std::span<const RankId> ranks);

}  // namespace weft
