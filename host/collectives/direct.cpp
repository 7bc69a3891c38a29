#include "host/collectives/direct.hpp"

#include "core/check.hpp"

namespace weft {

namespace {

class Direct final : public CollectiveAlgorithm {
 public:
  bool supports(CollectiveType type) const override { return type <= CollectiveType::broadcast; }

  std::uint32_t role_count(const CollectiveRequest& request) const override {
    return request.type == CollectiveType::broadcast ? request.ranks : 1;
  }

  /// Broadcast: the role is the distance from the root. Everything else is the same for all.
  std::uint32_t role_of(const CollectiveRequest& request, std::uint32_t position) const override {
    if (request.type != CollectiveType::broadcast) return 0;
    return (position + request.ranks - request.root) % request.ranks;
  }

  CollectiveProgram compile(const CollectiveRequest& request, std::uint32_t role) const override {
    const std::uint32_t n = request.ranks;
    WEFT_CHECK(n >= 2, "a direct exchange has at least two ranks");
    switch (request.type) {
      case CollectiveType::all_to_all: {
        CollectiveProgramBuilder builder(n, n, request.bytes);
        exchange(builder, n, Carries::peers_part, StepKind::receive);
        return std::move(builder).build();
      }
      case CollectiveType::reduce_scatter: {
        CollectiveProgramBuilder builder(n, n, request.bytes);
        exchange(builder, n, Carries::peers_part, StepKind::receive_reduce);
        return std::move(builder).build();
      }
      case CollectiveType::all_gather: {
        CollectiveProgramBuilder builder(n, n, request.bytes * n);
        exchange(builder, n, Carries::own_part, StepKind::receive);
        return std::move(builder).build();
      }
      case CollectiveType::all_reduce: {
        CollectiveProgramBuilder builder(n, n, request.bytes);
        exchange(builder, n, Carries::peers_part, StepKind::receive_reduce);
        const std::uint32_t reduced = builder.add({StepKind::join, false, 0, 0, 0, 0});
        for (std::uint32_t step = 0; step < reduced; ++step) builder.after(reduced, step);
        const std::uint32_t first = exchange(builder, n, Carries::own_part, StepKind::receive);
        for (std::uint32_t k = 0; k + 1 < n; ++k) builder.after(first + 2 * k, reduced);
        return std::move(builder).build();
      }
      case CollectiveType::broadcast: {
        CollectiveProgramBuilder builder(n, 1, request.bytes);
        if (role == 0) {
          for (std::uint32_t k = 1; k < n; ++k) builder.add({StepKind::send, true, static_cast<std::int32_t>(k), 0, 1, 0});
        } else {
          builder.add({StepKind::receive, true, -static_cast<std::int32_t>(role), 0, 1, 0});
        }
        return std::move(builder).build();
      }
      default:
        break;
    }
    return {};
  }

 private:
  enum class Carries { peers_part, own_part };

  /// All positions send to all others at once. Steps first+2(k-1) and first+2(k-1)+1 are the send to position p+k and the receive from
  /// p-k, which is the sender's k-th as well. Returns `first`.
  static std::uint32_t exchange(CollectiveProgramBuilder& builder, std::uint32_t n, Carries carries, StepKind receive_kind) {
    std::uint32_t first = 0;
    for (std::uint32_t k = 1; k < n; ++k) {
      const auto offset = static_cast<std::int32_t>(k);
      const std::uint32_t sent_part = carries == Carries::peers_part ? k : 0;
      const std::uint32_t received_part = carries == Carries::peers_part ? 0 : n - k;
      const std::uint32_t send = builder.size();
      builder.add({StepKind::send, false, offset, sent_part, 1, send + 1});
      builder.add({receive_kind, false, -offset, received_part, 1, 0});
      if (k == 1) first = send;
    }
    return first;
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
