// SPDX-License-Identifier: Apache-2.0
// Role script: writes the program of one role line by line, the way a training loop issues it to a
// GPU.
//
// Where it sits: templates and workloads of plans write their roles with it. Compute ops share one
// stream, so they run in the order in which they are written; the collectives of each communicator
// share another one; sends and receives are ordered by their dependencies alone.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/dag/dag.hpp"

namespace weft {

class RoleScript {
 public:
  /// What an op waits for: indices that the functions below gave.
  using After = std::vector<std::uint32_t>;

  std::uint32_t compute(std::string_view name, Duration duration, const After& after = {});
  /// A computation outside the order of the others, such as a pause.
  std::uint32_t unordered_compute(std::string_view name, Duration duration, const After& after);
  std::uint32_t collective(std::string_view name, CollectiveType type, std::uint16_t communicator, Bytes bytes, const After& after);
  /// Any other op. Its stream stays as given.
  std::uint32_t add(const Op& op, std::string_view name, const After& after);
  /// The stream of a communicator's collectives.
  static std::uint16_t stream_of(std::uint16_t communicator);

  /// Ends the script.
  RoleDag finish();

 private:
  RoleBuilder builder_;
};

/// Starts a workload of `ranks` ranks with communicator "world".
Workload start_workload(std::string_view name, std::uint32_t ranks);
/// Adds a role that all ranks play.
void add_role_of_all(Workload& workload, RoleDag dag);

}  // namespace weft
