// SPDX-License-Identifier: Apache-2.0
// Workload frame: everything of a workload file but its ops - ranks, communicators, split tables,
// who plays which role.
//
// Where it sits: shared by the text and the binary side of dag_reader; internal to this folder,
// since it shows the schema's classes.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/text/diagnostics_fwd.hpp"
#include "core/text/textproto.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/workload.pb.h"

namespace weft {

/// Fills name, ranks, communicators, splits, role names and role_of. `roles` has one empty DAG per
/// role. With errors in `diagnostics` the result still has one communicator, table and role per
/// entry of the file, so that ops can be checked as well.
Workload read_frame(const workload_file::Workload& file, const FieldPlaces& places, const SourcePlace& whole_file,
                    Diagnostics& diagnostics);

/// What the ranks of a role find in a communicator.
struct Seats {
  std::uint32_t group_size_min = UINT32_MAX;
  std::uint32_t group_size_max = 0;
  std::optional<RankId> rank_without_group;
};

/// What readers of roles look up in a frame, each in constant time. The frame outlives it and keeps
/// its communicators and tables.
class FrameIndex {
 public:
  explicit FrameIndex(const Workload& frame);

  std::optional<std::uint16_t> communicator(std::string_view name) const;
  std::optional<std::uint32_t> splits(std::string_view name) const;
  Seats seats_of(std::size_t role, std::size_t communicator) const;

 private:
  const Workload& frame_;
  std::unordered_map<std::string_view, std::uint16_t> communicators_;
  std::unordered_map<std::string_view, std::uint32_t> splits_;
  RolePlayers players_;
};

CollectiveType from_file(workload_file::CollectiveType type);
workload_file::CollectiveType to_file(CollectiveType type);

/// What to do about a priority that is out of range.
inline constexpr const char* priority_help = "priorities are 0 (the default) to 7, which goes first";

}  // namespace weft
