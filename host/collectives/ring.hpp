// Ring: every rank talks to its two neighbours only, in group order. Bandwidth-optimal, latency grows with the group.
//
// With n ranks, link rate R and alpha = time of an empty message (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms"):
//   reduce_scatter  (n-1) (alpha + B/(nR))          all_gather  (n-1) (alpha + b/R), b = shard
//   all_reduce      2 (n-1) (alpha + B/(nR))        all_to_all  sum over s=1..n-1 of (alpha + (n-s) B/(nR))
//   broadcast       (n-2+k) (alpha + B/(kR)), k = pieces of at most `broadcast_piece` (never more than 65,535), a pipeline along the ring
// A rank sends one message at a time: a send waits for the previous send and for the data it forwards.
// all_to_all stores and forwards: each message carries the blocks that still have to travel.
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> ring_algorithm();

}  // namespace weft
