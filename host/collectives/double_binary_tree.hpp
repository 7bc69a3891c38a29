// SPDX-License-Identifier: Apache-2.0
// Double binary tree: two trees carry half of the buffer each, in pieces that follow one another;
// who is inside one tree is a leaf of the other.
//
// Model (Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and
// scan, Parallel Computing 35, 2009; for all_reduce as in NCCL 2.4: Jeaugey, Massively scale your
// deep learning training with NCCL 2.4, 2019)
//   - A tree joins hosts (binary_tree); inside a host the members are a chain behind its head, the
//     member that talks to other hosts' heads. The first tree has its heads on the first rail and
//     its chains run by rail, the second on the last rail and back. Where every two members have a
//     cable of their own, chains are ways that use all of them (GroupLayout::chain_of_host).
//   - all_reduce: hosts in order of first appearance; in the second tree mirrored if their number
//     is even, shifted by one if odd.
//   - broadcast, reduce: both trees hang under the root, which is the head of its host. The other
//     hosts follow in order, beginning behind the root's; in the second tree their order is
//     mirrored or shifted. So the root sends or receives every byte once, everybody else as well,
//     and no inner host passes on more than it gets.
//   - Half a buffer is cut into pieces of at most `piece`, but never into more than 512. Every
//     piece goes up (is reduced), comes down (is distributed), or both. To a neighbour one message
//     goes at a time; messages to several neighbours share the link.
//   - A pair of trees uses two channels. More channels are more pairs, each on its share of the
//     buffer, with heads on other rails.
// docs/internals/collectives.md, "Double binary trees", has the times.
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> double_binary_tree_algorithm();

}  // namespace weft
