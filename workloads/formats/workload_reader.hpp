// SPDX-License-Identifier: Apache-2.0
// Workload reader: a file in any known format -> Workload.
//
// Where it sits: `weft run`, `weft check` and `weft workload` load workloads through it. A new
// format is a new entry of workload_formats().
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/formats/group_size.hpp"

namespace weft {

/// What the user may say about a foreign file beyond its path. A format names the options it reads;
/// giving it another one is an error.
struct WorkloadOptions {
  /// --ranks: for formats that can be replayed; otherwise must agree with the file.
  std::optional<std::uint32_t> ranks;
  /// --iteration: which of a trace's iterations to take, from 0.
  std::optional<std::uint32_t> iteration;
  std::string process_groups_path;  ///< --process-groups: JSON file of process groups
  /// --time-unit: of a format's bare times; "ns", "us" or "ms"; empty: the format's default.
  std::string time_unit;
  /// --as-recorded: collectives take their recorded time instead of being simulated.
  bool collectives_as_recorded = false;
  /// --scale-group: process groups that grow where one rank is replayed on more than were recorded.
  std::vector<GroupSize> group_sizes = {};
  /// Set by no flag: ranks whose ops need names in a message. Formats that drop names to save
  /// memory (goal) then keep theirs; the rest of the workload, ids of ops included, is the same.
  std::vector<std::uint32_t> named_ranks = {};
  OptionNames names = {};  ///< as the user gave them

  friend bool operator==(const WorkloadOptions&, const WorkloadOptions&) = default;
};

/// Bits of WorkloadFormat::reads; --ranks is every format's.
enum WorkloadOption : std::uint8_t {
  reads_iteration = 1,
  reads_process_groups = 2,
  reads_time_unit = 4,
  reads_as_recorded = 8,
  reads_scale_group = 16,
};

/// A format that can be chosen by name.
struct WorkloadFormat {
  std::string_view name;
  std::string_view summary;  ///< one paragraph
  std::uint8_t reads = 0;    ///< sum of WorkloadOption
  Workload (*load)(const std::string& path, const WorkloadOptions& options);
  /// The files that `path` stands for, for the manifest; null: the one file of that path.
  std::vector<std::string> (*files)(const std::string& path) = nullptr;
};

std::span<const WorkloadFormat> workload_formats();

/// Throws InputError: [unknown-format], [unused-flag], [rank-conflict], and what the format's
/// reader throws. `format` empty: "weft". `path` is a file, for "chakra" the prefix of PREFIX.0.et.
Workload load_workload(const std::string& path, std::string_view format, const WorkloadOptions& options = {});

/// The files behind `path`, which load_workload() has read.
std::vector<std::string> workload_files(const std::string& path, std::string_view format);

}  // namespace weft
