// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/size_limit.hpp"

#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "topologies/builders/builder_error.hpp"

namespace weft {

void check_size(std::string_view builder, std::uint64_t nodes, std::uint64_t cables, const SourcePlace& place) {
  constexpr std::uint64_t things_max = 100'000'000;
  if (nodes <= things_max && cables <= things_max - nodes) return;
  fail_builder(builder, "too-large", fmt::format("the fabric would have {} nodes and {} cables", nodes, cables), place,
               fmt::format("at most {} together are built; use fewer hosts or switches", things_max));
}

}  // namespace weft
