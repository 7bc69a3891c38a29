// SPDX-License-Identifier: Apache-2.0
// Kineto groups: which ranks take part in a communication of a profiler trace, and their
// communicator.
//
// Where it sits: formats/kineto_placement asks for every communication of a set.
//
// The ranks of a process group come from the first of these sources that names them: the user's
// JSON file, "Process Group Ranks", distributedInfo's pg_config, "Global rank start" and "stride".
// If none does, a group of the world's size is everyone, and a list that PyTorch cut short goes on
// evenly to "Group size". It does not go on where there is a start but no stride: PyTorch leaves
// the stride out of groups that have none.
// One replayed file stands for all ranks. A group of which only the size is known is so many
// neighbours there; a regular group is repeated over the ranks; any other is taken to be everyone.
// The user may let groups grow (formats/group_growth).
// Errors: [unknown-process-group] and those of fault_of_process_group() and formats/group_growth.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/text/option_names.hpp"
#include "workloads/formats/group_growth.hpp"
#include "workloads/formats/kineto/kineto_notes.hpp"
#include "workloads/formats/kineto/kineto_set.hpp"
#include "workloads/formats/rank_set.hpp"

namespace weft {

class KinetoGroups {
 public:
  /// All of them outlive it. The set is complete: its ranks are sorted and counted.
  KinetoGroups(const KinetoSet& set, const OptionNames& names, KinetoErrors& errors, KinetoFindings& findings)
      : set_(set), names_(names), errors_(errors), findings_(findings), communicators_(set.rank_count) {}

  /// Finds out which groups of a replayed rank grow. Throws InputError.
  void find_growth();
  const GroupGrowth& growth() const { return growth_; }

  /// The ranks of a group in the trace's own numbers; empty = everyone. None after an error:
  /// [unknown-process-group] or those of fault_of_process_group().
  std::optional<std::vector<std::uint32_t>> group_of(const KinetoCommunication& communication, const KinetoRank& rank);

  /// The ranks of a group that the files list or describe in full; none if they do not.
  std::optional<std::vector<std::uint32_t>> known_group(const KinetoCommunication& communication, std::uint32_t number) const;

  /// Index of the communicator that holds the group of a collective of this type.
  std::uint16_t communicator_of(const KinetoCommunication& communication, const std::vector<std::uint32_t>& group,
                                CollectiveType type);

  std::vector<Communicator> communicators() const { return communicators_.build(); }

 private:
  /// Of a replayed rank: so many neighbours if that many divide the ranks, else everyone.
  std::vector<std::uint32_t> guessed_group(std::int64_t size, std::uint32_t number, std::uint64_t& guesses);
  /// Of a list that was cut short: it goes on as it began, if that is one of the rank's own groups.
  std::optional<std::vector<std::uint32_t>> continued_group(const KinetoCommunication& communication, std::uint32_t number);

  /// Of a replayed rank, which stands for all: its groups are every rank's.
  std::uint16_t repeated_communicator_of(const KinetoCommunication& communication, const std::vector<std::uint32_t>& group);
  /// How many ranks the group had when it was recorded; 0 if the trace does not say it.
  std::uint32_t recorded_size(const KinetoCommunication& communication, const std::vector<std::uint32_t>& group) const;

  const KinetoSet& set_;
  const OptionNames& names_;
  KinetoErrors& errors_;
  KinetoFindings& findings_;
  CommunicatorTable communicators_;
  GroupGrowth growth_;
};

}  // namespace weft
