// SPDX-License-Identifier: Apache-2.0
// NVLS tree: the GPUs of a host share the work among them, and each GPU's share goes up and down
// two trees of hosts along its rail.
//
// Model (NVLSTree of NCCL since 2.18; its trees are those of double_binary_tree), with H hosts of G
// ranks, a buffer of B bytes:
//   - Inside a host every GPU gets the sum of its share of a piece, and at the end the finished
//     shares of all: an exchange of messages here, of whose bytes the NVSwitches carry those that
//     remain where they add up and multiply (the protocol's share inside).
//   - Between hosts a share is cut into halves; each goes up one tree of the rail's GPUs and comes
//     down again. Who is inside one tree is a leaf of the other, so that a NIC of rate R sends 2
//     B/G and an all_reduce takes 2 B/(G R) at least; of two hosts, where both trees are one cable,
//     B/(G R).
//   - Pieces follow one another; a phase takes one piece after the other.
// A message goes 2 ceil(log2 H) times between hosts at most. Roles depend on the host's place in
// both trees, not on the rail.
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> nvls_tree_algorithm();

}  // namespace weft
