// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/helios.hpp"

#include "workloads/job_traces/start_end_log.hpp"

namespace weft {

JobTrace read_helios(const SourceText& source, const JobTraceOptions& options) {
  return read_start_end_log(source, options,
                            {.zone = "Asia/Shanghai", .group_column = "vc", .user_column = "user", .model_column = ""});
}

}  // namespace weft
