// SPDX-License-Identifier: Apache-2.0
#include "tools/results/joined_flows.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

std::size_t JoinedFlows::Hash::operator()(const Key& key) const {
  std::size_t hash = 0;
  const auto mix = [&hash](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL; };
  for (const char* const name : {key.job, key.source, key.destination, key.op, key.communicator})
    mix(std::hash<const char*>()(name));
  mix(key.iteration);
  return hash ^ (hash >> 32);
}

void JoinedFlows::add(const FlowRow& row) {
  FlowRow kept = row;
  names_.keep_names(kept, &FlowRow::job, &FlowRow::source, &FlowRow::destination, &FlowRow::op, &FlowRow::collective,
                    &FlowRow::communicator);
  const Key key{kept.job.data(), kept.source.data(),       kept.destination.data(),
                kept.op.data(),  kept.communicator.data(), kept.iteration.value_or(0)};
  const auto [place, is_new] = places_.try_emplace(key, rows_.size());
  if (is_new) {
    rows_.push_back({kept});
    rows_.back().row.multiplicity = 0;
  }
  Joined& joined = rows_[place->second];
  const auto times = static_cast<double>(row.multiplicity);
  joined.row.start = std::min(joined.row.start, row.start);
  joined.row.end = std::max(joined.row.end, row.end);
  joined.size_bytes += static_cast<double>(row.size.count()) * times;
  joined.row.multiplicity += row.multiplicity;
  joined.completion_ns += row.completion.in_ns() * times;
  joined.ideal_ns += row.ideal.in_ns() * times;
  joined.slowdown += row.slowdown * times;
}

void JoinedFlows::each(const std::function<void(const FlowRow&)>& take) const {
  for (const Joined& joined : rows_) {
    FlowRow row = joined.row;
    const auto times = static_cast<double>(row.multiplicity);
    row.size = Bytes::of(std::llround(joined.size_bytes / times));
    row.completion = Duration::from_seconds(joined.completion_ns / times / 1e9);
    row.ideal = Duration::from_seconds(joined.ideal_ns / times / 1e9);
    row.slowdown = joined.slowdown / times;
    take(row);
  }
}

}  // namespace weft
