// SPDX-License-Identifier: Apache-2.0
#include "workloads/measurements/placement_times.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/check.hpp"

namespace weft {

void PlacementTimes::Mean::add(Duration value) {
  sum_s += value.in_s();
  ++count;
}

Duration PlacementTimes::Mean::value() const { return Duration::from_seconds(sum_s / static_cast<double>(count)); }

void PlacementTimes::add(std::span<const std::uint32_t> gpus_of_hosts, Duration iteration) {
  WEFT_CHECK(!gpus_of_hosts.empty() && iteration >= Duration::zero(), "a placement has hosts and takes time");
  Shape shape(gpus_of_hosts.begin(), gpus_of_hosts.end());
  std::sort(shape.begin(), shape.end(), std::greater<>());
  WEFT_CHECK(shape.back() > 0, "a placement has GPUs on each of its hosts");
  OfGpus& of_gpus = by_gpus_[std::accumulate(shape.begin(), shape.end(), 0U)];
  of_gpus.by_hosts[shape.size()].add(iteration);
  if (shape.size() > 1) of_gpus.several_hosts.add(iteration);
  of_gpus.any.add(iteration);
  of_gpus.longest = std::max(of_gpus.longest, iteration);
  of_gpus.exact[std::move(shape)].add(iteration);
}

void PlacementTimes::add_spread(std::uint32_t gpus, Duration iteration) {
  OfGpus& of_gpus = by_gpus_[gpus];
  of_gpus.spread.add(iteration);
  of_gpus.any.add(iteration);
  of_gpus.longest = std::max(of_gpus.longest, iteration);
}

std::vector<std::uint32_t> PlacementTimes::gpu_counts() const {
  std::vector<std::uint32_t> counts;
  for (const auto& [gpus, times] : by_gpus_) counts.push_back(gpus);
  return counts;
}

PlacementTimes::Found PlacementTimes::find(std::span<const std::uint32_t> gpus_of_hosts) const {
  Shape shape(gpus_of_hosts.begin(), gpus_of_hosts.end());
  std::sort(shape.begin(), shape.end(), std::greater<>());
  const auto known = by_gpus_.find(std::accumulate(shape.begin(), shape.end(), 0U));
  WEFT_CHECK(known != by_gpus_.end(), "an iteration time is asked for a measured number of GPUs");
  const OfGpus& times = known->second;
  if (const auto same = times.exact.find(shape); same != times.exact.end()) return {same->second.value(), Basis::same_placement};
  if (shape.size() > 1 && times.spread.count > 0) return {times.spread.value(), Basis::any_spread};
  if (const auto alike = times.by_hosts.find(shape.size()); alike != times.by_hosts.end()) {
    return {alike->second.value(), Basis::as_many_hosts};
  }
  const bool has_several = shape.size() > 1 && times.several_hosts.count > 0;
  Found found{has_several ? times.several_hosts.value() : times.any.value(), Basis::other_hosts};
  const auto first = has_several ? times.by_hosts.upper_bound(1) : times.by_hosts.begin();
  if (first != times.by_hosts.end()) {
    found.hosts_min = first->first;
    found.hosts_max = times.by_hosts.rbegin()->first;
  }
  return found;
}

Duration PlacementTimes::packed(std::uint32_t gpus) const {
  const auto known = by_gpus_.find(gpus);
  WEFT_CHECK(known != by_gpus_.end(), "an iteration time is asked for a measured number of GPUs");
  const OfGpus& times = known->second;
  return times.by_hosts.empty() ? times.spread.value() : times.by_hosts.begin()->second.value();
}

Duration PlacementTimes::longest(std::uint32_t gpus) const {
  const auto known = by_gpus_.find(gpus);
  WEFT_CHECK(known != by_gpus_.end(), "an iteration time is asked for a measured number of GPUs");
  return known->second.longest;
}

bool PlacementTimes::covers_all(std::uint32_t gpus) const {
  const auto known = by_gpus_.find(gpus);
  WEFT_CHECK(known != by_gpus_.end(), "an iteration time is asked for a measured number of GPUs");
  const OfGpus& times = known->second;
  return times.exact.contains({gpus}) && (gpus == 1 || times.spread.count > 0);
}

std::size_t PlacementTimes::placement_count() const {
  std::size_t count = 0;
  for (const auto& [gpus, times] : by_gpus_) count += times.exact.size();
  return count;
}

}  // namespace weft
