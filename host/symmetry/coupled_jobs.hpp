// SPDX-License-Identifier: Apache-2.0
// Coupled jobs: which of the jobs that use the network at present can slow each other down, and how
// ranks of those fold together.
//
// Where it sits: with fast forward the scheduler tells it which jobs run; a job that starts or
// stops concerns only those that are coupled with it, and all others keep their pace
// (scheduler/fast_forward/fast_forward).
//
// Model: a link that all jobs together cannot fill (host/symmetry/job_link_demand) holds nobody
// back. Two jobs that share a link which they and others could fill are coupled, and so is whoever
// is coupled with a job that is. As max-min rates of one such set depend on nothing outside it,
// neither do the times of its jobs. A job whose links are not known is coupled with all.
//
// Invariant: every job that is in belongs to one set.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "host/symmetry/job_link_demand.hpp"
#include "host/symmetry/rank_folding.hpp"

namespace weft {

class CoupledJobs {
 public:
  /// Keeps references. `fold_tolerance` is for RankFolding::find(), which requires max-min rates.
  /// Without it ranks are not folded. `known`: on the same topology and settings; may be null.
  CoupledJobs(const Topology& topology, const FlowSettings& settings, const HostSpeeds& speeds,
              std::optional<Duration> fold_tolerance, const KnownLinkDemands* known = nullptr);

  /// Requires: the job is not in.
  void add(JobId job, PlacedJob placed);
  /// Requires: it is.
  void remove(JobId job);
  bool contains(JobId job) const { return members_.contains(job); }
  /// Itself included, ascending. Requires: it is in.
  const std::vector<JobId>& set_of(JobId job) const { return *members_.at(job).set; }
  /// By place in `jobs`; null if no two ranks of them are alike or ranks are not folded. Requires:
  /// they are in.
  std::shared_ptr<const RankFolding> fold(std::span<const JobId> jobs) const;

 private:
  struct Member {
    PlacedJob placed;
    std::shared_ptr<const JobLinkDemand> link_demand;  ///< null: its links are not known
    std::shared_ptr<const std::vector<JobId>> set;
  };
  struct OfLink {
    /// With what each can put on it, in bits per second.
    std::vector<std::pair<JobId, double>> jobs;
  };

  bool holds_back(LinkId link) const;
  void find_set(JobId job);
  std::shared_ptr<const JobLinkDemand> link_demand_of(JobId job, const PlacedJob& placed) const;

  const Topology& topology_;
  const FlowSettings& settings_;
  const HostSpeeds& speeds_;
  std::optional<Duration> fold_tolerance_;
  const KnownLinkDemands* known_;
  std::unordered_map<JobId, Member> members_;
  std::vector<JobId> unknown_;  ///< those without a link demand
  std::vector<OfLink> links_;   ///< by LinkId
};

}  // namespace weft
