// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/slurm_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/text/about_option.hpp"
#include "core/text/counted.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/job_traces/trace_builder.hpp"

namespace weft {

namespace {

std::vector<std::uint64_t> distinct_priorities(const std::vector<SlurmJob>& jobs) {
  const auto by_value = [&] {
    std::set<std::uint64_t> values;
    for (const SlurmJob& job : jobs) values.insert(job.priority);
    return values;
  }();
  return {by_value.begin(), by_value.end()};
}

void note_slurm_jobs(const SlurmJobs& read, TraceBuilder& builder) {
  if (read.without_gpus > 0)
    builder.assume(fmt::format("{} for no GPU and {} left out", counted(read.without_gpus, "job asks", "jobs ask"),
                               read.without_gpus == 1 ? "is" : "are"));
  if (read.array_tasks > 0) {
    builder.assume(fmt::format("{} in job arrays, each a job of its own here, without a limit to how many run at a time",
                               counted(read.array_tasks, "task waits", "tasks wait")));
  }
  if (read.merged_parts > 0) {
    builder.assume(fmt::format("{} to a heterogeneous job: such a job is one with the GPUs of all",
                               counted(read.merged_parts, "further component belongs", "further components belong")));
  }
  if (read.dependent > 0) {
    builder.assume(
        fmt::format("{} for others; what they depend on is not kept", counted(read.dependent, "job waits", "jobs wait")));
  }
  if (read.restarted > 0) {
    builder.assume(fmt::format("{} requeued before: the last start is taken, and all before it as waiting",
                               counted(read.restarted, "job was", "jobs were")));
  }
}

/// `share`: of the limits of jobs that have not ended; none: these are left out. `keeps_endless`:
/// jobs without a limit are not.
JobTrace trace_of(const SlurmJobs& read, const std::optional<double>& share, bool keeps_endless, TraceBuilder& builder) {
  const std::vector<std::uint64_t> priorities = distinct_priorities(read.jobs);
  std::uint64_t open = 0;
  std::uint64_t endless = 0;
  const auto leave_out = [&](const SlurmJob& job, const char* code, std::string message, std::string help) {
    builder.dirty().report("", {Severity::error, code, std::move(message), job.place, std::move(help)});
  };
  for (const SlurmJob& from : read.jobs) {
    TraceJob job;
    if (from.state == SlurmJob::State::ended) {
      if (!from.start) {
        leave_out(from, "never-started", fmt::format("job {} ended without having started", from.id), "leave it out");
        continue;
      }
      if (!from.end) {
        leave_out(from, "no-duration", fmt::format("job {} has ended, and nobody knows when", from.id), "leave it out");
        continue;
      }
      const std::optional<Duration> completion = between(from.submit, *from.end);
      if (!completion || *completion > op_duration_max) {
        leave_out(from, "out-of-range", fmt::format("job {} ends more than a year after its submission", from.id),
                  fmt::format("at most {}", to_text(op_duration_max)));
        continue;
      }
      job.run = *between(*from.start, *from.end);
      job.real = RecordedRun{*between(from.submit, *from.start), *completion};
    } else if (!share) {
      const bool runs = from.state == SlurmJob::State::runs;
      leave_out(from, runs ? "still-running" : "never-started",
                fmt::format("job {} had not {} when the list was taken", from.id, runs ? "ended" : "started"),
                "leave it out, or say by --limit-share which share of their time limits such jobs run");
      continue;
    } else if (const std::optional<Duration> run = assumed_run(from, *share, read.now)) {
      job.run = *run;
      ++open;
    } else if (keeps_endless && !from.time_limit) {
      job.run = endless_run;
      ++endless;
    } else {
      leave_out(from, "no-duration", fmt::format("job {} has not ended and has no time limit", from.id),
                "give it one, or leave it out");
      continue;
    }
    job.name = from.id;
    job.model = from.name;
    job.user = from.user;
    job.group = from.group;
    job.gpus = from.gpus;
    job.line = from.line;
    job.priority = static_cast<std::int32_t>(std::ranges::lower_bound(priorities, from.priority) - priorities.begin());
    builder.add(std::move(job), from.submit, from.zone_use);
  }
  note_slurm_jobs(read, builder);
  if (open > 0) {
    builder.assume(fmt::format(
        "{} not ended and {} for {} time limit{}", counted(open, "job has", "jobs have"), open == 1 ? "runs" : "run",
        *share == 1 ? std::string(open == 1 ? "its" : "their") : fmt::format("{:g} of {}", *share, open == 1 ? "its" : "their"),
        *share == 1 ? "" : ", or for all of it where that has passed"));
  }
  if (endless > 0) {
    builder.assume(fmt::format("{} no time limit: once {} {} GPUs, nobody knows until when",
                               counted(endless, "job that has not ended has", "jobs that have not ended have"),
                               endless == 1 ? "it runs it keeps" : "they run they keep", endless == 1 ? "its" : "their"));
  }
  return builder.finish();
}

}  // namespace

std::optional<Duration> assumed_run(const SlurmJob& job, double share, const std::optional<Timestamp>& now) {
  if (!job.time_limit) return std::nullopt;
  const Duration shared = Duration::ticks(static_cast<std::int64_t>(share * static_cast<double>(job.time_limit->in_ticks())));
  if (job.state != SlurmJob::State::runs || !now || *now < *job.start) return shared;
  const std::optional<Duration> elapsed = between(*job.start, *now);
  if (!elapsed || *elapsed > op_duration_max) return std::nullopt;
  if (shared > *elapsed) return shared;
  return *elapsed < *job.time_limit ? *job.time_limit : *elapsed + Duration::s(60);
}

double read_limit_share(const JobTraceOptions& options, double fallback) {
  if (options.limit_share.empty()) return fallback;
  const std::optional<double> share = plain_number<double>(options.limit_share);
  if (share && *share > 0 && *share <= 1) return *share;
  fail("bad-value", fmt::format("a share of time limits lies above 0 and is at most 1, not {}", in_quotes(options.limit_share)),
       SourcePlace::named(options.names("limit_share", options.limit_share)), "write 0.6, for example", "limit_share");
}

JobTrace read_squeue(const SourceText& source, const JobTraceOptions& options) {
  TraceBuilder builder(source, options, "UTC");
  const double share = read_limit_share(options, 1);
  return trace_of(read_squeue_jobs(source, builder.dirty()), share, options.is_state, builder);
}

JobTrace read_sacct(const SourceText& source, const JobTraceOptions& options) {
  TraceBuilder builder(source, options, "UTC");
  const std::optional<double> share =
      options.limit_share.empty() && !options.is_state ? std::nullopt : std::optional<double>(read_limit_share(options, 1));
  return trace_of(read_sacct_jobs(source, builder.zone(), builder.dirty()), share, options.is_state, builder);
}

}  // namespace weft
