// SPDX-License-Identifier: Apache-2.0
// Workload entries: the `workload { ... }` messages of a scenario file.
//
// Where it sits: jobs, their elastic parts and the rules of job traces have such messages. A
// workload is a file in any format that Weft reads, or a template with parameters.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/text/textproto.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/loading.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

/// Whether the fields of a workload go together. Throws InputError [workload-source],
/// [missing-field], [out-of-range].
void check_workload_fields(const Loading& loading, const scenario::Workload& workload, const SourcePlace& place,
                           const FieldPlaces& places);

/// The workload, read or made. `ranks`: how many it has to have; nothing for any number. Throws
/// InputError, among others [rank-count-mismatch].
std::shared_ptr<const Workload> load_workload_entry(Loading& loading, const scenario::Workload& workload, const SourcePlace& place,
                                                    const FieldPlaces& places, std::optional<std::uint32_t> ranks);

/// Throws InputError where a file of the workload cannot be read. A run reads only the workloads
/// that its jobs need, but all have to be there.
void require_workload_files(Loading& loading, const scenario::Workload& workload, const FieldPlaces& places);

/// How many ranks a template makes. Throws InputError where it cannot be made.
std::uint32_t template_ranks(Loading& loading, const scenario::Workload& workload, const FieldPlaces& places);

}  // namespace weft
