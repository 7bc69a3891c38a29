// NCCL tuner: which algorithm, protocol and number of channels NCCL takes for a collective, and what they cost on the machine.
//
// Where it sits: the collective library asks it where `auto` is chosen and collective.rule_set = nccl, after the user's own
// rules. What it says of costs goes into the plan's protocol and launch latency; the bytes themselves cross the simulated links.
//
// Model: as in NCCL's src/graph/tuning.cc, every algorithm and protocol that the library has for the type and the group is given
// a time
//   latency + bytes / rate
// and the least is taken. Algorithms: ring (all), tree (all_reduce between hosts), nvls (all_reduce within an NVSwitch domain),
// nvls_tree (all_reduce between hosts with NVSwitches), PAT (all_gather and reduce_scatter, one rank per host), CollNet (where
// `collnet` says that switches add up); all pairs at once for the rest, by PXN where rails meet at leafs. With n ranks on H hosts
// of G, a buffer of B bytes, p = 2 passes for all_reduce, else 1:
//   ring        base + (p (n-1) - p (H-1)) inside hop + p (H-1) network hop + p (n-1)/n B / min(NVLink, NICs of a host)
//   tree        base + 2 ((G-1) inside hop + log2 H network hop) + B / (NICs/2), NICs for two hosts
//   nvls        base + (1 + 1/n) B / NVLink
//   nvls_tree   base + 2 log2 H network hop + B / min(NICs/2, NVLink G/(G+1)), NICs for two hosts
//   PAT         base + log2 H hop/3.5 + 2.8 us n + (n-1)/n B / (0.75 NICs)
// What a collective takes before anything moves (base) goes by protocol, and between hosts has values of its own (`between_*`,
// `nvls_tree_base`). LL and LL128 copy at a rate of their own per pass; Simple takes the longer to fill its pipelines the more there
// is to fill them with, between hosts the longest where rings only copy, and copies a rank's own share from its input to its output.
// Constants are those of the machine (`weft modules machine`): the tables of NCCL's tuner where nothing better is known, fits to
// measured collectives where they are there (tests/validation/README.md says which and how well). What NCCL's tuner leaves out of its
// own reckoning (that trees of NVLS fill up with chunks on their way up and down, that trees between two hosts send the buffer once,
// that trees by LL128 get two thirds of the rate it counts with) takes its time and does not count where the choice is made.
// Channels: NCCL takes one fewer as long as every thread had less than a threshold to do; rings with channels enter and leave hosts
// by all NICs. Channels that do the same on the same links travel as one message, which takes as long.
//
// Where a machine's GPUs are cabled to each other (full mesh), its rings use all cables; here they are all pairs at once, which
// loads cables alike.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/params.hpp"
#include "core/values/units.hpp"
#include "host/collectives/collective_request.hpp"
#include "host/collectives/protocol.hpp"

namespace weft {

/// Parameter table "nccl": the machine, what the library may use, and the machine's constants; of those that are not given the
/// machine's stand.
ParamTable nccl_params();
/// Machines whose constants are known, in the order of the parameter's choices.
std::span<const ModuleInfo> nccl_machines();

struct NcclChoice {
  std::string algorithm;                                    ///< NCCL's name for it
  std::string module;                                       ///< the algorithm that carries it out (collective_algorithms)
  std::vector<std::pair<std::string, std::string>> params;  ///< of the module, where the user gave none
  CollectiveProtocol protocol;
  std::uint32_t channels = 0;  ///< 0: those of the module's program
  std::uint32_t alike = 1;     ///< channels that travel as one
  double time_us = 0;          ///< on idle links
  double weighed_us = 0;       ///< what NCCL's tuner takes it for, which decides
  std::string reason;          ///< why it was taken
};

class NcclTuner {
 public:
  /// `nccl` is over nccl_params().
  explicit NcclTuner(const ParamSet& nccl) : params_(nccl) {}

  /// What there is for the request, the best first; of equal ones in NCCL's order. Not empty. `algorithm` and `protocol` leave only those that are called
  /// so or carried out by that algorithm (but for nvls, which an exchange of messages carries out), or go by that protocol; then it may be empty.
  std::vector<NcclChoice> choices(const CollectiveRequest& request, std::string_view algorithm = {},
                                  std::string_view protocol = {}) const;
  /// The machine whose constants are taken for a group.
  std::string machine_of(const GroupLayout& layout) const;

 private:
  ParamSet params_;
};

/// What was chosen against what, for notes: "ring/ll128, 16 channels: 25.1 us predicted; next ring/simple 31 us".
std::string to_text(std::span<const NcclChoice> choices);

}  // namespace weft
