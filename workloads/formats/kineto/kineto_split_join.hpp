// SPDX-License-Identifier: Apache-2.0
// Kineto split join: gives the all-to-alls of a set of traces their split tables.
//
// Where it sits: after formats/kineto_placement, which read what each rank sends
// (formats/kineto_splits).
//
// Model: the i-th collectives of all members of a group match. If all of them say how they divide,
// their rows become one table; if one does not, all get the mean of their sizes. A replayed rank
// stands for all: every rank divides its input as that one does.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/dag/dag.hpp"
#include "workloads/formats/kineto/kineto_notes.hpp"
#include "workloads/formats/kineto/kineto_placement.hpp"
#include "workloads/formats/kineto/kineto_set.hpp"
#include "workloads/formats/kineto/kineto_splits.hpp"

namespace weft {

class KinetoSplitJoin {
 public:
  /// All of them outlive it. The communication of the set is placed.
  KinetoSplitJoin(KinetoSet& set, const KinetoSplits& splits, KinetoFindings& findings)
      : set_(set), splits_(splits), findings_(findings) {}

  /// Changes the all-to-alls of the set and returns their tables.
  std::vector<SplitTable> join(const std::vector<Communicator>& communicators);

 private:
  /// Per rank and communicator the collectives, in order.
  using Collectives = std::vector<std::vector<std::vector<std::uint32_t>>>;

  void join_members(std::span<const RankId> members, std::size_t communicator, std::size_t position,
                    const Collectives& collectives);
  void repeat_split(const std::vector<Communicator>& communicators, const KinetoSplit& split, Op& op);
  void use_table(Op& op, std::uint32_t positions, const std::vector<Bytes>& bytes);

  KinetoSet& set_;
  const KinetoSplits& splits_;
  KinetoFindings& findings_;
  SplitTableSet tables_;
};

}  // namespace weft
