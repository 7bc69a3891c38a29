// SPDX-License-Identifier: Apache-2.0
// NCCL cost model: the time of every algorithm and protocol that NCCL has for a collective.
//
// Where it sits: the NCCL tuner (host/collectives/nccl_tuner) takes the choice with the least time.
//
// Model: latency + bytes / rate, as in NCCL's src/graph/tuning.cc, with the constants of the
// machine (host/collectives/nccl_constants). With n ranks on H hosts of G, a buffer of B bytes, and
// p = 2 passes for all_reduce, else 1:
//   ring       base + (p (n-1) - p (H-1)) inside hop + p (H-1) network hop + p (n-1)/n B /
//              min(NVLink, NICs of a host)
//   tree       base + 2 ((G-1) inside hop + log2 H network hop) + B / (NICs/2), NICs for two hosts
//   nvls       base + (1 + 1/n) B / NVLink
//   nvls_tree  base + 2 log2 H network hop + B / min(NICs/2, NVLink G/(G+1)), NICs for two hosts
//   PAT        base + log2 H hop/3.5 + 2.8 us n + (n-1)/n B / (0.75 NICs)
// docs/internals/nccl_model.md says what the terms mean and where Weft departs from NCCL's tuner.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/collectives/collective_request.hpp"
#include "host/collectives/nccl_constants.hpp"
#include "host/collectives/protocol.hpp"

namespace weft {

/// An algorithm and protocol that NCCL has for a collective, and its time.
struct NcclChoice {
  std::string algorithm;  ///< NCCL's name for it
  std::string module;     ///< the collective algorithm that carries it out
  /// Parameters of the module, where the user gave none.
  std::vector<std::pair<std::string, std::string>> params;
  CollectiveProtocol protocol;
  std::uint32_t channels = 0;  ///< 0: those of the module's program
  std::uint32_t alike = 1;     ///< channels that travel as one message
  double time_us = 0;          ///< on idle links
  double weighed_us = 0;       ///< the time that NCCL's tuner predicts; the choice is made by it
  std::string reason;          ///< why it was taken
};

/// All choices for the request, the least time first; equal ones in NCCL's order. Never empty.
std::vector<NcclChoice> nccl_timed_choices(const CollectiveRequest& request, const NcclConstants& constants);

}  // namespace weft
