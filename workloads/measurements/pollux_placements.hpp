// SPDX-License-Identifier: Apache-2.0
// Pollux placements: measured training step times by placement and batch size (Qiao et al., OSDI
// 2021; *_placements.csv of its simulator), on 16 hosts of 4 T4 each.
//
//   placement,local_bsz,step_time,sync_time
//   44,24,0.351,0.102
//
// placement    a digit per host, the number of GPUs there: "44" is 4 + 4 GPUs on two hosts. The
//              order of hosts says nothing: "21" and "12" are two measurements of one placement
// local_bsz    samples per GPU and step
// step_time    seconds of one step
// sync_time    seconds of it that gradient synchronisation adds because computation does not hide
//              it; at most step_time
// Read strictly: every fault is an error ([bad-value], [out-of-range], [negative-duration],
// [missing-column], [wrong-field-count], [no-rows]).
// Thread safety: immutable once read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/text/source_text.hpp"
#include "workloads/measurements/placement_times.hpp"

namespace weft {

class PolluxPlacements {
 public:
  /// Throws InputError.
  static PolluxPlacements read(const SourceText& source);

  std::vector<std::uint32_t> batch_sizes() const;
  /// Requires: one of batch_sizes().
  const PlacementTimes& of_batch_size(std::uint32_t local_batch_size) const { return times_.at(local_batch_size); }
  /// What the table holds, for `weft check`.
  std::string to_text() const;

 private:
  struct Totals {
    std::uint64_t rows = 0;
    double step_s = 0;
    double sync_s = 0;
  };
  std::map<std::uint32_t, PlacementTimes> times_;
  std::map<std::uint32_t, Totals> by_hosts_;  ///< per number of hosts
};

}  // namespace weft
