// SPDX-License-Identifier: Apache-2.0
// `weft run`: simulates a scenario, or what the flags describe.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "core/text/counted.hpp"
#include "tools/results/results_folder.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/interrupt_guard.hpp"
#include "tools/weft/job_trace_flags.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/requested_run.hpp"
#include "tools/weft/validators.hpp"
#include "tools/weft/workload_flags.hpp"
#include "workloads/formats/format_options.hpp"

namespace weft {

namespace {

struct CommandOptions {
  RequestedRun run;
  std::uint64_t seed = 1;
  bool json = false;
  bool quiet = false;
};

int simulate(CommandOptions options, bool seed_given) {
  if (seed_given) options.run.flags.seed = options.seed;
  std::optional<ProgressLine> progress;
  std::optional<InterruptGuard> guard;
  RunWatch watch;
  watch.interrupt = &interrupt_flag();
  watch.progress = [&progress](const RunState& state) { progress->update(state); };
  if (!options.quiet) {
    watch.on_note = [&progress](const std::string& note) {
      if (progress) progress->clear();
      std::fprintf(stderr, "note: %s\n", note.c_str());
    };
  }
  watch.on_read = [&] {
    progress.emplace(stderr_is_terminal() && !options.quiet);
    guard.emplace();
  };
  const RequestedOutcome outcome = carry_out(options.run, nullptr, watch);
  guard.reset();
  progress.reset();
  const RunSummary& summary = outcome.summary;
  if (!options.quiet) {
    for (const std::string& note : summary.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  }

  if (options.json) {
    std::cout << summary.to_json();
  } else {
    std::cout << summary.to_text() << "results in " << outcome.out << "/\n";
    if (options.run.report) std::cout << "report in " << outcome.out << "/" << report_file << "\n";
  }
  if (!options.run.snapshot.empty() && outcome.snapshot.empty()) {
    std::fprintf(stderr, "note: no snapshot was written, as the run was over before --snapshot=%s\n", options.run.snapshot.c_str());
  }
  if (summary.interrupted) {
    std::fprintf(stderr, "interrupted: %llu of %s and %s had finished; %s/ holds what was finished and is readable\n",
                 static_cast<unsigned long long>(summary.jobs_finished), counted(summary.jobs_total, "job", "jobs").c_str(),
                 counted(summary.flows_finished, "flow", "flows").c_str(), outcome.out.c_str());
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
      "flows.csv, links.csv in --out; trace.json with --trace, link_samples.csv with --sample, report.html and\n"
      "tier_samples.csv with --report, pause_storms.csv with packet.watchdog above 0, congestion.csv and congested_jobs.csv with\n"
      "flow.detect_congestion=on, snapshot.textproto with --snapshot. They get their names together when the run is complete.\n"
      "What an earlier run left in --out goes, as its manifest lists it; other files are never replaced.");
  options->run.out = "weft-out";
  RunFlags& flags = options->run.flags;
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
          "--fast-forward", options->run.fast_forward,
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
  command->add_option("--threads", options->run.threads, "Worker threads; results do not depend on them")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint32_t>(1, 1024));
  command
      ->add_option("--zeta", options->run.zeta,
                   "Entities closer than this share a logical process: auto, table (by mean job size) or a duration such as 500ns; "
                   "results do not depend on it")
      ->type_name("ZETA")
      ->capture_default_str();
  command
      ->add_option("--out", options->run.out,
                   "Folder for the results; {time} in its name becomes the time of the start, as in runs/{time}: "
                   "runs/20260131-093000")
      ->type_name("DIR")
      ->capture_default_str();
  command
      ->add_option("--flows-csv", options->run.flows_csv,
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
          ->add_option("--profile", options->run.profile,
                       "Parameters that `weft calibrate` has fitted; before those of scenario and preset, after --set")
          ->type_name("PROFILE.textproto");
  command
      ->add_flag("--take-transferred", options->run.take_transferred, "Also from a profile of other machines than the scenario's")
      ->needs(profile);
  command
      ->add_flag("--align", options->run.align,
                 "Also correct iteration times as the profile's alignment says: aligned_jobs.csv and the summary, beside what "
                 "was simulated")
      ->needs(profile);
  command->add_option("--log", options->run.log, "What the kernel says about itself on stderr: off, warning, info or debug")
      ->type_name("LEVEL")
      ->capture_default_str()
      ->check(one_of({"off", "warning", "info", "debug"}));
  CLI::Option* trace =
      command->add_flag("--trace", options->run.trace,
                        "Also write trace.json (ui.perfetto.dev, chrome://tracing): attempts of jobs, tracks of each rank with "
                        "arrows from sends to receives, transfers of a flow list; in packet mode also every pause of a link");
  command->add_option("--trace-size", options->run.trace_size, "How large trace.json may become; what comes later is left out")
      ->type_name("SIZE")
      ->capture_default_str()
      ->needs(trace);
  command->add_option("--trace-ranks", options->run.trace_ranks, "Of each job trace.json draws so many ranks, evenly spread")
      ->type_name("N")
      ->check(whole_number<std::uint32_t>(1))
      ->capture_default_str()
      ->needs(trace);
  command
      ->add_option(
          "--sample", options->run.sample,
          "Packet mode: also write link_samples.csv, with rate, queue and pauses of every busy link for each such interval, "
          "and rates and queues as counters into trace.json")
      ->type_name("DURATION");
  command->add_flag(
      "--report", options->run.report,
      "Also write report.html, a page of charts, and tier_samples.csv, how busy the links of each tier are over time, "
      "for it");
  command->add_option("--until", options->run.until, "Stop at this time of the run; results hold what was finished by then")
      ->type_name("TIME");
  command
      ->add_option("--snapshot", options->run.snapshot,
                   "Also write snapshot.textproto, how far all jobs have come at this time of the run, for `weft predict`")
      ->type_name("TIME");
  command->add_flag("--no-flow-comparison", options->run.no_flow_comparison,
                    "Packet mode: do not run the same in flow mode to compare with; it is left out where it takes more events, and "
                    "takes far less as a rule");
  command->add_flag("--json", options->json, "Print summary.json on stdout");
  command->add_flag("--quiet", options->quiet, "No progress, no notes");
  add_input_flags(*command);
  command->callback([options, seed, &action] { action = [options, seed] { return simulate(*options, seed->count() > 0); }; });
}

}  // namespace weft
