// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/entry_fields.hpp"

#include <fmt/format.h>

namespace weft {

Duration parse_iteration_time(const std::string& text, const SourcePlace& place, const std::string& zero_message,
                              const std::string& zero_help) {
  const ParsedQuantity<Duration> time = parse_duration(text);
  if (!time.value) fail("bad-value", fmt::format("iteration_time: {}", time.error.message), place, time.error.help);
  require(*time.value > Duration::zero(), "out-of-range", fmt::format("iteration_time: {}", zero_message), place, zero_help);
  return *time.value;
}

}  // namespace weft
