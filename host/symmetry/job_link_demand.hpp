// SPDX-License-Identifier: Apache-2.0
// Job link demand: the links that a placed job's transfers cross, and the most that they can carry
// over each.
//
// Where it sits: host/symmetry/coupled_jobs asks it which jobs can slow each other down.
//
// Model: what a job puts on a link comes in through the links that attach its sending ranks' hosts
// to the fabric and leaves through those of the receiving ones. So it is at most
//   min( sum over attaching links u of rate(u) x the largest share that a message through u puts on
//       the link,   likewise for the receivers )
// where the share is 1 on a single path and 1/n where a message is sprayed over n. Of messages
// between endpoints that are not simply attached (folding_paths) nothing is known but which links
// they cross: they may fill them.
// Rates of other jobs, priorities, weights and caps can only lower it.
// Thread safety: values.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "host/ranks/job_messages.hpp"

namespace weft {

struct LinkDemand {
  LinkId link;
  double most_bps = 0;  ///< perhaps infinite
};

/// Of all jobs whose messages these are together, ascending by link. Requires: they have been
/// collected.
std::vector<LinkDemand> demands_of(const JobMessages& messages, const Topology& topology);

class JobLinkDemand {
 public:
  /// None where paths show only while the run goes on, or beyond the limits of JobMessages;
  /// operations in switches are not messages, so none either.
  static std::optional<JobLinkDemand> find(const PlacedJob& job, const Topology& topology, const FlowSettings& settings,
                                           const HostSpeeds& speeds);

  /// The same links under other numbers, by the old ones. Requires: the order stays, and none is
  /// none().
  JobLinkDemand renumbered(std::span<const LinkId> numbers) const;

  /// Ascending by link.
  const std::vector<LinkDemand>& links() const { return links_; }

 private:
  std::vector<LinkDemand> links_;
};

/// Link demands that were found before, so that runs which begin with the same placed jobs need not
/// find them again.
struct KnownLinkDemand {
  std::shared_ptr<const std::vector<NodeId>> endpoint_of_rank;
  std::shared_ptr<const JobLinkDemand> link_demand;  ///< null: find() gave none
};
using KnownLinkDemands = std::map<JobId, KnownLinkDemand>;

}  // namespace weft
