// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/direct.hpp"

#include "core/check.hpp"
#include "host/collectives/phases.hpp"

namespace weft {

namespace {

class Direct final : public CollectiveAlgorithm {
 public:
  bool supports(CollectiveType) const override { return true; }

  CollectivePlan compile(const CollectiveRequest& request) const override {
    WEFT_CHECK(request.ranks() >= 2, "a direct exchange has at least two ranks");
    switch (request.type) {
      case CollectiveType::all_to_all:
      case CollectiveType::barrier:
        return exchange(request, Carries::peers_share, StepKind::receive);
      case CollectiveType::all_to_all_v:
        return exchange(request, Carries::splits, StepKind::receive);
      case CollectiveType::reduce_scatter:
        return exchange(request, Carries::peers_share, StepKind::receive_reduce);
      case CollectiveType::all_gather:
        return exchange(request, Carries::own_share, StepKind::receive);
      case CollectiveType::all_reduce:
        return all_reduce(request);
      case CollectiveType::broadcast:
      case CollectiveType::scatter:
        return from_root(request);
      case CollectiveType::reduce:
      case CollectiveType::gather:
        break;
    }
    return to_root(request);
  }

 private:
  static CollectivePlan exchange(const CollectiveRequest& request, Carries carries, StepKind receive_kind) {
    CollectivePlan plan(request, request.ranks(), request.whole_buffer());
    CollectiveProgramBuilder builder;
    add_exchange(builder, whole_group(request), carries, receive_kind);
    plan.programs.push_back(std::move(builder).build());
    return plan;
  }

  static CollectivePlan all_reduce(const CollectiveRequest& request) {
    CollectivePlan plan(request, request.ranks(), request.bytes);
    CollectiveProgramBuilder builder;
    add_exchange(builder, whole_group(request), Carries::peers_share, StepKind::receive_reduce);
    const std::uint32_t reduced = join_all(builder, 0, builder.size());
    add_exchange(builder, whole_group(request), Carries::own_share, StepKind::receive, reduced);
    plan.programs.push_back(std::move(builder).build());
    return plan;
  }

  static PhaseGround whole_group(const CollectiveRequest& request) {
    PhaseGround ground;
    ground.members = request.ranks();
    return ground;
  }

  /// Role 0 is the root, role 1 everybody else.
  static CollectivePlan from_root(const CollectiveRequest& request) {
    const std::uint32_t n = request.ranks();
    const bool scatters = request.type == CollectiveType::scatter;
    CollectivePlan plan(request, scatters ? n : 1, request.bytes);
    CollectiveProgramBuilder root;
    for (std::uint32_t k = 1; k < n; ++k) {
      const auto offset = static_cast<std::int32_t>(k);
      root.add({StepKind::send, 0, false, {PeerRule::Kind::offset, 0, offset}, 0, share(scatters, offset)});
    }
    CollectiveProgramBuilder other;
    other.add({StepKind::receive, 0, false, root_of(request), 0, share(scatters, 0)});
    plan.programs.push_back(std::move(root).build());
    plan.programs.push_back(std::move(other).build());
    plan.role_of.assign(n, 1);
    plan.role_of[request.root] = 0;
    return plan;
  }

  /// A role per distance from the root: each sends to another step of the root's.
  static CollectivePlan to_root(const CollectiveRequest& request) {
    const std::uint32_t n = request.ranks();
    const bool gathers = request.type == CollectiveType::gather;
    CollectivePlan plan(request, gathers ? n : 1, request.whole_buffer());
    const StepKind receive_kind = gathers ? StepKind::receive : StepKind::receive_reduce;
    CollectiveProgramBuilder root;
    for (std::uint32_t k = 1; k < n; ++k) {
      const auto offset = static_cast<std::int32_t>(k);
      root.add({receive_kind, 0, false, {PeerRule::Kind::offset, 0, offset}, 0, share(gathers, offset)});
    }
    plan.programs.push_back(std::move(root).build());
    for (std::uint32_t k = 1; k < n; ++k) {
      CollectiveProgramBuilder other;
      other.add({StepKind::send, 0, false, root_of(request), k - 1, share(gathers, 0)});
      plan.programs.push_back(std::move(other).build());
    }
    for (std::uint32_t position = 0; position < n; ++position) plan.role_of.push_back((position + n - request.root) % n);
    return plan;
  }

  static PeerRule root_of(const CollectiveRequest& request) {
    return {PeerRule::Kind::member, 0, static_cast<std::int32_t>(request.root)};
  }

  /// The share of the rank `offset` on, or the whole buffer.
  static PartRange share(bool is_cut, std::int32_t offset) {
    if (!is_cut) return {0, 1, {}, {}};
    return {0, 1, {}, {PartIndex::Kind::offset, 0, offset, 1}};
  }
};

std::unique_ptr<CollectiveAlgorithm> make_direct(const ParamSet&) { return std::make_unique<Direct>(); }

}  // namespace

Module<CollectiveAlgorithmFactory> direct_algorithm() {
  return {{"collective",
           "direct",
           "Every rank sends to every other rank at once and the network shares its links among the messages. One latency; n-1 "
           "messages per rank. The usual choice for all_to_all.",
           {}},
          &make_direct};
}

}  // namespace weft
