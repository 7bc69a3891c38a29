// SPDX-License-Identifier: Apache-2.0
#include "network/in_network/switch_operations.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "network/in_network/switch_tree.hpp"
#include "network/network_model.hpp"

namespace weft {

namespace {

/// What a kind of operation puts on links in one direction.
struct Streams {
  double of_root = 0;
  double of_others = 0;
  bool merge = false;  ///< become one where they meet in a switch; or stay side by side
};

Streams upward(SwitchOperationKind kind, double n) {
  switch (kind) {
    case SwitchOperationKind::all_reduce:
    case SwitchOperationKind::reduce_scatter:
    case SwitchOperationKind::reduce:
      return {1, 1, true};
    case SwitchOperationKind::all_gather:
      return {1 / n, 1 / n, false};
    case SwitchOperationKind::broadcast:
      return {1, 0, true};
  }
  return {};
}

Streams downward(SwitchOperationKind kind, double n) {
  switch (kind) {
    case SwitchOperationKind::all_reduce:
    case SwitchOperationKind::all_gather:
      return {1, 1, true};
    case SwitchOperationKind::reduce_scatter:
      return {1 / n, 1 / n, false};
    case SwitchOperationKind::reduce:
      return {1, 0, true};
    case SwitchOperationKind::broadcast:
      return {0, 1, true};
  }
  return {};
}

/// By branch: what crosses its cable per byte of the operand.
std::vector<double> loads_of(const SwitchTree& tree, const Streams& streams, NodeId root) {
  std::vector<double> loads(tree.branches.size(), 0);
  for (const std::uint32_t leaf : tree.leaves) loads[leaf] = tree.branches[leaf].node == root ? streams.of_root : streams.of_others;
  // Children come after their parents, so that a branch's sum is complete when its turn comes from
  // the end.
  for (std::size_t i = tree.branches.size(); i-- > 0;) {
    const SwitchTree::Branch& branch = tree.branches[i];
    if (branch.is_switch && streams.merge) loads[i] = std::min(loads[i], 1.0);
    if (branch.parent != SwitchTree::none) loads[branch.parent] += loads[i];
  }
  for (std::size_t i = 0; i < loads.size(); ++i) loads[i] *= tree.branches[i].share;
  return loads;
}

bool gets_result(SwitchOperationKind kind, bool is_root) {
  if (kind == SwitchOperationKind::reduce) return is_root;
  return kind != SwitchOperationKind::broadcast || !is_root;
}

}  // namespace

std::size_t SwitchOperation::member_at(NodeId endpoint) const {
  const auto found = std::lower_bound(members.begin(), members.end(), endpoint,
                                      [](const Member& member, NodeId value) { return member.endpoint < value; });
  WEFT_CHECK(found != members.end() && found->endpoint == endpoint, "only members join an operation in switches");
  return static_cast<std::size_t>(found - members.begin());
}

SwitchOperations::SwitchOperations(const Topology& topology, const FlowSettings& settings)
    : topology_(topology),
      link_delays_(topology, settings.switching_delay, settings.forwarding),
      wide_area_(topology, settings),
      reducing_(settings.reducing_switches),
      gpudirect_(settings.gpudirect),
      seed_(settings.path_rule.seed) {
  if (settings.path_rule.weights == PathWeights::capacity) weights_.emplace(topology, topology.routes());
  WEFT_CHECK(topology.node_count() <= SwitchOperationName::count_max, "nodes and names of operations are told apart");
}

SwitchOperations::Added SwitchOperations::add(SwitchOperationKind kind, std::vector<NodeId> members, NodeId root,
                                              std::uint32_t connection) {
  std::sort(members.begin(), members.end());
  WEFT_CHECK(members.size() >= 2 && std::adjacent_find(members.begin(), members.end()) == members.end(),
             "an operation in switches has at least two members");
  std::set<HostId> hosts;
  for (const NodeId member : members) hosts.insert(topology_.node(member).host);
  const bool inside = hosts.size() == 1;
  WEFT_CHECK(inside || hosts.size() == members.size(), "members are in one host or in as many hosts as there are members");
  if (inside && reducing_ == ReducingSwitches::none) return {NodeId::none(), "flow.reducing_switches = none: no switch can"};
  if (!inside && reducing_ != ReducingSwitches::all) {
    return {NodeId::none(), "flow.reducing_switches says that packet switches cannot"};
  }
  if (!inside && !gpudirect_) return {NodeId::none(), "flow.gpudirect = off: switches add up what NICs read from GPUs"};

  const Key key(kind, root, inside ? 0 : connection, members);
  const std::scoped_lock lock(mutex_);
  if (const auto known = names_.find(key); known != names_.end()) return {known->second, {}};
  const SwitchTree tree = inside
                              ? nvswitch_star(topology_, members)
                              : packet_switch_tree(topology_, members, mix64(seed_) ^ connection, weights_ ? &*weights_ : nullptr);
  if (!tree.objection.empty()) return {NodeId::none(), tree.objection};

  SwitchOperation operation;
  operation.kind = kind;
  operation.inside_host = inside;
  operation.top = tree.top;
  const auto n = static_cast<double>(members.size());
  std::vector<double> up = loads_of(tree, upward(kind, n), root);
  std::vector<double> down = loads_of(tree, downward(kind, n), root);
  if (inside && kind == SwitchOperationKind::all_reduce) {
    // Read one n-th of the sum, then write it to all.
    const std::vector<double> written = loads_of(tree, upward(SwitchOperationKind::all_gather, n), root);
    const std::vector<double> read = loads_of(tree, downward(SwitchOperationKind::reduce_scatter, n), root);
    for (std::size_t i = 0; i < tree.branches.size(); ++i) {
      up[i] += written[i];
      down[i] += read[i];
    }
  }
  std::vector<Duration> rise(tree.branches.size());
  std::vector<Duration> fall(tree.branches.size());
  for (std::size_t i = 0; i < tree.branches.size(); ++i) {
    const SwitchTree::Branch& branch = tree.branches[i];
    const LinkId back = topology_.reverse(branch.up);
    if (up[i] > 0) {
      operation.links.push_back(branch.up);
      operation.loads.push_back(up[i]);
    }
    if (down[i] > 0) {
      operation.links.push_back(back);
      operation.loads.push_back(down[i]);
    }
    const bool is_top = branch.parent == SwitchTree::none;
    rise[i] = link_delays_.of(branch.up).fixed + (is_top ? Duration::zero() : rise[branch.parent]);
    fall[i] = link_delays_.of(back).fixed + (is_top ? Duration::zero() : fall[branch.parent]);
  }
  if (wide_area_.limit(operation.links)) {
    return {NodeId::none(),
            "lines between sites are on the way, where packets are lost or late or TCP has a limit: switches speak "
            "no TCP"};
  }
  Duration slowest_rise;
  std::map<NodeId, Duration> fall_of;
  for (const std::uint32_t leaf : tree.leaves) {
    const NodeId member = tree.branches[leaf].node;
    if (up[leaf] > 0) slowest_rise = std::max(slowest_rise, rise[leaf]);
    fall_of[member] = std::max(fall_of[member], fall[leaf]);
  }
  for (const NodeId member : members) {
    SwitchOperation::Member& added = operation.members.emplace_back();
    added.endpoint = member;
    if (gets_result(kind, member == root)) added.result_delay = slowest_rise + fall_of.at(member);
  }
  const SwitchOperationName name(static_cast<std::uint32_t>(operations_.size()), inside);
  operations_.push_back(std::move(operation));
  names_.emplace(key, name.as_destination());
  return {name.as_destination(), {}};
}

const SwitchOperation& SwitchOperations::at(NodeId name) const {
  const std::uint32_t number = SwitchOperationName::of(name).number();
  const std::scoped_lock lock(mutex_);
  WEFT_CHECK(number < operations_.size(), "an operation is registered before it is joined");
  return operations_[number];
}

}  // namespace weft
