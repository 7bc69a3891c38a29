// SPDX-License-Identifier: Apache-2.0
// Flow blame: whom the flows of a run waited for, by link and job.
//
// Where it sits: tools/explain/explanation asks once per recorded run.
//
// Model: alone a flow would move at r = min(its cap, capacity / load of its links). In an interval
// of length dt at rate r_i it loses dt (1 - r_i / r) to the link that limits it then; all intervals
// together lose exactly its end - start - bits / r. What is lost at a link is shared out among the
// jobs whose flows are on it, by what they put on it, the flow itself left out; the flow's own job
// may be among them. A flow that waits behind another of its queue pair loses that time to its own
// connection, at no link.
// Times are sums over flows: ten flows that wait for a second each make ten.
// Threads: pure.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

class FlowTape;

/// What flows of `waits` lost because of `blamed`.
struct Blame {
  std::uint32_t link = UINT32_MAX;  ///< none: its own connection
  std::uint32_t waits = 0;          ///< job
  std::uint32_t blamed = 0;         ///< job
  double lost_s = 0;
};

struct FlowBlame {
  std::vector<Blame> blame;            ///< the largest first
  std::vector<double> lost_of_flow_s;  ///< by flow, without its connection
  double moving_s = 0;                 ///< what all flows would have taken alone
};

/// `job_of_flow`: by flow of the tape. Requires: tape.has_limits().
FlowBlame flow_blame(const FlowTape& tape, const std::vector<std::uint32_t>& job_of_flow);

}  // namespace weft
