// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/ranks_option.hpp"

#include <utility>

#include <fmt/format.h>

#include "workloads/dag/limits.hpp"

namespace weft {

std::optional<Diagnostic> fault_of_ranks(std::uint32_t ranks, const OptionNames& names) {
  if (ranks > 0 && ranks <= workload_rank_count_max) return std::nullopt;
  return Diagnostic{Severity::error,
                    "out-of-range",
                    fmt::format("the number of ranks is {}", ranks),
                    SourcePlace::named(names("ranks")),
                    fmt::format("at least 1 and at most {}", workload_rank_count_max),
                    "ranks"};
}

void fail_rank_conflict(std::uint32_t ranks, const OptionNames& names, std::string_view what, const SourcePlace& place,
                        std::string help) {
  fail("rank-conflict", fmt::format("{} contradicts {}", names("ranks", fmt::format("{}", ranks)), what), place, std::move(help),
       "ranks");
}

void fail_two_traces(std::uint32_t rank, const SourcePlace& place, std::string_view other_file) {
  fail("duplicate-rank", fmt::format("rank {} has two traces", rank), place, fmt::format("remove it or {}", other_file));
}

}  // namespace weft
