// SPDX-License-Identifier: Apache-2.0
// Storage entries: where jobs' data and checkpoints lie, as a scenario file and the parameters
// "storage" say it.
//
// Where it sits: the scenario reader asks for a job's entries when it reads the job, and for the
// rest once the cluster is known.
#pragma once

#include <vector>

#include "core/text/textproto.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// What a job, or a rule for the jobs of a trace, says.
struct StorageEntry {
  Bytes data;
  std::vector<HostId> data_hosts;
  Bytes checkpoint;
};
/// Throws InputError [bad-value], [bad-hosts], [missing-field].
StorageEntry read_storage_entry(const scenario::Job& job, const FieldPlaces& inside);
StorageEntry read_storage_entry(const scenario::JobRule& rule, const FieldPlaces& inside);

/// Fills the scenario's storage by the parameters. Throws InputError [bad-hosts],
/// [too-much-storage] if no host is left for jobs, [storage-is-spare].
void read_storage(Scenario& scenario);

/// Checks that jobs find their data and checkpoints there. Throws InputError with all that is
/// wrong: [no-storage] for those that lie nowhere, [bad-hosts].
void check_storage(const Scenario& scenario);

/// Does the run move data or checkpoints?
bool uses_storage(const Scenario& scenario);

}  // namespace weft
