// SPDX-License-Identifier: Apache-2.0
// `weft jobs`: makes job traces from templates.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tools/results/output_file.hpp"
#include "tools/simulation/scenario/parameters.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/validators.hpp"
#include "workloads/job_templates/job_templates.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"
#include "workloads/job_traces/weft_csv.hpp"

namespace weft {

namespace {

struct JobsFlags {
  std::string template_name;
  std::vector<std::string> settings;
  std::uint64_t seed = 1;
  std::string out;
};

int make_jobs(const JobsFlags& flags) {
  const SourcePlace place = SourcePlace::named(fmt::format("--template={}", flags.template_name));
  const Module<JobTemplateFactory>& module = find_module(job_templates(), flags.template_name, place);
  ParamSet params(flags.template_name, module.info.params);
  set_from_flags(params, flags.settings);
  const JobTrace trace = module.make(params, flags.seed, place);
  if (flags.out.empty()) {
    std::cout << describe(trace);
    return exit_done;
  }
  for (const std::string& note : trace.notes()) std::cerr << "note: " << note << "\n";
  OutputFile file(flags.out);
  write_weft_csv(trace, [&file](std::string_view piece) { file.write(piece); });
  file.commit();
  std::cout << "wrote " << flags.out << " (" << std::filesystem::file_size(flags.out) << " bytes)\n";
  return exit_done;
}

std::string job_template_names() {
  std::string names;
  for (const auto& module : job_templates()) names += (names.empty() ? "" : ", ") + std::string(module.info.name);
  return names;
}

}  // namespace

void add_jobs_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("jobs", "Make job traces like those of real clusters");
  command->require_subcommand(1);
  auto flags = std::make_shared<JobsFlags>();
  CLI::App* make = command->add_subcommand("make", "Make a job trace from a template and parameters");
  make->add_option("--template", flags->template_name,
                   fmt::format("{}; `weft modules NAME` lists its parameters", job_template_names()))
      ->type_name("NAME")
      ->required();
  make->add_option("--set", flags->settings, "Parameter of the template, repeatable")
      ->type_name("param=value")
      ->allow_extra_args(false);
  make->add_option("--seed", flags->seed, "Seed of all random streams")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint64_t>());
  make->add_option("--out", flags->out, "CSV for `weft run --jobs=FILE:weft`; default: only say what it would hold")
      ->type_name("FILE");
  make->footer(
      "Examples:\n"
      "  weft modules helios_venus\n"
      "  weft jobs make --template=helios_venus --set=jobs=20000 --seed=2 --out=venus.csv\n"
      "  weft run --jobs=venus.csv:weft --hosts=128 --gpus-per-host=8 --scheduler=backfill");
  make->callback([flags, &action] { action = [flags] { return make_jobs(*flags); }; });
}

}  // namespace weft
