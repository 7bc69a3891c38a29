// Storage entries: where jobs' data and checkpoints lie, as a scenario file and the parameters "storage" say it.
//
// Where it sits: the scenario reader asks for a job's entries when it reads the job, and for the rest once the cluster is known.
#pragma once

#include "core/textproto.hpp"
#include "tools/weft/scenario.hpp"
#include "tools/weft/scenario.pb.h"

namespace weft {

/// Fills data, data_hosts and checkpoint. Throws InputError [bad-value], [bad-hosts], [missing-field].
void read_job_storage(const scenario::Job& job, const FieldPlaces& inside, JobSpec& spec);

/// Fills the scenario's storage by the parameters, and checks that jobs find theirs there. Throws InputError with all that is wrong: [bad-hosts],
/// [too-much-storage] if no host is left for jobs, [storage-is-spare], [no-storage] for data or checkpoints that lie nowhere.
void read_storage(Scenario& scenario);

/// Does the run move data or checkpoints?
bool uses_storage(const Scenario& scenario);

}  // namespace weft
