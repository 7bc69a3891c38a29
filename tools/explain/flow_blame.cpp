// SPDX-License-Identifier: Apache-2.0
#include "tools/explain/flow_blame.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "network/flow/flow_tape.hpp"

namespace weft {

namespace {

class ForwardPass {
 public:
  /// `kept`: by flow, the share of what it loses that counts; empty: all of it.
  ForwardPass(const FlowTape& tape, const std::vector<std::uint32_t>& job_of_flow, std::vector<double> kept)
      : tape_(tape),
        job_of_flow_(job_of_flow),
        kept_(std::move(kept)),
        flows_(tape.flows().size()),
        places_(tape.hop_total()),
        links_(tape.capacities_bps().size()) {
    result_.lost_of_flow_s.assign(flows_.size(), 0);
    own_loads_.resize(tape.transfers().size());
    set_rates_alone();
  }

  FlowBlame run() {
    for (std::size_t step = 0; step < tape_.step_count(); ++step) take(step);
    for (std::uint32_t link = 0; link < links_.size(); ++link) settle(link, now_);
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
      const FlowTape::FlowRecord& record = tape_.flows()[flow];
      if (!counts(flow)) continue;
      if (record.after != FlowTape::none) {
        const double waited_s = (record.start - tape_.transfers()[record.transfer].entered).in_s();
        if (waited_s > 0) lost_[{UINT32_MAX, job_of_flow_[flow], job_of_flow_[flow]}] += waited_s;
      }
      if (record.is_complete) result_.moving_s += (record.end - record.start).in_s() - result_.lost_of_flow_s[flow];
    }
    for (const auto& [key, lost_s] : lost_) {
      if (lost_s > 0) result_.blame.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), lost_s});
    }
    std::ranges::stable_sort(result_.blame, {}, [](const Blame& blame) { return -blame.lost_s; });
    return std::move(result_);
  }

  /// After run(): by flow, what it took longer than alone over what it lost; empty where all is 1.
  /// It is less where a flow goes on faster than alone, as others of its transfer have ended.
  std::vector<double> shares_left(const FlowBlame& found) const {
    constexpr double rounding = 1e-9;
    std::vector<double> shares(flows_.size(), 1);
    bool has_others = false;
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
      const FlowTape::FlowRecord& record = tape_.flows()[flow];
      const double lost_s = found.lost_of_flow_s[flow];
      if (!record.is_complete || lost_s == 0 || flows_[flow].alone_bps == 0) continue;
      const double took_s = (record.end - record.start).in_s();
      const double longer_s = std::max(0.0, took_s - flows_[flow].moved_bits / flows_[flow].alone_bps);
      if (longer_s >= lost_s - rounding * took_s) continue;
      shares[flow] = longer_s / lost_s;
      has_others = true;
    }
    return has_others ? shares : std::vector<double>();
  }

 private:
  struct Flow {
    double moved_bits = 0;  ///< until `since`
    Time since;
    double rate_bps = 0;
    double alone_bps = 0;
    std::uint32_t limit = FlowTape::none;
  };
  struct Member {
    std::uint32_t flow = 0;
    std::uint32_t hop = 0;
  };
  struct Link {
    std::vector<Member> members;
    Time since;
  };
  /// What a transfer's flows put on the link at hand, if `round` is this one.
  struct OwnLoad {
    std::uint64_t round = 0;
    double bps = 0;
  };

  /// A transfer takes as long as the flow of it that arrives last.
  bool counts(std::uint32_t flow) const { return tape_.transfers()[tape_.flows()[flow].transfer].delivered_by == flow; }

  /// The bytes of a transfer are spread evenly over its flows, and alone it is as slow as the
  /// slowest of them.
  void set_rates_alone() {
    std::vector<std::uint32_t> by_transfer;
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
      if (tape_.flows()[flow].is_complete) by_transfer.push_back(flow);
    }
    std::ranges::stable_sort(by_transfer, {}, [this](std::uint32_t flow) { return tape_.flows()[flow].transfer; });
    std::vector<double> load_of_link(tape_.capacities_bps().size(), 0);
    for (auto first = by_transfer.begin(); first != by_transfer.end();) {
      const std::uint32_t transfer = tape_.flows()[*first].transfer;
      const auto last =
          std::find_if(first, by_transfer.end(), [&](std::uint32_t flow) { return tape_.flows()[flow].transfer != transfer; });
      const std::span<const std::uint32_t> own(first, last);
      double alone_bps = std::numeric_limits<double>::infinity();
      for (const std::uint32_t flow : own) {
        for (std::size_t i = 0; i < tape_.hops(flow).size(); ++i) load_of_link[tape_.hops(flow)[i].index()] += tape_.loads(flow)[i];
        alone_bps = std::min(alone_bps, tape_.flows()[flow].cap_bps);
      }
      for (const std::uint32_t flow : own) {
        for (const LinkId link : tape_.hops(flow))
          alone_bps = std::min(alone_bps, tape_.capacities_bps()[link.index()] / load_of_link[link.index()]);
      }
      for (const std::uint32_t flow : own) {
        flows_[flow].alone_bps = alone_bps;
        for (const LinkId link : tape_.hops(flow)) load_of_link[link.index()] = 0;
      }
      first = last;
    }
  }

  std::uint32_t first_hop(std::uint32_t flow) const { return tape_.flows()[flow].first_hop; }
  double load_of(const Member& member) const {
    return flows_[member.flow].rate_bps * tape_.loads(member.flow)[member.hop - first_hop(member.flow)];
  }

  void take(std::size_t step) {
    now_ = tape_.step(step).at;
    const auto settle_links = [&](std::uint32_t flow) {
      for (const LinkId link : tape_.hops(flow)) settle(link.index(), now_);
    };
    for (const std::uint32_t flow : tape_.left_at(step)) {
      if (tape_.flows()[flow].last_change == FlowTape::none) continue;
      settle_links(flow);
      move(flow);
      leave(flow);
    }
    for (const FlowTape::Change& change : tape_.changes_of(step)) settle_links(change.flow);
    for (const FlowTape::Change& change : tape_.changes_of(step)) {
      if (change.previous == FlowTape::none) enter(change.flow);
      move(change.flow);
      flows_[change.flow].rate_bps = change.rate_bps;
      flows_[change.flow].limit = change.limit;
    }
  }

  void move(std::uint32_t number) {
    Flow& flow = flows_[number];
    flow.moved_bits += flow.rate_bps * (now_ - std::exchange(flow.since, now_)).in_s();
  }
  void enter(std::uint32_t flow) {
    const std::span<const LinkId> hops = tape_.hops(flow);
    for (std::uint32_t i = 0; i < hops.size(); ++i) {
      std::vector<Member>& members = links_[hops[i].index()].members;
      places_[first_hop(flow) + i] = static_cast<std::uint32_t>(members.size());
      members.push_back({flow, first_hop(flow) + i});
    }
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

  /// What the flows that a link limits have lost until then.
  void settle(std::uint32_t number, Time until) {
    Link& link = links_[number];
    const double dt_s = (until - std::exchange(link.since, until)).in_s();
    if (dt_s == 0) return;
    loads_.clear();
    ++round_;
    double total = 0;
    for (const Member& member : link.members) {
      const double load = load_of(member);
      total += load;
      OwnLoad& own = own_loads_[tape_.flows()[member.flow].transfer];
      own = {round_, (own.round == round_ ? own.bps : 0) + load};
      load_by(job_of_flow_[member.flow]) += load;
    }
    for (const Member& member : link.members) {
      const Flow& flow = flows_[member.flow];
      // What is held back before its end begins anew as another flow.
      if (flow.limit != number || flow.alone_bps == 0 || !is_first_here(member, number)) continue;
      double lost_s = dt_s * std::max(0.0, 1 - flow.rate_bps / flow.alone_bps);
      if (!kept_.empty()) lost_s *= kept_[member.flow];
      if (lost_s == 0) continue;
      result_.lost_of_flow_s[member.flow] += lost_s;
      if (!counts(member.flow)) continue;
      const std::uint32_t job = job_of_flow_[member.flow];
      const double own = own_loads_[tape_.flows()[member.flow].transfer].bps;
      const double others = total - own;
      if (others <= total * least_share) {
        lost_[{number, job, job}] += lost_s;
        continue;
      }
      for (const auto& [blamed, load] : loads_) {
        const double part = std::max(0.0, blamed == job ? load - own : load);
        if (part > 0) lost_[{number, job, blamed}] += lost_s * part / others;
      }
    }
  }
  double& load_by(std::uint32_t job) {
    for (auto& [known, load] : loads_) {
      if (known == job) return load;
    }
    return loads_.emplace_back(job, 0.0).second;
  }
  bool is_first_here(const Member& member, std::uint32_t link) const {
    const std::span<const LinkId> hops = tape_.hops(member.flow);
    return static_cast<std::uint32_t>(std::ranges::find(hops, LinkId(link)) - hops.begin()) == member.hop - first_hop(member.flow);
  }

  static constexpr double least_share = 1e-12;  // of a link's load, which rounding may leave

  const FlowTape& tape_;
  const std::vector<std::uint32_t>& job_of_flow_;
  std::vector<double> kept_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> places_;
  std::vector<Link> links_;
  std::vector<std::pair<std::uint32_t, double>> loads_;  ///< of the link at hand, by job
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, double> lost_;
  std::vector<OwnLoad> own_loads_;  ///< by transfer
  std::uint64_t round_ = 0;
  Time now_;
  FlowBlame result_;
};

}  // namespace

FlowBlame flow_blame(const FlowTape& tape, const std::vector<std::uint32_t>& job_of_flow) {
  WEFT_CHECK(tape.has_limits(), "the tape tells which links limit flows");
  ForwardPass first(tape, job_of_flow, {});
  FlowBlame blame = first.run();
  std::vector<double> kept = first.shares_left(blame);
  return kept.empty() ? blame : ForwardPass(tape, job_of_flow, std::move(kept)).run();
}

}  // namespace weft
