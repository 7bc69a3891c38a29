// SPDX-License-Identifier: Apache-2.0
// Size limit: what is too large to build.
//
// Where it sits: builders ask before they add the first node, with 64-bit numbers, so that the
// 32-bit ones do not wrap later.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/text/diagnostics_fwd.hpp"

namespace weft {

/// Throws InputError [too-large] at `place` for more than 100 million nodes and cables together.
void check_size(std::string_view builder, std::uint64_t nodes, std::uint64_t cables, const SourcePlace& place);

}  // namespace weft
