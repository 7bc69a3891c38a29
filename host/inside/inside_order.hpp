// SPDX-License-Identifier: Apache-2.0
// Inside order: whether the collectives that a role has inside a host come one after the other,
// whatever else goes on, and how far apart.
//
// Where it sits: host/inside/inside_traffic finds it for the ranks of an island; where there is
// one, they may go ahead of the clock (host/ranks/rank_runner).
//
// Model: two collectives are in order if a path of the DAG leads from one to the other. Time that
// passes between them is at least that of the compute ops on any such path.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

class InsideOrder {
 public:
  /// The other side of a send or receive, as an op names it.
  struct Partner {
    std::uint16_t communicator = 0;
    PeerAddressing addressing = PeerAddressing::absolute;
    std::int32_t peer = 0;
    friend auto operator<=>(const Partner&, const Partner&) = default;
  };

  /// `inside`: by communicator, whether its collectives stay inside the host. None if two of those
  /// may be under way at once.
  static std::optional<InsideOrder> of(const RoleDag& dag, const std::vector<bool>& inside);

  struct Next {
    OpId op = OpId::none();
    Duration gap;  ///< least time until it starts, at full speed
  };
  /// What comes after a collective inside; none after the last.
  const Next& after(OpId op) const { return after_[op.index()]; }
  /// All that the role sends to or receives from, each once.
  const std::vector<Partner>& partners() const { return partners_; }
  /// Communicators of its collectives that do not stay inside.
  const std::vector<std::uint16_t>& elsewhere() const { return elsewhere_; }

 private:
  std::vector<Next> after_;  ///< by op
  std::vector<Partner> partners_;
  std::vector<std::uint16_t> elsewhere_;
};

/// Those of a run's roles.
class InsideOrders {
 public:
  /// Null where there is none. Valid as long as this. Any thread may ask. Requires: the DAG
  /// outlives this.
  const InsideOrder* of(const RoleDag& dag, const std::vector<bool>& inside);

 private:
  std::mutex mutex_;
  // Looked up only.
  std::map<std::pair<const RoleDag*, std::vector<bool>>, std::optional<InsideOrder>> known_;
};

}  // namespace weft
