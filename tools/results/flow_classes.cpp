// SPDX-License-Identifier: Apache-2.0
#include "tools/results/flow_classes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft {

namespace {

/// Completion times of a class that are kept as they are.
constexpr std::size_t exact_max = 4096;

}  // namespace

std::size_t FlowClasses::Hash::operator()(const Key& key) const {
  std::size_t hash = key.job.index();
  for (const std::uint64_t value : {std::uint64_t{key.origin}, key.iteration, static_cast<std::uint64_t>(key.size_log2)})
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

FlowClasses::Class& FlowClasses::class_of(const FlowRow& row) {
  const Key key{row.job_id, row.origin, row.iteration.value_or(0),
                static_cast<int>(std::bit_width(static_cast<std::uint64_t>(row.size.count())))};
  if (last_ != nullptr && key == last_key_) return *last_;
  const auto [found, is_new] = by_key_.try_emplace(key, nullptr);
  if (is_new) {
    Class added{.first_flow = row.flow,
                .job = std::string(row.job),
                .op = std::string(row.op),
                .collective = std::string(row.collective),
                .communicator = std::string(row.communicator),
                .iteration = row.iteration,
                .start = row.start,
                .end = row.end,
                .completions_s = Distribution(exact_max)};
    found->second = &classes_.emplace_back(std::move(added));
  }
  last_key_ = key;
  last_ = found->second;
  return *last_;
}

void FlowClasses::add(const FlowRow& row) {
  Class& of = class_of(row);
  const auto times = static_cast<double>(row.multiplicity);
  of.start = std::min(of.start, row.start);
  of.end = std::max(of.end, row.end);
  of.transfers += row.multiplicity;
  of.size_bytes += static_cast<double>(row.size.count()) * times;
  of.completion_s += row.completion.in_s() * times;
  of.ideal_s += row.ideal.in_s() * times;
  of.slowdown.add(row.slowdown * times);
  of.completions_s.add(row.completion.in_s(), row.multiplicity);
}

void FlowClasses::each(const std::function<void(const FlowRow&)>& take) const {
  for (const Class& one : classes_) {
    const auto transfers = static_cast<double>(one.transfers);
    const auto percentile = [&](double percent) { return Duration::from_seconds(one.completions_s.percentile(percent)); };
    FlowRow row;
    row.flow = one.first_flow;
    row.job = one.job;
    row.size = Bytes::of(std::llround(one.size_bytes / transfers));
    row.start = one.start;
    row.end = one.end;
    row.completion = Duration::from_seconds(one.completion_s / transfers);
    row.ideal = Duration::from_seconds(one.ideal_s / transfers);
    row.slowdown = one.slowdown.value() / transfers;
    row.multiplicity = one.transfers;
    row.op = one.op;
    row.collective = one.collective;
    row.iteration = one.iteration;
    row.communicator = one.communicator;
    row.completions = {{percentile(50), percentile(90), percentile(99), Duration::from_seconds(one.completions_s.max())}};
    take(row);
  }
}

}  // namespace weft
