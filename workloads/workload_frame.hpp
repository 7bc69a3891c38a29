// Workload frame: everything of a workload file but its ops - ranks, communicators, split tables, who plays which role.
//
// Where it sits: shared by the text and the binary side of dag_reader; internal to this folder, since it shows the schema's classes.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/diagnostics.hpp"
#include "core/textproto.hpp"
#include "workloads/dag.hpp"
#include "workloads/workload.pb.h"

namespace weft {

/// Fills name, ranks, communicators, splits, role names and role_of. `roles` has one empty DAG per role. With errors in `diagnostics`
/// the result still has one communicator, table and role per entry of the file, so that ops can be checked as well.
Workload read_frame(const workload_file::Workload& file, const FieldPlaces& places, const SourcePlace& whole_file,
                    Diagnostics& diagnostics);

/// What the ranks of a role find in a communicator.
struct Seats {
  std::uint32_t group_size_min = UINT32_MAX;
  std::uint32_t group_size_max = 0;
  std::optional<RankId> rank_without_group;
};
Seats seats_of(const Workload& workload, std::size_t role, std::size_t communicator);

CollectiveType from_file(workload_file::CollectiveType type);
workload_file::CollectiveType to_file(CollectiveType type);

/// What to do about a priority that is out of range.
inline constexpr const char* priority_help = "priorities are 0 (the default) to 7, which goes first";

}  // namespace weft
