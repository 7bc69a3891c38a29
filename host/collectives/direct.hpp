// SPDX-License-Identifier: Apache-2.0
// Direct: every rank sends to every other rank at once; the network shares its links among them.
// One latency, n-1 messages per rank.
//
// With n ranks that share nothing but their own links of rate R, and alpha = time of an empty
// message:
//   all_to_all, reduce_scatter  alpha + (n-1) B/(nR)
//   all_gather                  alpha + (n-1) b/R, b = shard
//   all_reduce                  2 (alpha + (n-1) B/(nR)): reduce_scatter, then all_gather
//   broadcast                   alpha + (n-1) B/R: the root sends to all
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> direct_algorithm();

}  // namespace weft
