// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_spec.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

std::vector<JobSpec> jobs_of_trace(const JobTrace& trace, const std::string& file) {
  std::vector<JobSpec> jobs;
  jobs.reserve(trace.jobs.size());
  for (const TraceJob& row : trace.jobs) {
    JobSpec& job = jobs.emplace_back();
    job.name = row.name;
    job.user = row.user;
    job.group = row.group;
    job.model = row.model;
    job.submit = Time::zero() + row.submit;
    job.gpus = row.gpus;
    job.min_gpus = row.min_gpus;
    job.priority = row.priority;
    job.data_region = row.data_region;
    job.iterations = row.iterations;
    job.duration = DurationModel::fixed(row.run);
    job.place.file = file;
    job.place.line = row.line;
    job.is_of_trace = true;
  }
  return jobs;
}

void sort_by_submission(std::vector<JobSpec>& jobs) {
  const auto is_earlier = [](const JobSpec& a, const JobSpec& b) { return a.submit < b.submit; };
  // Traces are in order already, and moving their jobs around takes a tenth of a run in job mode.
  if (std::is_sorted(jobs.begin(), jobs.end(), is_earlier)) return;
  std::stable_sort(jobs.begin(), jobs.end(), is_earlier);
}

void check_jobs(const std::vector<JobSpec>& jobs, const ClusterState& cluster, const Placer& placer, Diagnostics& diagnostics) {
  WEFT_CHECK(cluster.free_gpus() == cluster.gpus_in_service(), "jobs are checked against an empty cluster");
  const std::string cluster_text = fmt::format("the cluster has {}{}", counted(cluster.gpus_in_service(), "GPU", "GPUs"),
                                               cluster.gpus_in_service() < cluster.gpu_count()
                                                   ? " beside its spares"
                                                   : fmt::format(" on {}", counted(cluster.host_count(), "host", "hosts")));
  // by number of GPUs: a placement depends on nothing else
  std::map<std::uint32_t, bool> placeable;
  double gpu_time_s = 0;
  for (const JobSpec& job : jobs) {
    const auto subject = [&job] { return fmt::format("job {}", in_quotes(job.name)); };
    if (job.submit < Time::zero()) {
      diagnostics.error("negative-submit", fmt::format("{} is submitted before the run starts", subject()), job.place,
                        "count submissions from the first one");
    }
    if (job.gpus == 0) {
      diagnostics.error("no-gpus", fmt::format("{} wants no GPU", subject()), job.place,
                        "give it at least one GPU or leave it out");
    } else if (job.gpus > cluster.gpus_in_service()) {
      diagnostics.error("job-too-large",
                        fmt::format("{} wants {} but {}", subject(), counted(job.gpus, "GPU", "GPUs"), cluster_text), job.place,
                        job.is_of_trace ? "use a larger cluster, or leave out all jobs that are larger: --skip-larger-jobs, or "
                                          "skip_larger_jobs: true of a scenario's job trace"
                                        : "use a larger cluster or leave the job out");
    } else {
      const auto [known, is_new] = placeable.try_emplace(job.gpus, false);
      if (is_new) known->second = placer.place(cluster, job.gpus).has_value();
      if (!known->second) {
        diagnostics.error("unplaceable-job",
                          fmt::format("{} wants {}, for which there is no placement even on the empty cluster: {}", subject(),
                                      counted(job.gpus, "GPU", "GPUs"), cluster_text),
                          job.place, "choose another placement or another number of GPUs");
      }
    }
    if (job.gpus > 0) check_elastic(job, diagnostics);
    if (job.workload == nullptr) {
      if (job.gpus <= cluster.gpu_count()) gpu_time_s += static_cast<double>(job.gpus) * job.duration.mean().in_s();
      continue;
    }
    if (job.workload->rank_count != job.gpus) {
      diagnostics.error("rank-count-mismatch",
                        fmt::format("{} has {} for the {} of workload {}", subject(), counted(job.gpus, "GPU", "GPUs"),
                                    counted(job.workload->rank_count, "rank", "ranks"), in_quotes(job.workload->name)),
                        job.place, "give the job one GPU per rank");
    }
    if (job.iterations == 0) {
      diagnostics.error("no-iterations", fmt::format("{} runs workload {} zero times", subject(), in_quotes(job.workload->name)),
                        job.place, "give it at least one iteration");
    } else if (job.iterations > UINT32_MAX) {
      diagnostics.error("too-many-iterations", fmt::format("{} has more iterations than can be counted", subject()), job.place,
                        fmt::format("give it at most {} iterations", UINT32_MAX));
    }
  }
  const double least_s = gpu_time_s / cluster.gpu_count();
  if (least_s > Time::max().in_s() && !jobs.empty()) {
    diagnostics.error("too-much-work",
                      fmt::format("the jobs need at least {} on {}, beyond the simulated clock, which ends after {}",
                                  readable(least_s), counted(cluster.gpu_count(), "GPU", "GPUs"), readable(Time::max().in_s())),
                      SourcePlace::named(jobs.front().place.file), "use a larger cluster or fewer jobs");
  }
}

void fail_beyond_clock(const JobSpec& job, Time start) {
  fail("beyond-clock",
       fmt::format("job \"{}\" starts at {} and would end after {}, where the simulated clock ends", job.name,
                   to_text(start.since_start()), to_text(Time::max().since_start())),
       job.place, "use a larger cluster, fewer jobs or shorter ones, a smaller scheduler.start_overhead or fewer checkpoints");
}

}  // namespace weft
