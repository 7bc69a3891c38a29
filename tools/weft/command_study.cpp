// SPDX-License-Identifier: Apache-2.0
// `weft study`: one question, asked of many runs.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/printed_json.hpp"
#include "core/values/units.hpp"
#include "tools/report/report_page.hpp"
#include "tools/study/captured_command.hpp"
#include "tools/study/slurm_backend.hpp"
#include "tools/study/study_runner.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/interrupt_guard.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/study_text.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct StudyFlags {
  std::string file;
  std::string out;
  std::string points;
  std::uint32_t threads = 0;
  std::string backend;  ///< "slurm", or "" for this machine
  std::uint32_t slurm_tasks = 0;
  std::string slurm_arguments;
  std::string time_limit;
  bool resume = false;
  bool report = false;
  bool json = false;
  bool quiet = false;
};

/// "2/5": the second of five shares.
void take_share(const std::string& text, StudyOptions& options) {
  if (text.empty()) return;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::optional<std::uint32_t> share = plain_number<std::uint32_t>(text.substr(0, slash));
  const std::optional<std::uint32_t> shares = plain_number<std::uint32_t>(slash < text.size() ? text.substr(slash + 1) : "");
  if (!share || !shares || *share < 1 || *share > *shares) {
    fail("bad-value", fmt::format("--points is {}, and a share such as 2/5", in_quotes(text)), SourcePlace::named("--points"),
         "2/5 is every fifth run, from the second on");
  }
  options.share = *share;
  options.shares = *shares;
}

/// Starts this program with other words, without what it prints but for errors. Says how it ended;
/// a run that failed leaves its error itself.
std::string run_self(std::vector<std::string> words) {
  words.insert(words.begin(), "/proc/self/exe");
  const CapturedCommand run = run_captured(words, "measure_machine");
  if (!run.errors.empty()) std::fprintf(stderr, "%s\n", run.errors.c_str());
  if (run.signal == 0) return fmt::format("the run's process ended with status {} and left no result", run.status);
  return fmt::format("the run's process was killed by signal {}{}", run.signal,
                     run.signal == SIGKILL ? ", as by a lack of memory" : "");
}

/// On the nodes of a cluster; tells in lines of its own where stderr is no terminal.
StudyResult carry_out_on_slurm(const Study& study, const StudyFlags& flags, const StudyOptions& here, ProgressLine& line) {
  SlurmOptions options;
  options.out = here.out;
  options.earlier = here.earlier;
  options.tasks = flags.slurm_tasks;
  options.threads = std::max(flags.threads, 1U);
  options.arguments = flags.slurm_arguments;
  options.interrupt = &interrupt_flag();
  std::string array;
  options.progress = [&](const SlurmProgress& progress) {
    line.show(slurm_progress_text(progress));
    if (flags.quiet || stderr_is_terminal() || array == progress.array) return;
    array = progress.array;
    std::fprintf(stderr, "%s\n", slurm_progress_text(progress).c_str());
  };
  return run_study_on_slurm(study, options);
}

int carry_out_study(const StudyFlags& flags) {
  const Study study = read_study(flags.file);
  StudyOptions options;
  options.out = flags.out.empty() ? study.name : flags.out;
  options.threads = flags.threads;
  options.interrupt = &interrupt_flag();
  take_share(flags.points, options);
  if (flags.report) check_report_place(options.out, "study.json", "--out");
  if (!flags.time_limit.empty()) {
    const ParsedQuantity<Duration> limit = parse_duration(flags.time_limit);
    if (!limit.value || *limit.value <= Duration::zero()) {
      fail("bad-value", fmt::format("--time-limit: {}", limit.value ? "runs take time" : limit.error.message),
           SourcePlace::named("--time-limit"), "write a time such as 30min");
    }
    options.time_limit = std::chrono::duration<double>(limit.value->in_s());
  }
  // Shares meet in a folder, whoever comes first.
  options.earlier = flags.resume || !flags.points.empty() ? StudyFolder::Earlier::kept : StudyFolder::Earlier::refused;
  options.run_alone = [&](std::size_t run, std::size_t runs) {
    return run_self({"study", flags.file, "--out=" + options.out, fmt::format("--points={}/{}", run + 1, runs),
                     fmt::format("--threads={}", flags.threads), "--quiet"});
  };
  ProgressLine line(stderr_is_terminal() && !flags.quiet);
  options.progress = [&line](const StudyProgress& progress) { line.show(study_progress_text(progress, line.elapsed_s())); };
  std::optional<InterruptGuard> guard(std::in_place);
  const StudyResult result = flags.backend.empty() ? run_study(study, options) : carry_out_on_slurm(study, flags, options, line);
  guard.reset();
  line.clear();
  if (!flags.quiet) {
    for (const std::string& note : study_notes(study, result)) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  std::cout << (flags.json ? printed_json(study_json(study, result)) + "\n" : study_page(study, result));
  if (interrupt_flag()) {
    std::fprintf(stderr, "interrupted: %s had not ended; --resume goes on\n", counted(result.missing(), "run", "runs").c_str());
    return exit_interrupted;
  }
  if (!flags.json) {
    if (result.is_out_of_time) {
      std::cout << fmt::format("\ntime is up: {} had not ended; --resume goes on\n", counted(result.missing(), "run", "runs"));
    }
    if (result.is_out_of_time && result.ended() == 0) {
      std::cout << fmt::format("no run has ended, so that there is no {}/study.csv yet\n", options.out);
    } else if (result.missing() > 0 && !result.is_out_of_time) {
      std::cout << fmt::format("\n{} of other shares are missing; {}/study.csv comes with the last one\n",
                               counted(result.missing(), "run", "runs"), options.out);
    } else {
      std::cout << fmt::format("\nresults in {}/study.csv\n", options.out);
    }
  }
  // Of several shares the one that ends last has all of them.
  const bool has_table = std::filesystem::exists(std::filesystem::path(options.out) / "study.csv");
  if (flags.report && !has_table) std::fputs("note: there is no report yet, as there is no study.csv\n", stderr);
  if (flags.report && has_table) {
    const std::string report = write_report(options.out).string();
    if (!flags.json) std::cout << fmt::format("report in {}\n", report);
  }
  return result.failed() > 0 ? exit_no : exit_done;
}

}  // namespace

void add_study_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("study", "Ask one question of many runs that differ in little");
  auto flags = std::make_shared<StudyFlags>();
  command->add_option("study", flags->file, "What is varied, and what is noted of each run")
      ->type_name("STUDY.textproto")
      ->required();
  command->add_option("--out", flags->out, "Folder for the results; default: the study's name")->type_name("DIR");
  command->add_flag("--resume", flags->resume, "Go on with what is in the folder: runs that have ended are not repeated");
  command
      ->add_option("--points", flags->points,
                   "Only every N-th run, from the I-th on; several such calls, on any machines that share the folder, make up the "
                   "study. Runs that have ended are not repeated")
      ->type_name("I/N");
  command
      ->add_option("--time-limit", flags->time_limit,
                   "No run begins later than this, and study.csv has those that have ended; --resume goes on")
      ->type_name("TIME");
  command
      ->add_option("--threads", flags->threads,
                   "Threads, over which runs are shared out; 0: all cores. Results do not depend on them")
      ->type_name("N")
      ->capture_default_str();
  CLI::Option* backend =
      command
          ->add_option("--backend", flags->backend,
                       "slurm: the runs are submitted as a job array, whose tasks share the folder --out and get --threads cores "
                       "each, by default 1; tasks that died are submitted again. Default: the runs go on this machine")
          ->type_name("slurm")
          ->check(CLI::IsMember({"slurm"}));
  backend->excludes("--points")->excludes("--time-limit");
  command
      ->add_option("--slurm-tasks", flags->slurm_tasks, "With --backend=slurm: tasks of the array; default: a run each, at most 16")
      ->type_name("N")
      ->transform(whole_number<std::uint32_t>(1, 1000000))
      ->needs(backend);
  command
      ->add_option("--slurm-args", flags->slurm_arguments,
                   "With --backend=slurm: more arguments of sbatch, such as \"--partition=short --time=1:00:00\"")
      ->type_name("ARGS")
      ->needs(backend);
  command->add_flag("--report", flags->report, "Also write report.html, a page of charts, once study.csv is there");
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_flag("--quiet", flags->quiet, "No progress line, no notes");
  command->footer(
      "Examples:\n"
      "  weft study buffers.textproto\n"
      "  weft study buffers.textproto --out=runs/buffers --resume\n"
      "  weft study buffers.textproto --out=/shared/buffers --points=1/4\n"
      "  weft study buffers.textproto --time-limit=30min\n"
      "  weft study buffers.textproto --out=/shared/buffers --backend=slurm --slurm-tasks=40 --slurm-args=\"--partition=short\"\n"
      "Results: study.csv in --out, a row for each run, once all have ended; points/ has a file for each run as soon as it has\n"
      "ended. A run that fails is a row with its error, and the exit status is 1 then.");
  command->callback([flags, &action] { action = [flags] { return carry_out_study(*flags); }; });
}

}  // namespace weft
