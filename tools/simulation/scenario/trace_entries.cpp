// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/trace_entries.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/source_text.hpp"
#include "tools/simulation/scenario/entry_fields.hpp"
#include "tools/simulation/scenario/job_rules.hpp"
#include "tools/simulation/scenario/named_files.hpp"
#include "tools/simulation/scenario/storage_entries.hpp"
#include "tools/simulation/scenario/trace_jobs.hpp"
#include "tools/simulation/scenario/workload_entries.hpp"
#include "workloads/measurements/gavel_throughputs.hpp"
#include "workloads/measurements/pollux_placements.hpp"

namespace weft {

namespace {

JobTraceOptions trace_options_of(const Loading& loading, const scenario::JobTrace& trace) {
  JobTraceOptions options;
  options.names = OptionNames::of_fields();
  options.strict = trace.strict() || loading.flags.jobs_options.strict;
  options.time_zone = trace.time_zone();
  if (!trace.throughputs().empty()) options.throughputs_path = loading.beside_scenario(trace.throughputs());
  options.gpu_type = trace.gpu_type();
  options.limit_share = trace.limit_share();
  options.is_state = loading.flags.jobs_options.is_state && (trace.format() == "squeue" || trace.format() == "sacct");
  return options;
}

Duration iteration_time_of(const scenario::JobRule& said, const FieldPlaces& places) {
  const SourcePlace place = places.of(said, "iteration_time");
  require(said.has_workload(), "rule-content", "measured iterations bring their time along", place, "drop iteration_time");
  require(!said.has_iterations() || said.mode() == scenario::JOB, "rule-content",
          "iteration_time is for rules that do not say how many iterations run", place, "drop iteration_time or iterations");
  return parse_iteration_time(said.iteration_time(), place, "no number of iterations of 0s fits a run time",
                              "give a time above 0, or say how many iterations run");
}

std::unique_ptr<MeasuredIterations> measured_by_type(Loading& loading, const scenario::MeasuredIteration& said,
                                                     const std::string& file, const FieldPlaces& places, const SourcePlace& place) {
  require(!said.has_local_batch_size(), "unused-field", "a table of throughputs has no batch sizes of its own",
          places.of(said, "local_batch_size"), "drop it: the job type says the batch size");
  GavelThroughputs table = read_named_file(loading, said, places, [&] { return GavelThroughputs::read(SourceText::read(file)); });
  loading.scenario.manifest.add_input("measured iterations", file, said.format());
  return measured_by_job_type(std::move(table), said.gpu_type(), said.gpu_type().empty() ? place : places.of(said, "gpu_type"));
}

std::unique_ptr<MeasuredIterations> measured_by_batch_size(Loading& loading, const scenario::MeasuredIteration& said,
                                                           const std::string& file, const FieldPlaces& places,
                                                           const SourcePlace& place) {
  require(said.gpu_type().empty(), "unused-field", "a table of placements has no GPU types", places.of(said, "gpu_type"),
          "drop it");
  const PolluxPlacements table =
      read_named_file(loading, said, places, [&] { return PolluxPlacements::read(SourceText::read(file)); });
  loading.scenario.manifest.add_input("measured iterations", file, said.format());
  const std::vector<std::uint32_t> sizes = table.batch_sizes();
  const bool is_only = !said.has_local_batch_size() && sizes.size() == 1;
  const std::uint32_t size = is_only ? sizes.front() : said.local_batch_size();
  if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
    std::string known;
    for (const std::uint32_t s : sizes) known += (known.empty() ? "" : ", ") + fmt::to_string(s);
    fail("unknown-batch-size",
         said.has_local_batch_size() ? fmt::format("{} has no local batch size {}", file, size)
                                     : fmt::format("{} has several batch sizes, and none is named", file),
         said.has_local_batch_size() ? places.of(said, "local_batch_size") : place,
         fmt::format("local_batch_size is one of {}", known));
  }
  return measured_for_all(table.of_batch_size(size), file);
}

std::unique_ptr<MeasuredIterations> measured_of(Loading& loading, const scenario::MeasuredIteration& said,
                                                const FieldPlaces& places, const SourcePlace& place) {
  require(!said.file().empty(), "missing-field", "measured iterations need a file", place, "file: \"placements.csv\"");
  const std::string file = loading.beside_scenario(said.file());
  const std::array<std::string, 2> formats = {"pollux", "gavel-throughputs"};
  require(said.format() == formats[0] || said.format() == formats[1], "unknown-format",
          fmt::format("there is no format of iteration times \"{}\"", said.format()),
          said.format().empty() ? place : places.of(said, "format"), suggestion(said.format(), formats, "format"));
  return said.format() == formats[1] ? measured_by_type(loading, said, file, places, place)
                                     : measured_by_batch_size(loading, said, file, places, place);
}

/// The workload of a rule. `has_range`: whether the rule's number of GPUs could be read.
void take_workload(Loading& loading, const scenario::JobRule& said, bool has_range, const FieldPlaces& places, JobRule& rule) {
  const scenario::Workload& workload = said.workload();
  const SourcePlace place = places.of(said, "workload");
  const FieldPlaces inside = places.inside(said, "workload");
  check_workload_fields(loading, workload, place, inside);
  if (!workload.template_().empty()) {
    const std::uint32_t ranks = template_ranks(loading, workload, inside);
    require(!has_range || (rule.gpus_min <= ranks && ranks <= rule.gpus_max), "rank-count-mismatch",
            fmt::format("template {} makes {}, and the rule matches no job with as many GPUs", workload.template_(),
                        counted(ranks, "rank", "ranks")),
            place, fmt::format("say gpus: \"{}\", or make a workload of as many ranks as the jobs have GPUs", ranks));
  } else {
    require_workload_files(loading, workload, inside);
  }
  rule.workload_name = !workload.file().empty()   ? workload.file()
                       : workload.model().empty() ? workload.template_()
                                                  : fmt::format("{}, {}", workload.model(), workload.plan());
  rule.workload = [&loading, &workload, place, inside](std::uint32_t gpus) {
    return load_workload_entry(loading, workload, place, inside, gpus);
  };
}

JobRule rule_of(Loading& loading, const scenario::JobRule& said, const SourcePlace& place, const FieldPlaces& places) {
  JobRule rule;
  rule.place = place;
  const bool has_range = loading.attempt([&] { read_gpu_range(said.gpus(), places.of(said, "gpus"), rule); });
  rule.name = said.name();
  rule.group = said.group();
  rule.model = said.model();
  loading.attempt([&] { rule.iterations = iterations_of(said, places).value_or(0); });
  loading.attempt([&] { rule.samples_per_iteration = samples_of(said, places); });
  StorageEntry stored = read_storage_entry(said, places);
  rule.data = stored.data;
  rule.data_hosts = std::move(stored.data_hosts);
  rule.checkpoint = stored.checkpoint;
  const bool runs_nothing = !said.has_workload() && !said.has_measured_iteration();
  const bool only_stores = runs_nothing && (said.has_data() || !said.checkpoint_size().empty()) && !said.has_iterations() &&
                           !said.has_samples_per_iteration() && said.mode() == scenario::MODE_UNSPECIFIED;
  require(said.has_workload() != said.has_measured_iteration() || only_stores, "rule-content",
          "a rule gives either a workload or measured iterations", place,
          "workload { file: \"...\" }, or measured_iteration { file: \"...\" format: \"pollux\" }");
  if (said.mode() != scenario::MODE_UNSPECIFIED) rule.mode = mode_of(said.mode());
  rule.mode_place = places.of(said, "mode");
  if (!said.iteration_time().empty()) loading.attempt([&] { rule.iteration_time = iteration_time_of(said, places); });
  if (said.has_workload()) {
    take_workload(loading, said, has_range, places, rule);
  } else if (!runs_nothing) {
    rule.measured = measured_of(loading, said.measured_iteration(), places.inside(said, "measured_iteration"),
                                places.of(said, "measured_iteration"));
  }
  return rule;
}

/// The trace's jobs come in closed loop.
void hold_queue(std::uint32_t length, const SourcePlace& place, TraceUnderRules& one) {
  require(length > 0, "out-of-range", "nobody waits in a queue of 0 jobs", place,
          "say how many jobs wait at a time, or drop queue: jobs are submitted at the trace's times");
  require(length < one.trace.jobs.size(), "out-of-range",
          fmt::format("{} has {}, no more than wait at a time", one.path, counted(one.trace.jobs.size(), "job", "jobs")), place,
          "a queue is held as long as there are jobs to submit: at least three times as many as wait make a steady state");
  one.queue = length;
  one.trace.origin.reset();
  one.trace.origin_of_time = "the start of the run";
  for (TraceJob& job : one.trace.jobs) job.submit = Duration::zero();
}

}  // namespace

void read_trace_entry(Loading& loading, const scenario::JobTrace& trace, const SourcePlace& place, const FieldPlaces& inside) {
  TraceUnderRules one;
  for (int r = 0; r < trace.rule_size(); ++r) {
    loading.attempt([&] {
      one.rules.push_back(rule_of(loading, trace.rule(r), inside.of(trace, "rule", r), inside.inside(trace, "rule", r)));
    });
  }
  require(!trace.file().empty(), "missing-field", "a job trace needs a file", place, "file: \"jobs.csv\"");
  require(!trace.format().empty(), "missing-field", "a job trace needs a format", inside.of(trace, "file"),
          "format: \"weft\"; `weft modules job-format` lists them");
  one.path = loading.beside_scenario(trace.file());
  one.skips_larger_jobs = trace.skip_larger_jobs() || loading.flags.skip_larger_jobs;
  one.trace = read_named_file(loading, trace, inside, [&] {
    return read_trace(loading.scenario, one.path, trace.format(), trace_options_of(loading, trace), trace.rule_size() > 0,
                      inside.of(trace, "file"));
  });
  if (trace.has_queue()) loading.attempt([&] { hold_queue(trace.queue(), inside.of(trace, "queue"), one); });
  loading.traces.push_back(std::move(one));
}

}  // namespace weft
