// SPDX-License-Identifier: Apache-2.0
// `weft explain`: what the time of a run went into, and what would make it shorter.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "tools/explain/explanation.hpp"
#include "tools/report/report_page.hpp"
#include "tools/report/run_folder.hpp"
#include "tools/results/output_file.hpp"
#include "tools/simulation/run_again.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/explain_text.hpp"
#include "tools/weft/interrupt_guard.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct ExplainFlags {
  std::string run;
  std::string mode;
  std::string job;
  std::string out;
  std::vector<std::string> settings;
  std::optional<std::uint64_t> iteration;
  std::uint64_t what_ifs = 24;
  std::uint32_t threads = 0;
  bool report = false;
  bool json = false;
  bool quiet = false;
};

RunFlags flags_of(const ExplainFlags& flags) {
  RunFlags run;
  if (is_results_folder(flags.run)) {
    run = flags_of_results(flags.run);
  } else {
    run.scenario_file = flags.run;
  }
  if (!flags.mode.empty()) run.mode = flags.mode;
  run.settings.insert(run.settings.end(), flags.settings.begin(), flags.settings.end());
  return run;
}

/// Throws InputError [unused-flag] where there is no folder of a run for it, and what
/// check_report_place() does.
void check_report(const ExplainFlags& flags) {
  if (!is_results_folder(flags.run)) {
    fail("unused-flag", "--report adds to the report of a run, and this is no folder of one", SourcePlace::named("--report"),
         "weft run SCENARIO.textproto --out=DIR, then weft explain DIR --report");
  }
  check_report_place(flags.run);
}

/// explanation.json and report.html of the run.
std::string add_to_report(const Explanation& explanation, const std::filesystem::path& run) {
  const std::string fingerprint = results_text(read_results_json(run / "summary.json"), "fingerprint");
  return write_report_data(run, explanation_data_file, printed_json(explanation_json_of_run(explanation, fingerprint)) + "\n")
      .string();
}

int carry_out_explain(const ExplainFlags& flags) {
  if (flags.report) check_report(flags);
  if (!flags.out.empty()) make_folder(flags.out);
  ExplainOptions options;
  options.job = flags.job;
  options.iteration = flags.iteration;
  options.what_ifs_max = flags.what_ifs;
  options.threads = flags.threads;
  options.interrupt = &interrupt_flag();
  ProgressLine line(stderr_is_terminal() && !flags.quiet);
  options.progress = [&line](const std::string& what, double share) {
    line.show(fmt::format("{:3.0f} % of {}", 100 * share, what));
  };
  std::optional<InterruptGuard> guard(std::in_place);
  const Explanation explanation = explain(flags_of(flags), options);
  guard.reset();
  line.clear();
  if (interrupt_flag()) {
    std::fprintf(stderr, "interrupted\n");
    return exit_interrupted;
  }
  if (!flags.quiet) {
    for (const std::string& note : explanation.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (!flags.out.empty()) write_tables(explanation, flags.out);
  std::cout << (flags.json ? printed_json(explanation_json(explanation)) + "\n" : explanation_page(explanation));
  if (!flags.json && !flags.out.empty()) std::cout << fmt::format("\ntables in {}/\n", flags.out);
  if (flags.report) {
    const std::string report = add_to_report(explanation, flags.run);
    if (!flags.json) std::cout << fmt::format("{}report in {}\n", flags.out.empty() ? "\n" : "", report);
  }
  return exit_done;
}

}  // namespace

void add_explain_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("explain", "Say what the time of a run went into, and what would make it shorter");
  auto flags = std::make_shared<ExplainFlags>();
  command->add_option("run", flags->run, "Folder that `weft run` has filled, or a scenario file; it is run again")
      ->type_name("RUN")
      ->required();
  command->add_option("--job", flags->job, "Only this one; default: all")->type_name("NAME");
  command->add_option("--iteration", flags->iteration, "Whose critical path, from 0; default: each job's last")
      ->type_name("N")
      ->transform(whole_number<std::uint64_t>());
  command->add_option("--what-if", flags->what_ifs, "Runs of one thing ideal each, at most; 0: none, and no links are tried")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint64_t>());
  CLI::Option* mode = command->add_option("--mode", flags->mode, "Fidelity: flow or packet; default: the run's")
                          ->type_name("MODE")
                          ->check(one_of({"job", "flow", "packet"}));
  CLI::Option* set = command->add_option("--set", flags->settings, "Module parameter, repeatable, over those of the run")
                         ->type_name("module.param=value")
                         ->allow_extra_args(false);
  command
      ->add_option("--threads", flags->threads,
                   "Threads, over which runs are shared out; 0: all cores. Results do not depend on them")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--out", flags->out, "Also writes critical_path.csv, link_gains.csv, blame.csv and what_if.csv there")
      ->type_name("DIR");
  command
      ->add_flag("--report", flags->report,
                 "Also put it into RUN's report.html, by way of explanation.json there; RUN is a folder then")
      ->excludes(mode)
      ->excludes(set);
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_flag("--quiet", flags->quiet, "No progress line, no notes");
  command->footer(
      "Examples:\n"
      "  weft explain weft-out\n"
      "  weft explain scenario.textproto --job=llama --iteration=3\n"
      "  weft explain weft-out --what-if=0 --out=why\n"
      "  weft explain weft-out --report\n"
      "Of each job: the critical path of an iteration; the links and tiers to raise first, by derivatives and by runs that check\n"
      "them. Of all flows: whom they waited for, where. Then what if one thing were ideal. Packet\n"
      "mode, too, but for derivatives.");
  command->callback([flags, &action] { action = [flags] { return carry_out_explain(*flags); }; });
}

}  // namespace weft
