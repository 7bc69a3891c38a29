// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/acme.hpp"

#include "workloads/job_traces/start_end_log.hpp"

namespace weft {

JobTrace read_acme(const SourceText& source, const JobTraceOptions& options) {
  return read_start_end_log(source, options,
                            {.zone = "Asia/Shanghai", .group_column = "user", .user_column = "user", .model_column = "type"});
}

}  // namespace weft
