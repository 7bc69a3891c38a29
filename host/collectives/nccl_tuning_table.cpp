// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/nccl_tuning_table.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr std::int64_t bisected_to = 64;

std::vector<NcclChoice> choices_for(const NcclTuner& tuner, const GroupLayout& layout, CollectiveType type, std::int64_t whole) {
  CollectiveRequest request{type, 0, Bytes::of(whole), &layout, nullptr};
  if (type == CollectiveType::all_gather || type == CollectiveType::gather) {
    request.bytes = Bytes::of(std::max<std::int64_t>(1, whole / layout.ranks()));
  }
  return tuner.choices(request);
}

bool alike(const NcclChoice& a, const NcclChoice& b) { return a.algorithm == b.algorithm && a.protocol.name == b.protocol.name; }

/// What all ranks move over their links for every byte of the buffer, as nccl-tests counts it.
double bus_factor(CollectiveType type, double ranks) {
  if (type == CollectiveType::all_reduce) return 2 * (ranks - 1) / ranks;
  return type == CollectiveType::broadcast || type == CollectiveType::reduce ? 1 : (ranks - 1) / ranks;
}

}  // namespace

std::vector<NcclTunedRange> nccl_tuned_ranges(const NcclTuner& tuner, const GroupLayout& layout, CollectiveType type,
                                              Bytes smallest, Bytes largest) {
  WEFT_CHECK(smallest > Bytes::zero() && smallest <= largest && layout.ranks() > 1, "there are sizes, and somebody to send to");
  const auto best = [&](std::int64_t whole) { return choices_for(tuner, layout, type, whole).front(); };
  std::vector<NcclTunedRange> ranges;
  const auto add = [&ranges](std::int64_t from, const NcclChoice& choice) {
    if (ranges.empty() || ranges.back().algorithm != choice.algorithm || ranges.back().protocol != choice.protocol.name) {
      ranges.push_back({Bytes::of(from), choice.algorithm, choice.protocol.name, choice.channels, choice.channels});
    }
    ranges.back().channels_min = std::min(ranges.back().channels_min, choice.channels);
    ranges.back().channels_max = std::max(ranges.back().channels_max, choice.channels);
  };
  std::int64_t below = smallest.count();
  NcclChoice taken = best(below);
  add(below, taken);
  for (std::int64_t above = 2 * below; above <= largest.count(); above *= 2) {
    const NcclChoice next = best(above);
    if (!alike(taken, next)) {
      std::int64_t low = below;
      std::int64_t high = above;
      while (high - low > std::max<std::int64_t>(1, low / bisected_to)) {
        const std::int64_t middle = low + (high - low) / 2;
        (alike(best(middle), taken) ? low : high) = middle;
      }
      add(high, best(high));
    }
    add(above, next);
    taken = next;
    below = above;
  }
  return ranges;
}

std::vector<NcclTunedCost> nccl_tuned_costs(const NcclTuner& tuner, const GroupLayout& layout, CollectiveType type, Bytes smallest,
                                            Bytes largest) {
  WEFT_CHECK(smallest > Bytes::zero() && smallest <= largest && layout.ranks() > 1, "there are sizes, and somebody to send to");
  struct Seen {
    NcclTunedCost cost;
    std::int64_t last_bytes = 0;
    double last_us = 0;
  };
  std::map<std::pair<std::string, std::string>, Seen> seen;
  const double factor = bus_factor(type, layout.ranks());
  for (std::int64_t whole = smallest.count(); whole <= largest.count(); whole *= 2) {
    for (const NcclChoice& choice : choices_for(tuner, layout, type, whole)) {
      const auto [known, is_new] = seen.try_emplace({choice.algorithm, choice.protocol.name});
      Seen& one = known->second;
      if (is_new) {
        one.cost = {choice.algorithm, choice.protocol.name, choice.time_us, 0};
      } else if (choice.time_us > one.last_us) {
        one.cost.bus_gbytes_per_s = static_cast<double>(whole - one.last_bytes) / (choice.time_us - one.last_us) * factor * 1e-3;
      }
      one.last_bytes = whole;
      one.last_us = choice.time_us;
    }
  }
  std::vector<NcclTunedCost> costs;
  for (auto& [name, one] : seen) costs.push_back(std::move(one.cost));
  return costs;
}

}  // namespace weft
