// SPDX-License-Identifier: Apache-2.0
// Transfer folding: lets one transfer stand for many that are alike at every instant.
//
// Where it sits: the flow fabric asks it when ranks are folded (host/symmetry/rank_folding makes
// one); without folding there is none.
//
// Model: some jobs are folded, perhaps together, others are not. Ranks of folded ones fall into
// classes whose members behave alike. Only a representative of each class runs. A transfer that it
// starts stands for one transfer of every member; on each link that it touches, `load` of them
// cross. Its delivery is handed to the representative of the destination's class, under the name of
// the source that this representative expects it from.
// Threads: immutable.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/network_model.hpp"
#include "network/routing/path_delay.hpp"

namespace weft {

class Topology;
struct FlowSettings;

/// Which links carry the same at every instant, as far as transfers that were folded together go.
class LinkFolding {
 public:
  virtual ~LinkFolding() = default;
  /// Every link that those transfers cross, ascending, and the one whose traffic is also its own;
  /// but for links of add_hashed().
  virtual std::span<const std::pair<LinkId, LinkId>> representatives() const = 0;
  /// Not 0: of so many relations, numbered from 0, bytes are counted each by itself, as
  /// add_hashed() needs them.
  virtual std::uint32_t relations_counted() const { return 0; }
  /// Adds what crossed links that hold no transfer back, which FoldedPath leaves out. `moved`: by
  /// relation, bytes of one of the transfers that are alike.
  virtual void add_hashed(const Topology&, const FlowSettings&, std::span<const Bytes> /*moved*/,
                          std::vector<Bytes>& /*by_link*/) const {}
};

class TransferFolding {
 public:
  virtual ~TransferFolding() = default;

  struct FoldedPath {
    std::span<const LinkId> links;  ///< one of each class of links that the transfers cross
    /// By link: how many of the transfers (or parts of one) it carries.
    std::span<const double> loads;
    std::uint32_t multiplicity = 1;  ///< how many transfers there are
    PathDelay delay;                 ///< their mean
    /// What it was folded by, which outlives the run; null: the transfer stands for itself, and the
    /// other members say nothing.
    const LinkFolding* folding = nullptr;
    /// Who sends to whom: below folding->relations_counted(), unless that is 0.
    std::uint32_t relation = 0;
  };
  /// Requires: the source is a representative, if ranks of its job are folded.
  virtual FoldedPath path(const Transfer& transfer) const = 0;
  virtual Transfer seen_by_destination(const Transfer& transfer) const = 0;
};

}  // namespace weft
