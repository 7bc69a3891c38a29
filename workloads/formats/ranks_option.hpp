// SPDX-License-Identifier: Apache-2.0
// Ranks option: what the readers say of a number of ranks that the user gives, and of a rank that
// two files of a set are traces of.
//
// Where it sits: under the readers of workloads, which know what else the file says of its ranks.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/diagnostics.hpp"
#include "core/text/option_names.hpp"

namespace weft {

/// The error [out-of-range] of a number that is 0 or more than a workload may have.
std::optional<Diagnostic> fault_of_ranks(std::uint32_t ranks, const OptionNames& names);

/// Throws [rank-conflict] at the file: "--ranks=4 contradicts WHAT".
[[noreturn]] void fail_rank_conflict(std::uint32_t ranks, const OptionNames& names, std::string_view what, const SourcePlace& place,
                                     std::string help);

/// Throws [duplicate-rank] at `place`, one of the two files.
[[noreturn]] void fail_two_traces(std::uint32_t rank, const SourcePlace& place, std::string_view other_file);

}  // namespace weft
