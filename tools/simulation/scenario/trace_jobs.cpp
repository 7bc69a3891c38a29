// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/trace_jobs.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "scheduler/placement/placer.hpp"
#include "tools/simulation/iteration_probe.hpp"
#include "tools/simulation/scenario/larger_jobs.hpp"

namespace weft {

namespace {

/// What a trace left open, for the notes of the run and its manifest.
void note_trace(Scenario& scenario, const JobTrace& trace, const std::string& path, const JobTraceOptions& options) {
  for (const std::string& note : trace.notes()) scenario.assumptions.push_back(fmt::format("{}: {}", path, note));
  if (!options.throughputs_path.empty()) scenario.manifest.add_input("throughputs", options.throughputs_path, "gavel-throughputs");
  if (!options.gpu_type.empty()) scenario.manifest.set("gpu_type", options.gpu_type);
  if (!options.limit_share.empty()) scenario.manifest.set("limit_share", options.limit_share);
  if (!options.time_zone.empty()) scenario.manifest.set("time_zone", options.time_zone);
}

/// GPUs on each host of a job's placement on the empty cluster; nothing if there is none.
std::vector<std::uint32_t> placement_alone(const Scenario& scenario, std::uint32_t gpus) {
  const ClusterState cluster = serving_cluster(scenario);
  std::map<HostId, std::uint32_t> gpus_of_host;
  if (gpus > 0 && gpus <= cluster.gpu_count()) {
    const std::optional<Placement> placement = make_placer(scenario)->place(cluster, gpus);
    if (placement) {
      for (const GpuSlot gpu : placement->gpus) ++gpus_of_host[cluster.host_of(gpu)];
    }
  }
  std::vector<std::uint32_t> counts;
  for (const auto& [host, count] : gpus_of_host) counts.push_back(count);
  return counts;
}

std::vector<JobSpec> jobs_under_rules(Scenario& scenario, const JobTrace& trace, const std::string& path,
                                      const std::vector<JobRule>& rules, Probing probing) {
  ClusterProbes probes;
  probes.has_network = scenario.topology != nullptr;
  if (probing == Probing::allowed) {
    probes.iteration = [&scenario](const std::shared_ptr<const Workload>& workload, const SourcePlace& place) {
      return probe_iteration(scenario, workload, place);
    };
  }
  probes.placement = [&scenario](std::uint32_t gpus) { return placement_alone(scenario, gpus); };
  return jobs_by_rule(trace, path, rules, scenario.mode, probes, scenario.assumptions);
}

/// The trace from whose first submission all dated ones count: that of the earliest; null if none
/// has a date.
const TraceUnderRules* earliest_of(const std::vector<TraceUnderRules>& traces) {
  const TraceUnderRules* earliest = nullptr;
  for (const TraceUnderRules& one : traces) {
    if (one.trace.origin && (earliest == nullptr || *one.trace.origin < *earliest->trace.origin)) earliest = &one;
  }
  return earliest;
}

/// Dated traces of one run keep their distance in time. Those of clocks of their own begin at 0,
/// each.
void share_origin(Scenario& scenario, std::vector<TraceUnderRules>& traces) {
  const TraceUnderRules* const earliest = earliest_of(traces);
  std::string origin = earliest == nullptr ? "" : earliest->trace.origin_of_time;
  std::uint64_t left_out = 0;
  for (TraceUnderRules& one : traces) {
    JobTrace& trace = one.trace;
    left_out += trace.left_out_rows;
    if (&one == earliest) continue;
    if (!trace.origin) {
      const std::string of_trace =
          traces.size() == 1 ? trace.origin_of_time : fmt::format("{}: {}", one.path, trace.origin_of_time);
      origin += (origin.empty() ? "" : "; ") + of_trace;
      if (earliest == nullptr) continue;
      scenario.assumptions.push_back(
          fmt::format("{}: its clock has no date: it begins together with {}", one.path, earliest->path));
      continue;
    }
    const std::optional<Duration> later = between(*earliest->trace.origin, *trace.origin);
    if (!later || *later > submit_max - trace.jobs.back().submit) {
      fail("out-of-range", fmt::format("the last job is submitted more than a year after the first of {}", earliest->path),
           SourcePlace::named(one.path),
           "dated traces of one run keep their distance: run these one by one, or write one in format weft, whose submit_s has no "
           "date, and they begin together");
    }
    for (TraceJob& job : trace.jobs) job.submit += *later;
    scenario.assumptions.push_back(
        fmt::format("{}: {}{}, as their dates say", one.path,
                    *later == Duration::zero() ? "it begins together with " : fmt::format("it begins {} after ", to_text(*later)),
                    earliest->path));
  }
  scenario.manifest.set("jobs_origin_of_time", origin);
  scenario.manifest.set("jobs_rows_left_out", left_out);
}

/// Nobody cancels jobs that were left out.
void drop_cancellations(Scenario& scenario, const std::set<std::string>& left_out) {
  std::erase_if(scenario.events, [&](const ScriptedEvent& event) {
    if (event.kind != ScriptedEvent::Kind::cancel || !left_out.contains(event.subject)) return false;
    scenario.assumptions.push_back(
        fmt::format("the event that cancels {} changes nothing: the job is left out", in_quotes(event.subject)));
    return true;
  });
}

/// Leaves out what the user lets be left out, with notes. Throws InputError [job-too-large] if then
/// there is nothing to run.
void skip_larger_jobs(Scenario& scenario, std::vector<TraceUnderRules>& traces) {
  if (std::ranges::none_of(traces, &TraceUnderRules::skips_larger_jobs)) return;
  const std::uint32_t gpus = serving_cluster(scenario).gpus_in_service();
  std::uint64_t left_out = 0;
  std::uint32_t smallest = UINT32_MAX;
  std::set<std::string> names;
  for (TraceUnderRules& one : traces) {
    if (!one.skips_larger_jobs) continue;
    const LargerJobs larger = leave_out_larger_jobs(one.trace, gpus);
    if (larger.names.empty()) continue;
    names.insert(larger.names.begin(), larger.names.end());
    left_out += larger.jobs();
    smallest = std::min(smallest, larger.gpus_min);
    scenario.assumptions.push_back(fmt::format("{}: {}", one.path, larger.to_text(gpus)));
  }
  const bool has_jobs =
      !scenario.jobs.empty() || std::ranges::any_of(traces, [](const TraceUnderRules& one) { return !one.trace.jobs.empty(); });
  if (!has_jobs) {
    fail("job-too-large", fmt::format("every job is larger than the cluster of {}", counted(gpus, "GPU", "GPUs")),
         SourcePlace::named(traces.front().path), fmt::format("use a larger cluster: the smallest job wants {} GPUs", smallest));
  }
  drop_cancellations(scenario, names);
  scenario.manifest.set("jobs_larger_than_cluster_left_out", left_out);
}

}  // namespace

JobTrace read_trace(Scenario& scenario, const std::string& path, const std::string& format, const JobTraceOptions& options,
                    bool has_rules, const SourcePlace& place) {
  JobTrace trace = load_job_trace(path, format, options);
  scenario.manifest.add_input("jobs", path, format);
  note_trace(scenario, trace, path, options);
  if (!trace.has_run_times && !has_rules) {
    fail("no-run-times", "the trace has iterations but no run times", place,
         fmt::format("add {} {}, or give each job a workload or measured iterations by rules in a scenario",
                     options.names("throughputs", "FILE"), options.names("gpu_type", "NAME")));
  }
  if (scenario.name.empty()) scenario.name = trace.name;
  return trace;
}

void apply_rules(Loading& loading, Probing probing) {
  if (loading.traces.empty()) return;
  Scenario& scenario = loading.scenario;
  share_origin(scenario, loading.traces);
  skip_larger_jobs(scenario, loading.traces);
  std::vector<JobSpec> jobs;
  std::uint32_t queues = 0;
  for (const TraceUnderRules& one : loading.traces) {
    std::vector<JobSpec> of_trace = jobs_under_rules(scenario, one.trace, one.path, one.rules, probing);
    if (one.queue > 0) {
      ++queues;
      for (std::size_t i = 0; i < of_trace.size(); ++i) {
        of_trace[i].queue = queues;
        of_trace[i].is_held = i >= one.queue;
      }
    }
    std::move(of_trace.begin(), of_trace.end(), std::back_inserter(jobs));
  }
  scenario.jobs.insert(scenario.jobs.begin(), std::make_move_iterator(jobs.begin()), std::make_move_iterator(jobs.end()));
}

}  // namespace weft
