// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/oversubscription.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "topologies/builders/builder_error.hpp"

namespace weft {

Bandwidth uplink_rate(const ParamSet& params, const UplinkChoice& choice, Bandwidth down_rate, std::uint64_t down_ports,
                      std::uint64_t up_ports, const SourcePlace& place) {
  const double ratio = choice.ratio;
  if (ratio == 0) return choice.rate;
  const std::string rate_text(choice.rate_name);
  const std::string ratio_text(choice.ratio_name);
  if (params.is_given(choice.rate_name)) {
    fail_builder(params.module(), "conflicting-params",
                 fmt::format("{} and {} both set the rate of the same links", rate_text, ratio_text), place, "give one of the two");
  }
  const double bps =
      static_cast<double>(down_rate.in_bps()) * static_cast<double>(down_ports) / ratio / static_cast<double>(up_ports);
  if (up_ports == 0 || !(bps >= 1) || bps >= 0x1p62) {
    fail_builder(params.module(), "bad-shape", fmt::format("{} leaves the up-links no usable rate", ratio_text), place,
                 up_ports == 0 ? fmt::format("there are no up-links; drop {}", ratio_text) : "choose a ratio nearer to 1");
  }
  return Bandwidth::bps(std::llround(bps));
}

}  // namespace weft
