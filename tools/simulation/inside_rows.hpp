// SPDX-License-Identifier: Apache-2.0
// Inside rows: transfers that hosts moved on links of their own, as rows of the run.
//
// Where it sits: tools/simulation/run hands it what every host has recorded when the run is over.
// Model: where a sink wants no row of each, those of all hosts that are alike share rows.
// Threads: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "host/inside/inside_records.hpp"
#include "host/ranks/job.hpp"
#include "tools/simulation/result_rows.hpp"

namespace weft {

class InsideRows {
 public:
  /// Keeps references. Transfers are numbered from `next_id` on.
  InsideRows(const JobTable& attempts, bool lists_each, std::uint64_t next_id, ResultRows& rows)
      : attempts_(attempts), lists_each_(lists_each), next_id_(next_id), rows_(rows) {}

  /// Of one host.
  void add(const InsideRecords& records);
  /// What was kept back to share rows.
  void finish();

 private:
  /// Replays of one collective of an iteration, in all groups whose ranks play one role.
  struct Key {
    const CollectiveReplay* replay = nullptr;
    AttemptId attempt;
    std::uint32_t role = 0;
    std::uint64_t iteration = 0;
    std::uint64_t stream = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Alike {
    InsideRecords::Replayed first;
    Time last_begun;
    std::uint64_t times = 0;
  };

  void add_replayed(const InsideRecords::Replayed& replayed);
  /// Transfers of a replay that are alike.
  struct Shared {
    CollectiveReplay::Moved first;
    std::uint64_t transfers = 0;
    Duration start;  ///< of the first
    Duration end;    ///< of the last
  };

  const std::vector<Shared>& shared_of(const CollectiveReplay& replay);
  void share_rows(const Alike& alike);
  /// Of the group, by position.
  std::span<const RankId> ranks_of(const InsideRecords::Replayed& replayed) const;
  /// Of all ranks of a collective; none if they play several.
  std::optional<std::uint32_t> role_of(const InsideRecords::Replayed& replayed) const;
  FlowId next_id();
  FinishedTransfer finished(const InsideRecords::Replayed& replayed, const CollectiveReplay::Moved& moved) const;

  const JobTable& attempts_;
  bool lists_each_;
  std::uint64_t next_id_;
  ResultRows& rows_;
  std::vector<Alike> alike_;
  // Looked up only.
  std::unordered_map<Key, std::size_t, Hash> place_of_;  ///< in alike_
  std::unordered_map<const CollectiveReplay*, std::vector<Shared>> shared_;
};

}  // namespace weft
