// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/chained_times.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace weft {

struct ChainedTimes::Source {
  std::unique_ptr<OperatorTimes> times;
  mutable std::atomic<std::uint64_t> answered{0};
};

ChainedTimes::ChainedTimes(std::vector<std::unique_ptr<OperatorTimes>> sources) {
  WEFT_CHECK(!sources.empty(), "a chain has a source");
  for (std::unique_ptr<OperatorTimes>& times : sources) {
    WEFT_CHECK(times != nullptr, "a source is there");
    sources_.push_back(std::make_unique<Source>());
    sources_.back()->times = std::move(times);
  }
}

ChainedTimes::~ChainedTimes() = default;

std::optional<Duration> ChainedTimes::time_of(const Operator& op, OperatorPass pass) const {
  for (const std::unique_ptr<Source>& source : sources_) {
    const std::optional<Duration> time = source->times->time_of(op, pass);
    if (!time) continue;
    source->answered.fetch_add(1, std::memory_order_relaxed);
    return time;
  }
  return std::nullopt;
}

Duration ChainedTimes::dispatch() const {
  Duration longest;
  for (const std::unique_ptr<Source>& source : sources_) longest = std::max(longest, source->times->dispatch());
  return longest;
}

std::string ChainedTimes::origin() const {
  std::string text;
  for (const std::unique_ptr<Source>& source : sources_) text += (text.empty() ? "" : ", then ") + source->times->origin();
  return text;
}

std::vector<std::uint64_t> ChainedTimes::answered() const {
  std::vector<std::uint64_t> counts;
  for (const std::unique_ptr<Source>& source : sources_) counts.push_back(source->answered.load());
  return counts;
}

}  // namespace weft
