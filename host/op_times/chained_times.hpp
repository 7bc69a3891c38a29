// SPDX-License-Identifier: Apache-2.0
// Chained times: several sources of operator times, asked one after the other until one answers.
//
// Where it sits: projections and generated workloads ask it; measured tables come first, then
// regressors, then an external chip model or the analytical model.
// Threads: const functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/op_times/operator_times.hpp"

namespace weft {

class ChainedTimes final : public OperatorTimes {
 public:
  /// Requires: a source at least, none null.
  explicit ChainedTimes(std::vector<std::unique_ptr<OperatorTimes>> sources);
  ~ChainedTimes() override;

  std::optional<Duration> time_of(const Operator& op, OperatorPass pass) const override;
  /// The longest of all sources.
  Duration dispatch() const override;
  /// "measured: A100, then regressors: A100".
  std::string origin() const override;

  /// How many questions each source has answered so far.
  std::vector<std::uint64_t> answered() const;

 private:
  struct Source;
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace weft
