// SPDX-License-Identifier: Apache-2.0
// `weft run`: simulates a scenario, or what the flags describe.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>

#include "core/text/counted.hpp"
#include "core/text/placeholder.hpp"
#include "tools/calibrate/aligned_jobs.hpp"
#include "tools/calibrate/profile_use.hpp"
#include "tools/results/folder_sink.hpp"
#include "tools/results/tee_sink.hpp"
#include "tools/simulation/flow_comparison.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/snapshot_file.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/job_trace_flags.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/validators.hpp"
#include "tools/weft/workload_flags.hpp"
#include "workloads/formats/format_options.hpp"

namespace weft {

namespace {

/// Set by the first Ctrl-C; the second one ends the process at once.
std::atomic<bool> interrupted{false};

extern "C" void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

struct CommandOptions {
  RunFlags flags;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> fast_forward;
  std::uint32_t threads = 1;
  std::string zeta = "auto";
  std::string out = "weft-out";
  std::string flows_csv = "auto";
  std::string log = "off";
  bool trace = false;
  std::string trace_size = "100MB";
  std::uint32_t trace_ranks = TraceLimits{}.ranks_max;
  std::string sample;
  std::string until;
  std::string snapshot;
  std::string profile;
  bool align = false;
  bool take_transferred = false;
  bool no_flow_comparison = false;
  bool json = false;
  bool quiet = false;
};

Log logger(const std::string& level) {
  if (level == "debug") return Log::to_standard_error(LogLevel::debug);
  if (level == "info") return Log::to_standard_error(LogLevel::info);
  if (level == "warning") return Log::to_standard_error(LogLevel::warning);
  return {};
}

std::optional<Duration> sample_interval(const CommandOptions& options, const Scenario& scenario) {
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

std::uint64_t trace_size(const CommandOptions& options) {
  const ParsedQuantity<Bytes> size = parse_bytes(options.trace_size);
  if (!size.value || *size.value <= Bytes::zero()) {
    fail("bad-value", fmt::format("--trace-size: {}", size.value ? "a trace takes room" : size.error.message),
         SourcePlace::named("--trace-size"), "write a size such as 200MB");
  }
  return static_cast<std::uint64_t>(size.value->count());
}

FolderContents contents_of(const Scenario& scenario, const CommandOptions& options) {
  FolderContents contents = folder_contents(scenario);
  contents.flows = options.flows_csv == "whole" ? FlowListing::whole
                   : options.flows_csv == "gz"  ? FlowListing::packed
                   : options.flows_csv == "off" ? FlowListing::none
                                                : FlowListing::automatic;
  contents.trace = options.trace;
  contents.trace_limits = {.bytes_max = trace_size(options), .ranks_max = options.trace_ranks};
  contents.link_samples = !options.sample.empty();
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

int simulate(CommandOptions options, bool seed_given) {
  options.out = with_time(std::move(options.out));
  const auto started = std::chrono::steady_clock::now();
  if (seed_given) options.flags.seed = options.seed;
  if (options.fast_forward) options.flags.settings.push_back(fmt::format("scheduler.fast_forward={}", *options.fast_forward));
  const std::optional<Time> until = time_of("--until", options.until);
  const std::optional<Time> snapshot_at = time_of("--snapshot", options.snapshot);
  if (snapshot_at) check_snapshot_flags(options.flags);
  std::optional<CalibrationProfile> profile;
  if (!options.profile.empty()) profile = take_profile(options.profile, options.flags.settings);
  Scenario scenario = load_scenario(options.flags);
  if (profile) note_profile(*profile, options.profile, options.take_transferred, scenario);
  if (!options.quiet) {
    for (const std::string& assumption : scenario.assumptions) std::fprintf(stderr, "note: %s\n", assumption.c_str());
  }
  ProgressLine progress(stderr_is_terminal() && !options.quiet);
  const double load_wall_time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  RunOptions simulation;
  simulation.threads = options.threads;
  simulation.zeta = options.zeta;
  simulation.sample_links = sample_interval(options, scenario);
  simulation.interrupt = &interrupted;
  simulation.until = until;
  simulation.snapshot_at = snapshot_at;
  simulation.log = logger(options.log);
  simulation.progress = [&progress](const RunState& state) { progress.update(state); };
  if (!options.quiet) {
    simulation.on_note = [&progress](const std::string& note) {
      progress.clear();
      std::fprintf(stderr, "note: %s\n", note.c_str());
    };
  }
  FolderSink folder(options.out, manifest_of(scenario, simulation), contents_of(scenario, options));
  std::optional<AlignedJobs> aligned;
  if (options.align) aligned.emplace(alignment_of(*profile, options.profile), scenario, folder);
  std::optional<TeeSink> both;
  if (aligned) both.emplace(folder, *aligned);
  bool has_snapshot = false;
  simulation.on_snapshot = [&](const ClusterSnapshot& snapshot) {
    has_snapshot = true;
    folder.write_snapshot(to_snapshot_text(options.flags, scenario, snapshot));
  };
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  RunSummary summary = run(scenario, both ? static_cast<ResultSink&>(*both) : folder, simulation).summary;
  if (aligned) summary.aligned_mean_iteration_s = aligned->mean_iteration_s();
  summary.load_wall_time_s = load_wall_time_s;
  const bool is_whole = !summary.interrupted && !summary.stopped_at && summary.standstill.empty();
  if (scenario.mode == Mode::packet && !options.no_flow_comparison && !until && !snapshot_at && is_whole)
    add_flow_mode(scenario, simulation, summary);
  for (std::string& note : folder.complete()) summary.notes.push_back(std::move(note));
  folder.finish(summary);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  progress.clear();
  if (!options.quiet) {
    for (const std::string& note : summary.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  }

  if (options.json) {
    std::cout << summary.to_json();
  } else {
    std::cout << summary.to_text() << "results in " << options.out << "/\n";
  }
  if (snapshot_at && !has_snapshot) {
    std::fprintf(stderr, "note: no snapshot was written, as the run was over before --snapshot=%s\n", options.snapshot.c_str());
  }
  if (summary.interrupted) {
    std::fprintf(stderr, "interrupted: %llu of %s and %s had finished; %s/ holds what was finished and is readable\n",
                 static_cast<unsigned long long>(summary.jobs_finished), counted(summary.jobs_total, "job", "jobs").c_str(),
                 counted(summary.flows_finished, "flow", "flows").c_str(), options.out.c_str());
    return exit_interrupted;
  }
  for (const Diagnostic& why : summary.standstill) std::fputs(why.to_text().c_str(), stderr);
  return summary.standstill.empty() ? exit_done : exit_no;
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<CommandOptions>();
  CLI::App* command = app.add_subcommand("run", "Simulate a scenario, a workload, a flow list or a cluster trace");
  command->footer(
      "Examples:\n"
      "  weft run scenario.textproto\n"
      "  weft run --topology=net.textproto --workload=traces/all_reduce:chakra\n"
      "  weft run --topology=rail.textproto --workload=pytorch_rank0:chakra --ranks=128 --threads=2\n"
      "  weft run --topology=platform.xml:simgrid --workload=trace.json.gz:kineto --ranks=64\n"
      "  weft run --topology=topology.txt:hpcc --flows=flow.txt:hpcc\n"
      "  weft run --jobs=philly.csv.gz:philly --hosts=300 --gpus-per-host=8 --scheduler=fcfs\n"
      "  weft run --jobs=philly.csv.gz:philly --hosts=52 --gpus-per-host=8 --scheduler=srtf --set=scheduler.start_overhead=1min\n"
      "Results: summary.json, manifest.json, jobs.csv, cluster.csv, iterations.csv, communicators.csv, collectives.csv,\n"
      "flows.csv, links.csv in --out; trace.json with --trace, link_samples.csv with --sample, pause_storms.csv with\n"
      "packet.watchdog above 0, congestion.csv and congested_jobs.csv with flow.detect_congestion=on,\n"
      "snapshot.textproto with --snapshot. They get their names together when the run is complete. What an earlier run left\n"
      "in --out goes, as its manifest lists it; other files are never replaced.");
  RunFlags& flags = options->flags;
  command->add_option("scenario", flags.scenario_file, "Scenario in protobuf text format")->type_name("SCENARIO.textproto");
  command->add_option("--topology", flags.topology, "Topology: weft (*.textproto), hpcc, simai, simgrid, astrasim-network or nccl")
      ->type_name("FILE[:format]");
  command
      ->add_option("--workload", flags.workload,
                   fmt::format("Workload: {}; for chakra FILE is PREFIX of PREFIX.0.et ...", format_names(workload_formats())))
      ->type_name("FILE[:format]");
  command->add_option("--flows", flags.flows, "Flow list: hpcc")->type_name("FILE[:format]");
  command->add_option("--jobs", flags.jobs, fmt::format("Job trace: {}", format_names(job_trace_formats())))
      ->type_name("FILE:format");
  command->add_option("--mode", flags.mode, "Fidelity: job, flow or packet; default: job or flow, by the inputs")
      ->type_name("MODE")
      ->check(one_of({"job", "flow", "packet"}));
  add_workload_flags(*command, flags.workload_options);
  add_job_trace_flags(*command, flags.jobs_options);
  add_skip_larger_jobs_flag(*command, flags.skip_larger_jobs);
  command->add_option("--iterations", flags.iterations, "Rounds of --workload; default 1")
      ->type_name("N")
      ->transform(whole_number<std::uint64_t>(1));
  command->add_option("--hosts", flags.hosts, "Job mode without a topology: number of hosts")
      ->type_name("N")
      ->transform(whole_number<std::uint32_t>(1));
  command->add_option("--gpus-per-host", flags.gpus_per_host, "GPUs on each of them; default: the scenario's, or 8")
      ->type_name("N")
      ->transform(whole_number<std::uint32_t>(1));
  command->add_option("--scheduler", flags.scheduler, "Scheduling policy; default fcfs")->type_name("NAME");
  command->add_option("--placement", flags.placement, "Placement; default first_fit")->type_name("NAME");
  command
      ->add_option(
          "--fast-forward", options->fast_forward,
          "Flow and packet mode: simulate N iterations of all jobs whenever one starts, ends or stops, and let them go on at that "
          "pace until the next does; prints what that risks. As --set=scheduler.fast_forward=N; default 0, simulate every "
          "iteration")
      ->type_name("N")
      ->transform(whole_number<std::uint64_t>());
  CLI::Option* seed = command
                          ->add_option("--seed", options->seed,
                                       "Seed of every random choice: hashed paths, marks, failures, durations; some have a seed of "
                                       "their own (flow.ecmp_seed)")
                          ->type_name("N")
                          ->capture_default_str()
                          ->transform(whole_number<std::uint64_t>());
  command->add_option("--threads", options->threads, "Worker threads; results do not depend on them")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint32_t>(1, 1024));
  command
      ->add_option("--zeta", options->zeta,
                   "Entities closer than this share a logical process: auto, table (by mean job size) or a duration such as 500ns; "
                   "results do not depend on it")
      ->type_name("ZETA")
      ->capture_default_str();
  command
      ->add_option("--out", options->out,
                   "Folder for the results; {time} in its name becomes the time of the start, as in runs/{time}: "
                   "runs/20260131-093000")
      ->type_name("DIR")
      ->capture_default_str();
  command
      ->add_option("--flows-csv", options->flows_csv,
                   "How flows.csv lists transfers: whole: a row each; gz: the same, packed; off: no file; auto: a row each, and "
                   "above a million transfers of jobs a row for each op, iteration and size class, with percentiles")
      ->type_name("HOW")
      ->capture_default_str()
      ->check(one_of({"auto", "whole", "gz", "off"}));
  command
      ->add_option(
          "--set", flags.settings,
          "Module parameter, preset=NAME, or of what the scenario makes a template's parameter (llm.dp=4) or a plan's field "
          "(plan.zero_stage=1), repeatable; `weft modules` lists them")
      ->type_name("module.param=value")
      ->allow_extra_args(false);
  CLI::Option* profile =
      command
          ->add_option("--profile", options->profile,
                       "Parameters that `weft calibrate` has fitted; before those of scenario and preset, after --set")
          ->type_name("PROFILE.textproto");
  command->add_flag("--take-transferred", options->take_transferred, "Also from a profile of other machines than the scenario's")
      ->needs(profile);
  command
      ->add_flag("--align", options->align,
                 "Also correct iteration times as the profile's alignment says: aligned_jobs.csv and the summary, beside what "
                 "was simulated")
      ->needs(profile);
  command->add_option("--log", options->log, "What the kernel says about itself on stderr: off, warning, info or debug")
      ->type_name("LEVEL")
      ->capture_default_str()
      ->check(one_of({"off", "warning", "info", "debug"}));
  CLI::Option* trace =
      command->add_flag("--trace", options->trace,
                        "Also write trace.json (ui.perfetto.dev, chrome://tracing): attempts of jobs, tracks of each rank with "
                        "arrows from sends to receives, transfers of a flow list; in packet mode also every pause of a link");
  command->add_option("--trace-size", options->trace_size, "How large trace.json may become; what comes later is left out")
      ->type_name("SIZE")
      ->capture_default_str()
      ->needs(trace);
  command->add_option("--trace-ranks", options->trace_ranks, "Of each job trace.json draws so many ranks, evenly spread")
      ->type_name("N")
      ->check(whole_number<std::uint32_t>(1))
      ->capture_default_str()
      ->needs(trace);
  command
      ->add_option(
          "--sample", options->sample,
          "Packet mode: also write link_samples.csv, with rate, queue and pauses of every busy link for each such interval, "
          "and rates and queues as counters into trace.json")
      ->type_name("DURATION");
  command->add_option("--until", options->until, "Stop at this time of the run; results hold what was finished by then")
      ->type_name("TIME");
  command
      ->add_option("--snapshot", options->snapshot,
                   "Also write snapshot.textproto, how far all jobs have come at this time of the run, for `weft predict`")
      ->type_name("TIME");
  command->add_flag("--no-flow-comparison", options->no_flow_comparison,
                    "Packet mode: do not run the same in flow mode to compare with; it is left out where it takes more events, and "
                    "takes far less as a rule");
  command->add_flag("--json", options->json, "Print summary.json on stdout");
  command->add_flag("--quiet", options->quiet, "No progress, no notes");
  add_input_flags(*command);
  command->callback([options, seed, &action] { action = [options, seed] { return simulate(*options, seed->count() > 0); }; });
}

}  // namespace weft
