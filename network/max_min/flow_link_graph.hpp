// SPDX-License-Identifier: Apache-2.0
// Flow-link graph: which flows use which links, with capacities, weights and caps; the problem that
// rate allocation solves.
//
// Where it sits: an allocation policy owns one and keeps it up as flows come and go; bucket_solve,
// level_repair, segments and the audits read it.
//
// Model: a bipartite graph. Each flow knows its links and where it stands in their lists of
// members; each link knows its members. Adding and removing a flow costs its path length, whatever
// else there is (a removed member's place is taken by the last one), but for the first flow with
// loads or a long path, for which all members are written anew. Capacities, caps and rates
// share one unit, whichever the user takes; weights and loads are pure numbers. A flow loads a link
// with its rate times the hop's load: 1 for an ordinary flow, a fraction where a transfer is
// sprayed over several paths, a count where one flow stands for many alike
// (host/symmetry/rank_folding). A flow has a priority class: of those on a link, flows of a higher
// number go first, as in Ethernet (IEEE 802.1Q), and the others share what they leave.
//
// Invariants
//   1. capacity finite and >= 0; weight and loads finite and > 0; cap >= 0, perhaps infinite;
//      priority < priority_classes; a flow has at least one link (WEFT_CHECK).
//   2. members(l)[h.position] is of f for every hop h = {l, position} of every flow f, and there
//      are no other members.
//   3. A link that stands n times in a flow's path carries that flow's rate n times.
// Slots of removed flows are used again, the last removed first.
// Threads: one writer and nobody else, or any number of readers.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/containers/cache.hpp"
#include "core/values/ids.hpp"

namespace weft {

using FlowSlot = Id<struct FlowSlotTag>;  ///< a flow while it lives; used again after its removal

/// Priorities are 0 to one less than this.
inline constexpr std::uint8_t priority_classes = 8;

/// What a flow asks for.
struct FlowDemand {
  std::span<const LinkId> links;
  double weight = 1.0;
  double cap = std::numeric_limits<double>::infinity();  ///< the most it can use
  std::span<const double> loads = {};                    ///< by link; empty: 1 each
  std::uint8_t priority = 0;                             ///< class; a higher one goes first
  /// What it has had elsewhere so far, which it keeps where it would get the same up to rounding;
  /// NaN: it is new.
  double rate_before = std::numeric_limits<double>::quiet_NaN();
};

class FlowLinkGraph {
 public:
  struct Hop {
    LinkId link;
    std::uint32_t position = 0;  ///< of this hop in members(link)
  };
  /// A hop of a flow, as its link sees it.
  class Member {
   public:
    FlowSlot flow;
    bool is_first = false;  ///< of the flow's hops

   private:
    friend class FlowLinkGraph;
    explicit Member(const std::uint32_t* words, std::size_t words_each)
        : flow(words[0] >> 1), is_first((words[0] & 1) != 0), last_word(words[words_each - 1]) {}
    std::uint32_t last_word;  ///< which of the flow's hops, if members have two words
  };
  /// Members of a link, in order of position. Valid until the graph changes.
  class MemberList {
   public:
    class Iterator {
     public:
      using value_type = Member;
      using difference_type = std::ptrdiff_t;
      Iterator() = default;
      Member operator*() const { return Member(words_, words_each_); }
      Iterator& operator++() {
        words_ += words_each_;
        return *this;
      }
      Iterator operator++(int) {
        const Iterator before = *this;
        ++*this;
        return before;
      }
      friend bool operator==(const Iterator&, const Iterator&) = default;

     private:
      friend class MemberList;
      Iterator(const std::uint32_t* words, std::size_t words_each) : words_(words), words_each_(words_each) {}
      const std::uint32_t* words_ = nullptr;
      std::size_t words_each_ = 1;
    };

    std::size_t size() const { return members_in(words_.size(), words_each_); }
    bool empty() const { return words_.empty(); }
    Member operator[](std::size_t i) const { return Member(words_.data() + i * words_each_, words_each_); }
    Iterator begin() const { return {words_.data(), words_each_}; }
    Iterator end() const { return {words_.data() + words_.size(), words_each_}; }

   private:
    friend class FlowLinkGraph;
    MemberList(std::span<const std::uint32_t> words, std::size_t words_each) : words_(words), words_each_(words_each) {}
    std::span<const std::uint32_t> words_;
    std::size_t words_each_;
  };

  explicit FlowLinkGraph(std::vector<double> capacities);

  FlowSlot add(const FlowDemand& demand);
  /// For a graph of some of the flows of another, where `slot` is the flow's; whoever has begun so
  /// chooses every slot.
  void add_as(FlowSlot slot, const FlowDemand& demand);
  void remove(FlowSlot flow);
  /// The memory that flows took; slots begin anew. Requires: there are no flows.
  void give_back();
  void set_capacity(LinkId link, double capacity);

  std::size_t link_count() const { return capacities_.size(); }
  std::size_t flow_count() const { return flow_count_; }
  /// Slots are below this.
  std::size_t slot_count() const { return flows_.size(); }
  bool alive(FlowSlot flow) const { return flow.index() < flows_.size() && flows_[flow.index()].hop_count > 0; }

  /// Every flow has weight 1 and loads its links once: sums of weights are counts.
  bool weights_are_one() const { return weighted_flows_ == 0 && loads_.empty(); }
  bool has_caps() const { return capped_flows_ > 0; }

  double capacity(LinkId link) const { return capacities_[link.index()]; }
  double weight(FlowSlot flow) const { return weights_.empty() ? 1.0 : weights_[flow.index()]; }
  double cap(FlowSlot flow) const { return caps_.empty() ? std::numeric_limits<double>::infinity() : caps_[flow.index()]; }
  std::uint8_t priority(FlowSlot flow) const { return priorities_.empty() ? std::uint8_t{0} : priorities_[flow.index()]; }
  std::span<const Hop> hops(FlowSlot flow) const {
    const Flow& f = flows_[flow.index()];
    return {hops_.data() + f.first_hop, f.hop_count};
  }
  /// By hop; empty if all flows there ever were have loads of 1, whether they were told or not.
  std::span<const double> loads(FlowSlot flow) const {
    const Flow& f = flows_[flow.index()];
    return loads_.empty() ? std::span<const double>() : std::span<const double>(loads_.data() + f.first_hop, f.hop_count);
  }
  /// Whether these, or 1 each where there are none, are the flow's. Requires: one per hop, or none.
  bool has_loads(FlowSlot flow, std::span<const double> these) const;
  /// What the link carries per unit of the member's rate.
  double load(const Member& member) const {
    return loads_.empty() ? 1.0 : loads_[flows_[member.flow.index()].first_hop + member.last_word];
  }
  /// Asks for what hops() reads, and then, if this has come by now, for the hops.
  void fetch_flow(FlowSlot flow) const { cache::fetch(&flows_[flow.index()], sizeof(Flow)); }
  void fetch_hops(FlowSlot flow) const { cache::fetch(&hops_[flows_[flow.index()].first_hop], cache::line_bytes); }
  /// Asks for what members() of the link reads, and for the members where these are elsewhere, if
  /// this is known by now.
  void fetch_list(LinkId link) const { cache::fetch(&members_[link.index()], sizeof(Members)); }
  void fetch_members(LinkId link) const { cache::fetch(members_[link.index()].data(), cache::line_bytes); }
  MemberList members(LinkId link) const {
    const Members& members = members_[link.index()];
    return {{members.data(), members.size()}, words_each_};
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  /// Without a division, which would be by 1 or 2.
  static std::size_t members_in(std::size_t words, std::size_t words_each) { return words >> (words_each - 1); }
  struct Flow {
    std::uint32_t first_hop = 0;  ///< or the next free slot
    std::uint32_t hop_count = 0;  ///< 0 while the slot is free
  };

  /// One word for a member: its flow's slot, and in the last bit whether it is the first hop. Where
  /// loads are kept or a path is long, a second one: which hop it is. A cache line for a link, the
  /// members themselves and all, for as many as most have.
  struct alignas(64) Members : boost::container::small_vector<std::uint32_t, 10> {};
  static_assert(sizeof(Members) == 64);
  /// So many hops at most are looked through for one.
  static constexpr std::size_t short_path = 8;

  void check(const FlowDemand& demand) const;
  void put(FlowSlot slot, const FlowDemand& demand);
  /// Members have two words from now on. While they are written both lists take memory.
  void widen();
  Hop& hop_of(const Member& member, Hop as);

  std::vector<double> capacities_;
  std::vector<Members> members_;
  std::size_t words_each_ = 1;  ///< of members
  std::vector<Flow> flows_;
  std::uint32_t free_slot_ = none;  ///< the last removed; each knows the next
  std::vector<Hop> hops_;
  /// As hops_; empty until a flow brings loads.
  std::vector<double> loads_;
  // As flows_; empty until a flow brings another than 1, infinity and 0.
  std::vector<double> weights_;
  std::vector<double> caps_;
  std::vector<std::uint8_t> priorities_;
  /// By length: a place in hops_ where a path of that length fits, the last that became free; its
  /// first hop has the next for a position.
  std::vector<std::uint32_t> free_hops_;
  std::size_t flow_count_ = 0;
  std::size_t weighted_flows_ = 0;  ///< with a weight other than 1
  std::size_t capped_flows_ = 0;
  bool slots_are_given_ = false;  ///< by add_as
};

}  // namespace weft
