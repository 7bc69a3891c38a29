// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/requested_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <utility>

#include "core/text/placeholder.hpp"
#include "core/values/units.hpp"
#include "tools/calibrate/aligned_jobs.hpp"
#include "tools/calibrate/profile_use.hpp"
#include "tools/report/report_page.hpp"
#include "tools/results/folder_sink.hpp"
#include "tools/results/tee_sink.hpp"
#include "tools/simulation/flow_comparison.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/snapshot_file.hpp"

namespace weft {

namespace {

Log logger(const std::string& level) {
  if (level == "debug") return Log::to_standard_error(LogLevel::debug);
  if (level == "info") return Log::to_standard_error(LogLevel::info);
  if (level == "warning") return Log::to_standard_error(LogLevel::warning);
  return {};
}

std::optional<Duration> sample_interval(const RequestedRun& options, const Scenario& scenario) {
  if (options.sample.empty()) return std::nullopt;
  const SourcePlace place = SourcePlace::named("--sample");
  const ParsedQuantity<Duration> interval = parse_duration(options.sample);
  if (!interval.value || *interval.value <= Duration::zero()) {
    fail("bad-value", fmt::format("--sample: {}", interval.value ? "an interval takes more than no time" : interval.error.message),
         place, "write an interval such as 10us");
  }
  if (scenario.mode != Mode::packet) {
    fail("unused-flag", "--sample looks at queues and pauses, which only packet mode has", place,
         "add --mode=packet, or drop --sample");
  }
  return interval.value;
}

std::optional<Time> time_of(const std::string& flag, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const ParsedQuantity<Duration> parsed = parse_duration(text);
  if (!parsed.value || *parsed.value < Duration::zero()) {
    fail("bad-value", fmt::format("{}: {}", flag, parsed.value ? "a run begins at 0s" : parsed.error.message),
         SourcePlace::named(flag), "write a time since the start of the run, such as 90min or 10d");
  }
  return Time::zero() + *parsed.value;
}

std::uint64_t trace_size(const RequestedRun& options) {
  const ParsedQuantity<Bytes> size = parse_bytes(options.trace_size);
  if (!size.value || *size.value <= Bytes::zero()) {
    fail("bad-value", fmt::format("--trace-size: {}", size.value ? "a trace takes room" : size.error.message),
         SourcePlace::named("--trace-size"), "write a size such as 200MB");
  }
  return static_cast<std::uint64_t>(size.value->count());
}

FolderContents contents_of(const Scenario& scenario, const RequestedRun& options) {
  FolderContents contents = folder_contents(scenario);
  contents.flows = options.flows_csv == "whole" ? FlowListing::whole
                   : options.flows_csv == "gz"  ? FlowListing::packed
                   : options.flows_csv == "off" ? FlowListing::none
                                                : FlowListing::automatic;
  contents.trace = options.trace;
  contents.trace_limits = {.bytes_max = trace_size(options), .ranks_max = options.trace_ranks};
  contents.link_samples = !options.sample.empty();
  contents.tier_samples = options.report && scenario.mode != Mode::job;
  contents.snapshot = !options.snapshot.empty();
  contents.aligned_jobs = options.align;
  return contents;
}

/// What the same comes to in flow mode.
void add_flow_mode(const Scenario& scenario, const RunOptions& options, RunSummary& packets) {
  // Beside a short run so many are not much; beside a long one as many as its own.
  constexpr std::uint64_t events_at_least = 200'000;
  FlowComparison comparison = compare_with_flow_mode(scenario, options, std::max(events_at_least, packets.events));
  packets.flow_mode = comparison.figures;
  packets.no_flow_mode_because = std::move(comparison.left_out_because);
}

/// `out` with the time of the start, on the clock of the machine, for {time}.
std::string with_time(std::string out) {
  return with_placeholder(std::move(out), "{time}", fmt::format("{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr))));
}

/// Throws InputError [missing-flag] where there is no folder for what only a folder holds.
void check_has_folder(const RequestedRun& wanted) {
  if (!wanted.out.empty()) return;
  const auto needs = [](bool is_wanted, const char* flag, const char* what) {
    if (is_wanted)
      fail("missing-flag", fmt::format("{} writes {}, and there is no folder for it", flag, what), SourcePlace::named(flag),
           "name the folder with out");
  };
  needs(wanted.trace, "--trace", "trace.json");
  needs(wanted.align, "--align", "aligned_jobs.csv");
  needs(wanted.report, "--report", "report.html");
}

/// Hands every row to all of several sinks.
class Sinks {
 public:
  void add(ResultSink& sink) {
    if (whole_ == nullptr) {
      whole_ = &sink;
      return;
    }
    whole_ = tees_.emplace_back(std::make_unique<TeeSink>(*whole_, sink)).get();
  }
  ResultSink& whole() { return whole_ == nullptr ? none_ : *whole_; }

 private:
  ResultSink none_;
  ResultSink* whole_ = nullptr;
  std::vector<std::unique_ptr<TeeSink>> tees_;
};

}  // namespace

RequestedOutcome carry_out(RequestedRun wanted, ResultSink* rows, const RunWatch& watch) {
  check_has_folder(wanted);
  wanted.out = with_time(std::move(wanted.out));
  if (wanted.report) check_report_place(wanted.out, summary_file, "--out");
  const auto started = std::chrono::steady_clock::now();
  if (wanted.fast_forward) wanted.flags.settings.push_back(fmt::format("scheduler.fast_forward={}", *wanted.fast_forward));
  const std::optional<Time> until = time_of("--until", wanted.until);
  const std::optional<Time> snapshot_at = time_of("--snapshot", wanted.snapshot);
  if (snapshot_at) check_snapshot_flags(wanted.flags);
  std::optional<CalibrationProfile> profile;
  if (!wanted.profile.empty()) profile = take_profile(wanted.profile, wanted.flags.settings);
  Scenario scenario = load_scenario(wanted.flags);
  if (profile) note_profile(*profile, wanted.profile, wanted.take_transferred, scenario);
  if (watch.on_note) {
    for (const std::string& assumption : scenario.assumptions) watch.on_note(assumption);
  }
  const double load_wall_time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  RunOptions simulation;
  simulation.threads = wanted.threads;
  simulation.zeta = wanted.zeta;
  simulation.sample_links = sample_interval(wanted, scenario);
  simulation.samples_tiers = wanted.report;
  simulation.interrupt = watch.interrupt;
  simulation.until = until;
  simulation.snapshot_at = snapshot_at;
  simulation.log = logger(wanted.log);
  simulation.progress = watch.progress;
  simulation.on_note = watch.on_note;

  RequestedOutcome outcome;
  outcome.out = wanted.out;
  outcome.manifest = manifest_of(scenario, simulation);
  outcome.assumptions = scenario.assumptions;
  std::optional<FolderSink> folder;
  std::optional<AlignedJobs> aligned;
  Sinks sinks;
  if (!wanted.out.empty()) sinks.add(folder.emplace(wanted.out, outcome.manifest, contents_of(scenario, wanted)));
  if (wanted.align) sinks.add(aligned.emplace(alignment_of(*profile, wanted.profile), scenario, *folder));
  if (rows != nullptr) sinks.add(*rows);
  simulation.on_snapshot = [&](const ClusterSnapshot& snapshot) {
    outcome.snapshot = to_snapshot_text(wanted.flags, scenario, snapshot);
    if (folder) folder->write_snapshot(outcome.snapshot);
  };
  if (watch.on_read) watch.on_read();
  RunSummary& summary = outcome.summary;
  summary = run(scenario, sinks.whole(), simulation).summary;
  if (aligned) summary.aligned_mean_iteration_s = aligned->mean_iteration_s();
  summary.load_wall_time_s = load_wall_time_s;
  const bool is_whole = !summary.interrupted && !summary.stopped_at && summary.standstill.empty();
  if (scenario.mode == Mode::packet && !wanted.no_flow_comparison && !until && !snapshot_at && is_whole)
    add_flow_mode(scenario, simulation, summary);
  if (folder) {
    for (std::string& note : folder->complete()) summary.notes.push_back(std::move(note));
    folder->finish(summary);
    if (wanted.report) write_report(wanted.out);
  }
  return outcome;
}

}  // namespace weft
