#include "host/collectives/ring.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 1> kParams = {{{"broadcast_piece", ParamKind::bytes, "512KiB", "1B", "1TiB", "",
                                                "Largest message of a ring broadcast, unless that took more than 65,535 pieces; "
                                                "smaller pieces fill the pipeline sooner and pay "
                                                "latency more often",
                                                "one NCCL Simple-protocol buffer slot: 4 MiB buffer, 8 slots"}}};

class Ring final : public CollectiveAlgorithm {
 public:
  explicit Ring(const ParamSet& params) : broadcast_piece_(params.bytes("broadcast_piece")) {}

  bool supports(CollectiveType type) const override { return type <= CollectiveType::broadcast; }

  std::uint32_t role_count(const CollectiveRequest& request) const override {
    return request.type == CollectiveType::broadcast ? std::min<std::uint32_t>(3, request.ranks) : 1;
  }

  /// Broadcast: 0 = root, 1 = the last of the chain, 2 = in between. Everything else is the same for all.
  std::uint32_t role_of(const CollectiveRequest& request, std::uint32_t position) const override {
    if (request.type != CollectiveType::broadcast) return 0;
    const std::uint32_t distance = (position + request.ranks - request.root) % request.ranks;
    if (distance == 0) return 0;
    return distance == request.ranks - 1 ? 1 : 2;
  }

  CollectiveProgram compile(const CollectiveRequest& request, std::uint32_t role) const override {
    const std::uint32_t n = request.ranks;
    WEFT_CHECK(n >= 2, "a ring has at least two ranks");
    switch (request.type) {
      case CollectiveType::all_reduce: {
        // Reduce-scatter leaves position p with part p+1, all-gather passes the finished parts round once more.
        Rounds rounds(n, n, request.bytes);
        for (std::uint32_t s = 0; s + 1 < n; ++s) rounds.add(n - s, 1, StepKind::receive_reduce);
        for (std::uint32_t s = 0; s + 1 < n; ++s) rounds.add(n + 1 - s, 1, StepKind::receive);
        return std::move(rounds).build();
      }
      case CollectiveType::reduce_scatter: {
        Rounds rounds(n, n, request.bytes);
        for (std::uint32_t s = 0; s + 1 < n; ++s) rounds.add(n - 1 - s, 1, StepKind::receive_reduce);
        return std::move(rounds).build();
      }
      case CollectiveType::all_gather: {
        Rounds rounds(n, n, request.bytes * n);
        for (std::uint32_t s = 0; s + 1 < n; ++s) rounds.add(n - s, 1, StepKind::receive);
        return std::move(rounds).build();
      }
      case CollectiveType::all_to_all: {
        // In round s a position passes on the blocks of the rank s behind it that have to go beyond it: n-1-s of them, whose
        // destinations are the n-1-s positions after this one.
        Rounds rounds(n, n, request.bytes);
        for (std::uint32_t s = 0; s + 1 < n; ++s) rounds.add(1, n - 1 - s, StepKind::receive);
        return std::move(rounds).build();
      }
      case CollectiveType::broadcast:
        return broadcast(request, role);
      default:
        break;
    }
    return {};
  }

 private:
  /// Rounds in which every position sends to the next one and receives from the previous one. Steps 2s and 2s+1 are the send and the
  /// receive of round s.
  class Rounds {
   public:
    Rounds(std::uint32_t ranks, std::uint32_t parts, Bytes buffer) : builder_(ranks, parts, buffer) {}

    /// The position's own send carries `part_count` parts from p + part_begin on; what it receives is what its left neighbour sends.
    void add(std::uint32_t part_begin, std::uint32_t part_count, StepKind receive_kind) {
      const std::uint32_t send = 2 * round_;
      builder_.add({StepKind::send, false, +1, part_begin, part_count, send + 1});
      builder_.add({receive_kind, false, -1, part_begin - 1, part_count, 0});
      if (round_ > 0) {
        builder_.after(send, send - 2);  // one message at a time
        builder_.after(send, send - 1);  // the data it forwards
      }
      ++round_;
    }
    CollectiveProgram build() && { return std::move(builder_).build(); }

   private:
    CollectiveProgramBuilder builder_;
    std::uint32_t round_ = 0;
  };

  CollectiveProgram broadcast(const CollectiveRequest& request, std::uint32_t role) const {
    const std::int64_t needed = (request.bytes.count() + broadcast_piece_.count() - 1) / broadcast_piece_.count();
    const auto pieces = static_cast<std::uint32_t>(std::clamp<std::int64_t>(needed, 1, UINT16_MAX));
    CollectiveProgramBuilder builder(request.ranks, pieces, request.bytes);
    const bool is_root = role == 0;
    const bool is_last = role == 1;
    for (std::uint32_t i = 0; i < pieces; ++i) {
      // Every non-root program starts piece i with its receive at step 2i: the last of the chain has a join where others send.
      const std::uint32_t receive_step = 2 * i;
      if (is_root) {
        const std::uint32_t send = builder.add({StepKind::send, true, +1, i, 1, receive_step});
        if (i > 0) builder.after(send, send - 1);
        continue;
      }
      builder.add({StepKind::receive, true, -1, i, 1, 0});
      const std::uint32_t onward =
          is_last ? builder.add({StepKind::join, true, 0, 0, 0, 0}) : builder.add({StepKind::send, true, +1, i, 1, receive_step});
      builder.after(onward, receive_step);
      if (i > 0) builder.after(onward, onward - 2);
    }
    return std::move(builder).build();
  }

  Bytes broadcast_piece_;
};

std::unique_ptr<CollectiveAlgorithm> make_ring(const ParamSet& params) { return std::make_unique<Ring>(params); }

}  // namespace

Module<CollectiveAlgorithmFactory> ring_algorithm() {
  return {
      {"collective", "ring",
       "Every rank sends to the next and receives from the previous one in group order; n-1 rounds (2(n-1) for all_reduce). Moves "
       "the fewest bytes per link; latency grows with the group.",
       kParams},
      &make_ring};
}

}  // namespace weft
