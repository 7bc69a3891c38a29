// SPDX-License-Identifier: Apache-2.0
// NVLS: the NVSwitches of a host add up and multiply what its GPUs exchange; NVLink SHARP in
// NVIDIA's words.
//
// Model: each collective is one operation in switches (network/in_network/switch_operations) among
// all members, which are GPUs of one host. With n GPUs whose NVLinks have rate R each way, B =
// input buffer of a rank, alpha = time of an empty message:
//   all_reduce                alpha + B (1 + 1/n) / R: NCCL's reduce_scatter and all_gather,
//                             overlapped
//   reduce_scatter            alpha + B/R: every GPU's whole buffer goes up, one n-th of the sum
//                             comes down
//   all_gather                alpha + n B/R: all shards come down to everybody
//   broadcast, reduce         alpha + B/R
//   barrier                   alpha
// R is what flow.nvlink_efficiency and flow.nvls_efficiency leave. NCCL has NVLS for the first
// three; the others use the same two abilities, reading a sum and writing to all.
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> nvls_algorithm();

/// As the algorithm's compile(). Requires: the group is in one host, a type that nvls carries out.
CollectivePlan nvls_plan(const CollectiveRequest& request);
bool nvls_supports(CollectiveType type);

}  // namespace weft
