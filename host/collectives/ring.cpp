// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/ring.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"
#include "host/collectives/phases.hpp"
#include "host/collectives/roles.hpp"

namespace weft {

namespace {

struct RingSettings {
  Bytes piece;  ///< of a broadcast or reduce
  std::uint32_t channels;
  bool by_hosts;
  std::uint32_t messages_max;  ///< 0: one for every round
};

constexpr std::array ring_params = {
    param<&RingSettings::piece>({.name = "broadcast_piece",
                                 .default_text = "512KiB",
                                 .minimum = "1B",
                                 .maximum = "1TiB",
                                 .meaning = "Largest message of a ring broadcast or reduce, unless that took more than 65,535 "
                                            "pieces; smaller pieces fill the pipeline "
                                            "sooner and pay latency more often",
                                 .origin = "one NCCL Simple-protocol buffer slot: 4 MiB buffer, 8 slots"}),
    param<&RingSettings::channels>({.name = "channels",
                                    .default_text = "1",
                                    .minimum = "1",
                                    .maximum = "32",
                                    .meaning = "Rings at once, each on its share of the buffer and its own connections; on hosts "
                                               "with several of the group's GPUs they "
                                               "enter "
                                               "and leave by different rails",
                                    .origin = "one ring in order of rank"}),
    param<&RingSettings::by_hosts>({.name = "order",
                                    .default_text = "auto",
                                    .choices = "auto|hosts",
                                    .meaning = "hosts: within hosts by rail, every second host backwards, so that a ring leaves a "
                                               "host and enters the next one on the same "
                                               "rail. auto: so with several channels, and in order of rank with one",
                                    .origin = "the order of the members' ranks is what formulas have in mind; NCCL orders rings by "
                                              "the machine, as its rules (nccl) do",
                                    .word = "hosts"}),
    param<&RingSettings::messages_max>(
        {.name = "messages_max",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1048576",
         .meaning = "Messages that a member sends at most in a reduce_scatter or all_gather, and twice as many in an "
                    "all_reduce: with more rounds a message stands for several, with their bytes and latencies. Long rings "
                    "take a fraction of the time to simulate; what holds up one member reaches the others in coarser steps, and "
                    "rings with many members in a host need more. 0: one for every round",
         .origin = "what a ring does"}),
};

/// The order in which channel `channel` of `channels` visits the group. Within hosts in chains that
/// begin, channel by channel, with other GPUs; every second host backwards, so that a ring leaves a
/// host and enters the next one on the same rail.
std::shared_ptr<const Subgroups> ring_order(const GroupLayout& layout, std::uint32_t channel, std::uint32_t channels) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t host = 0; host < layout.host_count(); ++host) {
    std::vector<std::uint32_t> chain = layout.chain_of_host(host, channel * layout.members_of_host(host) / channels, false);
    if (host % 2 == 1) std::reverse(chain.begin(), chain.end());
    order.insert(order.end(), chain.begin(), chain.end());
  }
  return std::make_shared<const Subgroups>(layout.ranks(), std::vector<std::vector<std::uint32_t>>{order});
}

/// In one host whose GPUs are cabled to each other: the root, and the others in zigzag, every
/// second channel mirrored. With twice as many channels as there are others each cable between
/// those carries two.
std::shared_ptr<const Subgroups> mesh_chain(const GroupLayout& layout, std::uint32_t root, std::uint32_t channel) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t k = 0; k < layout.ranks(); ++k) {
    if (layout.member_of_host(0, k) != root) others.push_back(layout.member_of_host(0, k));
  }
  const auto size = static_cast<std::uint32_t>(others.size());
  std::vector<std::uint32_t> order = {root};
  for (std::int64_t k = 0; k < size; ++k) {
    const std::int64_t step = channel % 2 == 0 ? zigzag(k) : -zigzag(k);
    order.push_back(others[wrapped(channel / 2 + step, size)]);
  }
  return std::make_shared<const Subgroups>(layout.ranks(), std::vector<std::vector<std::uint32_t>>{order});
}

class Ring final : public CollectiveAlgorithm {
 public:
  explicit Ring(const RingSettings& settings) : piece_(settings.piece), channels_(settings.channels), by_hosts_(settings.by_hosts) {
    if (settings.messages_max > 0) messages_max_ = settings.messages_max;
  }

  bool supports(CollectiveType type) const override {
    switch (type) {
      case CollectiveType::all_reduce:
      case CollectiveType::all_gather:
      case CollectiveType::reduce_scatter:
      case CollectiveType::all_to_all:
      case CollectiveType::broadcast:
      case CollectiveType::reduce:
        return true;
      default:
        return false;
    }
  }

  CollectivePlan compile(const CollectiveRequest& request) const override {
    const std::uint32_t n = request.ranks();
    WEFT_CHECK(n >= 2, "a ring has at least two ranks");
    if (request.type == CollectiveType::broadcast || request.type == CollectiveType::reduce) return chain(request);
    // What an all_to_all forwards are neighbouring blocks in order of rank, which one ring passes
    // on.
    const std::uint32_t channels = request.type == CollectiveType::all_to_all ? 1 : channels_;
    CollectivePlan plan(request, n * channels, request.whole_buffer());
    CollectiveProgramBuilder builder;
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      RingRounds rounds(builder, ground(plan, channel, channels), {}, messages_max_);
      add_rounds(request.type, rounds, static_cast<std::int32_t>(n));
    }
    plan.programs.push_back(std::move(builder).build());
    return plan;
  }

 private:
  static void add_rounds(CollectiveType type, RingRounds& rounds, std::int32_t n) {
    switch (type) {
      case CollectiveType::all_reduce:
        // Reduce-scatter leaves every member with its next one's share, all-gather passes the
        // finished shares round once more.
        rounds.reduce_scatter(1);
        rounds.all_gather(1);
        break;
      case CollectiveType::reduce_scatter:
        rounds.reduce_scatter(0);
        break;
      case CollectiveType::all_gather:
        rounds.all_gather(0);
        break;
      case CollectiveType::all_to_all:
        // In round s a position passes on the blocks of the rank s behind it that have to go beyond
        // it: n-1-s of them, whose destinations are the n-1-s positions after this one.
        for (std::int32_t s = 0; s + 1 < n; ++s) rounds.add(1, static_cast<std::uint32_t>(n - 1 - s), StepKind::receive);
        break;
      default:
        WEFT_CHECK(false, "a ring is asked for what it supports");
    }
  }

  /// The ring of a channel and its slice of the buffer.
  PhaseGround ground(CollectivePlan& plan, std::uint32_t channel, std::uint32_t channels) const {
    PhaseGround ground;
    ground.channel = static_cast<std::uint8_t>(channel);
    ground.members = plan.request.ranks();
    ground.division = division(plan, channel, channels);
    if (plan.request.type == CollectiveType::all_reduce) {
      ground.base = channel * ground.members;
    } else if (ground.division != 0 || channels > 1) {
      // Every rank's share is cut into channels.
      ground.base = channel;
      ground.stride = channels;
      ground.by_position = true;
    }
    return ground;
  }

  std::uint8_t division(CollectivePlan& plan, std::uint32_t channel, std::uint32_t channels) const {
    const GroupLayout& layout = *plan.request.layout;
    const bool is_mesh = layout.inside() == InsideLinks::full_mesh;
    const bool in_order_of_rank = channels == 1 && (!by_hosts_ || plan.request.type == CollectiveType::all_to_all);
    if (in_order_of_rank || layout.host_count() == layout.ranks() || (layout.host_count() == 1 && !is_mesh)) return 0;
    const bool is_chain = layout.host_count() == 1 && has_root(plan.request.type);
    return plan.add_division(is_chain ? mesh_chain(layout, plan.request.root, channel) : ring_order(layout, channel, channels));
  }

  /// Broadcast: a pipeline of pieces from the root once round the ring. Reduce: the same from the
  /// root's successor to the root.
  CollectivePlan chain(const CollectiveRequest& request) const {
    const bool reduces = request.type == CollectiveType::reduce;
    const std::int64_t share = (request.bytes.count() + channels_ - 1) / channels_;
    const std::int64_t needed = (share + piece_.count() - 1) / piece_.count();
    const auto pieces = static_cast<std::uint32_t>(std::clamp<std::int64_t>(needed, 1, UINT16_MAX));
    CollectivePlan plan(request, pieces * channels_, request.bytes);
    std::vector<std::uint8_t> divisions;
    for (std::uint32_t channel = 0; channel < channels_; ++channel) divisions.push_back(division(plan, channel, channels_));
    RoleNumbers roles;
    for (std::uint32_t position = 0; position < request.ranks(); ++position) {
      RoleNumbers::Description links;
      for (const std::uint8_t division : divisions) links.push_back(link_of(plan, division, position, reduces));
      plan.role_of.push_back(roles.number_of(links));
    }
    for (const RoleNumbers::Description& links : roles.descriptions()) {
      CollectiveProgramBuilder builder;
      for (std::uint32_t channel = 0; channel < channels_; ++channel) {
        add_chain(builder, static_cast<ChainLink>(links[channel]), static_cast<std::uint8_t>(channel), divisions[channel], pieces,
                  reduces);
      }
      plan.programs.push_back(std::move(builder).build());
    }
    return plan;
  }

  enum ChainLink : std::uint32_t { first, last, between };

  static std::uint32_t link_of(const CollectivePlan& plan, std::uint8_t division, std::uint32_t position, bool reduces) {
    const Subgroups& ring = *plan.divisions[division];
    const std::uint32_t n = plan.request.ranks();
    const std::uint32_t start = ring.index_of(plan.request.root) + (reduces ? 1 : 0);
    const std::uint32_t distance = (ring.index_of(position) + n - start % n) % n;
    return distance == 0 ? first : distance == n - 1 ? last : between;
  }

  /// Every piece has two steps, a receive and a send, of which the ends of the chain join one: so
  /// both sides know the other's steps.
  static void add_chain(CollectiveProgramBuilder& builder, ChainLink link, std::uint8_t channel, std::uint8_t division,
                        std::uint32_t pieces, bool reduces) {
    std::optional<std::uint32_t> sent;
    for (std::uint32_t i = 0; i < pieces; ++i) {
      const PartRange part{channel * pieces + i, 1, {}, {}};
      const StepKind receive_kind = link == first ? StepKind::join : reduces ? StepKind::receive_reduce : StepKind::receive;
      const StepKind send_kind = link == last ? StepKind::join : StepKind::send;
      const std::uint32_t receive = builder.add({receive_kind, channel, false, {PeerRule::Kind::offset, division, -1}, 0, part});
      const std::uint32_t send = builder.add({send_kind, channel, false, {PeerRule::Kind::offset, division, +1}, receive, part});
      builder.after(send, receive);
      if (sent) builder.after(send, *sent);
      sent = send;
    }
  }

  Bytes piece_;
  std::uint32_t channels_;
  bool by_hosts_;
  std::optional<std::uint32_t> messages_max_;
};

std::unique_ptr<CollectiveAlgorithm> make_ring(const ParamSet& params) {
  return std::make_unique<Ring>(filled<RingSettings>(params));
}

}  // namespace

Module<CollectiveAlgorithmFactory> ring_algorithm() {
  return {
      {"collective", "ring",
       "Every rank sends to the next and receives from the previous one in group order; n-1 rounds (2(n-1) for all_reduce). Moves "
       "the fewest bytes per link; latency grows with the group.",
       ring_params},
      &make_ring};
}

}  // namespace weft
