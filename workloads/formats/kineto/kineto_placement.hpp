// SPDX-License-Identifier: Apache-2.0
// Kineto placement: turns the communication of a profiler trace into ops of the workload.
//
// Where it sits: formats/kineto collects the communication of all ranks in a KinetoSet; this gives
// each op its communicator, bytes and peers. formats/kineto_split_join follows.
//
// Collectives: bytes are "In msg nelems" times dtype: the whole buffer, for an all-gather or a
// gather the rank's own shard. A barrier moves nothing. A root is "Rank", a position in the group,
// or position 0. "Out msg nelems" is compared with the size of the group; misfits are counted.
// Sends and receives match by order. The peer is "Dst Rank" or "Src Rank", a rank of the world;
// else the other rank of a group of two; else the position in the group that the annotation names
// ("nccl:send 0->1").
// On a replayed file peers become offsets. With a single peer (a pipeline's first or last stage)
// the ranks are divided into pairs of that distance, if these fill the ranks. One rank of a pair
// does what was recorded; the other sends what it receives, at the same points.
// Errors: [unknown-type], [out-of-range], [unknown-peer], [not-a-member], and those of
// formats/kineto_groups.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/option_names.hpp"
#include "workloads/formats/kineto/kineto_groups.hpp"
#include "workloads/formats/kineto/kineto_notes.hpp"
#include "workloads/formats/kineto/kineto_set.hpp"
#include "workloads/formats/kineto/kineto_splits.hpp"

namespace weft {

/// What each all-to-all sends and receives, by number of the rank and index of the op.
using KinetoSplits = std::map<std::pair<std::uint32_t, std::uint32_t>, KinetoSplit>;

class KinetoPlacement {
 public:
  /// All of them outlive it. The set is complete: its ranks are sorted and counted.
  KinetoPlacement(KinetoSet& set, const OptionNames& names, KinetoErrors& errors, KinetoFindings& findings)
      : set_(set), names_(names), errors_(errors), findings_(findings), groups_(set, names, errors, findings) {}

  /// Turns every exchange of the set into an op of its rank. Throws InputError with all errors of
  /// the set.
  void place_all();

  /// Distance to the only peer of a replayed rank; 0 if there are several, or pairs of this
  /// distance do not fill the ranks.
  std::uint32_t partner_distance() const;
  /// Whether the only peer of a replayed rank has the higher number. Requires: partner_distance() >
  /// 0.
  bool partner_is_above() const { return *offsets_.begin() > 0; }

  std::vector<Communicator> communicators() const { return groups_.communicators(); }
  /// Where the replayed rank is among all ranks.
  std::uint64_t place_of(std::uint32_t number) const { return groups_.growth().place_of(number); }
  /// What became of the groups of a replayed rank.
  void add_group_notes(std::vector<std::string>& notes) const { groups_.growth().add_notes(notes); }
  const KinetoSplits& splits() const { return splits_; }

 private:
  void place(const KinetoExchange& exchange, KinetoRank& rank);
  void place_barrier(const KinetoCommunication& communication, const KinetoRank& rank, Op& op);
  /// False after an error.
  bool place_message(const KinetoExchange& exchange, const KinetoRank& rank, Op& op);
  /// Position of the root; 0 if the trace does not name it.
  std::int32_t root_of(const KinetoCommunication& communication, CollectiveType type, std::uint32_t group_size);
  /// The rank at the other end of a message, in the trace's own numbers. None after an error.
  std::optional<std::uint32_t> peer_of(const KinetoExchange& exchange, const KinetoRank& rank);
  std::nullopt_t fail_peer(std::string code, std::string message, const KinetoExchange& exchange, const KinetoRank& rank,
                           std::string help);

  KinetoSet& set_;
  const OptionNames& names_;
  KinetoErrors& errors_;
  KinetoFindings& findings_;
  KinetoGroups groups_;
  KinetoSplits splits_;
  std::set<std::int64_t> offsets_;  ///< from the replayed rank to its peers
};

}  // namespace weft
