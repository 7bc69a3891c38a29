// SPDX-License-Identifier: Apache-2.0
// Inside records: what ranks of a host have moved over links that were theirs alone.
//
// Where it sits: islands keep them while the run goes on, and results are read from them when it is
// over.
// Threads: values.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/inside/collective_replay.hpp"
#include "host/ranks/op_record.hpp"
#include "network/transfer_records.hpp"

namespace weft {

struct RunningJob;

struct InsideRecords {
  /// A collective that was not simulated again. The records of its ops follow from it.
  struct Replayed {
    const CollectiveReplay* replay = nullptr;  ///< lives as long as the run's CollectiveReplays
    std::uint64_t stream = 0;                  ///< MessageTags::pack_stream
    Time begun;                                ///< by the last rank
    AttemptId attempt;
    GroupId group;
    std::uint32_t iteration = 0;
    OpId op;  ///< of the rank at position 0
    Time end() const { return begun + replay->last_finish; }
  };

  std::vector<Replayed> replays;  ///< in order of their ends
  std::vector<OpRecord> ops;      ///< of other collectives, which hosts told some ranks of
  /// All others, in the order in which they left their sources.
  std::vector<FinishedTransfer> transfers;
  std::map<LinkId, Bytes> link_bytes;  ///< of all
  Time busy_until;                     ///< since when nothing has been under way
};

/// What the rank at a position of the group records of it.
OpRecord op_record(const InsideRecords::Replayed& replayed, const RunningJob& job, std::uint32_t position);

}  // namespace weft
