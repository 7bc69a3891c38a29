// SPDX-License-Identifier: Apache-2.0
// Flow blame: whom the flows of a run waited for, by link and job.
//
// Where it sits: tools/explain/explanation asks once per recorded run.
//
// Model: alone a transfer would move at the rate r of its slowest flow, min(cap, capacity / what
// the transfer's flows load the link with) over their links. In an interval of length dt at rate
// r_i a flow loses dt (1 - r_i / r) to the link that limits it then; of the flow that arrives last,
// all intervals together are what the transfer takes longer than alone; where it went on faster in
// between, as its other flows had ended, less is left of each. That is shared out among
// the jobs whose flows are on the link, by what they put on it, the transfer itself left out; its
// own job may be among them. A flow that waits behind another of its queue pair loses that time to
// its own connection, at no link.
// Times are sums over transfers: ten that wait for a second each make ten.
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
