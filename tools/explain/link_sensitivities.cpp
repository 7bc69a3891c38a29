// SPDX-License-Identifier: Apache-2.0
#include "tools/explain/link_sensitivities.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

#include "core/check.hpp"
#include "core/values/units.hpp"
#include "network/flow/flow_tape.hpp"

namespace weft {

namespace {

constexpr double same_level = 1e-9;  // relative

/// Goes over a tape from its end to its beginning.
class ReversePass {
 public:
  explicit ReversePass(const FlowTape& tape)
      : tape_(tape),
        flows_(tape.flows().size()),
        places_(tape.hop_total()),
        links_(tape.capacities_bps().size()),
        by_capacity_(tape.capacities_bps().size(), 0.0) {}

  LinkSensitivities run(std::span<const WeighedFlow> ends) {
    for (const auto& [flow, weight] : ends) flows_[flow].of_end += weight;
    // What was under way when the run was cut off.
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
      if (!tape_.flows()[flow].has_left && tape_.flows()[flow].last_change != FlowTape::none) enter(flow);
    }
    if (tape_.step_count() > 0) now_ = tape_.step(tape_.step_count() - 1).at;
    for (std::size_t step = tape_.step_count(); step-- > 0;) take_back(step);
    LinkSensitivities found;
    found.by_capacity = std::move(by_capacity_);
    for (const auto& [links, number] : set_numbers_) {
      if (by_set_[number] == 0) continue;
      TiedLinks& tied = found.tied.emplace_back();
      for (const std::uint32_t link : links) tied.links.emplace_back(link);
      tied.seconds = by_set_[number];
    }
    return found;
  }

 private:
  struct Flow {
    double of_end = 0;   ///< derivative of the result by its end
    double of_bits = 0;  ///< of_end / last rate: by what it has moved
    double rate_bps = 0;
    std::uint32_t limit = FlowTape::none;
    std::uint32_t change = FlowTape::none;
  };
  struct Member {
    std::uint32_t flow = 0;
    std::uint32_t hop = 0;  ///< of all hops
  };
  struct Link {
    std::vector<Member> members;
    double level = 0;       ///< of flows that it limits
    double of_level = 0;    ///< per second: derivative of the result by its capacity
    Time since;             ///< of_level holds until then
    std::uint32_t set = 0;  ///< it and those that are full beside it
    bool is_waiting = false;
    std::vector<std::uint32_t> causes;  ///< of the step: what began or ended here
  };

  std::uint32_t first_hop(std::uint32_t flow) const { return tape_.flows()[flow].first_hop; }
  double load_at(std::uint32_t flow, std::uint32_t hop) const { return tape_.loads(flow)[hop - first_hop(flow)]; }

  void mark(std::uint32_t link) {
    if (std::exchange(links_[link].is_waiting, true)) return;
    waiting_.push({links_[link].level, link});
  }
  void mark_links(std::uint32_t flow) {
    for (const LinkId link : tape_.hops(flow)) mark(link.index());
  }

  /// The flow is under way before the step, as its last change says.
  void enter(std::uint32_t flow) {
    const std::span<const LinkId> hops = tape_.hops(flow);
    for (std::uint32_t i = 0; i < hops.size(); ++i) {
      std::vector<Member>& members = links_[hops[i].index()].members;
      places_[first_hop(flow) + i] = static_cast<std::uint32_t>(members.size());
      members.push_back({flow, first_hop(flow) + i});
    }
    take(flow, tape_.flows()[flow].last_change);
  }
  void leave(std::uint32_t flow) {
    const std::span<const LinkId> hops = tape_.hops(flow);
    for (std::uint32_t i = 0; i < hops.size(); ++i) {
      std::vector<Member>& members = links_[hops[i].index()].members;
      const std::uint32_t place = places_[first_hop(flow) + i];
      members[place] = members.back();
      places_[members[place].hop] = place;
      members.pop_back();
    }
  }
  void take(std::uint32_t flow, std::uint32_t change) {
    const FlowTape::Change& as = tape_.changes()[change];
    flows_[flow].rate_bps = as.rate_bps;
    flows_[flow].limit = as.limit;
    flows_[flow].change = change;
    if (as.limit != FlowTape::none) links_[as.limit].level = as.rate_bps / tape_.flows()[flow].weight;
  }

  void pass_to_start(std::uint32_t flow, double amount) {
    const FlowTape::FlowRecord& record = tape_.flows()[flow];
    std::uint32_t cause = record.after;
    if (cause == FlowTape::none && record.entry != FlowTape::none) cause = tape_.nodes()[record.entry].origin;
    if (cause != FlowTape::none) flows_[cause].of_end += amount;
  }
  void pass_to_cause(std::uint32_t flow, std::size_t step, double amount) {
    const FlowTape::FlowRecord& record = tape_.flows()[flow];
    if (record.has_left && record.end == tape_.step(step).at && is_of_step_[flow] == ended) {
      if (record.is_complete) flows_[flow].of_end += amount;
    } else {
      pass_to_start(flow, amount);
    }
  }

  void take_back(std::size_t step) {
    const std::span<const FlowTape::Change> changes = tape_.changes_of(step);
    const std::span<const std::uint32_t> left = tape_.left_at(step);
    is_of_step_.resize(flows_.size(), 0);
    causes_.clear();
    for (const std::uint32_t flow : left) add_cause(flow, ended);
    for (const FlowTape::Change& change : changes) {
      if (change.previous == FlowTape::none) add_cause(change.flow, began);
    }
    // Rates that moved at the step move with whatever made it happen.
    for (const FlowTape::Change& change : changes) {
      const double of_bits = flows_[change.flow].of_bits;
      if (of_bits == 0) continue;
      if (change.previous == FlowTape::none) {
        pass_to_start(change.flow, of_bits * change.rate_bps);
      } else {
        share_out(change.flow, step, of_bits * (change.rate_bps - tape_.changes()[change.previous].rate_bps));
      }
    }
    // Flows that left may have been waited for by those that began; what they pass on is complete.
    for (const FlowTape::Change& change : changes) {
      mark_links(change.flow);
      if (change.previous == FlowTape::none) {
        leave(change.flow);
      } else {
        take(change.flow, change.previous);
      }
    }
    for (const std::uint32_t flow : left) {
      const FlowTape::FlowRecord& record = tape_.flows()[flow];
      // It was taken back in the instant in which it began.
      if (record.last_change == FlowTape::none) continue;
      enter(flow);
      if (record.is_complete && flows_[flow].rate_bps > 0) flows_[flow].of_bits = flows_[flow].of_end / flows_[flow].rate_bps;
      mark_links(flow);
    }
    for (const std::uint32_t flow : causes_) {
      is_of_step_[flow] = 0;
      for (const LinkId link : tape_.hops(flow)) links_[link.index()].causes.clear();
    }
    now_ = tape_.step(step).at;
    settle();
  }

  void add_cause(std::uint32_t flow, std::uint8_t how) {
    is_of_step_[flow] = how;
    causes_.push_back(flow);
    for (const LinkId link : tape_.hops(flow)) links_[link.index()].causes.push_back(flow);
  }

  /// Among those on its links; if there are none, among all of the step.
  void share_out(std::uint32_t flow, std::size_t step, double amount) {
    if (amount == 0 || causes_.empty()) return;
    near_.clear();
    for (const LinkId link : tape_.hops(flow))
      near_.insert(near_.end(), links_[link.index()].causes.begin(), links_[link.index()].causes.end());
    std::ranges::sort(near_);
    near_.erase(std::unique(near_.begin(), near_.end()), near_.end());
    const std::vector<std::uint32_t>& among = near_.empty() ? causes_ : near_;
    for (const std::uint32_t cause : among) pass_to_cause(cause, step, amount / static_cast<double>(among.size()));
  }

  /// Brings of_level up to date, from the highest level down.
  void settle() {
    while (!waiting_.empty()) {
      const std::uint32_t number = waiting_.top().second;
      const double queued_at = waiting_.top().first;
      waiting_.pop();
      Link& link = links_[number];
      if (!link.is_waiting) continue;
      if (link.level != queued_at) {  // it had another level when it was marked
        waiting_.push({link.level, number});
        continue;
      }
      link.is_waiting = false;
      double filling = 0;
      double pull = 0;
      for (const Member member : link.members) {
        const Flow& flow = flows_[member.flow];
        if (flow.limit != number) continue;
        const double weight = tape_.flows()[member.flow].weight;
        filling += weight * load_at(member.flow, member.hop);
        if (!is_first_here(member, number)) continue;
        pull += weight * (flow.of_bits - elsewhere(member.flow, number));
      }
      const double of_level = filling > 0 ? pull / filling : 0;
      const std::uint32_t set = of_level == 0 ? link.set : set_of(number);
      if (of_level == link.of_level && set == link.set) continue;
      const double moved = link.of_level * (link.since - now_).in_s();
      by_capacity_[number] -= moved;
      if (moved != 0) by_set_[link.set] -= moved * tape_.capacities_bps()[number];
      link.since = now_;
      link.set = set;
      if (std::exchange(link.of_level, of_level) == of_level) continue;
      for (const Member member : link.members) {
        const std::uint32_t limit = flows_[member.flow].limit;
        if (limit != number && limit != FlowTape::none && links_[limit].level < link.level) mark(limit);
      }
    }
  }
  /// The link and what is full beside it, on paths of flows that it limits.
  std::uint32_t set_of(std::uint32_t number) {
    set_.assign(1, number);
    for (const Member member : links_[number].members) {
      if (flows_[member.flow].limit != number) continue;
      for (const LinkId link : tape_.tied(tape_.changes()[flows_[member.flow].change])) set_.push_back(link.index());
    }
    std::ranges::sort(set_);
    set_.erase(std::unique(set_.begin(), set_.end()), set_.end());
    const auto [known, is_new] = set_numbers_.try_emplace(set_, static_cast<std::uint32_t>(by_set_.size()));
    if (is_new) by_set_.push_back(0);
    return known->second;
  }
  /// Where a path crosses a link twice, it pulls once.
  bool is_first_here(const Member& member, std::uint32_t link) const {
    const std::span<const LinkId> hops = tape_.hops(member.flow);
    return static_cast<std::uint32_t>(std::ranges::find(hops, LinkId(link)) - hops.begin()) == member.hop - first_hop(member.flow);
  }
  /// What its rate takes from higher levels.
  double elsewhere(std::uint32_t flow, std::uint32_t limit) const {
    double sum = 0;
    const double level = links_[limit].level * (1 + same_level);
    const std::span<const LinkId> hops = tape_.hops(flow);
    const std::span<const double> loads = tape_.loads(flow);
    for (std::size_t i = 0; i < hops.size(); ++i) {
      const Link& other = links_[hops[i].index()];
      if (hops[i].index() != limit && other.of_level != 0 && other.level > level) sum += loads[i] * other.of_level;
    }
    return sum;
  }

  static constexpr std::uint8_t ended = 1;
  static constexpr std::uint8_t began = 2;

  const FlowTape& tape_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> places_;  ///< by hop: among members of its link
  std::vector<Link> links_;
  std::vector<double> by_capacity_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> set_numbers_;
  std::vector<double> by_set_;      ///< by number
  std::vector<std::uint32_t> set_;  ///< the one at hand
  /// Level, link
  std::priority_queue<std::pair<double, std::uint32_t>> waiting_;
  /// Flows that began or ended at the step
  std::vector<std::uint32_t> causes_;
  /// By flow
  std::vector<std::uint8_t> is_of_step_;
  std::vector<std::uint32_t> near_;
  Time now_;
};

}  // namespace

double LinkSensitivities::of(const std::vector<bool>& contains) const {
  double seconds = 0;
  for (const TiedLinks& set : tied) {
    if (std::ranges::all_of(set.links, [&](LinkId link) { return contains[link.index()]; })) seconds += set.seconds;
  }
  return seconds;
}

LinkSensitivities link_sensitivities(const FlowTape& tape, std::span<const WeighedFlow> ends) {
  WEFT_CHECK(tape.has_limits(), "the tape tells which links limit flows");
  return ReversePass(tape).run(ends);
}

}  // namespace weft
