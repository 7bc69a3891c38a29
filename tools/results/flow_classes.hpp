// SPDX-License-Identifier: Apache-2.0
// Flow classes: the transfers of one op and iteration that are about as large, as one row.
//
// Where it sits: a FolderSink lists classes where there are too many transfers for a row each.
// Model: sizes are of a class from one power of two up to the next. A row goes from the first start
// to the last end of its transfers; size, completion time, ideal time and slowdown are their means,
// beside the percentiles of completion times. Rows come in order of their first transfer.
// Cost: a lookup by numbers for each transfer; memory grows with classes only.
// Threads: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/values/compensated_sum.hpp"
#include "core/values/distribution.hpp"
#include "tools/results/rows.hpp"

namespace weft {

class FlowClasses {
 public:
  /// Requires: a transfer of a job.
  void add(const FlowRow& row);
  /// Calls `take` with each row.
  void each(const std::function<void(const FlowRow&)>& take) const;

 private:
  struct Key {
    JobId job = JobId::none();
    std::uint32_t origin = 0;
    std::uint64_t iteration = 0;
    int size_log2 = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Class {
    std::uint64_t first_flow = 0;
    std::string job;
    std::string op;
    std::string collective;
    std::string communicator;
    std::optional<std::uint64_t> iteration;
    Time start;
    Time end;
    std::uint64_t transfers = 0;
    double size_bytes = 0;  ///< sums, like the rest
    double completion_s = 0;
    double ideal_s = 0;
    CompensatedSum slowdown = {};
    Distribution completions_s;
  };

  Class& class_of(const FlowRow& row);

  std::unordered_map<Key, Class*, Hash> by_key_;  ///< looked up only
  std::deque<Class> classes_;
  Key last_key_;  ///< of the last transfer, whose class the next is often in
  Class* last_ = nullptr;
};

}  // namespace weft
