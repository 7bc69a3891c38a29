// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/nvls_tree.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"
#include "host/collectives/binary_tree.hpp"
#include "host/collectives/phases.hpp"
#include "host/collectives/roles.hpp"

namespace weft {

namespace {

struct NvlsTreeSettings {
  Bytes piece;
  std::uint32_t pieces_max;
};

constexpr std::array nvls_tree_params = {
    param<&NvlsTreeSettings::piece>({.name = "piece",
                                     .default_text = "512KiB",
                                     .minimum = "1B",
                                     .maximum = "1TiB",
                                     .meaning = "Largest message between hosts, unless that took more pieces than `pieces`; "
                                                "smaller pieces fill the trees sooner and pay "
                                                "latency "
                                                "more often",
                                     .origin = "one NCCL Simple-protocol buffer slot: 4 MiB buffer, 8 slots"}),
    param<&NvlsTreeSettings::pieces_max>({.name = "pieces",
                                          .default_text = "64",
                                          .minimum = "1",
                                          .maximum = "4096",
                                          .meaning = "Most pieces of the buffer that follow one another",
                                          .origin = "with 64 pieces the trees of 16 hosts are full nine tenths of the time"}),
};

constexpr std::uint32_t tree_count = 2;
// Numbers of divisions.
constexpr std::uint8_t host_groups = 1;
constexpr std::uint8_t first_tree = 2;

enum Child : std::uint32_t { on_left, on_right, children };

/// Where a host is in a tree.
struct Place {
  std::array<bool, children> has_child{};
  std::uint32_t as_child = children;  ///< of the one above; `children` at the root
  bool is_root() const { return as_child == children; }
};

Place place_in(const Subgroups& tree, std::uint32_t position) {
  const std::uint32_t index = tree.index_of(position);
  const std::uint32_t size = tree.size_at(position);
  const TreeNeighbours neighbours = in_binary_tree(index, size);
  Place place;
  place.has_child = {neighbours.left != TreeNeighbours::none, neighbours.right != TreeNeighbours::none};
  if (neighbours.parent != TreeNeighbours::none) {
    place.as_child = in_binary_tree(neighbours.parent, size).left == index ? on_left : on_right;
  }
  return place;
}

class NvlsTree final : public CollectiveAlgorithm {
 public:
  explicit NvlsTree(const NvlsTreeSettings& settings) : piece_(settings.piece), pieces_max_(settings.pieces_max) {}

  bool supports(CollectiveType type) const override { return type == CollectiveType::all_reduce; }

  std::string objection(const CollectiveRequest& request) const override {
    if (request.layout->ranks_per_host() == 0)
      return "its hosts have unequal numbers of the group's ranks, so that there are no rails";
    if (request.layout->host_count() == 1) return "they are in one host, which needs no tree";
    return {};
  }

  CollectivePlan compile(const CollectiveRequest& request) const override {
    WEFT_CHECK(objection(request).empty(), "trees along the rails are asked for what they carry out");
    const std::uint32_t per_host = request.layout->ranks_per_host();
    const std::int64_t message = std::int64_t{tree_count} * per_host * piece_.count();
    const auto pieces =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>((request.bytes.count() + message - 1) / message, 1, pieces_max_));
    CollectivePlan plan(request, tree_count * per_host * pieces, request.bytes);
    plan.pieces = pieces;
    plan.add_division(request.layout->hosts());
    for (std::uint32_t tree = 0; tree < tree_count; ++tree) plan.add_division(hosts_in_tree(*request.layout, tree));
    RoleNumbers roles;
    for (std::uint32_t position = 0; position < request.ranks(); ++position) {
      std::array<Place, tree_count> places;
      RoleNumbers::Description description;
      for (std::uint32_t tree = 0; tree < tree_count; ++tree) {
        places[tree] = place_in(*plan.divisions[first_tree + tree], position);
        description.insert(description.end(), places[tree].has_child.begin(), places[tree].has_child.end());
        description.push_back(places[tree].as_child);
      }
      const std::uint32_t role = roles.number_of(description);
      plan.role_of.push_back(role);
      if (role < plan.programs.size()) continue;
      CollectiveProgramBuilder builder;
      Ends earlier;
      for (std::uint32_t piece = 0; piece < pieces; ++piece) earlier = add_piece(builder, places, piece, per_host, earlier);
      plan.programs.push_back(std::move(builder).build());
    }
    return plan;
  }

 private:
  /// Steps that end the phases of a piece.
  struct Ends {
    std::optional<std::uint32_t> reduced;
    std::optional<std::uint32_t> first_of_trees;
    std::optional<std::uint32_t> gathered;
  };
  static constexpr std::uint32_t steps_per_tree = 2 * children + 2;

  /// A subgroup per rail: its members in the order of the tree. The second tree is mirrored if the
  /// number of hosts is even, else shifted by one.
  static std::shared_ptr<const Subgroups> hosts_in_tree(const GroupLayout& layout, std::uint32_t tree) {
    const std::uint32_t hosts = layout.host_count();
    std::vector<std::vector<std::uint32_t>> rails(layout.ranks_per_host());
    for (std::uint32_t rail = 0; rail < rails.size(); ++rail) {
      for (std::uint32_t index = 0; index < hosts; ++index) {
        const std::uint32_t host = tree == 0 ? index : hosts % 2 == 0 ? hosts - 1 - index : (index + 1) % hosts;
        rails[rail].push_back(layout.member_of_host(host, rail));
      }
    }
    return std::make_shared<const Subgroups>(layout.ranks(), rails);
  }

  /// All roles have the same steps, joins where a neighbour is missing: so both sides know the
  /// other's.
  static Ends add_piece(CollectiveProgramBuilder& builder, const std::array<Place, tree_count>& places, std::uint32_t piece,
                        std::uint32_t per_host, const Ends& earlier) {
    PhaseGround inside;
    inside.division = host_groups;
    inside.members = per_host;
    inside.stride = tree_count;
    inside.width = tree_count;
    inside.base = piece * tree_count * per_host;
    Ends ends;
    const std::uint32_t first = add_exchange(builder, inside, Carries::peers_share, StepKind::receive_reduce, earlier.reduced);
    ends.reduced = join_all(builder, first, builder.size());
    ends.first_of_trees = builder.size();
    std::array<std::uint32_t, tree_count> came_down{};
    for (std::uint32_t tree = 0; tree < tree_count; ++tree) {
      const PartRange part{inside.base + tree, 1, {PartIndex::Kind::offset, host_groups, 0, tree_count}, {}};
      came_down[tree] = add_tree(builder, places[tree], tree, part, *ends.reduced, earlier.first_of_trees);
    }
    const std::uint32_t summed = builder.add_join();
    for (const std::uint32_t step : came_down) builder.after(summed, step);
    if (earlier.gathered) builder.after(summed, *earlier.gathered);
    const std::uint32_t gather = add_exchange(builder, inside, Carries::own_share, StepKind::receive, summed);
    ends.gathered = join_all(builder, gather, builder.size());
    builder.after(*ends.gathered, summed);
    return ends;
  }

  /// Up: a receive per child, a send to the parent. Down: a receive from the parent, a send per
  /// child. Returns the step after which the sum is here.
  static std::uint32_t add_tree(CollectiveProgramBuilder& builder, const Place& place, std::uint32_t tree, const PartRange& part,
                                std::uint32_t reduced, std::optional<std::uint32_t> first_of_earlier) {
    const auto channel = static_cast<std::uint8_t>(tree);
    const auto division = static_cast<std::uint8_t>(first_tree + tree);
    const std::array<PeerRule, children> child = {
        {{PeerRule::Kind::tree_left, division, 0}, {PeerRule::Kind::tree_right, division, 0}}};
    const PeerRule parent{PeerRule::Kind::tree_parent, division, 0};
    const std::uint32_t first = builder.size();
    const auto add = [&](bool has_neighbour, StepKind kind, const PeerRule& peer, std::uint32_t remote_step) {
      const std::uint32_t step = builder.add({has_neighbour ? kind : StepKind::join, channel, false, peer, remote_step, part});
      // To a neighbour one message goes at a time.
      if (kind == StepKind::send && first_of_earlier) {
        builder.after(step, *first_of_earlier + tree * steps_per_tree + (step - first));
      }
      return step;
    };
    for (std::uint32_t i = 0; i < children; ++i) {
      builder.after(add(place.has_child[i], StepKind::receive_reduce, child[i], 0), reduced);
    }
    const std::uint32_t sum = add(!place.is_root(), StepKind::send, parent, first + place.as_child);
    for (std::uint32_t i = 0; i < children; ++i) builder.after(sum, first + i);
    const std::uint32_t down = add(!place.is_root(), StepKind::receive, parent, 0);
    if (place.is_root()) builder.after(down, sum);
    for (std::uint32_t i = 0; i < children; ++i) {
      builder.after(add(place.has_child[i], StepKind::send, child[i], first + children + 1), down);
    }
    return down;
  }

  Bytes piece_;
  std::uint32_t pieces_max_;
};

std::unique_ptr<CollectiveAlgorithm> make_nvls_tree(const ParamSet& params) {
  return std::make_unique<NvlsTree>(filled<NvlsTreeSettings>(params));
}

}  // namespace

Module<CollectiveAlgorithmFactory> nvls_tree_algorithm() {
  return {{"collective", "nvls_tree",
           "Inside a host every GPU gets the sum of its share, which goes up and down two trees of hosts along the GPU's rail; in "
           "pieces "
           "that follow one another. NCCL's choice for large messages between hosts with NVSwitches that add up.",
           nvls_tree_params},
          &make_nvls_tree};
}

}  // namespace weft
