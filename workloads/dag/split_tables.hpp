// SPDX-License-Identifier: Apache-2.0
// Split tables of a workload file: what its all_to_all_v ops divide by.
//
// Where it sits: read by workload_frame for the text and the binary side of dag_reader; internal to
// this folder, since it shows the schema's classes. Errors: [missing-field], [duplicate-splits],
// [not-square], [out-of-range], [bad-value], [negative-size].
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/text/textproto.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/workload.pb.h"

namespace weft {

/// One table per entry of the file, also per wrong one, so that ops that name it can be checked as
/// well.
std::vector<SplitTable> read_split_tables(const workload_file::Workload& file, const FieldPlaces& places, Diagnostics& diagnostics);

}  // namespace weft
