#include "topologies/builders/size_limit.hpp"

#include <string>

#include "core/text/diagnostics.hpp"

namespace weft {

void check_size(std::string_view builder, std::uint64_t nodes, std::uint64_t cables, const SourcePlace& place) {
  constexpr std::uint64_t things_max = 100'000'000;
  if (nodes <= things_max && cables <= things_max - nodes) return;
  fail("too-large",
       std::string(builder) + ": the fabric would have " + std::to_string(nodes) + " nodes and " + std::to_string(cables) +
           " cables",
       place, "at most " + std::to_string(things_max) + " together are built; use fewer hosts or switches");
}

}  // namespace weft
