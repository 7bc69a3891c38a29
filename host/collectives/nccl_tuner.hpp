// SPDX-License-Identifier: Apache-2.0
// NCCL tuner: the algorithm, protocol and number of channels that NCCL takes for a collective.
//
// Where it sits: the collective library asks the tuner where `auto` is chosen and
// collective.rule_set = nccl, after the user's own rules. The predicted costs go into the plan's
// protocol and launch latency; the bytes themselves cross the simulated links.
//
// Model: host/collectives/nccl_cost_model gives every algorithm and protocol a time with the
// constants of the machine (host/collectives/nccl_constants), and the least time is taken.
// Algorithms: ring (all collectives), tree (all_reduce between hosts), nvls (all_reduce within an
// NVSwitch domain), nvls_tree (all_reduce between hosts with NVSwitches), PAT (all_gather and
// reduce_scatter, one rank per host), CollNet (where `collnet` says that switches reduce). All
// other collectives send to all peers at once, by PXN where rails meet at leafs.
// docs/internals/nccl_model.md has the derivation.
// Thread safety: immutable.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/params.hpp"
#include "host/collectives/collective_request.hpp"
#include "host/collectives/nccl_constants.hpp"
#include "host/collectives/nccl_cost_model.hpp"

namespace weft {

class NcclTuner {
 public:
  /// Requires: `nccl` is over nccl_params().
  explicit NcclTuner(const ParamSet& nccl) : params_(nccl) {}

  /// All choices for the request, the best first; equal ones in NCCL's order. Never empty without
  /// filters. `algorithm` and `protocol` filter: `algorithm` names NCCL's algorithm or the module
  /// that carries it out (nvls apart, which an exchange of messages carries out).
  std::vector<NcclChoice> choices(const CollectiveRequest& request, std::string_view algorithm = {},
                                  std::string_view protocol = {}) const;
  /// The machine whose constants are taken for a group.
  std::string machine_of(const GroupLayout& layout) const;

 private:
  ParamSet params_;
};

/// The best choice against the next, for notes:
/// "ring/ll128, 16 channels: 25.1 us predicted; next ring/simple 31 us".
std::string to_text(std::span<const NcclChoice> choices);

}  // namespace weft
