// Workload reader: a file in any known format -> Workload.
//
// Where it sits: `weft run`, `weft check` and `weft workload` load workloads through it. A new format is a new entry of workload_formats().
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "workloads/dag.hpp"

namespace weft {

struct WorkloadOptions {
  std::optional<std::uint32_t> ranks;    ///< --ranks: for formats that can be replayed; otherwise must agree with the file
  std::string process_groups_path;       ///< chakra: JSON file of process groups
  bool collectives_as_recorded = false;  ///< chakra: collectives take their recorded time
};

/// A format that can be chosen by name.
struct WorkloadFormat {
  std::string_view name;
  std::string_view summary;  ///< one paragraph
  Workload (*load)(const std::string& path, const WorkloadOptions& options);
};

std::span<const WorkloadFormat> workload_formats();

/// Throws InputError: [unknown-format], [rank-conflict], and what the format's reader throws.
/// `format` empty: "weft". `path` is a file, for "chakra" the prefix of PREFIX.0.et.
Workload load_workload(const std::string& path, std::string_view format, const WorkloadOptions& options = {});

}  // namespace weft
