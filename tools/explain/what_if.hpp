// SPDX-License-Identifier: Apache-2.0
// What if: a scenario run again with one thing replaced by its ideal, to see how much faster its
// jobs would be.
//
// Where it sits: `weft explain`, in any mode that simulates the network; runs are those of
// tools/simulation/run, several beside each other.
//
// Model (as straggler studies replay a job with the durations of one class of operations, or of
// one worker, set to their ideal: Lin et al., Understanding Stragglers in Large Model Training
// Using What-if Analysis, OSDI 2025, section 4). Ideals:
//   ops      computation takes no time; a collective of a type moves no bytes, but its ranks still
//            wait for each other; sends carry nothing, but are still waited for
//   host     a host that is slower than nominal computes at nominal speed
//   role     a role that computes longer than the mean rank takes as long as that one
//   tier     links of a tier never limit anything (a thousand times their rate; ten in packet mode)
//   link     likewise one link, or those that limit the same flows as that one
//   job      another job holds its GPUs as long as before, but neither computes nor sends, so that
//            jobs stay where they were
// A gain is what a job's time loses against the run as it is. Gains of two things at once are not
// their sums.
// Threads: one caller; takes others inside.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// One change of a scenario.
struct Ideal {
  std::string kind;  ///< "ops", "host", "role", "tier", "link" or "job"
  std::string what;
  std::function<void(Scenario&)> apply;
};

/// Links that never limit anything, as those of a tier.
Ideal ideal_links(const Scenario& scenario, std::span<const LinkId> links, std::string kind, std::string what);
/// Links run `times` as fast.
Ideal faster_links(const Scenario& scenario, std::span<const LinkId> links, double times, std::string kind, std::string what);

/// Inside a host with the kinds of its ends, as "host gpu->nvswitch".
std::string tier_name(const Topology& topology, LinkId link);

/// How long each job of a run took, from its first start to its end; NaN of one that did not end.
/// Of a flow list, from the first start to the last delivery, and the mean of its transfers.
struct JobTimes {
  std::vector<std::pair<std::string, double>> seconds;
  double of(const std::string& job) const;
};
inline const std::string mean_transfer = "mean transfer";

/// Ops, hosts, roles, tiers and jobs, in this order, as far as the scenario has them. `as_it_is`:
/// of the run without any change.
std::vector<Ideal> ideals_of(const Scenario& scenario, const JobTimes& as_it_is);

struct WhatIfOutcome {
  JobTimes times;
  std::string error;  ///< why it could not be run; empty: it was
};

struct WhatIfOptions {
  std::uint32_t threads = 0;  ///< 0: all cores
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(std::size_t done, std::size_t total)> progress;  ///< from one thread at a time
};

/// Collectives are carried out as on another topology of the same links, so that faster links do
/// not make the tuner choose otherwise; null: as on the scenario's. Throws InputError.
JobTimes job_times(const Scenario& scenario, const std::shared_ptr<const Topology>& collectives_as_on,
                   const std::atomic<bool>* interrupt);
/// By ideal; those after an interrupt have an error.
std::vector<WhatIfOutcome> run_what_ifs(const Scenario& scenario, std::span<const Ideal> ideals, const WhatIfOptions& options);

}  // namespace weft
