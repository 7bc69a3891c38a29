// SPDX-License-Identifier: Apache-2.0
// Hierarchical: first among the GPUs of a host, then along the rails (GPUs of equal number in all
// hosts), then inside the hosts again.
//
// Model, with H hosts of G ranks, a buffer of B bytes, P pieces:
//   all_reduce      reduce-scatter inside the hosts, all-reduce of every GPU's share along its
//                   rail, all-gather inside the hosts
//   reduce_scatter  reduce-scatter inside, reduce-scatter along the rails
//   all_gather      all-gather along the rails, all-gather inside
//   broadcast       the root scatters inside its host, its host broadcasts along the rails,
//                   all-gather inside
//   all_to_all      PXN: inside its host every GPU gives GPU r the blocks for GPU r of all hosts;
//                   that one sends what its host has for another as one message along its rail: H-1
//                   messages between hosts per GPU instead of (H-1) G. In one piece, direct at both
//                   levels.
// Pieces go through the phases like through a pipeline: piece k+1 is inside the hosts while piece k
// is on the rails; a phase takes one piece after the other. (all_reduce: Cho et al., BlueConnect,
// MLSys 2019; pieces over levels: Rashidi et al., Themis, ISCA 2022; PXN: NVIDIA, Doubling all2all
// performance with NCCL 2.12, 2022; broadcast by scatter and all-gather: van de Geijn, 1994.)
//
// docs/internals/collectives.md, "Hierarchical", has the times, the order of shares and the limit
// on pieces.
#pragma once

#include <cstdint>
#include <memory>

#include "host/collectives/collective.hpp"

namespace weft {

/// How the members of a subgroup exchange: with each other, or by what switches add up and multiply
/// (sharp). In the order of the parameters' choices, "direct|ring" and "direct|ring|nvls".
enum class Exchange : std::uint8_t { direct, ring, in_network };

Module<CollectiveAlgorithmFactory> hierarchical_algorithm();

/// What it does with these exchanges, which sharp shares. A phase in switches has one step per
/// piece; of reduce_scatter, all_gather and all_reduce, and a barrier is then an all_reduce of
/// nothing. Requires of compile(): no other type if `between` is in_network.
std::unique_ptr<CollectiveAlgorithm> make_hierarchical(Exchange inside, Exchange between, std::uint32_t pieces);

}  // namespace weft
