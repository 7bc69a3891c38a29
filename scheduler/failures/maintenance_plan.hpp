// SPDX-License-Identifier: Apache-2.0
// Maintenance plan: which hosts are drained when, and for how long.
//
// Where it sits: Drains carries out the plan of a run.
//
// Model of a drain planned for t: from t - notice on the host gets no new jobs. At t those that are
// still there write a checkpoint and move - they go back to the queue and start elsewhere - or the
// work waits for them to end (MaintenanceSettings::moves_jobs). It begins when the host is empty,
// no sooner than t, and takes `duration`. A spare stands in from t on, if there is one
// (scheduler/failures/fleet), else the host serves again afterwards.
// Thread safety: values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/text/params.hpp"
#include "core/text/source_text.hpp"
#include "core/values/units.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"

namespace weft {

/// Parameter table "maintenance".
ParamTable maintenance_params();

struct Drain {
  Time at;
  HostId host;
  Duration duration;
  std::optional<Duration> notice = std::nullopt;  ///< none: that of the settings
};

/// Finds drains of one host that overlap. Notices may.
class DrainBook {
 public:
  /// Notes a drain, unless it overlaps with one that is noted already: then it returns what was
  /// said of that one. `said`: "line 3".
  std::optional<std::string> add(const Drain& drain, std::string said);

 private:
  struct Noted {
    Time end;
    std::string said;
  };
  std::map<HostId, std::map<Time, Noted>> known_;  ///< by start
};

/// A CSV table: time_s, host ("host3") and duration_s, rows in any order. Throws InputError with
/// all that is wrong: what the CSV reader finds, [unknown-part], and [overlapping-drains] of one
/// host (DrainBook).
std::vector<Drain> read_maintenance_plan(const SourceText& source, const ClusterState& cluster);

/// Without values no host is drained; the table "maintenance" has the defaults.
struct MaintenanceSettings {
  std::vector<Drain> drains;  ///< in order of time
  Duration notice;
  bool moves_jobs = true;
  std::string plan_file = {};  ///< "": none
};

}  // namespace weft
