// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/flag_inputs.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"
#include "tools/simulation/scenario/input_kind.hpp"
#include "tools/simulation/scenario/topology_entries.hpp"
#include "tools/simulation/scenario/trace_jobs.hpp"
#include "tools/simulation/scenario/unused_flags.hpp"
#include "workloads/formats/hpcc/hpcc_flows.hpp"

namespace weft {

namespace {

void fill_place_from_flags(Loading& loading) {
  const RunFlags& flags = loading.flags;
  Scenario& scenario = loading.scenario;
  if (!flags.topology.empty()) {
    const FileAndFormat topology = split_format(flags.topology);
    take_topology_file(loading, topology.file, topology.format);
  }
  if (!flags.hosts && !flags.gpus_per_host) return;
  if (scenario.topology != nullptr) {
    fail("topology-and-cluster", "a run has a topology or a number of hosts, not both",
         SourcePlace::named(flags.hosts ? "--hosts" : "--gpus-per-host"),
         flags.topology.empty() ? "drop it: the scenario has a topology" : "drop one of --topology and --hosts");
  }
  Diagnostics diagnostics;
  refuse_unused_flag(flags.gpus_per_host.has_value(), "--gpus-per-host", flags.hosts || scenario.hosts > 0, "--hosts", diagnostics);
  diagnostics.throw_if_errors();
  constexpr std::uint32_t gpus_per_host_default = 8;
  if (flags.hosts) scenario.hosts = *flags.hosts;
  if (flags.gpus_per_host || scenario.gpus_per_host == 0) {
    scenario.gpus_per_host = flags.gpus_per_host.value_or(gpus_per_host_default);
  }
}

/// Only --mode overrides `mode` of the file. Where the file leaves it open, --workload and --flows
/// mean flow mode.
void fill_jobs_from_flags(Loading& loading, bool is_mode_open) {
  const RunFlags& flags = loading.flags;
  Scenario& scenario = loading.scenario;
  if (!flags.jobs.empty()) {
    if (flags.scenario_file.empty()) scenario.mode = Mode::job;
    loading.attempt([&] {
      const FileAndFormat jobs = split_format(flags.jobs);
      JobTrace trace = read_trace(scenario, jobs.file, jobs.format, flags.jobs_options, false, SourcePlace::named(jobs.file));
      loading.traces.push_back({.trace = std::move(trace), .path = jobs.file, .skips_larger_jobs = flags.skip_larger_jobs});
    });
  }
  if (!flags.workload.empty()) {
    if (is_mode_open) scenario.mode = Mode::flow;
    loading.attempt([&] {
      const FileAndFormat file = split_format(flags.workload);
      JobSpec job;
      job.workload = loading.shelf.get(file.file, file.format, flags.workload_options);
      job.name = job.workload->name.empty() ? std::filesystem::path(file.file).filename().string() : job.workload->name;
      job.gpus = job.workload->rank_count;
      job.iterations = flags.iterations.value_or(1);
      job.place = SourcePlace::named(file.file);
      scenario.jobs.push_back(std::move(job));
    });
  }
  if (!flags.flows.empty()) {
    if (is_mode_open) scenario.mode = Mode::flow;
    loading.attempt([&] {
      const FileAndFormat file = split_format(flags.flows);
      if (!file.format.empty() && file.format != "hpcc") {
        const std::array<std::string, 1> formats = {"hpcc"};
        fail("unknown-format", fmt::format("there is no flow list format \"{}\"", file.format), SourcePlace::named("--flows"),
             suggestion(file.format, formats, "format"));
      }
      scenario.flows = import_hpcc_flows(file.file);
      scenario.manifest.add_input("flows", file.file, "hpcc");
    });
  }
}

}  // namespace

void check_flags(const RunFlags& flags, Diagnostics& diagnostics) {
  refuse_unused_flags(flags.workload_options, !flags.workload.empty(), "--workload", diagnostics);
  refuse_unused_flag(flags.iterations.has_value(), "--iterations", !flags.workload.empty(), "--workload", diagnostics);
  const bool is_of_scenario = (flags.jobs_options.strict || flags.skip_larger_jobs) && !flags.scenario_file.empty() &&
                              names_job_traces(flags.scenario_file);
  refuse_unused_flags(flags.jobs_options, !flags.jobs.empty(), is_of_scenario, "--jobs", diagnostics);
  refuse_unused_flag(flags.skip_larger_jobs, "--skip-larger-jobs", !flags.jobs.empty() || is_of_scenario, "--jobs", diagnostics);
  if (flags.flows.empty()) return;
  const auto refuse_beside_flows = [&](bool is_given, const std::string& flag, const std::string& what) {
    if (!is_given) return;
    diagnostics.error("unused-flag", fmt::format("{} {}", flag, what), SourcePlace::named(flag),
                      fmt::format("drop {}, or --flows", flag));
  };
  refuse_beside_flows(!flags.scheduler.empty(), "--scheduler", "says something about jobs, and a flow list has none");
  refuse_beside_flows(!flags.placement.empty(), "--placement", "says something about jobs, and a flow list has none");
  refuse_beside_flows(flags.mode == "job", "--mode=job", "simulates no network, and a flow list is nothing else");
}

void read_flags(Loading& loading, bool is_mode_open) {
  const RunFlags& flags = loading.flags;
  Scenario& scenario = loading.scenario;
  if (!loading.attempt([&] { fill_place_from_flags(loading); })) loading.is_place_good = false;
  fill_jobs_from_flags(loading, is_mode_open);
  if (!flags.scheduler.empty()) {
    loading.attempt([&] {
      const SourcePlace place = SourcePlace::named(fmt::format("--scheduler={}", flags.scheduler));
      scenario.policy = find_module(scheduling_policies(), flags.scheduler, place).info.name;
    });
  }
  if (!flags.placement.empty()) {
    loading.attempt([&] {
      const SourcePlace place = SourcePlace::named(fmt::format("--placement={}", flags.placement));
      scenario.placement = find_module(placers(), flags.placement, place).info.name;
    });
  }
  if (flags.seed) scenario.seed = *flags.seed;
  if (flags.mode == "job") scenario.mode = Mode::job;
  if (flags.mode == "flow") scenario.mode = Mode::flow;
  if (flags.mode == "packet") scenario.mode = Mode::packet;
}

}  // namespace weft
