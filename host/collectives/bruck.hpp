// SPDX-License-Identifier: Apache-2.0
// Bruck: in round j every rank sends all that it can to the rank 2^j places away, for groups of any
// size.
//
// Model (Bruck, Ho, Kipnis, Upfal and Weathersby, Efficient algorithms for all-to-all
// communications in multiport message-passing systems, IEEE TPDS 8, 1997; the barrier is the
// dissemination of Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, IJPP 17,
// 1988)
//   - all_gather: round j hands the min(2^j, n-2^j) shares that a rank has to the rank 2^j before
//     it.
//   - all_to_all: a block for the rank k places on travels in the rounds j of the binary digits of
//     k, so a message holds the blocks of all k with digit j; it is sent on behalf of others as
//     well, and bytes travel log2(n)/2 times on average.
//   - barrier: the rounds of an all_gather without bytes.
//   - Turning the buffer before and after the rounds, as real implementations have to, takes no
//     time.
//
// With q = ceil(log2 n), link rate R, alpha = time of an empty message and c(j) = how many of
// 1..n-1 have binary digit j:
//   all_gather  q alpha + (n-1) b/R, b = shard        barrier  q alpha
//   all_to_all  q alpha + sum over j of c(j) B/(nR), which is q (alpha + B/(2R)) where n is a power
//               of two
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> bruck_algorithm();

}  // namespace weft
