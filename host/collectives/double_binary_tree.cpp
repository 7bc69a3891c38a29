// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/double_binary_tree.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"
#include "host/collectives/binary_tree.hpp"
#include "host/collectives/roles.hpp"

namespace weft {

namespace {

/// Programs have up to 16 steps per piece.
constexpr std::int64_t tree_pieces_max = 512;

struct TreeSettings {
  Bytes piece;
  std::uint32_t channels;
};

constexpr std::array double_binary_tree_params = {
    param<&TreeSettings::piece>({.name = "piece",
                                 .default_text = "512KiB",
                                 .minimum = "1B",
                                 .maximum = "1TiB",
                                 .meaning = "Largest message, unless that took more than 512 pieces per tree; smaller pieces fill "
                                            "the trees sooner and pay latency more "
                                            "often",
                                 .origin = "one NCCL Simple-protocol buffer slot: 4 MiB buffer, 8 slots"}),
    param<&TreeSettings::channels>({.name = "channels",
                                    .default_text = "2",
                                    .minimum = "2",
                                    .maximum = "32",
                                    .meaning = "Trees at once, an even number: pairs that each carry their share of the buffer; "
                                               "both of a pair have their heads on one "
                                               "rail, "
                                               "pairs on different ones",
                                    .origin = "one pair of trees"}),
};

/// What a neighbour below is to the one above.
enum Child : std::uint32_t { in_chain, on_left, on_right, children };

/// Where a position is in a tree.
struct Place {
  std::array<bool, children> has_child{};
  std::uint32_t as_child = children;  ///< of the one above; `children` at the root
  bool is_root() const { return as_child == children; }
};

/// Divisions of a plan.
struct Tree {
  std::uint8_t channel = 0;
  std::uint8_t heads = 0;   ///< one subgroup: the heads of hosts, as numbered in the binary tree
  std::uint8_t chains = 0;  ///< a subgroup per host, the head first

  PeerRule child(std::uint32_t which) const {
    if (which == in_chain) return {PeerRule::Kind::offset, chains, +1};
    return {which == on_left ? PeerRule::Kind::tree_left : PeerRule::Kind::tree_right, heads, 0};
  }
  PeerRule parent(const Place& place) const {
    if (place.as_child == in_chain) return {PeerRule::Kind::offset, chains, -1};
    return {PeerRule::Kind::tree_parent, heads, 0};
  }
};

/// The host with number `index` in the binary tree of a channel.
std::uint32_t host_in_tree(const CollectiveRequest& request, std::uint32_t channel, std::uint32_t index) {
  const std::uint32_t hosts = request.layout->host_count();
  const bool is_even = hosts % 2 == 0;
  if (!has_root(request.type)) {
    if (channel == 0) return index;
    return is_even ? hosts - 1 - index : (index + 1) % hosts;
  }
  const std::uint32_t root = request.layout->seat(request.root).host;
  if (index == 0) return root;
  // hosts - 1 others: an even number of hosts leaves an odd number of them.
  if (channel == 1) index = is_even ? index % (hosts - 1) + 1 : hosts - index;
  return (root + index) % hosts;
}

Tree add_tree(CollectivePlan& plan, std::uint8_t channel, std::uint32_t channels) {
  const bool is_first = channel % 2 == 0;
  const CollectiveRequest& request = plan.request;
  const GroupLayout& layout = *request.layout;
  std::vector<std::uint32_t> heads;
  std::vector<std::vector<std::uint32_t>> chains;
  for (std::uint32_t index = 0; index < layout.host_count(); ++index) {
    const std::uint32_t host = host_in_tree(request, is_first ? 0 : 1, index);
    const std::uint32_t size = layout.members_of_host(host);
    const bool has_the_root = has_root(request.type) && index == 0;
    // Where a head has children in one tree of a pair it has none in the other: on one NIC the two
    // carry four halves in all, wherever the host is. Where there are NICs for every tree, heads on
    // different ones carry three halves and one.
    const std::uint32_t of_pair = channel / 2 * 2 * size / channels;
    const std::uint32_t head = is_first || channels >= 2 * size ? of_pair : size - 1 - of_pair;
    const std::uint32_t start = has_the_root ? layout.hosts()->index_of(request.root) : head;
    chains.push_back(layout.chain_of_host(host, start, !is_first));
    heads.push_back(chains.back().front());
  }
  Tree tree;
  tree.channel = channel;
  tree.heads = plan.add_division(std::make_shared<const Subgroups>(layout.ranks(), std::vector<std::vector<std::uint32_t>>{heads}));
  tree.chains = plan.add_division(std::make_shared<const Subgroups>(layout.ranks(), chains));
  return tree;
}

Place place_of(const CollectivePlan& plan, const Tree& tree, std::uint32_t position) {
  Place place;
  const Subgroups& chains = *plan.divisions[tree.chains];
  place.has_child[in_chain] = chains.index_of(position) + 1 < chains.size_at(position);
  if (chains.index_of(position) > 0) {
    place.as_child = in_chain;
    return place;
  }
  const Subgroups& heads = *plan.divisions[tree.heads];
  const std::uint32_t index = heads.index_of(position);
  const std::uint32_t size = heads.size_at(position);
  const TreeNeighbours neighbours = in_binary_tree(index, size);
  place.has_child[on_left] = neighbours.left != TreeNeighbours::none;
  place.has_child[on_right] = neighbours.right != TreeNeighbours::none;
  if (neighbours.parent != TreeNeighbours::none) {
    place.as_child = in_binary_tree(neighbours.parent, size).left == index ? on_left : on_right;
  }
  return place;
}

class DoubleBinaryTree final : public CollectiveAlgorithm {
 public:
  explicit DoubleBinaryTree(const TreeSettings& settings) : piece_(settings.piece), trees_(settings.channels / 2 * 2) {}

  bool supports(CollectiveType type) const override {
    return type == CollectiveType::all_reduce || type == CollectiveType::broadcast || type == CollectiveType::reduce;
  }

  CollectivePlan compile(const CollectiveRequest& request) const override {
    WEFT_CHECK(request.ranks() >= 2 && supports(request.type), "a double binary tree is asked for what it supports");
    const std::int64_t share = (request.bytes.count() + trees_ - 1) / trees_;
    const std::int64_t needed = (share + piece_.count() - 1) / piece_.count();
    const auto pieces = static_cast<std::uint32_t>(std::clamp<std::int64_t>(needed, 1, tree_pieces_max));
    CollectivePlan plan(request, trees_ * pieces, request.bytes);
    std::vector<Tree> trees;
    for (std::uint32_t i = 0; i < trees_; ++i) trees.push_back(add_tree(plan, static_cast<std::uint8_t>(i), trees_));
    RoleNumbers roles;
    for (std::uint32_t position = 0; position < request.ranks(); ++position) {
      std::vector<Place> places(trees.size());
      RoleNumbers::Description description;
      for (std::size_t i = 0; i < trees.size(); ++i) {
        places[i] = place_of(plan, trees[i], position);
        description.insert(description.end(), places[i].has_child.begin(), places[i].has_child.end());
        description.push_back(places[i].as_child);
      }
      const std::uint32_t role = roles.number_of(description);
      plan.role_of.push_back(role);
      if (role < plan.programs.size()) continue;
      CollectiveProgramBuilder builder;
      for (std::size_t i = 0; i < trees.size(); ++i) add_pieces(builder, request.type, trees[i], places[i], pieces);
      plan.programs.push_back(std::move(builder).build());
    }
    return plan;
  }

 private:
  /// A piece has the same steps in every program, joins where a neighbour is missing: so both sides
  /// know the other's steps. Up: a receive per child, a send to the parent. Down: a receive from
  /// the parent, a send per child.
  static void add_pieces(CollectiveProgramBuilder& builder, CollectiveType type, const Tree& tree, const Place& place,
                         std::uint32_t pieces) {
    const bool goes_up = type != CollectiveType::broadcast;
    const bool comes_down = type != CollectiveType::reduce;
    const std::uint32_t steps_up = goes_up ? children + 1 : 0;
    const std::uint32_t steps = steps_up + (comes_down ? 1 + children : 0);
    for (std::uint32_t i = 0; i < pieces; ++i) {
      const PartRange part{tree.channel * pieces + i, 1, {}, {}};
      const std::uint32_t first = builder.size();
      const auto add = [&](bool has_neighbour, StepKind kind, const PeerRule& peer, std::uint32_t remote_step) {
        const std::uint32_t step =
            builder.add({has_neighbour ? kind : StepKind::join, tree.channel, false, peer, remote_step, part});
        if (kind == StepKind::send && i > 0) builder.after(step, step - steps);
        return step;
      };
      if (goes_up) {
        for (std::uint32_t child = 0; child < children; ++child) {
          add(place.has_child[child], StepKind::receive_reduce, tree.child(child), 0);
        }
        const std::uint32_t sum = add(!place.is_root(), StepKind::send, tree.parent(place), first + place.as_child);
        for (std::uint32_t child = 0; child < children; ++child) builder.after(sum, first + child);
      }
      if (comes_down) {
        const std::uint32_t receive = add(!place.is_root(), StepKind::receive, tree.parent(place), 0);
        if (goes_up && place.is_root()) builder.after(receive, receive - 1);
        for (std::uint32_t child = 0; child < children; ++child) {
          builder.after(add(place.has_child[child], StepKind::send, tree.child(child), first + steps_up), receive);
        }
      }
    }
  }

  Bytes piece_;
  std::uint32_t trees_;
};

std::unique_ptr<CollectiveAlgorithm> make_double_binary_tree(const ParamSet& params) {
  return std::make_unique<DoubleBinaryTree>(filled<TreeSettings>(params));
}

}  // namespace

Module<CollectiveAlgorithmFactory> double_binary_tree_algorithm() {
  return {
      {"collective", "double_binary_tree",
       "Two binary trees of hosts carry half of the buffer each, in pieces that follow one another; inside a host the ranks are a "
       "chain. Nearly the bandwidth of a ring with a latency that grows with the logarithm of the group. NCCL's choice for large "
       "groups.",
       double_binary_tree_params},
      &make_double_binary_tree};
}

}  // namespace weft
