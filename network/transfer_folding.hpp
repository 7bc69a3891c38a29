// Transfer folding: lets one transfer stand for many that are alike at every instant.
//
// Where it sits: the flow fabric asks it when ranks are folded (host/rank_folding makes one); without folding there is none.
//
// Model: ranks fall into classes whose members behave alike. Only a representative of each class runs. A transfer that it starts stands for
// one transfer of every member; on each link that it touches, `load` of them cross. Its delivery is handed to the representative of the
// destination's class, under the name of the source that this representative expects it from.
// Threads: immutable.
#pragma once

#include <cstdint>
#include <span>

#include "core/ids.hpp"
#include "network/network_model.hpp"

namespace weft {

class TransferFolding {
 public:
  virtual ~TransferFolding() = default;

  struct FoldedPath {
    std::span<const LinkId> links;   ///< one of each class of links that the transfers cross
    std::span<const double> loads;   ///< by link: how many of the transfers (or parts of one) it carries
    std::uint32_t multiplicity = 1;  ///< how many transfers there are
  };
  /// Requires: the source is a representative.
  virtual FoldedPath path(const Transfer& transfer) const = 0;
  virtual Transfer seen_by_destination(const Transfer& transfer) const = 0;
  /// The link whose traffic is also that of `link`; the link itself where nothing is folded.
  virtual LinkId representative(LinkId link) const = 0;
};

}  // namespace weft
