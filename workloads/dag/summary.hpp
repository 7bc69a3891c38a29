// SPDX-License-Identifier: Apache-2.0
// Summary: what a workload contains, for `weft workload show`.
//
// Where it sits: tools prints the text or turns the struct into JSON. Sums over all ranks stop at
// the largest value instead of overflowing. What communication moves is input buffers (dag.hpp): of
// broadcast and scatter, whose root alone fills it, every rank has one. critical_path is the end of
// the last op if communication took no time; compute_total is the sum over a rank's compute ops.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/dag/dag.hpp"

namespace weft {

struct RoleSummary {
  std::string name;
  std::uint32_t ranks = 0;
  std::array<std::uint64_t, 4> ops_by_kind{};  ///< by OpKind, of one rank
  std::uint64_t edges = 0;
  std::uint32_t streams = 0;
  Duration compute_total;
  Duration critical_path;
  std::size_t memory_bytes = 0;
};

/// Communication of one kind and priority in one communicator, over all ranks.
struct CommunicationSummary {
  std::string communicator;
  std::string type;  ///< of collective, or "send"
  std::uint8_t priority = 0;
  std::uint32_t group_size_min = 0;
  std::uint32_t group_size_max = 0;
  std::uint64_t ops = 0;  ///< every rank counts
  Bytes bytes;            ///< every rank counts
};

struct WorkloadSummary {
  std::string name;
  std::uint32_t ranks = 0;
  std::uint64_t ops = 0;  ///< over all ranks
  std::vector<RoleSummary> roles;
  std::vector<CommunicationSummary> communication;  ///< by (communicator, type, priority)
  std::size_t memory_bytes = 0;
  std::vector<std::string> assumptions;
};

WorkloadSummary summarise(const Workload& workload);

/// Several lines of text.
std::string to_text(const WorkloadSummary& summary);

}  // namespace weft
