// SPDX-License-Identifier: Apache-2.0
// Host records: what the hosts of a run have recorded of ops.
//
// Where it sits: tools/simulation/run hands it to whoever makes rows, when a run is over or was cut
// off.
// Threads: belongs to one thread; the hosts have stopped.
#pragma once

#include <utility>
#include <vector>

#include "host/ranks/host_entity.hpp"

namespace weft {

class HostRecords {
 public:
  /// Keeps references. What lies after `now` has not happened.
  HostRecords(std::vector<const HostEntity*> hosts, Time now) : hosts_(std::move(hosts)), now_(now) {}

  /// Calls `take_op` with each record that is not one of a replayed collective, and
  /// `take_replayed` with each of these, host by host.
  template <class TakeOp, class TakeReplayed>
  void each(const TakeOp& take_op, const TakeReplayed& take_replayed) const {
    for (const HostEntity* const host : hosts_) {
      for (const OpRecord& record : host->records()) {
        if (record.end <= now_) take_op(record);
      }
      const InsideRecords inside = host->inside_records(now_);
      for (const OpRecord& record : inside.ops) take_op(record);
      for (const InsideRecords::Replayed& replayed : inside.replays) take_replayed(replayed);
    }
  }

 private:
  std::vector<const HostEntity*> hosts_;
  Time now_;
};

}  // namespace weft
