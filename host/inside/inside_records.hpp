// SPDX-License-Identifier: Apache-2.0
// Inside records: what ranks of a host have moved over links that were theirs alone.
//
// Where it sits: islands keep them while the run goes on, and results are read from them when it is
// over.
// Threads: values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/inside/collective_replay.hpp"
#include "network/transfer_records.hpp"

namespace weft {

struct InsideRecords {
  /// A collective that was not simulated again.
  struct Replayed {
    std::shared_ptr<const CollectiveReplay> replay;
    AttemptId attempt;
    GroupId group;
    std::uint64_t iteration = 0;
    std::uint64_t stream = 0;  ///< MessageTags::pack_stream
    Time begun;                ///< by the last rank
  };

  std::vector<Replayed> replays;  ///< in order of their ends
  /// All others, in the order in which they left their sources.
  std::vector<FinishedTransfer> transfers;
  std::map<LinkId, Bytes> link_bytes;  ///< of all
  Time busy_until;                     ///< since when nothing has been under way
};

}  // namespace weft
