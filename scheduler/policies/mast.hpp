// SPDX-License-Identifier: Apache-2.0
// MAST-like: one scheduler for all regions of a fleet, with priorities, quotas of tenants, data
// locality and preemption, that keeps GPUs from standing idle by choosing who starts when.
//
// Model (after Choudhury et al., MAST, OSDI 2024, and what Arcadia, sections 2.2 and 2.3, says of
// it: it delays jobs of low priority, staggers starts, preempts, and looks at all feasible places):
// a waiting job has a static rank by submission, priority, size and length; tenants have quotas; a
// job goes to the region and place that suit its data and leave the fewest fragments; jobs beyond
// quotas or of lower priority make room; a job that has waited long gets a reservation.
// docs/internals/scheduling.md, "MAST-like", has the rules in full.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/policies/policy.hpp"
#include "scheduler/policies/reservation.hpp"

namespace weft {

/// By the table "mast", which has the only defaults.
struct MastSettings {
  /// Throws InputError [bad-value].
  explicit MastSettings(const ParamSet& params);

  Duration ageing;
  Duration large_first;
  Duration long_first;
  Duration reserve_after;
  bool preempts;
  std::int32_t low_priority;
  std::uint32_t regions;
  Duration remote_after;
  double default_quota;
  std::map<std::string, double, std::less<>> quotas;  ///< shares by tenant
};

class Mast final : public SchedulingPolicy {
 public:
  explicit Mast(MastSettings settings) : settings_(std::move(settings)) {}
  void schedule(SchedulingPass& pass) override;
  bool preempts() const override { return settings_.preempts; }

 private:
  struct Kind {
    std::uint32_t tenant = 0;
    std::uint32_t gpus = 0;
    std::uint32_t least_gpus = 0;
    std::int32_t priority = 0;
    std::optional<std::uint32_t> data_region;
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  using Ranked = std::pair<std::int64_t, JobId>;  ///< rank in ticks
  struct Head {
    bool is_beyond_quota = false;
    Ranked best;
    Kind kind;
    friend auto operator<=>(const Head&, const Head&) = default;
  };

  /// A reservation for a job of that priority.
  struct Promise {
    Reservation reservation;
    ClusterState beside;  ///< as it would be with the reservation taken already
    std::int32_t priority = 0;
  };

  std::int64_t rank_of(const JobView& job) const;
  std::uint32_t tenant_of(std::string_view group);
  Kind kind_of(const JobView& job);
  const Kind& known_kind(const SchedulingPass& pass, JobId id);
  void wait(const SchedulingPass& pass, JobId id);
  void forget(JobId id);
  void count_running(const SchedulingPass& pass);
  /// A tenant that holds so many.
  bool is_beyond_quota(const SchedulingPass& pass, std::uint32_t tenant, std::uint64_t gpus) const;
  /// The first of all, but of each kind of one behind the last that was passed over.
  std::optional<Head> next_head(const SchedulingPass& pass, const std::map<Kind, Ranked>& passed_over) const;
  /// Where a job would be put, with all of its GPUs or fewer.
  using PlaceIn = std::optional<Placement> (SchedulingPass::*)(const ClusterState& cluster, JobId job) const;
  std::optional<Placement> place_in_regions(const SchedulingPass& pass, const ClusterState& cluster, const JobView& job,
                                            PlaceIn find) const;
  std::optional<Placement> place(const SchedulingPass& pass, const ClusterState& cluster, const JobView& job) const;
  std::optional<Placement> place_smaller(const SchedulingPass& pass, const ClusterState& cluster, const JobView& job) const;
  std::optional<Placement> make_room(SchedulingPass& pass, const JobView& job);
  /// None where running jobs do not declare enough.
  std::optional<Promise> promise_to(const SchedulingPass& pass, const JobView& job) const;
  /// Whether the job may start; moves the placement off what is promised if it can.
  bool respects(const SchedulingPass& pass, const Promise& promise, const JobView& job, Placement& placement) const;
  void start(SchedulingPass& pass, const Head& head, Placement placement);

  MastSettings settings_;
  static constexpr std::uint32_t unlimited = 0;  ///< all tenants without a limit

  std::map<std::string, std::uint32_t, std::less<>> tenants_;
  std::vector<double> quota_ = {1};             ///< by tenant
  std::vector<std::uint64_t> held_gpus_ = {0};  ///< likewise, in this pass
  std::int32_t lowest_running_ = 0;             ///< priority, when this pass began
  std::vector<std::optional<Kind>> kinds_;      ///< by job, once seen
  std::vector<std::int64_t> ranks_;             ///< by job, while it waits
  std::map<Kind, std::set<Ranked>> waiting_;
};

Module<SchedulingPolicyFactory> mast_module();

}  // namespace weft
