// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/pass_regions.hpp"

#include <algorithm>
#include <set>
#include <variant>

namespace weft {

namespace {

bool stays_inside(const TrainingStep& step, const InsideAxes& inside) {
  if (const auto* collective = std::get_if<AxisCollective>(&step.what))
    return inside.is_inside[static_cast<std::size_t>(collective->axis)];
  if (const auto* shift = std::get_if<ShiftStep>(&step.what)) return inside.is_inside[static_cast<std::size_t>(shift->axis)];
  return true;
}

/// By step: the last one that waits for it; the pass's size where its end does.
std::vector<std::size_t> last_waits(const TrainingPass& pass) {
  std::vector<std::size_t> last(pass.size(), pass.size());
  for (std::size_t i = 0; i < pass.size(); ++i) {
    for (const std::uint32_t before : pass[i].after) last[before] = i;
  }
  return last;
}

}  // namespace

std::vector<PassRegion> regions_of(const TrainingPass& pass, const InsideAxes& inside) {
  const std::vector<std::size_t> last = last_waits(pass);
  std::vector<PassRegion> regions;
  std::set<std::size_t> awaited;  // by later steps
  PassRegion open = {0, 0, true};
  for (std::size_t i = 0; i < pass.size(); ++i) {
    open.is_inside = open.is_inside && stays_inside(pass[i], inside);
    awaited.insert(i);
    std::erase_if(awaited, [&](std::size_t step) { return last[step] <= i && last[step] != pass.size(); });
    const bool begins_later = std::any_of(pass.begin() + static_cast<std::ptrdiff_t>(i) + 1, pass.end(),
                                          [](const TrainingStep& step) { return step.after.empty(); });
    if (i + 1 < pass.size() && (awaited.size() > 1 || begins_later)) continue;
    open.end = i + 1;
    if (!regions.empty() && regions.back().is_inside && open.is_inside) {
      regions.back().end = open.end;
    } else {
      regions.push_back(open);
    }
    open = {i + 1, i + 1, true};
  }
  return regions;
}

}  // namespace weft
