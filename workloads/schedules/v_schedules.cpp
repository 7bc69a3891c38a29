// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/v_schedules.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "workloads/schedules/weight_filling.hpp"

namespace weft {

namespace {

/// In the order in which a microbatch goes: down and up forward, down and up backward.
constexpr std::size_t ways = 4;
constexpr std::array<PassKind, ways> way_kinds = {PassKind::forward, PassKind::forward, PassKind::backward_input,
                                                  PassKind::backward_input};
constexpr std::array<std::uint32_t, ways> way_chunks = {0, 1, 1, 0};
constexpr std::int64_t interval = 6;  ///< units between two microbatches: passes of a device

/// When passes of one microbatch begin, in units of a mean pass.
struct BuildingBlock {
  std::array<std::int64_t, ways> steps;  ///< from one device to the next
  std::array<std::int64_t, ways> turns;  ///< from the way before; the first is 0

  std::int64_t start(std::size_t way, std::uint32_t device, std::uint32_t stages) const {
    std::int64_t at = 0;
    for (std::size_t before = 0; before < way; ++before) at += steps[before] * (stages - 1) + turns[before + 1];
    const bool is_down = way % 2 == 0;
    return at + steps[way] * (is_down ? device : stages - 1 - device);
  }
};

/// By how much the first and last microbatches begin earlier than the interval says.
struct Squeeze {
  std::uint32_t count = 0;
  std::int64_t units = 0;  ///< each of them
};

constexpr std::array<Squeeze, 5> lead_squeezes = {{{0, 0}, {1, 1}, {1, 2}, {2, 1}, {2, 2}}};
constexpr std::array<Squeeze, 3> tail_squeezes = {{{0, 0}, {1, 2}, {2, 2}}};

std::int64_t microbatch_start(std::uint32_t microbatch, std::uint32_t microbatches, const Squeeze& lead, const Squeeze& tail) {
  const std::uint32_t first = std::min(microbatch, lead.count);
  const std::uint32_t from_end = microbatches - 1 - microbatch;
  const std::uint32_t last = tail.count - std::min(from_end, tail.count);
  return microbatch * interval - first * lead.units - last * tail.units;
}

PipelineOrder repeated(const PipelineSizes& sizes, const BuildingBlock& block, const Squeeze& lead, const Squeeze& tail) {
  struct Placed {
    std::int64_t start;
    std::uint32_t number;  ///< ties go by microbatch and way
    PipelinePass pass;
  };
  PipelineOrder order{ChunkPlacement::v_shape, {}};
  std::vector<Placed> placed;
  for (std::uint32_t device = 0; device < sizes.stages; ++device) {
    placed.clear();
    std::array<std::int64_t, ways> starts{};
    for (std::size_t way = 0; way < ways; ++way) starts[way] = block.start(way, device, sizes.stages);
    for (std::uint32_t microbatch = 0; microbatch < sizes.microbatches; ++microbatch) {
      const std::int64_t begin = microbatch_start(microbatch, sizes.microbatches, lead, tail);
      for (std::size_t way = 0; way < ways; ++way) {
        placed.push_back(
            {begin + starts[way], static_cast<std::uint32_t>(placed.size()), {way_kinds[way], microbatch, way_chunks[way]}});
      }
    }
    std::ranges::sort(placed, {}, [](const Placed& one) { return std::pair(one.start, one.number); });
    std::vector<PipelinePass> passes;
    for (const Placed& one : placed) passes.push_back(one.pass);
    order.devices.push_back(std::move(passes));
  }
  return order;
}

/// The n-th of the blocks that are tried; none past the last.
std::optional<BuildingBlock> nth_block(std::uint32_t n) {
  constexpr std::array<std::int64_t, 3> turns = {1, 2, 4};
  BuildingBlock block{};
  for (std::int64_t& step : block.steps) {
    step = 1 + n % 2;
    n /= 2;
  }
  for (std::size_t way = 1; way < ways; ++way) {
    block.turns[way] = turns[n % turns.size()];
    n /= turns.size();
  }
  if (n > 0) return std::nullopt;
  return block;
}

std::optional<PipelineSchedule> search_blocks(const PipelineSizes& sizes, double limit) {
  std::optional<PipelineSchedule> best;
  for (std::uint32_t n = 0; const std::optional<BuildingBlock> block = nth_block(n); ++n) {
    for (const Squeeze& lead : lead_squeezes) {
      for (const Squeeze& tail : tail_squeezes) {
        const Duration give_up = best ? best->timeline.step_time : Duration::max();
        std::optional<PipelineOrder> order = fill_weight_passes(sizes, repeated(sizes, *block, lead, tail), {limit, 1.0, give_up});
        if (!order) continue;
        PipelineSchedule schedule = executed(sizes, *std::move(order));
        const auto rank = [](const PipelineTimeline& timeline) { return std::pair(timeline.step_time, timeline.activations_max); };
        if (!best || rank(schedule.timeline) < rank(best->timeline)) best = std::move(schedule);
      }
    }
  }
  return best;
}

PipelineScheduleResult make_v(const PipelineSizes& sizes, std::string_view name, std::uint32_t limit) {
  if (auto broken = check_stages(sizes, name, 2)) return *std::move(broken);
  if (auto broken = check_chunks(sizes, name, 2)) return *std::move(broken);
  std::optional<PipelineSchedule> best = search_blocks(sizes, limit);
  WEFT_CHECK(best.has_value(), "the shortest building block has room within the limit of every schedule on a V");
  return *std::move(best);
}

PipelineScheduleResult make_v_half(const PipelineSizes& sizes, const ParamSet& /*params*/) {
  return make_v(sizes, "v_half", sizes.stages / 2 + 1);
}

PipelineScheduleResult make_v_min(const PipelineSizes& sizes, const ParamSet& /*params*/) {
  constexpr std::uint32_t shortest_with_spare = 6;
  const std::uint32_t third = (sizes.stages + 2) / 3 + (sizes.stages >= shortest_with_spare ? 1 : 0);
  return make_v(sizes, "v_min", std::max(third, 2U));
}

}  // namespace

Module<PipelineScheduleMaker> v_half_module() {
  return {
      {"schedule",
       "v_half",
       "A V with half of 1F1B's activations. Repeats the building block that suits the given durations best. Qi et al., Pipeline "
       "Parallelism with Controllable Memory, NeurIPS 2024.",
       {}},
      {2, make_v_half, ChunkPlacement::v_shape}};
}

Module<PipelineScheduleMaker> v_min_module() {
  return {{"schedule",
           "v_min",
           "A V with a third of 1F1B's activations. Repeats the building block that suits the given durations best. Qi et al., "
           "Pipeline Parallelism with Controllable Memory, NeurIPS 2024.",
           {}},
          {2, make_v_min, ChunkPlacement::v_shape}};
}

}  // namespace weft
