// SPDX-License-Identifier: Apache-2.0
// Slurm's notations: lists of hosts, GPUs among trackable resources, time limits, array tasks.
//
// Where it sits: under slurm_jobs.hpp and slurm_nodes.hpp.
// Sources: Slurm 22.05 to 24.05, man pages of scontrol (hostlist expressions), sacct (TRES, elapsed
// times), sbatch (--gres, --array).
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/units.hpp"

namespace weft {

/// Lists of hosts and of array tasks are no longer than this.
inline constexpr std::size_t slurm_list_max = 1'000'000;

/// "gpu[001-003,007],login1" -> gpu001, gpu002, gpu003, gpu007, login1. A name may hold several
/// brackets; the last runs fastest. None if the text is no such list, or longer than
/// slurm_list_max.
std::optional<std::vector<std::string>> parse_host_list(std::string_view text);
/// Neighbouring names that differ in a final number of equal width share a bracket:
/// "gpu[001-003,007]".
std::string to_host_list(std::span<const std::string> names);

/// GPUs in a list of resources: "cpu=8,gres/gpu=16,gres/gpu:h100=16" (an entry without type counts
/// all types, and the others are parts of it), "gres:gpu:h100:8", "gpu:a100:4(S:0-1),gpu:v100:2".
/// 0 where there are none; none if a count is no number.
std::optional<std::uint32_t> gpus_in_resources(std::string_view text);
/// Numbers of GPUs of "gpu:h100:3(IDX:0-1,5)"; empty without an index.
std::vector<std::uint32_t> gpu_indices(std::string_view text);

/// "[D-]HH:MM:SS[.fff]" or "MM:SS". None for anything else, "UNLIMITED" and "Partition_Limit" among
/// it.
std::optional<Duration> parse_slurm_duration(std::string_view text);

/// "1-5,9-13:2%4" -> 1 2 3 4 5 9 11 13. None if the text is no such list, or longer than
/// slurm_list_max.
std::optional<std::vector<std::uint32_t>> parse_array_tasks(std::string_view text);

}  // namespace weft
