// MAST-like: one scheduler for all regions of a fleet, with priorities, quotas of tenants, data
// locality and preemption, that keeps GPUs from standing idle by choosing who starts when.
//
// Model (after Choudhury et al., MAST, OSDI 2024, and what Arcadia, sections 2.2 and 2.3, says of
// it: it delays jobs of low priority, staggers starts, preempts, and looks at all feasible places):
//   - Regions: the hosts in order, in equal parts; as topology multi_site numbers its sites. A job
//     does not cross regions unless it is larger than what each has in service.
//   - Rank of a waiting job, static while it waits, so that nobody starves: its submission, earlier
//     by `ageing` for each step of priority, by `large_first` for each doubling of its GPUs and by
//     `long_first` for each doubling of the run time that it declares. Large jobs, which find
//     places seldom, so get them before small ones fill the gaps, and what starts last does not run
//     for long.
//   - Jobs of one tenant, size (GPUs, and the fewest with which an elastic job would do), priority
//     and region of data are a kind. In each pass the first of a kind is tried; if there is no
//     place for it, its kind waits.
//   - Quota: the share of all GPUs in service that a tenant (JobSpec::group) may hold; all of them
//     is no limit. Jobs that would go beyond it rank behind all others.
//   - Places: in every region the one that the placer finds; of these the one where the job's data
//     is, then the one with the most GPUs for a job that is elastic, then the one that leaves the
//     fewest fragmented GPUs, then the fewest free ones in its region. A job with data takes
//     another region than that of its data only once it has waited `remote_after`.
//   - Preemption: for a job within its quota, running jobs make room that are of tenants beyond
//     theirs or have a lower priority: those beyond quotas first, then the lowest priority, then
//     the latest start; those that it can do without keep their GPUs.
//     An elastic job that gets no place for all of its GPUs by that takes fewer, but not behind a
//     reservation.
//   - Until a job has waited `reserve_after`, others pass it where it does not fit. After that the
//     first that finds no place gets a reservation (scheduler/policies/reservation): others start
//     beside it, or if they declare to end by its begin; those of at most `low_priority` only the
//     latter, if the reservation is of a job of higher priority. Where running jobs declare
//     nothing, nobody starts behind it. GPUs kept free stand idle, which costs more than it brings
//     unless large jobs starve.
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
  static constexpr std::uint32_t kUnlimited = 0;  ///< all tenants without a limit

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
