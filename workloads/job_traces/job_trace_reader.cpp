// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/job_trace_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/out_of_memory.hpp"
#include "workloads/formats/format_options.hpp"
#include "workloads/job_traces/acme.hpp"
#include "workloads/job_traces/gavel.hpp"
#include "workloads/job_traces/helios.hpp"
#include "workloads/job_traces/muri.hpp"
#include "workloads/job_traces/muri_result.hpp"
#include "workloads/job_traces/openb.hpp"
#include "workloads/job_traces/philly.hpp"
#include "workloads/job_traces/slurm_trace.hpp"
#include "workloads/job_traces/swf.hpp"
#include "workloads/job_traces/weft_csv.hpp"

namespace weft {

namespace {

constexpr std::array known_formats = {
    JobTraceFormat{"weft", "Weft's own CSV: job,submit_s,gpus,run_s and optionally iterations,group,priority,model,user.", 0,
                   read_weft_csv},
    JobTraceFormat{
        "philly",
        "Microsoft's Philly cluster as CSV: timestamp,duration,num_gpus,gpu_time,cluster with timestamps in any order, of "
        "America/Los_Angeles unless they say, and seconds.",
        reads_time_zone, read_philly},
    JobTraceFormat{"muri",
                   "Traces of the Muri scheduler as CSV: job_id,num_gpu,submit_time,iterations,...,duration,...,priority in "
                   "milliseconds.",
                   0, read_muri},
    JobTraceFormat{"muri-result",
                   "What the jobs of a Muri trace really did: job_id,num_gpu,submit_time,start_time,end_time,...,JCT in seconds.",
                   0, read_muri_result},
    JobTraceFormat{"gavel",
                   "Job lists of the Gavel scheduler, tab-separated without header. Run times are steps over the throughputs of "
                   "--throughputs=FILE --gpu-type=NAME.",
                   reads_throughputs, read_gavel},
    JobTraceFormat{
        "helios",
        "SenseTime's Helios clusters as CSV: job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
        "duration,queue; dates of Asia/Shanghai unless they say.",
        reads_time_zone, read_helios},
    JobTraceFormat{"acme",
                   "Shanghai AI Laboratory's Seren and Kalos clusters as CSV: job_id,user,...,gpu_num,...,type,state,submit_time,"
                   "start_time,end_time,duration,queue,gpu_time.",
                   reads_time_zone, read_acme},
    JobTraceFormat{"openb",
                   "Pods of Alibaba's GPU-sharing cluster as CSV: name,...,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
                   "deletion_time,scheduled_time in seconds.",
                   0, read_openb},
    JobTraceFormat{"squeue",
                   "Slurm's queue as `squeue --json` prints it: jobs that run or wait, each for --limit-share of its time limit.",
                   reads_time_zone | reads_limit_share, read_squeue},
    JobTraceFormat{
        "sacct",
        "Slurm's accounting as `sacct -P` prints it (JobID, State, Submit, Start, End, AllocTRES or ReqTRES and others), or "
        "`sacct --json`; dates of UTC unless they say.",
        reads_time_zone | reads_limit_share, read_sacct},
    JobTraceFormat{"swf", "Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line; processors are GPUs.", 0,
                   read_swf},
};

void refuse_unread_options(const std::string& path, const JobTraceFormat& format, const JobTraceOptions& options) {
  Diagnostics diagnostics;
  const auto refuse = [&](bool is_given, const char* name, JobTraceOption option) {
    refuse_unread_option(is_given, name, options.names, option, format, job_trace_formats(), "job trace", path, diagnostics);
  };
  refuse(!options.time_zone.empty(), "time_zone", reads_time_zone);
  refuse(!options.throughputs_path.empty(), "throughputs", reads_throughputs);
  refuse(!options.gpu_type.empty(), "gpu_type", reads_throughputs);
  refuse(!options.limit_share.empty(), "limit_share", reads_limit_share);
  diagnostics.throw_if_errors();
  if (!options.gpu_type.empty() && options.throughputs_path.empty()) {
    fail(unused_code(options.names), "a GPU type says something about a table of throughputs, which is not given",
         SourcePlace::named(options.names("gpu_type")),
         fmt::format("add {}, or drop {}", options.names("throughputs", "FILE"), options.names("gpu_type")), "gpu_type");
  }
}

/// Of a file whose format is not named: its header is of another, which says more than the columns
/// that it lacks.
void refuse_other_header(const InputError& error, const std::string& path) {
  std::size_t missing = 0;
  std::size_t unknown = 0;
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    missing += diagnostic.code == "missing-column" ? 1 : 0;
    unknown += diagnostic.code == "unknown-column" ? 1 : 0;
  }
  // Of a wide table only the first errors are kept, which are of columns that are not known.
  if (missing < 3 && unknown < Diagnostics::kept_errors_max - 3) return;
  fail("no-format", "the columns are not those of Weft's own job traces (job, submit_s, gpus, run_s), and no other format is named",
       SourcePlace::named(path),
       fmt::format("name it behind a colon, as in {}:philly; there are {}", path, format_names(job_trace_formats())));
}

[[gnu::format(printf, 2, 3)]] void line(std::string& text, const char* format, ...) {
  std::array<char, 256> buffer{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
  va_end(arguments);
  text += buffer.data();
  text += '\n';
}

}  // namespace

std::span<const JobTraceFormat> job_trace_formats() { return known_formats; }

JobTrace load_job_trace(const std::string& path, std::string_view format, const JobTraceOptions& options) {
  if (format.empty()) {
    try {
      return load_job_trace(path, "weft", options);
    } catch (const InputError& error) {
      refuse_other_header(error, path);
      throw;
    }
  }
  std::vector<std::string> names;
  for (const JobTraceFormat& known : known_formats) {
    if (known.name == format) {
      refuse_unread_options(path, known, options);
      return naming_memory_use(fmt::format("while reading {}", path), [&] { return known.read(SourceText::read(path), options); });
    }
    names.emplace_back(known.name);
  }
  fail("unknown-format", fmt::format("there is no job-trace format \"{}\"", format), SourcePlace::named(path),
       suggestion(format, names, "format"), "format");
}

std::string describe(const JobTrace& trace) {
  double gpu_s = 0;
  double run_s = 0;
  double wait_s = 0;
  double completion_s = 0;
  std::uint64_t gpus = 0;
  std::uint64_t real = 0;
  Duration last_end;
  for (const TraceJob& job : trace.jobs) {
    gpus += job.gpus;
    run_s += job.run.in_s();
    gpu_s += job.run.in_s() * job.gpus;
    if (!job.real) continue;
    ++real;
    wait_s += job.real->wait.in_s();
    completion_s += job.real->completion.in_s();
    last_end = std::max(last_end, job.submit + job.real->completion);
  }
  const auto count = static_cast<double>(trace.jobs.size());
  const std::string jobs = counted(trace.jobs.size(), "job", "jobs");
  const char* const gpu_noun = gpus == trace.jobs.size() ? "GPU" : "GPUs";
  std::string text;
  if (trace.has_run_times) {
    line(text, "%s, mean %.6g %s, mean run %.8g s, %.8g GPU-h", jobs.c_str(), static_cast<double>(gpus) / count, gpu_noun,
         run_s / count, gpu_s / 3600);
  } else {
    line(text, "%s, mean %.6g %s, without run times", jobs.c_str(), static_cast<double>(gpus) / count, gpu_noun);
  }
  const Duration span = trace.jobs.back().submit;
  text += fmt::format("submitted {}, the first at {}\n",
                      span == Duration::zero() ? "at once" : fmt::format("over {}", to_text(span)), trace.origin_of_time);
  if (real > 0) {
    line(text, "in truth %s waited %.8g s and took %.8g s in the mean, the last ended after %.8g s",
         counted(real, "job", "jobs").c_str(), wait_s / static_cast<double>(real), completion_s / static_cast<double>(real),
         last_end.in_s());
  }
  for (const LeftOutRows& reason : trace.left_out) text += fmt::format("{}\n", reason.to_text());
  for (const std::string& assumption : trace.assumptions) text += fmt::format("assumed: {}\n", assumption);
  return text;
}

}  // namespace weft
