// SPDX-License-Identifier: Apache-2.0
// An operator as the command line gives it: what it is, and its sizes as settings.
//
// Where it sits: `weft optimes predict`.
// Threads: pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/models/operator.hpp"

namespace weft {

/// "rows=16384" ... as numbers above 0. Throws InputError [bad-value], [out-of-range],
/// [duplicate-setting].
std::map<std::string, double> size_settings(const std::vector<std::string>& settings);

/// The operator called matmul, fused_attention, embedding_lookup, optimizer_step, or as a row-wise
/// operator ("rms_norm"), with these sizes by their members' names. None if nothing is called so.
/// Throws InputError [missing-flag], [unknown-setting], [bad-value].
std::optional<OperatorShape> shape_called(const std::string& name, const std::map<std::string, double>& sizes);

}  // namespace weft
