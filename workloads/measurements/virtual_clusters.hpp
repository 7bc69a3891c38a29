// SPDX-License-Identifier: Apache-2.0
// Virtual clusters: how many nodes each virtual cluster of a Helios cluster has
// (venus_vc_config.csv).
//
//   ,num
//   vcA,9
//
// The first column, whose header is empty, is the virtual cluster, as it stands in the vc column of
// the job log; num its nodes. Schedulers here do not divide a cluster yet, so the table is read for
// `weft check` only.
// Errors: as a CSV table's, [duplicate-cluster], [no-rows].
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/text/source_text.hpp"

namespace weft {

/// Nodes by virtual cluster. Throws InputError.
std::map<std::string, std::uint32_t> read_virtual_clusters(const SourceText& source);

/// The same as text.
std::string describe_virtual_clusters(const SourceText& source);

}  // namespace weft
