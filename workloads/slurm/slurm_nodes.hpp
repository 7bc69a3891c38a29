// SPDX-License-Identifier: Apache-2.0
// Slurm nodes: the hosts that `scontrol show node` lists, as text or with --json, and `sinfo
// --json` of version 22.05.
//
// Where it sits: tools/simulation/operator_snapshot makes hosts of a cluster of them.
// Model: a node takes part with the GPUs that Gres (or CfgTRES) configures. It is out of service
// when its state says that it is down, drained or drains, failing, in maintenance, reserved for a
// later reboot, or not there; states that planning or saving of power leave (PLANNED, POWERED_DOWN)
// do not take it out. A node that drains keeps the jobs that it runs. GPUs in use are those of
// AllocTRES, or of GresUsed, which `scontrol -d` tells as well, also where gres/gpu is no tracked
// resource: the larger. In JSON they are tres_used and gres_used.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"

namespace weft {

struct SlurmNode {
  std::string name;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_used = 0;              ///< as far as Slurm tells
  std::vector<std::uint32_t> used_indices;  ///< which; empty: not told
  std::string state;                        ///< Slurm's: "IDLE+DRAIN"
  bool is_out = false;
  bool is_completing = false;  ///< some of what is in use comes free now
  std::string reason;          ///< why, if somebody said
  SourcePlace place;
};

/// In the order of the file. Throws InputError with all that is wrong: [bad-json], [missing-field],
/// [bad-value], [unknown-state], [duplicate-node], [no-nodes].
std::vector<SlurmNode> read_slurm_nodes(const SourceText& source);

}  // namespace weft
