#include "workloads/job_traces/trace_builder.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace weft {

JobTrace finish_trace(JobTrace trace, const SourceText& source, Diagnostics& diagnostics) {
  std::unordered_map<std::string_view, int> lines;
  lines.reserve(trace.jobs.size());
  for (const TraceJob& job : trace.jobs) {
    const auto [first, is_new] = lines.emplace(job.name, job.line);
    if (!is_new) {
      diagnostics.error("duplicate-job", "job \"" + job.name + "\" stands in the trace twice", source.at(job.line, 0),
                        "it is defined at line " + std::to_string(first->second) + " already; names are unique");
    }
  }
  if (trace.jobs.empty() && !diagnostics.has_errors()) {
    diagnostics.error("no-jobs", "the trace has no jobs", source.whole_file(), "add a row for each job below the header");
  }
  diagnostics.throw_if_errors();
  Duration earliest = Duration::max();
  for (const TraceJob& job : trace.jobs) earliest = std::min(earliest, job.submit);
  for (TraceJob& job : trace.jobs) job.submit -= earliest;
  if (trace.origin_of_time.empty()) trace.origin_of_time = to_text(earliest) + " on the clock of the trace";
  std::sort(trace.jobs.begin(), trace.jobs.end(),
            [](const TraceJob& a, const TraceJob& b) { return std::tuple(a.submit, a.line) < std::tuple(b.submit, b.line); });
  const std::string& path = source.name();
  const std::size_t slash = path.rfind('/');
  trace.name = slash == std::string::npos ? path : path.substr(slash + 1);
  return trace;
}

}  // namespace weft
