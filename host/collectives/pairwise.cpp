// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/pairwise.hpp"

#include "core/check.hpp"
#include "host/collectives/phases.hpp"

namespace weft {

namespace {

class Pairwise final : public CollectiveAlgorithm {
 public:
  bool supports(CollectiveType type) const override {
    return type == CollectiveType::all_to_all || type == CollectiveType::all_to_all_v || type == CollectiveType::reduce_scatter ||
           type == CollectiveType::all_gather;
  }

  CollectivePlan compile(const CollectiveRequest& request) const override {
    const std::uint32_t n = request.ranks();
    WEFT_CHECK(n >= 2 && supports(request.type), "a pairwise exchange is asked for what it supports");
    CollectivePlan plan(request, n, request.whole_buffer());
    PhaseGround ground;
    ground.members = n;
    CollectiveProgramBuilder builder;
    const std::uint32_t first =
        add_exchange(builder, ground,
                     request.type == CollectiveType::all_gather     ? Carries::own_share
                     : request.type == CollectiveType::all_to_all_v ? Carries::splits
                                                                    : Carries::peers_share,
                     request.type == CollectiveType::reduce_scatter ? StepKind::receive_reduce : StepKind::receive);
    for (std::uint32_t send = first + 2; send < builder.size(); send += 2) {
      builder.after(send, send - 2);
      builder.after(send, send - 1);
    }
    plan.programs.push_back(std::move(builder).build());
    return plan;
  }
};

std::unique_ptr<CollectiveAlgorithm> make_pairwise(const ParamSet&) { return std::make_unique<Pairwise>(); }

}  // namespace

Module<CollectiveAlgorithmFactory> pairwise_algorithm() {
  return {
      {"collective",
       "pairwise",
       "n-1 rounds; in round k every rank sends to the rank k places on and receives from the one k places back, and goes on when "
       "both are done. One message per rank and direction at a time; the latency grows with the group.",
       {}},
      &make_pairwise};
}

}  // namespace weft
