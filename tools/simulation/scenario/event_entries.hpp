// SPDX-License-Identifier: Apache-2.0
// Event entries: what a scenario file has happen at given times.
//
// Where it sits: the scenario reader asks once cluster, failures, maintenance and the names of all
// jobs are known. Drains and failures join those of plans and logs; the whole list goes to the
// scheduler (scheduler/handlers/scripted_events). Jobs to submit are read with the others.
#pragma once

#include <string>
#include <vector>

#include "core/text/textproto.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// When an event happens. Throws InputError [missing-field], [bad-value], [out-of-range].
Time time_of(const scenario::Event& event, const FieldPlaces& inside, const SourcePlace& place);

/// Fills events, changes, failures and maintenance of the scenario. `job_names`: of all jobs there
/// are; those of jobs to submit, in order, are `submitted`. Throws InputError with everything that
/// is wrong: [missing-field], [bad-value], [out-of-range], [bad-hosts], [overlapping-drains],
/// [unknown-part], [unknown-job], [unknown-handler], and what settings_changes() throws. Notes what
/// changes nothing.
void read_events(const scenario::Scenario& message, const FieldPlaces& places, const std::vector<std::string>& job_names,
                 const std::vector<std::string>& submitted, Scenario& scenario);

}  // namespace weft
