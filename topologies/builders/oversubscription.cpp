// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/oversubscription.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/values/units.hpp"
#include "topologies/builders/builder_error.hpp"

namespace weft {

namespace {

constexpr double uplinks_max = 1e6;
constexpr double rounding = 1e-9;  // of a ratio such as 1.3 that leaves whole cables

}  // namespace

void refuse_both(const ParamSet& params, std::string_view count_name, std::string_view ratio_name, const SourcePlace& place) {
  if (!params.is_given(count_name) || !params.is_given(ratio_name)) return;
  fail_builder(params.module(), "conflicting-params",
               fmt::format("{} and {} both say how many cables go up", count_name, ratio_name), place, "give one of the two");
}

std::uint32_t uplinks_for(const ParamSet& params, const UplinkChoice& choice, Bandwidth down_rate, std::uint64_t down_ports,
                          const SourcePlace& place) {
  const double down_bps = static_cast<double>(down_rate.in_bps()) * static_cast<double>(down_ports);
  const double cables = down_bps / (choice.ratio * static_cast<double>(choice.rate.in_bps()));
  const double whole = std::ceil(cables * (1 - rounding));
  if (cables < 1 - rounding && choice.ratio > 1) {
    fail_builder(params.module(), "bad-shape",
                 fmt::format("with {}={:g} {} from below need less than one cable of {} up", choice.ratio_name, choice.ratio,
                             to_text(Bandwidth::bps(std::llround(down_bps))), to_text(choice.rate)),
                 place,
                 fmt::format("choose a ratio up to {:g}, a lower {}, or more hosts below a switch", choice.ratio * cables,
                             choice.rate_name));
  }
  if (whole > uplinks_max) {
    fail_builder(params.module(), "bad-shape", fmt::format("{}={:g} needs {:g} cables up", choice.ratio_name, choice.ratio, whole),
                 place, "choose a ratio nearer to 1");
  }
  return static_cast<std::uint32_t>(whole);
}

}  // namespace weft
