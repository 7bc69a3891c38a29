// SPDX-License-Identifier: Apache-2.0
// Congestion monitor: finds transfers that get less than the links of their own hosts would give
// them, and the links that slow them (Arcadia, section 10.1).
//
// Where it sits: the flow fabric tells it of every flow (FlowFabric::watch_congestion), the flow
// model of every change of rates. Whoever writes results reads periods() and totals() after the
// run.
//
// Model, of a flow f of job J with weight w, priority p, rate r and load a(f, l) on link l:
//   possible(f, l) = w (C - what J's flows of priority > p move over l)
//                    / sum over J's flows g of priority p of w(g) a(g, l)
//   for every access link l of capacity C: a link of its path with an end in one of its hosts;
//   possible(f) is the least over its access links and its cap.
// Flow f is slowed while r < possible(f), by more than 1e-6 of it. Its bottleneck is the first full
// link of its path on which no flow of its priority has a higher rate per weight. Other jobs cause
// it if one of their flows of priority >= p crosses the bottleneck; otherwise the job itself does.
// docs/internals/flow_mode.md has periods, limits and the cost.
//
// Invariants
//   1. The monitor hears of every flow before its first rates, and every flow belongs to a job.
//   2. What it finds depends on the sequence of calls only.
// Threads: belongs to the fabric's logical process; periods() and totals() may be called by anyone
// once the engine has stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/congestion/congestion_periods.hpp"
#include "network/flow/flow_model.hpp"

namespace weft {

class LinkFolding;
class Topology;

/// What became of all transfers of a job.
struct CongestionTotals {
  Duration congested;    ///< while any of them was slowed
  double lost_bits = 0;  ///< as in JobInCongestion
  double possible_bits = 0;

  double lost_share() const { return possible_bits > 0 ? lost_bits / possible_bits : 0; }
};

class CongestionMonitor final : public RateObserver {
 public:
  using JobOfAttempt = std::function<JobId(AttemptId)>;
  /// Keeps a reference to the topology.
  CongestionMonitor(const Topology& topology, Duration gap, JobOfAttempt job_of_attempt);

  struct Flow {
    AttemptId attempt;
    HostId source = HostId::none();  ///< none: an operation in switches, or several hosts
    HostId destination = HostId::none();
    std::uint32_t multiplicity = 1;        ///< transfers that it stands for
    const LinkFolding* folding = nullptr;  ///< by which it does, if it does
  };
  /// A flow that begins at the next settle.
  void on_flow_starts(FlowSlot slot, const Flow& flow);
  void on_flow_leaves(FlowSlot slot, Time now) override;
  void on_rates_changed(std::span<const FlowSlot> changed, Time now, const AllocationPolicy& policy) override;

  /// A flow that is slowed.
  struct Finding {
    LinkId bottleneck = LinkId::none();  ///< none: it is not
    CongestionCause cause = CongestionCause::others;
    double rate_bps = 0;
    double possible_bps = 0;
    friend bool operator==(const Finding&, const Finding&) = default;
  };
  /// Since the last change of rates. Requires: the flow is under way.
  const Finding& finding(FlowSlot slot) const { return flows_[slot.index()].finding; }

  /// All periods up to `now`, as far as flows were simulated; of one link and cause in order of
  /// time.
  std::vector<CongestionPeriod> periods(Time now) const;
  /// By JobId; shorter if the last jobs had no flows.
  std::vector<CongestionTotals> totals(Time now) const;

 private:
  struct WatchedFlow {
    JobId job;
    HostId source;
    HostId destination;
    std::uint32_t multiplicity = 0;  ///< 0 while the slot is free
    const LinkFolding* folding = nullptr;
    std::vector<LinkId> links;
    std::uint64_t seen = 0;  ///< the last look at it
    Finding finding;
    Time since;  ///< of the finding
  };
  /// What flows of a job and a priority are on a link.
  struct Share {
    JobId job;
    std::uint8_t priority = 0;
    double weight = 0;  ///< sum of weights times loads
    double rate_bps = 0;
    double level = 0;  ///< highest rate per weight
  };
  struct LinkView {
    bool is_valid = false;  ///< since the last look at which the link was dirty
    std::vector<Share> shares;
  };
  /// Who is slowed now.
  struct Count {
    std::uint32_t flows = 0;
    Time since;
  };
  /// Of one link and cause.
  struct Spot {
    std::optional<CongestionPeriod> period;  ///< the last
    Count all;
    std::vector<Count> by_job;  ///< as period->jobs
  };
  struct Job {
    CongestionTotals totals;
    Count slowed;
  };

  bool is_access(LinkId link, const WatchedFlow& flow) const;
  /// What moves over the link has changed, by the time of the look.
  void mark_dirty(LinkId link, std::uint64_t look);
  const LinkView& view(LinkId link, const AllocationPolicy& policy);
  Finding judge(FlowSlot slot, const AllocationPolicy& policy);
  double possible_bps(FlowSlot slot, const AllocationPolicy& policy);
  void set(WatchedFlow& flow, const Finding& finding, Time now);
  void begin_slowing(const WatchedFlow& flow, Time now);
  void end_slowing(const WatchedFlow& flow, Time now);
  Spot& spot(const Finding& finding) { return spots_[2 * finding.bottleneck.index() + static_cast<std::size_t>(finding.cause)]; }
  std::size_t place_in(Spot& spot, JobId job, Time now);
  void note_users(const WatchedFlow& flow, std::uint8_t priority, Time now);
  /// All that goes on is counted up to `now`.
  void close(Time now);

  const Topology& topology_;
  Duration gap_;
  JobOfAttempt job_of_attempt_;
  std::vector<WatchedFlow> flows_;  ///< by slot
  std::vector<LinkView> views_;     ///< by link
  std::vector<Spot> spots_;         ///< two per link
  std::vector<Job> jobs_;           ///< by JobId
  std::vector<CongestionPeriod> over_;
  std::uint64_t look_ = 0;
  std::vector<LinkId> dirty_;            ///< links whose flows are to be looked at
  std::vector<std::uint64_t> dirty_at_;  ///< by link: the look it is in dirty_ for
};

}  // namespace weft
