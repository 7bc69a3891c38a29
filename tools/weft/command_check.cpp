// SPDX-License-Identifier: Apache-2.0
// `weft check`: validates inputs without running anything.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/text/counted.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/input_kind.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/scenario/unused_flags.hpp"
#include "tools/study/prices.hpp"
#include "tools/study/study.hpp"
#include "tools/study/study_points.hpp"
#include "tools/study/study_projection.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/job_trace_flags.hpp"
#include "tools/weft/workload_flags.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/formats/hpcc/hpcc_flows.hpp"
#include "workloads/formats/workload_reader.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"
#include "workloads/measurements/measurement_tables.hpp"
#include "workloads/models/model_components.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft {

namespace {

struct CheckOptions {
  std::string model;  ///< that plans are checked for; empty: their fields alone
  WorkloadOptions workload;
  JobTraceOptions jobs;
  bool skip_larger_jobs = false;
};

/// What an input holds: in a few words, and for kinds that have more to say in lines of their own.
struct Content {
  std::string words;
  std::string lines = {};
};

/// As they are printed with `weft run` and `weft workload import`.
std::string as_notes(std::span<const std::string> assumptions) {
  std::string notes;
  for (const std::string& assumption : assumptions) notes += fmt::format("note: {}\n", assumption);
  return notes;
}

/// An input as given, and what it was taken for, or why it was taken for nothing.
struct Recognised {
  std::string text;
  RecognisedInput file = {};
  std::optional<InputError> error = {};
};

std::vector<Recognised> recognise(const std::vector<std::string>& inputs) {
  std::vector<Recognised> all;
  for (const std::string& input : inputs) {
    Recognised& one = all.emplace_back(Recognised{input});
    try {
      one.file = recognise_input(input);
    } catch (const InputError& error) {
      one.error = error;
    }
  }
  return all;
}

/// Flags that no input takes. Of an input that nothing could be made of, nobody knows what it
/// takes.
void refuse_flags_without_input(const std::vector<Recognised>& inputs, const CheckOptions& options) {
  const auto has = [&](InputKind kind) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Recognised& input) { return input.error.has_value() || input.file.kind == kind; });
  };
  Diagnostics diagnostics;
  refuse_unused_flags(options.workload, has(InputKind::workload), "a workload", diagnostics);
  const bool is_of_scenario =
      (options.jobs.strict || options.skip_larger_jobs) && std::any_of(inputs.begin(), inputs.end(), [](const Recognised& input) {
        return !input.error && input.file.kind == InputKind::scenario && names_job_traces(input.file.file);
      });
  refuse_unused_flags(options.jobs, has(InputKind::jobs), is_of_scenario, "a job trace", diagnostics);
  refuse_unused_flag(options.skip_larger_jobs, "--skip-larger-jobs", is_of_scenario, "a scenario with job traces", diagnostics);
  refuse_unused_flag(!options.model.empty(), "--model", has(InputKind::plan), "a plan", diagnostics);
  diagnostics.throw_if_errors();
}

std::string model_words(const ModelDescription& model) {
  constexpr std::array kinds = {"transformer", "recommender", "U-Net"};
  return fmt::format("{}, {}", kinds[model.what.index()], counted(parameter_count(model), "parameter", "parameters"));
}

Content check_plan(const std::string& file, const std::string& model_name) {
  if (model_name.empty()) {
    check_plan_fields(SourceText::read(file));
    return {"plan, held against no model"};
  }
  const ModelDescription model = load_model(model_name, SourcePlace::named(fmt::format("--model={}", model_name)));
  const ParallelPlan plan = load_plan({.name = file, .overrides = {}, .gpus = {}}, model, SourcePlace::named(file));
  return {fmt::format("plan for {}, {}", model.name, counted(plan.ranks(), "GPU", "GPUs"))};
}

/// What runs of the study's points would be refused for, and what parts have no price: the first of
/// each. Throws InputError where all points are refused.
std::string check_points(const Study& study) {
  constexpr std::size_t points_max = 64;
  std::size_t looked_at = 0;
  std::size_t refused = 0;
  std::optional<InputError> first;
  std::vector<std::string> notes;
  std::string no_price;
  for (const StudyPoint& point : points_of(study)) {
    if (point.replicate > 0) continue;
    if (looked_at == points_max) {
      notes.push_back(fmt::format("only the first {} points were looked at one by one", points_max));
      break;
    }
    ++looked_at;
    try {
      if (study.projection) {
        project_point(study, flags_of(study, point), SiteFigures::Simulated::checked, {});
        continue;
      }
      const Scenario scenario = load_scenario(flags_of(study, point), Probing::forbidden);
      check_run(scenario);
      if (study.prices && scenario.topology && no_price.empty()) priced(*scenario.topology, *study.prices);
    } catch (const InputError& error) {
      const Diagnostic& why = error.diagnostics().front();
      if (why.code == "no-price") {
        no_price = why.message;
        continue;
      }
      if (refused++ > 0) continue;
      first = error;
      std::string settings;
      for (const StudySetting& setting : point.settings)
        settings += fmt::format("{}{}={}", settings.empty() ? "" : ", ", setting.name, setting.value);
      notes.push_back(fmt::format("{} cannot run: {} [{}]", settings, why.message, why.code));
    }
  }
  if (first && refused == looked_at) throw InputError(*first);
  if (refused > 1) notes.push_back(fmt::format("{} of {} points cannot run in all", refused, looked_at));
  if (!no_price.empty()) notes.push_back("no cost and no watts: " + no_price);
  return as_notes(notes);
}

/// Reads one input of whatever kind.
Content check_one(const RecognisedInput& input, const CheckOptions& options) {
  switch (input.kind) {
    case InputKind::scenario: {
      RunFlags flags;
      flags.scenario_file = input.file;
      const bool has_traces = (options.jobs.strict || options.skip_larger_jobs) && names_job_traces(input.file);
      flags.jobs_options.strict = options.jobs.strict && has_traces;
      flags.skip_larger_jobs = options.skip_larger_jobs && has_traces;
      const Scenario scenario = load_scenario(flags, Probing::forbidden);
      check_run(scenario);
      return {fmt::format("scenario, {}, {} mode", counted(scenario.jobs.size(), "job", "jobs"), to_text(scenario.mode)),
              as_notes(scenario.assumptions)};
    }
    case InputKind::topology: {
      const auto topology = load_topology(input.file, input.format);
      return {fmt::format("topology, {}, {}, {}", counted(topology->host_count(), "host", "hosts"),
                          counted(topology->endpoints().size(), "endpoint", "endpoints"),
                          counted(topology->link_count(), "link", "links")),
              as_notes(topology->assumptions())};
    }
    case InputKind::workload: {
      const Workload workload = load_workload(input.file, input.format, options.workload);
      Diagnostics diagnostics;
      check_workload(workload, SourcePlace::named(input.file), diagnostics);
      diagnostics.throw_if_errors();
      std::uint64_t ops = 0;
      for (const RoleDag& role : workload.roles) ops += role.size();
      return {fmt::format("workload, {}, {}, {}", counted(workload.rank_count, "rank", "ranks"),
                          counted(workload.roles.size(), "role", "roles"), counted(ops, "op", "ops")),
              as_notes(workload.assumptions)};
    }
    case InputKind::jobs: {
      const JobTrace trace = load_job_trace(input.file, input.format, options.jobs);
      return {fmt::format("job trace, {}, {} left out", counted(trace.jobs.size(), "job", "jobs"),
                          counted(trace.left_out_rows, "row", "rows")),
              describe(trace)};
    }
    case InputKind::measurements:
      return {"measurements", describe_measurements(input.file, input.format)};
    case InputKind::flows:
      return {fmt::format("flow list, {}", counted(import_hpcc_flows(input.file).flows.size(), "flow", "flows"))};
    case InputKind::model:
      return {fmt::format("model, {}", model_words(read_model(SourceText::read(input.file))))};
    case InputKind::plan:
      return check_plan(input.file, options.model);
    case InputKind::study: {
      const Study study = read_study(input.file);
      const std::uint64_t runs = point_count(study);
      return {fmt::format("study, {}, {}{}, {}", counted(runs / study.replicates, "point", "points"), study.stop ? "at most " : "",
                          counted(runs, "run", "runs"), counted(study.metrics.size(), "metric", "metrics")),
              check_points(study)};
    }
  }
  return {};
}

void print_indented(const std::string& lines) {
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    std::cout << "  " << lines.substr(begin, end - begin) << "\n";
    begin = end + 1;
  }
}

int check(const std::vector<std::string>& inputs, const CheckOptions& options) {
  int status = exit_done;
  const auto refuse = [&status](const InputError& error) {
    std::cout.flush();
    std::fputs(error.what(), stderr);
    status = exit_input;
  };
  const std::vector<Recognised> recognised = recognise(inputs);
  try {
    refuse_flags_without_input(recognised, options);
  } catch (const InputError& error) {
    refuse(error);
  }
  for (const Recognised& input : recognised) {
    try {
      if (input.error) throw *input.error;
      const Content content = check_one(input.file, options);
      std::cout << input.text << ": ok (" << content.words << ")\n";
      print_indented(content.lines);
    } catch (const InputError& error) {
      refuse(error);
    }
  }
  return status;
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  auto inputs = std::make_shared<std::vector<std::string>>();
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "Validate inputs without running anything");
  command->footer(
      "FILE may be a scenario, a topology, a workload, a model, a plan, a study, a job trace, a flow list or a\n"
      "table of measurements. A plan is checked for its fields alone, or for a model with --model.\n"
      "Text protobuf files are told apart by their fields; foreign files need their format: topology.txt:hpcc,\n"
      "flow.txt:hpcc-flows, net:simai, traces/all_reduce:chakra, jobs.csv:philly, placements.csv:pollux.\n"
      "`weft modules KIND` lists formats; KIND is topology-format, workload-format, job-format or measurement-format.\n"
      "Exit status 2 if any input is wrong; all of them are checked.");
  command->add_option("files", *inputs, "Inputs to check")->type_name("FILE[:format]")->required();
  command->add_option("--model", options->model, "Of plans: FILE.textproto or one of `weft modules model`")->type_name("MODEL");
  add_workload_flags(*command, options->workload);
  add_job_trace_flags(*command, options->jobs);
  add_skip_larger_jobs_flag(*command, options->skip_larger_jobs);
  add_input_flags(*command);
  command->callback([inputs, options, &action] { action = [inputs, options] { return check(*inputs, *options); }; });
}

}  // namespace weft
