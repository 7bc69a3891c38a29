// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/dimensions.hpp"

#include <charconv>
#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

Dimensions read_dimensions(const std::string& text, const std::string& param, const SourcePlace& place) {
  constexpr std::size_t dimensions_max = 16;
  constexpr std::uint64_t places_max = 1'000'000;
  const auto fail = [&](const std::string& message, const std::string& help) {
    weft::fail("bad-dimensions", fmt::format("{}: {}", param, message), place, help);
  };
  Dimensions sizes;
  std::uint64_t places = 1;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    std::uint32_t size = 0;
    const auto parsed = std::from_chars(at, end, size);
    if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr != 'x') || size == 0) {
      fail(fmt::format("\"{}\" is no list of sizes", text), "write whole numbers above zero with an x between, such as 4x4x8");
    }
    sizes.push_back(size);
    places *= size;
    if (places > places_max || sizes.size() > dimensions_max) {
      fail(fmt::format("\"{}\" is too large", text),
           fmt::format("at most {} dimensions and {} switches", dimensions_max, places_max));
    }
    if (parsed.ptr == end) return sizes;
    at = parsed.ptr;
  }
}

std::uint32_t places(const Dimensions& sizes) {
  std::uint32_t product = 1;
  for (const std::uint32_t size : sizes) product *= size;
  return product;
}

}  // namespace weft
