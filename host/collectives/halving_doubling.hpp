// SPDX-License-Identifier: Apache-2.0
// Halving and doubling: ranks exchange half of what they hold with a partner, then half of that
// with another, log2(n) rounds in all; and back.
//
// Model (Rabenseifner, Optimization of collective reduction operations, ICCS 2004; Thakur,
// Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19,
// 2005)
//   - The partner of a rank in a round is the one whose number differs in one bit.
//   - all_reduce: vector halving with distance doubling, so that the largest messages go to the
//     nearest ranks; then the same exchanges in reverse.
//   - reduce_scatter, all_gather: results are tied to ranks, so that distances halve with the
//     vectors, and double with them.
//   - n = c + r with c = 2^q: of the first 2r ranks, those with even numbers hand what they have to
//     the next one, which takes part for both; at the end they get their result from there. Of
//     their own share of a reduce_scatter or all_gather nothing is sent in vain.
//
// With link rate R and alpha = time of an empty message, n = c:
//   all_reduce      2 q alpha + 2 (n-1)/n B/R
//   reduce_scatter  q alpha + (n-1)/n B/R           all_gather  q alpha + (n-1) b/R, b = shard
// With r > 0, if the exchange began when everything is handed in:
//   all_reduce      2 (q+1) alpha + 2 (1 + (c-1)/c) B/R
//   reduce_scatter  (q+2) alpha + (n + sum over m = 1, 2, 4..c/2 of min(2m, m+r)) B/(nR)
//   all_gather      the same with b for B/n
// But messages are eager: members of the core that nobody hands in to begin at once, and what they
// send shares the links of the others with what is handed in. That adds up to (c-1)/c B/R.
// Over all ranks as many bytes are sent as by a ring.
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> halving_doubling_algorithm();

}  // namespace weft
