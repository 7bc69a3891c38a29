// SPDX-License-Identifier: Apache-2.0
// Switch tree: the links by which switches add up what a group of endpoints sends, and send the
// same result to several of them.
//
// Where it sits: switch_operations asks for the tree of every operation and keeps what the
// operation puts on its links.
//
// Model
//   - Inside a host (NVLS) the tree is a star: every member's cables to an NVSwitch. Of several
//     NVSwitches that all members are cabled to, and of several cables between the same two, each
//     carries an equal share.
//   - Between hosts (SHARP) the routes from all members to the first of them, by shortest paths,
//     make a tree: where a node has several next hops one is chosen by a hash of (seed, members,
//     connection, hops from the member), by weight where next hops have weights
//     (network/routing/hop_weights), so that in a regular fabric all choose the same core switch,
//     and other groups and connections another one. In an irregular one the routes may meet later,
//     never in a circle. The top of the tree is the packet switch with the fewest hops to its
//     farthest member.
//   - What rises in the tree is added up where it meets, if that is a packet switch; NICs and PCIe
//     switches pass every stream on by itself. What comes down is multiplied in packet switches
//     likewise.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

class HopWeights;
class Topology;

struct SwitchTree {
  /// A node of the tree and the cable to its parent.
  struct Branch {
    NodeId node;
    LinkId up;  ///< from the node to its parent; its reverse leads down
    /// Index of the parent's branch, smaller than one's own; `none` under the top.
    std::uint32_t parent;
    bool is_switch = false;  ///< adds up and multiplies
    double share = 1;        ///< of the operation
  };
  static constexpr std::uint32_t none = UINT32_MAX;

  /// Where the last operands meet and the result begins; of several NVSwitches the first.
  NodeId top;
  std::vector<Branch> branches;       ///< parents before children
  std::vector<std::uint32_t> leaves;  ///< branches of members; inside a host several for one member
  std::string objection;              ///< why there is no tree; "" if there is one
};

/// Of endpoints of one host, by its NVSwitches. Requires: at least two, distinct.
SwitchTree nvswitch_star(const Topology& topology, std::span<const NodeId> members);

/// Of endpoints of different hosts, by packet switches. `weights`: of next hops by the topology's
/// routes; null: all alike. Requires: at least two, in ascending order.
SwitchTree packet_switch_tree(const Topology& topology, std::span<const NodeId> members, std::uint64_t seed,
                              const HopWeights* weights = nullptr);

}  // namespace weft
