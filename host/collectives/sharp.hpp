// SPDX-License-Identifier: Apache-2.0
// SHARP: packet switches add up what the hosts bring, along the rails, after the GPUs of each host
// have shared the work among them.
//
// Model: hierarchical with one operation in switches (network/in_network/switch_operations) per
// rail and piece in place of the exchanges between hosts, and per host and piece in place of those
// inside it (`inside = nvls`); so do NCCL's NVLS over several hosts and its CollNet. A rail has a
// tree of its own, up to one core switch that a hash of its members chooses. A group within one
// host is left to nvls, one with a GPU per host is a single tree. With H hosts of G ranks, a buffer
// of B bytes, P pieces, NICs of rate R_b, alpha_b = time of an empty operation on a rail, an
// all_reduce takes
//   t_i + P t_b + t_i'   with  t_b = alpha_b + B/(P G R_b)
// where t_i and t_i' are a piece's reduce_scatter and all_gather inside a host, if t_b is the
// longest; each NIC moves B/G each way instead of the 2 (H-1)/H B/G of rings. reduce_scatter and
// all_gather move as much as on rings in one direction, and 1/H of it in the other; a rail's own
// share comes back from the top.
// It does not count what a switch can hold of running operations, nor that SHARP's trees are few
// (one per rail and job as a rule). (Graham et al., SHArP, COMHPC 2016, and streaming aggregation,
// ISC High Performance 2020.)
#pragma once

#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> sharp_algorithm();

}  // namespace weft
