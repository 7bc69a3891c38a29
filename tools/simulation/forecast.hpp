// SPDX-License-Identifier: Apache-2.0
// Forecast: forks a snapshot of a cluster - once as it is, once with what was asked about - and
// tells what differs.
//
// Where it sits: `weft predict` prints it.
// Model: the cluster goes on from the snapshot twice. In both futures nobody arrives, nothing
// fails, what is out of service stays out, spares among it, and only iterations that are needed to
// find a job's pace are simulated, as with fast forward.
// Thread safety: one thread per call; it may start others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "scheduler/lifecycle/cluster_snapshot.hpp"
#include "tools/simulation/snapshot_file.hpp"

namespace weft {

/// What becomes of a job in one of the futures.
struct JobOutlook {
  ClusterSnapshot::State state = ClusterSnapshot::State::waits;
  std::optional<double> iteration_s;  ///< if it was measured
  std::optional<double> end_s;        ///< or ended already; if that is known
};

struct JobForecast {
  JobId job;
  std::string name;
  std::string called;    ///< by its user, where that differs
  std::size_t gpus = 0;  ///< that it holds, or wants
  JobOutlook now;        ///< as things are
  JobOutlook then;       ///< with what was asked about
  bool is_hit = false;   ///< it ran on a host that is drained, or is the one that starts
  /// then: from the instant of the question until it started again
  std::optional<double> waited_s;
  std::string placement;  ///< then, if it started

  /// Relative change of the iteration's time; 0 where it is not known in both futures.
  double iteration_change() const;
  /// Whether the futures differ by more than a thousandth, for a job looked at from `at_s` on.
  bool differs(double at_s) const;
};

struct Forecast {
  std::string name;  ///< of the run that the snapshot is of
  Time at;
  std::string date;                     ///< of `at`, of a cluster that Weft has not simulated
  std::vector<std::string> host_names;  ///< as the snapshot has them
  Duration horizon;
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  std::uint32_t free_gpus = 0;
  std::uint32_t gpus = 0;
  std::size_t slow_cables = 0;  ///< or out
  std::string question;         ///< "drain of host12"
  std::vector<HostId> drained;
  JobId started = JobId::none();
  /// of a switch: running jobs whose transfers cross it, but for those on drained hosts
  std::optional<std::uint64_t> crossing;
  std::string refusal;  ///< why it cannot be done at all; "" if it was tried
  /// Of a waiting job that does not fit: from `at` until it starts by itself; none: not in time.
  std::optional<double> starts_by_itself_s;
  bool waits_by_itself = false;   ///< such a job is asked about
  std::vector<JobForecast> jobs;  ///< all that had not ended; none if it was refused
  /// every job that has to move or start finds a place in time
  bool is_possible = false;
};

struct ForecastOptions {
  Duration horizon = Duration::s(3600);
  std::uint32_t threads = 0;  ///< 0: one per core; forecasts do not depend on them
};

/// Of `weft predict` without --horizon: 30 d where no job runs a workload, as that costs nothing,
/// else 1 h.
Duration default_horizon(const Scenario& scenario);

/// A host or a switch is drained, for as long as anybody looks. Throws InputError [unknown-node],
/// [fixed-routes], and what a run does.
Forecast forecast_drain(LoadedSnapshot snapshot, const std::string& node, const ForecastOptions& options);

/// A job that waits or has not arrived starts now. Throws InputError [unknown-job],
/// [already-started], and what a run does.
Forecast forecast_start(LoadedSnapshot snapshot, const std::string& job, const ForecastOptions& options);

}  // namespace weft
