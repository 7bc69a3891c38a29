// SPDX-License-Identifier: Apache-2.0
// DAG writer: Workload -> Weft's own workload files, text or binary (workload.proto).
//
// Where it sits: `weft workload import` writes what a foreign format held; generators write what
// they made. What is written is read back by dag_reader to the same roles, communicators and edges.
// Text needs unique names: ops without one, or with one that is taken, get "opN" with their number;
// binary files keep names as they are.
// Thread safety: pure functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "workloads/dag/dag_fwd.hpp"

namespace weft {

/// Protobuf text.
std::string to_workload_text(const Workload& workload);

/// Binary, handed over piece by piece in order.
void write_workload_binary(const Workload& workload, const std::function<void(std::string_view)>& write);

}  // namespace weft
