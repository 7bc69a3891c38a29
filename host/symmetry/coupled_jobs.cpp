// SPDX-License-Identifier: Apache-2.0
#include "host/symmetry/coupled_jobs.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/check.hpp"

namespace weft {

CoupledJobs::CoupledJobs(const Topology& topology, const FlowSettings& settings, const HostSpeeds& speeds,
                         std::optional<Duration> fold_tolerance, const KnownLinkDemands* known)
    : topology_(topology),
      settings_(settings),
      speeds_(speeds),
      fold_tolerance_(fold_tolerance),
      known_(known),
      links_(topology.link_count()) {}

void CoupledJobs::add(JobId job, PlacedJob placed) {
  WEFT_CHECK(!contains(job), "a job is coupled once");
  Member& member = members_[job];
  member.link_demand = link_demand_of(job, placed);
  member.placed = std::move(placed);
  if (member.link_demand) {
    for (const auto& [link, most_bps] : member.link_demand->links()) links_[link.index()].jobs.emplace_back(job, most_bps);
  } else {
    unknown_.push_back(job);
  }
  find_set(job);
}

void CoupledJobs::remove(JobId job) {
  WEFT_CHECK(contains(job), "a job is coupled before it is not any more");
  const Member member = std::move(members_.at(job));
  members_.erase(job);
  if (member.link_demand) {
    for (const auto& [link, most_bps] : member.link_demand->links())
      std::erase_if(links_[link.index()].jobs, [job](const auto& of_job) { return of_job.first == job; });
  } else {
    std::erase(unknown_, job);
  }
  for (const JobId other : *member.set) {
    if (other != job && members_.at(other).set == member.set) find_set(other);
  }
}

std::shared_ptr<const JobLinkDemand> CoupledJobs::link_demand_of(JobId job, const PlacedJob& placed) const {
  if (known_ != nullptr) {
    const auto known = known_->find(job);
    if (known != known_->end() && *known->second.endpoint_of_rank == *placed.endpoint_of_rank) return known->second.link_demand;
  }
  std::optional<JobLinkDemand> found = JobLinkDemand::find(placed, topology_, settings_, speeds_);
  return found ? std::make_shared<const JobLinkDemand>(std::move(*found)) : nullptr;
}

bool CoupledJobs::holds_back(LinkId link) const {
  double most_bps = 0;
  for (const auto& [job, of_job] : links_[link.index()].jobs) most_bps += of_job;
  // Sums of shares round.
  return most_bps > static_cast<double>(topology_.link(link).rate.in_bps()) * (1 + 1e-9);
}

void CoupledJobs::find_set(JobId job) {
  auto set = std::make_shared<std::vector<JobId>>();
  if (!unknown_.empty()) {
    // order-free: sorted below
    for (const auto& [other, member] : members_) set->push_back(other);
  } else {
    std::unordered_set<JobId> found = {job};
    std::unordered_set<LinkId> looked_at;
    set->push_back(job);
    for (std::size_t i = 0; i < set->size(); ++i) {
      for (const auto& [link, most_bps] : members_.at((*set)[i]).link_demand->links()) {
        const auto& jobs = links_[link.index()].jobs;
        if (jobs.size() < 2 || !looked_at.insert(link).second || !holds_back(link)) continue;
        for (const auto& [other, of_other] : jobs) {
          if (found.insert(other).second) set->push_back(other);
        }
      }
    }
  }
  std::sort(set->begin(), set->end());
  for (const JobId other : *set) members_.at(other).set = set;
}

std::shared_ptr<const RankFolding> CoupledJobs::fold(std::span<const JobId> jobs) const {
  if (!fold_tolerance_) return nullptr;
  std::vector<PlacedJob> placed;
  for (const JobId job : jobs) placed.push_back(members_.at(job).placed);
  return RankFolding::find(std::move(placed), topology_, settings_, speeds_, *fold_tolerance_, {});
}

}  // namespace weft
