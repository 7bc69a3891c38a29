// Job trace: which jobs arrive when, how many GPUs they want and how long they run.
//
// Where it sits: readers (workloads/job_traces/: philly, muri, weft) make one; the scheduler replays it in job mode.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/units.hpp"

namespace weft {

struct TraceJob {
  std::string name;   ///< the trace's own id, or "jobN" by row
  std::string group;  ///< virtual cluster or user; may be empty
  Duration submit;    ///< since the earliest submission of the trace
  Duration run;       ///< how long it holds its GPUs
  std::uint32_t gpus = 1;
  std::uint64_t iterations = 0;  ///< 0 if the trace does not say
  std::int32_t priority = 0;
  int line = 0;  ///< of the file, for messages
};

struct JobTrace {
  std::string name;
  std::vector<TraceJob> jobs;  ///< by (submit, line)
  std::string origin_of_time;  ///< what instant `submit` 0 stands for, e.g. "2017-09-04 10:30:41"
};

}  // namespace weft
