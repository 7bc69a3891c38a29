// SPDX-License-Identifier: Apache-2.0
// Joined flows: transfers of one op and iteration between the same endpoints, as one row.
//
// Where it sits: a FolderSink joins transfers once there are too many for a row each.
// Model: a joined row goes from the first start to the last end; size, completion time, ideal time
// and slowdown are means over its transfers. Rows come in order of their first transfer.
// Threads: belongs to one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>

#include "tools/results/rows.hpp"
#include "tools/results/text_pool.hpp"

namespace weft {

class JoinedFlows {
 public:
  /// Requires: a transfer of a job.
  void add(const FlowRow& row);
  /// Calls `take` with each row.
  void each(const std::function<void(const FlowRow&)>& take) const;
  std::size_t size() const { return rows_.size(); }

 private:
  /// Views of names that names_ keeps: equal ones have one address.
  struct Key {
    const char* job;
    const char* source;
    const char* destination;
    const char* op;
    const char* communicator;
    std::uint64_t iteration;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Joined {
    FlowRow row;            ///< means are still those of the first transfer
    double size_bytes = 0;  ///< sums, like the rest
    double completion_ns = 0;
    double ideal_ns = 0;
    double slowdown = 0;
  };

  TextPool names_;
  std::unordered_map<Key, std::size_t, Hash> places_;  ///< in rows_; looked up only
  std::deque<Joined> rows_;
};

}  // namespace weft
