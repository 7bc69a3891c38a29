// SPDX-License-Identifier: Apache-2.0
// Pairwise: n-1 rounds; in round k every rank sends to the rank k places on and receives from the
// one k places back.
//
// Model (Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
// MPICH, IJHPCA 19, 2005): the next round starts when both messages are done, so a rank has one
// message under way per direction. Empty messages of an all_to_all_v are not sent.
//
// With link rate R and alpha = time of an empty message:
//   all_to_all, reduce_scatter  (n-1) (alpha + B/(nR))
//   all_gather                  (n-1) (alpha + b/R), b = shard
//   all_to_all_v                of a table that depends on the distance k only, s(k) bytes:
//                               sum over k with s(k) > 0 of (alpha + s(k)/R)
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> pairwise_algorithm();

}  // namespace weft
