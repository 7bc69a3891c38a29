// SPDX-License-Identifier: Apache-2.0
// CPU time of the whole process, all threads together, for rates per CPU second.
#pragma once

#include <ctime>

namespace weft {

inline double process_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace weft
