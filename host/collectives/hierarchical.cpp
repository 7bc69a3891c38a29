// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/hierarchical.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"
#include "host/collectives/phases.hpp"

namespace weft {

namespace {

struct HierarchicalSettings {
  Exchange inside;
  Exchange between;
  std::uint32_t pieces;
};

constexpr std::array hierarchical_params = {
    param<&HierarchicalSettings::inside>({.name = "inside",
                                          .default_text = "ring",
                                          .choices = "direct|ring",
                                          .meaning = "Exchanges among the GPUs of a host; those of all_to_all are direct",
                                          .origin = "NCCL's bandwidth-optimal default for large messages"}),
    param<&HierarchicalSettings::between>({.name = "between",
                                           .default_text = "ring",
                                           .choices = "direct|ring",
                                           .meaning = "Exchanges along the rails; those of all_to_all are direct",
                                           .origin = "NCCL's bandwidth-optimal default for large messages"}),
    param<&HierarchicalSettings::pieces>({.name = "pieces",
                                          .default_text = "4",
                                          .minimum = "1",
                                          .maximum = "1024",
                                          .meaning = "Pieces of the buffer that go through the phases like through a pipeline; "
                                                     "fewer where rounds between hosts times pieces "
                                                     "exceeded "
                                                     "65,536, one for all_to_all and where there is one host or one rank per host",
                                          .origin = "preferred-dataset-splits of ASTRA-sim's examples"}),
};

constexpr std::uint32_t rounds_max = 1U << 16;

using Entry = std::optional<std::uint32_t>;

/// Direct exchange with a join after it.
std::uint32_t add_joined_exchange(CollectiveProgramBuilder& builder, const PhaseGround& ground, Carries carries,
                                  StepKind receive_kind, Entry entry) {
  const std::uint32_t first = add_exchange(builder, ground, carries, receive_kind, entry);
  const std::uint32_t join = join_all(builder, first, builder.size());
  if (first == join && entry) builder.after(join, *entry);
  return join;
}

/// One operation in switches; a join where a subgroup has one member.
std::uint32_t add_switched(CollectiveProgramBuilder& builder, SwitchOperationKind operation, const PhaseGround& ground,
                           Entry entry) {
  return ground.members > 1 ? add_in_network(builder, ground, operation, 0, entry) : RingRounds(builder, ground, entry).join();
}

// Each adds a phase that starts after `entry`, and returns the step that ends it.

std::uint32_t add_reduce_scatter(CollectiveProgramBuilder& builder, Exchange exchange, const PhaseGround& ground, Entry entry) {
  if (exchange == Exchange::in_network) return add_switched(builder, SwitchOperationKind::reduce_scatter, ground, entry);
  if (exchange == Exchange::direct) {
    return add_joined_exchange(builder, ground, Carries::peers_share, StepKind::receive_reduce, entry);
  }
  RingRounds rounds(builder, ground, entry);
  rounds.reduce_scatter(0);
  return rounds.join();
}

std::uint32_t add_all_gather(CollectiveProgramBuilder& builder, Exchange exchange, const PhaseGround& ground, Entry entry) {
  if (exchange == Exchange::in_network) return add_switched(builder, SwitchOperationKind::all_gather, ground, entry);
  if (exchange == Exchange::direct) return add_joined_exchange(builder, ground, Carries::own_share, StepKind::receive, entry);
  RingRounds rounds(builder, ground, entry);
  rounds.all_gather(0);
  return rounds.join();
}

std::uint32_t add_all_reduce(CollectiveProgramBuilder& builder, Exchange exchange, const PhaseGround& ground, Entry entry) {
  if (exchange == Exchange::in_network) return add_switched(builder, SwitchOperationKind::all_reduce, ground, entry);
  const std::uint32_t reduced = add_reduce_scatter(builder, exchange, ground, entry);
  return add_all_gather(builder, exchange, ground, reduced);
}

std::uint32_t add_all_to_all(CollectiveProgramBuilder& builder, const PhaseGround& ground, Entry entry) {
  return add_joined_exchange(builder, ground, Carries::peers_share, StepKind::receive, entry);
}

/// Lets a phase of a piece wait for the piece's phase before it and for the same phase of the piece
/// before.
class Pipeline {
 public:
  explicit Pipeline(CollectiveProgramBuilder& builder) : builder_(builder) {}

  void next_piece() {
    phase_ = 0;
    earlier_phase_.reset();
  }
  /// `add(entry)` adds the phase and returns the join that ends it.
  template <class Add>
  void add_phase(const Add& add) {
    earlier_phase_ = add(entry());
    earlier_piece_[phase_++] = earlier_phase_;
  }

 private:
  Entry entry() {
    const Entry& earlier_piece = earlier_piece_[phase_];
    if (!earlier_phase_) return earlier_piece;
    if (!earlier_piece) return earlier_phase_;
    const std::uint32_t both = builder_.add_join();
    builder_.after(both, *earlier_phase_);
    builder_.after(both, *earlier_piece);
    return both;
  }

  CollectiveProgramBuilder& builder_;
  std::uint32_t phase_ = 0;
  Entry earlier_phase_;
  std::array<Entry, 3> earlier_piece_;
};

class Hierarchical final : public CollectiveAlgorithm {
 public:
  Hierarchical(Exchange in_hosts, Exchange on_rails, std::uint32_t pieces)
      : inside_(in_hosts), between_(on_rails), pieces_(pieces) {}

  bool supports(CollectiveType type) const override {
    switch (type) {
      case CollectiveType::all_reduce:
      case CollectiveType::all_gather:
      case CollectiveType::reduce_scatter:
      case CollectiveType::all_to_all:
      case CollectiveType::broadcast:
        return true;
      default:
        return false;
    }
  }

  std::string objection(const CollectiveRequest& request) const override {
    if (request.layout->ranks_per_host() > 0) return {};
    return "its hosts have unequal numbers of the group's ranks, so that there are no rails";
  }

  CollectivePlan compile(const CollectiveRequest& request) const override {
    WEFT_CHECK(request.ranks() >= 2, "a hierarchy has at least two ranks");
    if (request.type == CollectiveType::broadcast) return broadcast(request);
    CollectivePlan plan = divided_plan(request, request.ranks(), request.whole_buffer());
    if (request.type != CollectiveType::all_reduce) plan.share_order = rail_groups;
    CollectiveProgramBuilder builder;
    Pipeline pipeline(builder);
    for (std::uint32_t piece = 0; piece < plan.pieces; ++piece) {
      pipeline.next_piece();
      add_piece(request, builder, pipeline, piece * request.ranks());
    }
    plan.programs.push_back(std::move(builder).build());
    return plan;
  }

 private:
  // Numbers of divisions.
  static constexpr std::uint8_t host_groups = 1;
  static constexpr std::uint8_t rail_groups = 2;

  CollectivePlan divided_plan(const CollectiveRequest& request, std::uint32_t shares, Bytes buffer) const {
    const std::uint32_t pieces = pieces_of(request);
    CollectivePlan plan(request, shares * pieces, buffer);
    plan.pieces = pieces;
    plan.add_division(request.layout->hosts());
    plan.add_division(request.layout->rails());
    return plan;
  }

  std::uint32_t pieces_of(const CollectiveRequest& request) const {
    const std::uint32_t hosts = request.layout->host_count();
    const std::uint32_t per_host = request.layout->ranks_per_host();
    const bool one_level = hosts == 1 || per_host == 1;
    if (request.type == CollectiveType::all_to_all || (one_level && request.type != CollectiveType::broadcast)) return 1;
    return std::clamp(rounds_max / (2 * std::max(hosts, per_host)), 1U, pieces_);
  }

  /// All phases of the piece whose parts begin at `base`.
  void add_piece(const CollectiveRequest& request, CollectiveProgramBuilder& builder, Pipeline& pipeline,
                 std::uint32_t base) const {
    const std::uint32_t hosts = request.layout->host_count();
    const std::uint32_t per_host = request.layout->ranks_per_host();
    // Share r of the host's GPU r is its rail's: one for every host.
    PhaseGround inside;
    inside.division = host_groups;
    inside.members = per_host;
    inside.stride = hosts;
    inside.width = hosts;
    inside.base = base;
    PhaseGround rail;
    rail.division = rail_groups;
    rail.members = hosts;
    rail.base = base;
    rail.outer = {PartIndex::Kind::offset, host_groups, 0, hosts};
    switch (request.type) {
      case CollectiveType::all_reduce:
      case CollectiveType::barrier:
        pipeline.add_phase([&](Entry entry) { return add_reduce_scatter(builder, inside_, inside, entry); });
        pipeline.add_phase([&](Entry entry) { return add_all_reduce(builder, between_, rail, entry); });
        pipeline.add_phase([&](Entry entry) { return add_all_gather(builder, inside_, inside, entry); });
        break;
      case CollectiveType::reduce_scatter:
        pipeline.add_phase([&](Entry entry) { return add_reduce_scatter(builder, inside_, inside, entry); });
        pipeline.add_phase([&](Entry entry) { return add_reduce_scatter(builder, between_, rail, entry); });
        break;
      case CollectiveType::all_gather:
        pipeline.add_phase([&](Entry entry) { return add_all_gather(builder, between_, rail, entry); });
        pipeline.add_phase([&](Entry entry) { return add_all_gather(builder, inside_, inside, entry); });
        break;
      case CollectiveType::all_to_all:
        // From then on a part holds the blocks of the host's ranks.
        rail.blocks = per_host;
        pipeline.add_phase([&](Entry entry) { return add_all_to_all(builder, inside, entry); });
        pipeline.add_phase([&](Entry entry) { return add_all_to_all(builder, rail, entry); });
        break;
      default:
        WEFT_CHECK(false, "a hierarchy is asked for what it supports");
    }
  }

  /// Who does the same in a broadcast. Other hosts pass on along a ring, or are all the last.
  enum BroadcastRole : std::uint32_t { root, beside_root, between, last };

  CollectivePlan broadcast(const CollectiveRequest& request) const {
    CollectivePlan plan = divided_plan(request, request.layout->ranks_per_host(), request.bytes);
    const Subgroups& rails = *plan.divisions[rail_groups];
    const std::uint32_t hosts = request.layout->host_count();
    for (std::uint32_t position = 0; position < request.ranks(); ++position) {
      const std::uint32_t distance = (rails.index_of(position) + hosts - rails.index_of(request.root)) % hosts;
      plan.role_of.push_back(position == request.root                             ? root
                             : distance == 0                                      ? beside_root
                             : between_ == Exchange::ring && distance + 1 < hosts ? between
                                                                                  : last);
    }
    // Other hosts receive a piece at this step: the same in all of them.
    std::vector<std::uint32_t> arrivals;
    CollectiveProgram of_between = away_program(plan, between, arrivals);
    CollectiveProgram of_last = away_program(plan, last, arrivals);
    plan.programs.push_back(home_program(plan, root, arrivals));
    plan.programs.push_back(home_program(plan, beside_root, arrivals));
    plan.programs.push_back(std::move(of_between));
    plan.programs.push_back(std::move(of_last));
    return plan;
  }

  /// A share for every GPU of a host.
  static PhaseGround broadcast_ground(const CollectivePlan& plan, std::uint32_t piece) {
    PhaseGround inside;
    inside.division = host_groups;
    inside.members = plan.request.layout->ranks_per_host();
    inside.base = piece * inside.members;
    return inside;
  }

  CollectiveProgram home_program(const CollectivePlan& plan, BroadcastRole role, const std::vector<std::uint32_t>& arrivals) const {
    const auto root_in_host = static_cast<std::int32_t>(plan.divisions[host_groups]->index_of(plan.request.root));
    const std::uint32_t hosts = plan.request.layout->host_count();
    const std::uint32_t receivers = between_ == Exchange::ring ? std::min(hosts - 1, 1U) : hosts - 1;
    CollectiveProgramBuilder builder;
    Pipeline pipeline(builder);
    for (std::uint32_t piece = 0; piece < plan.pieces; ++piece) {
      const PhaseGround inside = broadcast_ground(plan, piece);
      pipeline.next_piece();
      pipeline.add_phase([&](Entry entry) {
        // Both roles have as many steps, so that they know each other's.
        const std::uint32_t first = builder.size();
        for (std::uint32_t k = 1; k < inside.members; ++k) {
          const auto offset = static_cast<std::int32_t>(k);
          if (role == root) {
            builder.add({StepKind::send, 0, false, inside.neighbour(offset), first, inside.shares(offset)});
          } else if (k == 1) {
            builder.add({StepKind::receive, 0, false, {PeerRule::Kind::member, host_groups, root_in_host}, 0, inside.shares(0)});
          } else {
            builder.add_join();
          }
        }
        return join_after(builder, first, entry);
      });
      pipeline.add_phase([&](Entry entry) {
        const std::uint32_t first = builder.size();
        for (std::uint32_t k = 1; k <= receivers; ++k) {
          const PeerRule peer{PeerRule::Kind::offset, rail_groups, static_cast<std::int32_t>(k)};
          builder.add({StepKind::send, 0, false, peer, arrivals[piece], inside.shares(0)});
        }
        return join_after(builder, first, entry);
      });
      pipeline.add_phase([&](Entry entry) { return add_all_gather(builder, inside_, inside, entry); });
    }
    return std::move(builder).build();
  }

  CollectiveProgram away_program(const CollectivePlan& plan, BroadcastRole role, std::vector<std::uint32_t>& arrivals) const {
    const auto root_host = static_cast<std::int32_t>(plan.divisions[rail_groups]->index_of(plan.request.root));
    const PeerRule source = between_ == Exchange::ring ? PeerRule{PeerRule::Kind::offset, rail_groups, -1}
                                                       : PeerRule{PeerRule::Kind::member, rail_groups, root_host};
    arrivals.clear();
    CollectiveProgramBuilder builder;
    Pipeline pipeline(builder);
    for (std::uint32_t piece = 0; piece < plan.pieces; ++piece) {
      const PhaseGround inside = broadcast_ground(plan, piece);
      pipeline.next_piece();
      pipeline.add_phase([&](Entry entry) {
        const std::uint32_t receive = builder.add({StepKind::receive, 0, false, source, 0, inside.shares(0)});
        arrivals.push_back(receive);
        if (entry) builder.after(receive, *entry);
        // The last host has a join instead, so that a piece arrives at the same step everywhere.
        const StepKind send_kind = role == last ? StepKind::join : StepKind::send;
        const std::uint32_t send =
            builder.add({send_kind, 0, false, {PeerRule::Kind::offset, rail_groups, +1}, receive, inside.shares(0)});
        builder.after(send, receive);
        return send;
      });
      pipeline.add_phase([&](Entry entry) { return add_all_gather(builder, inside_, inside, entry); });
    }
    return std::move(builder).build();
  }

  /// Lets the steps from `first` on wait for `entry`, and returns a join after them.
  static std::uint32_t join_after(CollectiveProgramBuilder& builder, std::uint32_t first, Entry entry) {
    const std::uint32_t join = join_all(builder, first, builder.size());
    for (std::uint32_t step = first; entry && step <= join; ++step) builder.after(step, *entry);
    return join;
  }

  Exchange inside_;
  Exchange between_;
  std::uint32_t pieces_;
};

std::unique_ptr<CollectiveAlgorithm> make_with_params(const ParamSet& params) {
  const auto settings = filled<HierarchicalSettings>(params);
  return make_hierarchical(settings.inside, settings.between, settings.pieces);
}

}  // namespace

std::unique_ptr<CollectiveAlgorithm> make_hierarchical(Exchange inside, Exchange between, std::uint32_t pieces) {
  return std::make_unique<Hierarchical>(inside, between, pieces);
}

Module<CollectiveAlgorithmFactory> hierarchical_algorithm() {
  return {{"collective", "hierarchical",
           "First among the GPUs of a host over NVLink, then along the rails (GPUs of equal number in all hosts), then inside the "
           "hosts "
           "again, in pieces that overlap. Each GPU brings its share of the buffer to the network. all_to_all aggregates by rail "
           "as NCCL's "
           "PXN does: one message per GPU and destination host.",
           hierarchical_params},
          &make_with_params};
}

}  // namespace weft
