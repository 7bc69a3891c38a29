// SPDX-License-Identifier: Apache-2.0
// `weft report`: what stands in a folder of results, as a page for a browser.
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

#include "tools/report/report_page.hpp"
#include "tools/weft/commands.hpp"

namespace weft {

void add_report_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("report", "Make a page of charts from results: of a run, study, comparison, calibration or projection");
  struct Flags {
    std::string folder;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  command
      ->add_option(
          "folder", flags->folder,
          "What weft run, weft study or weft compare wrote (their --out), or weft calibrate or weft project (their --report)")
      ->type_name("DIR")
      ->required();
  command->add_flag("--json", flags->json, "Print the data of the page as JSON, and write no page");
  command->footer(
      "Examples:\n"
      "  weft report weft-out\n"
      "  weft report runs/buffers --json\n"
      "  weft report calibration/history\n"
      "Writes DIR/report.html: one file, which needs neither network nor server. Big tables are reduced: percentiles are of all\n"
      "rows, and where only some are drawn the page says which. Every chart has its numbers as a table.\n"
      "`weft run --report` also samples links over time, so that the page shows when they were busy.");
  command->callback([flags, &action] {
    action = [flags] {
      if (flags->json) {
        std::cout << report_data(flags->folder) << '\n';
      } else {
        const std::string path = write_report(flags->folder).string();
        std::cout << "report in " << path << '\n';
      }
      return exit_done;
    };
  });
}

}  // namespace weft
