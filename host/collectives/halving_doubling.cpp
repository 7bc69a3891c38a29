// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/halving_doubling.hpp"

#include <algorithm>
#include <bit>

#include "core/check.hpp"
#include "host/collectives/roles.hpp"
#include "host/collectives/rounds.hpp"

namespace weft {

namespace {

/// Compiles one request. The ranks that take part in the exchange are numbered from 0: the core.
class HalvingDoubling {
 public:
  explicit HalvingDoubling(const CollectiveRequest& request)
      : type_(request.type),
        n_(request.ranks()),
        core_(std::bit_floor(n_)),
        extras_(n_ - core_),
        bits_(static_cast<std::uint32_t>(std::countr_zero(core_))),
        // In an all_reduce the buffer has a part per member of the core, otherwise one per rank.
        pairs_(type_ == CollectiveType::all_reduce ? 0 : extras_),
        plan_(request, type_ == CollectiveType::all_reduce ? core_ : n_, request.whole_buffer()) {
    if (type_ == CollectiveType::all_reduce || extras_ > 0) {
      division_ = plan_.add_division(std::make_shared<const Subgroups>(n_, std::vector<std::vector<std::uint32_t>>{core_order()}));
    }
  }

  CollectivePlan compile() && {
    RoleNumbers roles;
    for (std::uint32_t position = 0; position < n_; ++position) {
      const std::uint32_t role = roles.number_of(description(position));
      plan_.role_of.push_back(role);
      if (role == plan_.programs.size()) plan_.programs.push_back(program(position));
    }
    return std::move(plan_);
  }

 private:
  /// Which members of the core a block is of: such as stand for two shares, for one, or both.
  enum class Cut : std::uint32_t { pairs, singles, both };

  bool is_extra(std::uint32_t position) const { return position < 2 * extras_ && position % 2 == 0; }
  bool has_extra(std::uint32_t position) const { return position < 2 * extras_ && position % 2 == 1; }
  std::uint32_t position_in_core(std::uint32_t number) const { return number < extras_ ? 2 * number + 1 : number + extras_; }

  /// In an all_reduce distances double while indices halve, hence numbers with their bits in
  /// reverse.
  std::vector<std::uint32_t> core_order() const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t index = 0; index < core_; ++index) {
      std::uint32_t number = index;
      if (type_ == CollectiveType::all_reduce) {
        number = 0;
        for (std::uint32_t bit = 0; bit < bits_; ++bit) number |= (index >> bit & 1U) << (bits_ - 1 - bit);
      }
      order.push_back(position_in_core(number));
    }
    return order;
  }

  /// First index of the block of 2^bit indices of a position in the core, or of the one beside it.
  std::uint32_t first_of_block(std::uint32_t position, PartIndex::Kind kind, std::uint32_t bit) const {
    const std::uint32_t block = plan_.divisions[division_]->index_of(position) >> bit;
    return (kind == PartIndex::Kind::own_block ? block : block ^ 1U) << bit;
  }

  Cut cut_of(std::uint32_t first, std::uint32_t bit) const {
    if (first + (1U << bit) <= pairs_) return Cut::pairs;
    return first >= pairs_ ? Cut::singles : Cut::both;
  }

  /// Members of the core do the same if their blocks hold equally many shares; of a size, only one
  /// block can have members of both kinds.
  RoleNumbers::Description description(std::uint32_t position) const {
    if (is_extra(position)) return {};
    RoleNumbers::Description blocks = {has_extra(position) ? 1U : 0U};
    for (std::uint32_t bit = 0; bit < bits_; ++bit) {
      for (const PartIndex::Kind kind : {PartIndex::Kind::own_block, PartIndex::Kind::other_block}) {
        blocks.push_back(static_cast<std::uint32_t>(cut_of(first_of_block(position, kind, bit), bit)));
      }
    }
    return blocks;
  }

  PartRange block(std::uint32_t position, PartIndex::Kind kind, std::uint32_t bit) const {
    const std::uint32_t first = first_of_block(position, kind, bit);
    const std::uint32_t size = 1U << bit;
    const auto operand = static_cast<std::int32_t>(bit);
    switch (cut_of(first, bit)) {
      case Cut::pairs:
        return {0, 2 * size, {}, {kind, division_, operand, 2}};
      case Cut::singles:
        return {pairs_, size, {}, {kind, division_, operand, 1}};
      case Cut::both:
        break;
    }
    return {2 * first, size + pairs_ - first, {}, {}};
  }

  CollectiveProgram program(std::uint32_t position) const {
    CollectiveProgramBuilder builder;
    if (is_extra(position)) {
      builder.add({StepKind::send, 0, false, neighbour(+1), folded_in, handed_in(0)});
      // What the neighbour sums up of a reduce_scatter lacks the extra rank's part of its own
      // share.
      const StepKind kind = type_ == CollectiveType::reduce_scatter ? StepKind::receive_reduce : StepKind::receive;
      builder.add({kind, 0, false, neighbour(+1), 0, handed_back(0)});
      return std::move(builder).build();
    }
    Rounds rounds(builder);
    if (extras_ > 0) {
      const StepKind kind = type_ == CollectiveType::all_gather ? StepKind::receive : StepKind::receive_reduce;
      rounds.add({}, {has_extra(position) ? kind : StepKind::join, 0, false, neighbour(-1), 0, handed_in(-1)});
    }
    if (type_ != CollectiveType::all_gather) {
      for (std::uint32_t bit = bits_; bit-- > 0;) {
        add_exchange(rounds, position, bit, PartIndex::Kind::other_block, StepKind::receive_reduce);
      }
    }
    if (type_ != CollectiveType::reduce_scatter) {
      for (std::uint32_t bit = 0; bit < bits_; ++bit) {
        add_exchange(rounds, position, bit, PartIndex::Kind::own_block, StepKind::receive);
      }
    }
    if (has_extra(position)) rounds.add({StepKind::send, 0, false, neighbour(-1), handed_back_to, handed_back(-1)}, {});
    return std::move(builder).build();
  }

  /// Steps that receive what an extra rank hands in, and what it gets back.
  static constexpr std::uint32_t folded_in = 1;
  static constexpr std::uint32_t handed_back_to = 1;

  static PeerRule neighbour(std::int32_t offset) { return {PeerRule::Kind::offset, 0, offset}; }

  void add_exchange(Rounds& rounds, std::uint32_t position, std::uint32_t bit, PartIndex::Kind sent, StepKind receive_kind) const {
    const bool sends_own = sent == PartIndex::Kind::own_block;
    const PartIndex::Kind received = sends_own ? PartIndex::Kind::other_block : PartIndex::Kind::own_block;
    const PeerRule partner{PeerRule::Kind::exclusive_or, division_, static_cast<std::int32_t>(1U << bit)};
    rounds.add_exchange({StepKind::send, 0, false, partner, 0, block(position, sent, bit)},
                        {receive_kind, 0, false, partner, 0, block(position, received, bit)});
  }

  // What goes between an extra rank and its neighbour, as seen from where the extra rank is `extra`
  // positions on.
  PartRange handed_in(std::int32_t extra) const {
    if (type_ == CollectiveType::all_reduce) return whole_buffer();
    return type_ == CollectiveType::all_gather ? share_of(extra) : all_shares_but(extra);
  }
  PartRange handed_back(std::int32_t extra) const {
    if (type_ == CollectiveType::all_reduce) return whole_buffer();
    return type_ == CollectiveType::all_gather ? all_shares_but(extra) : share_of(extra);
  }
  PartRange whole_buffer() const { return {0, plan_.parts, {}, {}}; }
  static PartRange share_of(std::int32_t offset) { return {0, 1, {}, {PartIndex::Kind::offset, 0, offset, 1}}; }
  PartRange all_shares_but(std::int32_t offset) const { return {0, n_ - 1, {}, {PartIndex::Kind::offset, 0, offset + 1, 1}}; }

  CollectiveType type_;
  std::uint32_t n_;
  std::uint32_t core_;
  std::uint32_t extras_;
  std::uint32_t bits_;   ///< of numbers in the core
  std::uint32_t pairs_;  ///< members of the core with two shares, the first ones
  CollectivePlan plan_;
  std::uint8_t division_ = 0;  ///< the core
};

class HalvingDoublingAlgorithm final : public CollectiveAlgorithm {
 public:
  bool supports(CollectiveType type) const override {
    return type == CollectiveType::all_reduce || type == CollectiveType::reduce_scatter || type == CollectiveType::all_gather;
  }

  CollectivePlan compile(const CollectiveRequest& request) const override {
    WEFT_CHECK(request.ranks() >= 2 && supports(request.type), "halving and doubling is asked for what it supports");
    return HalvingDoubling(request).compile();
  }
};

std::unique_ptr<CollectiveAlgorithm> make_halving_doubling(const ParamSet&) { return std::make_unique<HalvingDoublingAlgorithm>(); }

}  // namespace

Module<CollectiveAlgorithmFactory> halving_doubling_algorithm() {
  return {
      {"collective",
       "halving_doubling",
       "Every rank exchanges half of what it holds with a partner, then half of that with another, and back: log2(n) rounds (twice "
       "for all_reduce). As few bytes as a ring with a latency that grows with the logarithm of the group; two more rounds and up "
       "to twice the bytes per link where the group is no power of two.",
       {}},
      &make_halving_doubling};
}

}  // namespace weft
