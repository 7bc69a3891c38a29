// SPDX-License-Identifier: Apache-2.0
// Ring: every rank talks to its two neighbours only, in group order. Bandwidth-optimal, latency
// grows with the group.
//
// With n ranks, link rate R and alpha = time of an empty message (Patarasuk and Yuan 2009,
// "Bandwidth optimal all-reduce algorithms"):
//   reduce_scatter  (n-1) (alpha + B/(nR))          all_gather  (n-1) (alpha + b/R), b = shard
//   all_reduce      2 (n-1) (alpha + B/(nR))        all_to_all  sum over s=1..n-1 of (alpha + (n-s)
//                   B/(nR))
//   broadcast       (n-1) (alpha + B/(kR)) + (k-1) (g + B/(kR)), a pipeline along the ring of k
//                   pieces of at most `broadcast_piece` (never more than 65,535); g = from the end
//                   of a send to the start of the next
// A rank sends one message at a time: a send waits for the previous send and for the data it
// forwards.
// all_to_all stores and forwards: each message carries the blocks that still have to travel.
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> ring_algorithm();

}  // namespace weft
