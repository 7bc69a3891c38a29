// SPDX-License-Identifier: Apache-2.0
// Gavel throughputs: measured training steps per second by GPU type, job type and number of GPUs
// (Narayanan et al., OSDI 2020; physical_cluster_throughputs.json).
//
//   {"v100": {"('ResNet-50 (batch size 64)', 2)":
//     {"null": 7.92, "('LM (batch size 5)', 1)": [3.1, 60.2]}}}
//
// Under each GPU type stand job types with their number of GPUs ("scale factor"); "null" is the
// throughput alone, the other entries those when sharing the GPUs with another job, which are not
// read: GPUs are not shared here. A throughput of 0 means that the job did not run there (out of
// memory). "v100_unconsolidated" and its like are measurements with the GPUs spread over servers:
// placement_times() takes a GPU type and its like together.
// Errors: [bad-json], [bad-value], with their place; what the user asks for and the table lacks:
// [unknown-gpu-type].
// Thread safety: immutable once read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/source_text.hpp"
#include "workloads/measurements/placement_times.hpp"

namespace weft {

class GavelThroughputs {
 public:
  /// Throws InputError.
  static GavelThroughputs read(const SourceText& source);

  const std::string& file() const { return file_; }
  /// Throws InputError [unknown-gpu-type] at `place` unless the table has this type.
  void require_gpu_type(std::string_view gpu_type, const SourcePlace& place) const;
  std::vector<std::string> gpu_types() const;
  std::vector<std::string> job_types(std::string_view gpu_type) const;
  /// Numbers of GPUs with which a job type was measured.
  std::set<std::uint32_t> gpu_counts(std::string_view gpu_type, std::string_view job_type) const;
  /// None if it was not measured; 0 if it does not run.
  std::optional<double> steps_per_s(std::string_view gpu_type, std::string_view job_type, std::uint32_t gpus) const;
  /// The same with the GPUs spread over several hosts.
  std::optional<double> steps_per_s_spread(std::string_view gpu_type, std::string_view job_type, std::uint32_t gpus) const;
  /// Times of a step on one host and, where the table has them, on several. None if it does not run
  /// in one of the two ways, or takes more than a year for a step. Requires: a measurement on one
  /// host.
  std::optional<PlacementTimes> placement_times(std::string_view gpu_type, std::string_view job_type, std::uint32_t gpus) const;

  /// What the table holds, for `weft check`.
  std::string to_text() const;

 private:
  using ByGpus = std::map<std::uint32_t, double>;
  using ByJobType = std::map<std::string, ByGpus, std::less<>>;

  std::string file_;
  std::map<std::string, ByJobType, std::less<>> throughput_;
};

}  // namespace weft
