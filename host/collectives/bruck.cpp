// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/bruck.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "host/collectives/rounds.hpp"

namespace weft {

namespace {

class Bruck final : public CollectiveAlgorithm {
 public:
  bool supports(CollectiveType type) const override {
    return type == CollectiveType::all_gather || type == CollectiveType::all_to_all || type == CollectiveType::barrier;
  }

  CollectivePlan compile(const CollectiveRequest& request) const override {
    const std::uint32_t n = request.ranks();
    WEFT_CHECK(n >= 2 && supports(request.type), "Bruck's algorithm is asked for what it supports");
    const bool forwards_blocks = request.type == CollectiveType::all_to_all;
    CollectivePlan plan(request, n, request.whole_buffer());
    CollectiveProgramBuilder builder;
    Rounds rounds(builder);
    // 64 bits: the distance doubles past the last round's.
    for (std::uint64_t distance = 1; distance < n; distance *= 2) {
      const auto far = static_cast<std::int32_t>(distance);
      if (forwards_blocks) {
        rounds.add_exchange({StepKind::send, 0, false, peer(far), 0, blocks(n, far, far)},
                            {StepKind::receive, 0, false, peer(-far), 0, blocks(n, far, 0)});
      } else {
        rounds.add_exchange({StepKind::send, 0, false, peer(-far), 0, shares(n, far, 0)},
                            {StepKind::receive, 0, false, peer(far), 0, shares(n, far, far)});
      }
    }
    plan.programs.push_back(std::move(builder).build());
    return plan;
  }

 private:
  static PeerRule peer(std::int32_t offset) { return {PeerRule::Kind::offset, 0, offset}; }

  /// All shares that a rank has after the rounds of smaller distances, beginning with that of the
  /// rank `offset` on, unless the receiver has them.
  static PartRange shares(std::uint32_t n, std::int32_t distance, std::int32_t offset) {
    const auto had = static_cast<std::uint32_t>(distance);
    return {0, std::min(had, n - had), {}, {PartIndex::Kind::offset, 0, offset, 1}};
  }

  /// The blocks that travel in the round of a distance, those for the rank `offset` on first. A
  /// rank has gathered `distance` blocks for it, fewer perhaps for the last one.
  static PartRange blocks(std::uint32_t n, std::int32_t distance, std::int32_t offset) {
    const auto run = static_cast<std::uint32_t>(distance);
    const std::uint32_t rest = n % (2 * run);
    const std::uint32_t count = n / (2 * run) * run + (rest > run ? rest - run : 0);
    return {0, count, {}, {PartIndex::Kind::offset, 0, offset, 1}, run};
  }
};

std::unique_ptr<CollectiveAlgorithm> make_bruck(const ParamSet&) { return std::make_unique<Bruck>(); }

}  // namespace

Module<CollectiveAlgorithmFactory> bruck_algorithm() {
  return {{"collective",
           "bruck",
           "Round j goes to the rank 2^j places away with all that can go there: log2(n) rounds for any group. The fewest rounds; "
           "blocks "
           "of an all_to_all are forwarded, log2(n)/2 times on average, so it is for short messages. A barrier by dissemination.",
           {}},
          &make_bruck};
}

}  // namespace weft
