// SPDX-License-Identifier: Apache-2.0
// Group growth: what becomes of process groups where one recorded rank stands for more ranks than
// were recorded.
//
// Where it sits: beside formats/rank_set, for formats/chakra and formats/kineto with `ranks`.
//
// Model
//   - A group of all recorded ranks becomes all ranks; any other keeps its size and is repeated
//     (formats/rank_set). So a trace of 8 ranks that runs on 64 is 8 jobs of 8 side by side but for
//     its groups of everyone. Notes say which groups grew and which stayed.
//   - The user may let a group grow (`--scale-group=NAME=SIZE`), by its name or its description
//     ("dp"). Its S ranks that are D apart become SIZE ranks as far apart, and these groups fill
//     the ranks. A group of one rank gets ranks as far apart as the recorded job is large; of
//     several the first that is named lies inside of the others.
//   - The recorded job keeps its shape: its rank numbers are read as so many blocks of S x D ranks
//     and written as so many blocks of SIZE x D. What varies inside a block stays where it was;
//     groups and peers across blocks move apart. Of 16 ranks with tp = 2, dp = 4 (2 apart) and
//     pp = 2 (8 apart), dp = 16 makes 64 ranks with pp 32 apart.
//   - Sizes of messages stay as recorded: an all-gather's are those of a rank's own shard, so that
//     a group that grew gathers more. This is noted.
// Errors: [unknown-process-group], [bad-group-size], [unused-flag].
// Thread safety: one object belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/formats/group_size.hpp"
#include "workloads/formats/rank_set.hpp"

namespace weft {

/// Throws InputError [unused-flag] if sizes are given for a set that is not replayed, or whose
/// collectives are not simulated.
void require_replayed_groups(std::span<const GroupSize> sizes, bool is_replayed, bool is_as_recorded, const OptionNames& names);

class GroupGrowth {
 public:
  /// Nothing grows, and nothing is told.
  GroupGrowth() = default;
  /// `groups` are those of the recorded rank, with all members; without a list and with a size they
  /// are everyone. `recorded_world`: of how many ranks the trace is; 0 if it does not say it.
  /// Throws InputError.
  GroupGrowth(std::span<const ProcessGroup> groups, std::span<const GroupSize> sizes, std::uint32_t recorded_world,
              std::uint32_t rank_count, const OptionNames& names);

  /// How the group is divided that the user lets grow; none for all others.
  std::optional<GroupShape> shape_of(const std::string& name) const;
  /// Where a recorded rank is among all of them.
  std::uint64_t place_of(std::uint32_t recorded) const;
  /// The same for the members of a group.
  std::vector<std::uint32_t> places_of(std::span<const std::uint32_t> recorded) const;

  /// The group has become one of `size` ranks; `recorded` is 0 if the trace does not say of how
  /// many it was. Every group is told of once.
  void tell(const std::string& name, std::uint32_t recorded, std::uint32_t size);
  /// A collective in this group moves what was recorded; counted if the group grew and it gathers.
  void tell_collective(const std::string& name, CollectiveType type);
  void add_notes(std::vector<std::string>& notes) const;

 private:
  /// Blocks of ranks that are as large as a group that grows reaches.
  struct Block {
    std::uint64_t recorded = 0;
    std::uint64_t grown = 0;
  };
  struct Told {
    std::string label;
    std::uint32_t recorded = 0;
    std::uint32_t size = 0;
  };

  void grow(const ProcessGroup& group, GroupShape recorded, const GroupSize& wanted);
  [[noreturn]] void refuse(const GroupSize& wanted, std::string message, std::string help) const;
  /// Sizes that the group could have instead, for messages.
  std::string sizes_that_work(std::uint32_t least, std::uint64_t stride) const;

  std::uint32_t recorded_ranks_ = 0;  ///< of the recorded job, as far as the trace tells
  std::uint32_t rank_count_ = 0;
  OptionNames names_;
  bool is_told_how_ = false;  ///< the user says which groups grow
  std::vector<Block> blocks_;
  std::map<std::string, GroupShape> shapes_;
  std::map<std::string, std::string> labels_;  ///< descriptions by name, where they say more
  std::vector<Told> told_;
  std::map<std::string, std::size_t> told_of_;  ///< places in told_
  std::uint64_t gathers_ = 0;
};

}  // namespace weft
