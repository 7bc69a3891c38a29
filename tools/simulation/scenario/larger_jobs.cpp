// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/larger_jobs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text/counted.hpp"

namespace weft {

std::string LargerJobs::to_text(std::uint32_t gpus) const {
  const std::string range = gpus_min < gpus_max ? fmt::format("{} to ", gpus_min) : "";
  const std::string time =
      gpu_time_share > 0 ? fmt::format(" with {:.1f} GPU-h, {:.3g} % of the trace's GPU time,", gpu_hours, 100 * gpu_time_share)
                         : "";
  const std::string size = counted(gpus, "GPU", "GPUs");
  if (jobs() == 1) {
    return fmt::format("1 job of {} GPUs{} is left out: \"{}\" (line {}) is larger than the cluster of {}", gpus_max, time, largest,
                       largest_line, size);
  }
  return fmt::format("{} jobs of {}{} GPUs{} are left out: they are larger than the cluster of {}; the largest is \"{}\" (line {})",
                     jobs(), range, gpus_max, time, size, largest, largest_line);
}

LargerJobs leave_out_larger_jobs(JobTrace& trace, std::uint32_t gpus) {
  const auto gpu_hours_of = [](const TraceJob& job) { return job.run.in_s() * job.gpus / 3600; };
  LargerJobs larger;
  double all_gpu_hours = 0;
  for (const TraceJob& job : trace.jobs) {
    all_gpu_hours += gpu_hours_of(job);
    if (job.gpus <= gpus) continue;
    larger.gpus_min = larger.names.empty() ? job.gpus : std::min(larger.gpus_min, job.gpus);
    larger.names.push_back(job.name);
    larger.gpu_hours += gpu_hours_of(job);
    if (job.gpus <= larger.gpus_max) continue;
    larger.gpus_max = job.gpus;
    larger.largest = job.name;
    larger.largest_line = job.line;
  }
  if (all_gpu_hours > 0) larger.gpu_time_share = larger.gpu_hours / all_gpu_hours;
  std::erase_if(trace.jobs, [&](const TraceJob& job) { return job.gpus > gpus; });
  return larger;
}

}  // namespace weft
