// SPDX-License-Identifier: Apache-2.0
#include "topologies/link_limits.hpp"

#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

std::optional<Duration> checked_delay(Duration delay, std::string_view text, const SourcePlace& place, Diagnostics& diagnostics) {
  if (delay > link_delay_max) {
    diagnostics.error("out-of-range", fmt::format("the delay {} is longer than a link may be", in_quotes(text)), place,
                      fmt::format("at most {}", to_text(link_delay_max)));
    return std::nullopt;
  }
  return delay;
}

}  // namespace

std::optional<Bandwidth> read_link_rate(std::string_view text, const SourcePlace& place, Diagnostics& diagnostics) {
  const ParsedQuantity<Bandwidth> rate = parse_bandwidth(text);
  if (!rate.value) {
    diagnostics.error("bad-value", rate.error.message, place, rate.error.help);
    return std::nullopt;
  }
  if (*rate.value == Bandwidth::zero()) {
    diagnostics.error("zero-bandwidth", fmt::format("a link needs a rate above zero, not {}", in_quotes(text)), place,
                      "leave a link out to take it away");
    return std::nullopt;
  }
  if (*rate.value > link_rate_max) {
    diagnostics.error("out-of-range", fmt::format("the rate {} is above what a link may have", in_quotes(text)), place,
                      fmt::format("at most {}", to_text(link_rate_max)));
    return std::nullopt;
  }
  return rate.value;
}

std::optional<Duration> read_link_delay(std::string_view text, const SourcePlace& place, Diagnostics& diagnostics) {
  const ParsedQuantity<Duration> delay = parse_duration(text);
  if (!delay.value) {
    diagnostics.error("bad-value", delay.error.message, place, delay.error.help);
    return std::nullopt;
  }
  return checked_delay(*delay.value, text, place, diagnostics);
}

std::optional<Duration> read_fibre_delay(std::string_view text, const SourcePlace& place, Diagnostics& diagnostics) {
  const ParsedQuantity<Length> length = parse_length(text);
  if (!length.value) {
    diagnostics.error("bad-value", length.error.message, place, length.error.help);
    return std::nullopt;
  }
  return checked_delay(propagation_delay(*length.value), text, place, diagnostics);
}

}  // namespace weft
