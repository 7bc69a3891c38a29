// SPDX-License-Identifier: Apache-2.0
// Snapshot file: a cluster snapshot with what its run was started with, as protobuf text
// (snapshot.proto).
//
// Where it sits: `weft run --snapshot=TIME` writes one into the results; `weft predict` reads it,
// and the scenario that it names once more.
// Thread safety: belongs to one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scheduler/lifecycle/cluster_snapshot.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// Paths in `flags` are made absolute. Throws InputError [cannot-snapshot] if the flags name inputs
/// that no scenario holds.
void check_snapshot_flags(const RunFlags& flags);
/// The file's text.
std::string to_snapshot_text(const RunFlags& flags, const Scenario& scenario, const ClusterSnapshot& snapshot);

struct LoadedSnapshot {
  Scenario scenario;
  ClusterSnapshot snapshot;
  /// Of a cluster whose hosts have names of their own, by HostId; else empty.
  std::vector<std::string> host_names = {};
  /// Of a cluster that Weft has not simulated, else empty: its instant as a date, and by JobId what
  /// users call the jobs, and whether nobody knows when they end.
  std::string date = {};
  std::vector<std::string> job_names = {};
  std::vector<bool> is_endless = {};
};
/// `settings` stand instead of those of the run. Throws InputError: what loading the scenario does,
/// and [other-snapshot] where it does not fit the file.
LoadedSnapshot read_snapshot(const std::string& path, const std::vector<std::string>& settings);

}  // namespace weft
