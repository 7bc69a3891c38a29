// `weft check`: validates inputs without running anything.
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "core/source_text.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_kind.hpp"
#include "tools/weft/job_trace_flags.hpp"
#include "tools/weft/scenario.hpp"
#include "tools/weft/simulation.hpp"
#include "tools/weft/workload_flags.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/formats/hpcc_flows.hpp"
#include "workloads/job_trace_reader.hpp"
#include "workloads/measurement_tables.hpp"
#include "workloads/workload_reader.hpp"

namespace weft {

namespace {

struct CheckOptions {
  WorkloadOptions workload;
  JobTraceOptions jobs;
};

/// What an input holds: in a few words, and for kinds that have more to say in lines of their own.
struct Content {
  std::string words;
  std::string lines = {};
};

/// Reads one input of whatever kind.
Content check_one(const std::string& text, const CheckOptions& options) {
  const InputFile input = recognise_input(text);
  switch (input.kind) {
    case InputKind::scenario: {
      RunFlags flags;
      flags.scenario_file = input.file;
      flags.jobs_options.strict = options.jobs.strict;
      const Scenario scenario = load_scenario(flags);
      check_simulation(scenario);
      std::string notes;
      for (const std::string& assumption : scenario.assumptions) notes += "note: " + assumption + "\n";
      return {"scenario, " + std::to_string(scenario.jobs.size()) + " jobs, " + std::string(to_text(scenario.mode)) + " mode",
              notes};
    }
    case InputKind::topology: {
      const auto topology = load_topology(input.file, input.format);
      std::string notes;
      for (const std::string& assumption : topology->assumptions()) notes += "note: " + assumption + "\n";
      return {"topology, " + std::to_string(topology->host_count()) + " hosts, " + std::to_string(topology->endpoints().size()) +
                  " endpoints, " + std::to_string(topology->link_count()) + " links",
              notes};
    }
    case InputKind::workload: {
      const Workload workload = load_workload(input.file, input.format, options.workload);
      Diagnostics diagnostics;
      SourcePlace place;
      place.file = input.file;
      check_workload(workload, place, diagnostics);
      diagnostics.throw_if_errors();
      std::uint64_t ops = 0;
      for (const RoleDag& role : workload.roles) ops += role.size();
      return {"workload, " + std::to_string(workload.rank_count) + " ranks, " + std::to_string(workload.roles.size()) + " roles, " +
              std::to_string(ops) + " ops"};
    }
    case InputKind::jobs: {
      const JobTrace trace = load_job_trace(input.file, input.format, options.jobs);
      return {
          "job trace, " + std::to_string(trace.jobs.size()) + " jobs, " + std::to_string(trace.left_out_rows) + " rows left out",
          describe(trace)};
    }
    case InputKind::measurements:
      return {"measurements", describe_measurements(input.file, input.format)};
    case InputKind::flows:
      return {"flow list, " + std::to_string(import_hpcc_flows(input.file).flows.size()) + " flows"};
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
  int status = kExitDone;
  for (const std::string& input : inputs) {
    try {
      const Content content = check_one(input, options);
      std::cout << input << ": ok (" << content.words << ")\n";
      print_indented(content.lines);
    } catch (const InputError& error) {
      std::cout.flush();
      std::fputs(error.what(), stderr);
      status = kExitInput;
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
      "FILE may be a scenario, a topology, a workload, a job trace or a flow list. Text protobuf files are told apart by their "
      "fields;\n"
      "foreign files need their format: topology.txt:hpcc, flow.txt:hpcc-flows, net:simai, traces/all_reduce:chakra, "
      "jobs.csv:philly.\n"
      "Exit status 2 if any input is wrong; all of them are checked.");
  command->add_option("files", *inputs, "Inputs to check")->type_name("FILE[:format]")->required();
  add_workload_flags(*command, options->workload);
  add_job_trace_flags(*command, options->jobs);
  command->callback([inputs, options, &action] { action = [inputs, options] { return check(*inputs, *options); }; });
}

}  // namespace weft
