// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/job_entries.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/source_text.hpp"
#include "tools/simulation/iteration_probe.hpp"
#include "tools/simulation/scenario/entry_fields.hpp"
#include "tools/simulation/scenario/event_entries.hpp"
#include "tools/simulation/scenario/storage_entries.hpp"
#include "tools/simulation/scenario/workload_entries.hpp"

namespace weft {

namespace {

void require_mode(const Scenario& scenario, Mode mode, const std::string& name, const SourcePlace& place) {
  if (may_be_in(mode, scenario.mode)) return;
  fail("job-mode",
       fmt::format("job {} asks for {} mode in a run in {} mode", in_quotes(name), to_text(mode), to_text(scenario.mode)), place,
       other_mode_hint);
}

Time submit_of(const scenario::Job& job, const FieldPlaces& inside) {
  if (job.submit().empty()) return Time::zero();
  const ParsedQuantity<Duration> submit = parse_duration(job.submit());
  if (!submit.value)
    fail("bad-value", fmt::format("submit: {}", submit.error.message), inside.of(job, "submit"), submit.error.help);
  require(*submit.value <= submit_max, "out-of-range", fmt::format("submit: {} is too late", job.submit()),
          inside.of(job, "submit"), "jobs are submitted within the first 366 days");
  return Time::zero() + *submit.value;
}

/// Throws InputError where a job's `iteration_time` says nothing, or no time.
void check_iteration_time(const scenario::Job& job, const FieldPlaces& inside) {
  const SourcePlace place = inside.of(job, "iteration_time");
  require(job.has_workload() && job.mode() == scenario::JOB, "job-content", "iteration_time is for workloads in job mode", place,
          "drop it, or add mode: JOB to a job with a workload");
  parse_iteration_time(job.iteration_time(), place, "an iteration takes time", "give a time above 0");
}

/// Of a job that runs its workload in job mode.
void give_duration(Loading& loading, JobSpec& spec, const scenario::Job& job, const FieldPlaces& inside, Probing probing) {
  const std::shared_ptr<const Workload> workload = std::move(spec.workload);
  spec.workload = nullptr;
  require(workload->rank_count == spec.gpus, "rank-count-mismatch",
          fmt::format("job {} has {} for the {} of workload {}", in_quotes(spec.name), counted(spec.gpus, "GPU", "GPUs"),
                      counted(workload->rank_count, "rank", "ranks"), in_quotes(workload->name)),
          spec.place, "give the job one GPU per rank");
  Duration iteration;
  std::string origin = "as the scenario says";
  if (!job.iteration_time().empty()) {
    iteration = *parse_duration(job.iteration_time()).value;
  } else if (loading.scenario.topology == nullptr) {
    fail("no-topology",
         fmt::format("job {} needs a topology on which an iteration of its workload is measured", in_quotes(spec.name)),
         inside.of(job, "mode"), "give a topology instead of the cluster, or say iteration_time: \"200ms\"");
  } else if (probing == Probing::forbidden) {
    loading.scenario.assumptions.push_back(
        fmt::format("job {} is in job mode: `weft run` measures an iteration first", in_quotes(spec.name)));
    return;
  } else {
    const ProbedIteration probed = probe_iteration(loading.scenario, workload, spec.place);
    iteration = probed.time;
    spec.compute_share = probed.compute_share;
    origin = "measured alone on the empty cluster";
  }
  require(spec.iterations == 0 || iteration <= Duration::ticks(submit_max.in_ticks() / static_cast<std::int64_t>(spec.iterations)),
          "out-of-range", fmt::format("job {} would run for more than a year", in_quotes(spec.name)), spec.place,
          fmt::format("{} of {}", counted(spec.iterations, "iteration", "iterations"), to_text(iteration)));
  spec.duration = DurationModel::fixed(iteration * static_cast<std::int64_t>(spec.iterations));
  loading.scenario.assumptions.push_back(fmt::format("job {} is in job mode: {} of {}, {}", in_quotes(spec.name),
                                                     counted(spec.iterations, "iteration", "iterations"), to_text(iteration),
                                                     origin));
}

}  // namespace

void JobEntries::read(const scenario::Scenario& message, const FieldPlaces& places) {
  std::map<std::string, int> lines;
  for (int i = 0; i < message.job_size(); ++i) {
    const FieldPlaces inside = places.inside(message, "job", i);
    read_job(message.job(i), places.of(message, "job", i), inside, lines, [&] { return submit_of(message.job(i), inside); });
  }
  for (int i = 0; i < message.event_size(); ++i) {
    if (!message.event(i).has_submit()) continue;
    read_submitted_job(message.event(i), places.of(message, "event", i), places.inside(message, "event", i), lines);
  }
}

void JobEntries::read_submitted_job(const scenario::Event& event, const SourcePlace& place, const FieldPlaces& inside,
                                    std::map<std::string, int>& lines) {
  const bool has_job = loading_.attempt([&] {
    require(event.submit().has_job(), "missing-field", "there is no job to submit", inside.of(event, "submit"),
            "submit { job { name: \"urgent\" gpus: 8 duration: \"2h\" } }");
  });
  if (!has_job) return;
  const FieldPlaces inside_submit = inside.inside(event, "submit");
  const scenario::Job& job = event.submit().job();
  const FieldPlaces inside_job = inside_submit.inside(event.submit(), "job");
  read_job(job, inside_submit.of(event.submit(), "job"), inside_job, lines, [&] {
    require(job.submit().empty(), "unused-field", "the job is submitted when the event happens", inside_job.of(job, "submit"),
            "drop submit");
    return time_of(event, inside, place);
  });
}

void JobEntries::read_job(const scenario::Job& job, const SourcePlace& place, const FieldPlaces& inside,
                          std::map<std::string, int>& lines, const std::function<Time()>& submit) {
  JobSpec spec;
  spec.name = job.name().empty() ? fmt::format("job{}", scenario_.jobs.size()) : job.name();
  spec.group = job.group();
  spec.priority = job.priority();
  if (job.has_data_region()) spec.data_region = job.data_region();
  spec.place = place;
  const SourcePlace name_place = job.name().empty() ? place : inside.of(job, "name");
  const auto [first, is_new] = lines.emplace(spec.name, spec.place.line);
  if (!is_new) {
    loading_.diagnostics.error("duplicate-job", fmt::format("there are two jobs {}", in_quotes(spec.name)), name_place,
                               fmt::format("the first is at line {}; results tell jobs apart by name", first->second));
  }
  if (!is_utf8(spec.name) || !is_utf8(spec.group)) {
    loading_.diagnostics.error("not-utf8", fmt::format("the name or group of job {} is no UTF-8 text", in_quotes(spec.name)),
                               name_place, "tables of results have it, and are UTF-8: write it so");
  }
  loading_.attempt([&] { spec.submit = submit(); });
  loading_.attempt([&] { read_content(spec, job, inside); });
  if (job.has_elastic()) loading_.attempt([&] { read_elastic(spec, job, inside); });
  loading_.attempt([&] {
    StorageEntry stored = read_storage_entry(job, inside);
    spec.data = stored.data;
    spec.data_hosts = std::move(stored.data_hosts);
    spec.checkpoint = stored.checkpoint;
  });
  own_jobs_.push_back({&job, inside, name_place});
  scenario_.jobs.push_back(std::move(spec));
}

void JobEntries::read_content(JobSpec& spec, const scenario::Job& job, const FieldPlaces& inside) {
  std::uint64_t iterations = job.has_workload() ? 1 : 0;
  loading_.attempt([&] { iterations = iterations_of(job, inside).value_or(iterations); });
  loading_.attempt([&] { spec.samples_per_iteration = samples_of(job, inside); });
  loading_.attempt([&] {
    require(!job.has_gpus() || job.gpus() > 0, "no-gpus", "a job needs at least one GPU", inside.of(job, "gpus"),
            job.has_workload() ? "drop it to give the job one GPU per rank" : "for example gpus: 8");
  });
  require(job.has_workload() != !job.duration().empty(), "job-content", "a job has either a workload or a duration", spec.place,
          "workload { file: \"...\" } for flow or packet mode, duration: \"2h\" for job mode");
  if (!job.iteration_time().empty()) loading_.attempt([&] { check_iteration_time(job, inside); });
  if (job.has_workload()) {
    spec.workload =
        load_workload_entry(loading_, job.workload(), inside.of(job, "workload"), inside.inside(job, "workload"), std::nullopt);
    spec.gpus = job.has_gpus() ? job.gpus() : spec.workload->rank_count;
    spec.iterations = iterations;
  } else {
    loading_.attempt([&] { spec.duration = DurationModel::parse(job.duration(), inside.of(job, "duration")); });
    require(job.has_gpus(), "missing-field", "a job needs gpus", spec.place, "for example gpus: 8");
    spec.gpus = job.gpus();
    spec.iterations = iterations;
    require(spec.iterations > 0 || spec.samples_per_iteration == 0, "job-content",
            "samples_per_iteration is for jobs that have iterations", inside.of(job, "samples_per_iteration"),
            "say how many: iterations: 1000, or drop samples_per_iteration");
  }
}

void JobEntries::read_elastic(JobSpec& spec, const scenario::Job& job, const FieldPlaces& inside) {
  const scenario::Elastic& elastic = job.elastic();
  const SourcePlace place = inside.of(job, "elastic");
  const FieldPlaces inside_elastic = inside.inside(job, "elastic");
  const bool runs_workload = job.has_workload() && job.mode() != scenario::JOB;
  require(runs_workload ? elastic.workload_size() > 0 && elastic.min_gpus() == 0
                        : elastic.workload_size() == 0 && elastic.min_gpus() > 0,
          "elastic-content",
          runs_workload ? "a job with a workload restarts with smaller workloads"
                        : "a job that holds its GPUs for a time restarts on min_gpus or more",
          place,
          runs_workload ? "elastic { workload { file: \"...\" } }, or mode: JOB with elastic { min_gpus: 4 }"
                        : "elastic { min_gpus: 4 }");
  spec.min_gpus = elastic.min_gpus();
  for (int i = 0; i < elastic.workload_size(); ++i) {
    const SourcePlace workload_place = inside_elastic.of(elastic, "workload", i);
    spec.smaller_workloads.push_back(load_workload_entry(loading_, elastic.workload(i), workload_place,
                                                         inside_elastic.inside(elastic, "workload", i), std::nullopt));
  }
}

void JobEntries::check_names() {
  std::map<std::string_view, std::size_t> own;
  for (std::size_t i = 0; i < own_jobs_.size(); ++i) own.emplace(scenario_.jobs[i].name, i);
  const auto refuse = [&](const std::string& name, const std::string& other) {
    const auto known = own.find(name);
    if (known == own.end()) return;
    loading_.diagnostics.error(
        "duplicate-job", fmt::format("there are two jobs {}", in_quotes(name)), own_jobs_[known->second].name,
        fmt::format("the other is {}; results tell jobs apart by name: give this one a name of its own", other));
    own.erase(known);
  };
  for (std::size_t i = own_jobs_.size(); i < scenario_.jobs.size(); ++i) refuse(scenario_.jobs[i].name, "that of --workload");
  for (const TraceUnderRules& one : loading_.traces) {
    for (const TraceJob& job : one.trace.jobs) refuse(job.name, fmt::format("at line {} of {}", job.line, one.path));
  }
}

bool JobEntries::is_in_job_mode(std::size_t i) const {
  return i < own_jobs_.size() && own_jobs_[i].message->mode() == scenario::JOB;
}

void JobEntries::take_modes() {
  for (std::size_t i = 0; i < own_jobs_.size(); ++i) {
    const OwnJob& own = own_jobs_[i];
    if (own.message->mode() == scenario::MODE_UNSPECIFIED || own.message->mode() == scenario::JOB) continue;
    scenario_.jobs[i].is_in_flow_mode = scenario_.mode == Mode::packet && own.message->mode() == scenario::FLOW;
    loading_.attempt([&] {
      require_mode(scenario_, mode_of(own.message->mode()), scenario_.jobs[i].name, own.inside.of(*own.message, "mode"));
    });
    if (own.message->has_workload()) continue;
    loading_.diagnostics.error("job-mode",
                               fmt::format("job {} has a duration, and uses no network", in_quotes(scenario_.jobs[i].name)),
                               own.inside.of(*own.message, "mode"), "drop mode, or the duration for a workload");
  }
}

void JobEntries::run_in_job_mode(Probing probing) {
  for (std::size_t i = 0; i < own_jobs_.size(); ++i) {
    JobSpec& spec = scenario_.jobs[i];
    if (!is_in_job_mode(i) || spec.workload == nullptr) continue;
    const OwnJob& own = own_jobs_[i];
    loading_.attempt([&] { give_duration(loading_, spec, *own.message, own.inside, probing); });
  }
  loading_.diagnostics.throw_if_errors();
}

}  // namespace weft
