// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/plan_units.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft {

std::vector<PlanUnit> units_of(const TransformerModel& model, const ParallelPlan& plan, std::size_t position) {
  std::vector<PlanUnit> units;
  if (position == 0) units.push_back({UnitKind::input, "embedding", sum_of(held_by_input(model, plan))});
  const LayerRange& range = plan.layout[position];
  for (std::uint64_t layer = range.first; layer < range.end(); ++layer) {
    const bool has_experts = model.has_experts(layer);
    units.push_back({has_experts ? UnitKind::expert_layer : UnitKind::dense_layer, fmt::format("layer{}", layer),
                     sum_of(held_by_layer(model, plan, has_experts))});
  }
  if (position + 1 == plan.layout.size()) units.push_back({UnitKind::output, "output", sum_of(held_by_output(model, plan))});
  return units;
}

std::vector<GradientBucket> buckets_of(const std::vector<PlanUnit>& units, const ParallelPlan& plan) {
  std::vector<GradientBucket> buckets;
  for (const bool is_expert : {false, true}) {
    GradientBucket open;
    for (std::size_t unit = units.size(); unit-- > 0;) {
      const std::uint64_t parameters = is_expert ? units[unit].held.expert : units[unit].held.dense;
      if (parameters > 0) {
        if (open.parameters == 0) open = {unit, unit, 0, is_expert};
        open.first_unit = unit;
        open.parameters += parameters;
      }
      const bool is_full = open.parameters >= plan.gradient_bucket || plan.shards_parameters() || unit == 0;
      if (!is_full || open.parameters == 0) continue;
      buckets.push_back(open);
      open.parameters = 0;
    }
  }
  std::stable_sort(buckets.begin(), buckets.end(),
                   [](const GradientBucket& a, const GradientBucket& b) { return a.first_unit > b.first_unit; });
  return buckets;
}

}  // namespace weft
