// SPDX-License-Identifier: Apache-2.0
// `weft compare`: what differs between two runs or two studies.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/printed_json.hpp"
#include "tools/compare/comparison.hpp"
#include "tools/report/report_page.hpp"
#include "tools/results/output_file.hpp"
#include "tools/simulation/run_again.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/comparison_text.hpp"
#include "tools/weft/interrupt_guard.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct CompareFlags {
  std::string a;
  std::string b;
  std::vector<std::string> settings_a;
  std::vector<std::string> settings_b;
  std::string threshold;
  std::vector<std::string> metrics;
  std::string out;
  std::uint32_t seeds = 1;
  std::uint32_t threads = 0;
  bool report = false;
  bool json = false;
};

/// "5%" or "0.05".
double share_of(const std::string& text) {
  if (text.empty()) return 0;
  constexpr double percent = 0.01;
  const bool is_percent = text.ends_with('%');
  const std::optional<double> number = plain_number<double>(text.substr(0, text.size() - (is_percent ? 1 : 0)));
  if (!number || !(*number >= 0)) {
    fail("bad-value", fmt::format("--threshold is {}, and a share such as 5%", in_quotes(text)), SourcePlace::named("--threshold"),
         "5% and 0.05 are the same");
  }
  return is_percent ? *number * percent : *number;
}

class Sides {
 public:
  explicit Sides(const CompareFlags& flags) : flags_(flags), line_(stderr_is_terminal()) {}

  ComparedSide side(const std::string& name, const std::vector<std::string>& settings, const char* settings_flag) {
    const bool is_folder = is_results_folder(name);
    const bool is_to_run = flags_.seeds > 1 || !settings.empty();
    if (is_folder && is_to_run && std::filesystem::exists(std::filesystem::path(name) / "study.json"))
      fail("unused-flag", fmt::format("{} is a study, whose replicates are its seeds", name),
           SourcePlace::named(flags_.seeds > 1 ? "--seeds" : settings_flag), "compare it as it is, or give scenarios");
    if ((is_folder && is_to_run) || (!is_folder && std::filesystem::exists(name))) {
      RunFlags run;
      if (is_folder) {
        run = flags_of_results(name);
      } else {
        run.scenario_file = name;
      }
      run.settings.insert(run.settings.end(), settings.begin(), settings.end());
      SideRuns runs{.seeds = flags_.seeds, .threads = flags_.threads, .interrupt = &interrupt_flag(), .progress = {}};
      runs.progress = [&](std::uint32_t done) { line_.show(fmt::format("{}: {} of {} seeds", name, done, flags_.seeds)); };
      ComparedSide made = run_side(run, runs);
      line_.clear();
      made.name = name;
      return made;
    }
    return read_side(name);
  }

 private:
  const CompareFlags& flags_;
  ProgressLine line_;
};

int carry_out_compare(const CompareFlags& flags) {
  if (flags.report) check_report_place(flags.out, "comparison.json", "--out");
  const ComparisonLimits limits{.threshold = share_of(flags.threshold), .figures = flags.metrics};
  if (!flags.out.empty()) make_folder(flags.out);
  Sides sides(flags);
  std::optional<InterruptGuard> guard(std::in_place);
  const ComparedSide a = sides.side(flags.a, flags.settings_a, "--set-a");
  const ComparedSide b = sides.side(flags.b, flags.settings_b, "--set-b");
  guard.reset();
  if (interrupt_flag()) {
    std::fputs("interrupted\n", stderr);
    return exit_interrupted;
  }
  const Comparison comparison = compare(a, b, limits);
  const auto json_text = [&] { return printed_json(comparison_json(a, b, comparison)) + "\n"; };
  if (!flags.out.empty()) {
    OutputFile file(std::filesystem::path(flags.out) / "comparison.json");
    file.write(json_text());
    file.commit();
    if (flags.report) write_report(flags.out);
  }
  std::cout << (flags.json ? json_text() : comparison_page(a, b, comparison));
  return comparison.is_past_threshold() ? exit_no : exit_done;
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("compare", "Say what differs between two runs or two studies");
  auto flags = std::make_shared<CompareFlags>();
  command->add_option("a", flags->a, "Results of a run or a study, or a scenario, which is run for the comparison")
      ->type_name("A")
      ->required();
  command->add_option("b", flags->b, "What is held against it")->type_name("B")->required();
  command
      ->add_option("--seeds", flags->seeds,
                   "Run both with the seeds 1 to N, and tell differences from chance; a run's folder is run again from its inputs")
      ->type_name("N")
      ->check(whole_number<std::uint32_t>(1, 10'000))
      ->capture_default_str();
  command->add_option("--set-a", flags->settings_a, "Run A with this, as --set of weft run")->type_name("module.param=value");
  command->add_option("--set-b", flags->settings_b, "Run B with this")->type_name("module.param=value");
  command
      ->add_option("--threshold", flags->threshold,
                   "Changes up to this share do not count for the exit status; default: any change counts")
      ->type_name("SHARE");
  command->add_option("--metric", flags->metrics, "Only changes of these figures count; default: all")->type_name("NAME");
  CLI::Option* out = command->add_option("--out", flags->out, "Folder for comparison.json")->type_name("DIR");
  command->add_option("--threads", flags->threads, "Threads, over which seeds are shared out; 0: all cores")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--report", flags->report, "Also write report.html, a page of charts, into --out")->needs(out);
  command->add_flag("--json", flags->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  weft compare runs/before runs/after --threshold=2% --metric=makespan_s\n"
      "  weft compare runs/before runs/after --seeds=10\n"
      "  weft compare studies/before studies/after\n"
      "  weft compare cluster.textproto cluster.textproto --set-b=packet.buffer=32MB --seeds=10\n"
      "Exit status: 0 where no change counts, 1 where one does. With several seeds a change counts unless chance makes some of "
      "the\n"
      "figures that count change as much more often than once in twenty times (Holm's correction); --metric names few.");
  command->callback([flags, &action] { action = [flags] { return carry_out_compare(*flags); }; });
}

}  // namespace weft
