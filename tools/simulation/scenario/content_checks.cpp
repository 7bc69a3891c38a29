// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/content_checks.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "core/text/counted.hpp"

namespace weft {

void check_cluster(const Scenario& scenario, const RunFlags& flags, const ScenarioFile* file) {
  const SourcePlace command = SourcePlace::named("weft run");
  if (scenario.topology == nullptr && scenario.hosts == 0) {
    fail("nowhere-to-run", "there is nowhere to run", file == nullptr ? command : SourcePlace::named(flags.scenario_file),
         file == nullptr ? "give --topology=FILE, or --hosts=N --gpus-per-host=M for job mode"
                         : "add topology { builder: \"fat_tree\" }, or cluster { hosts: 8 gpus_per_host: 8 } for job mode");
  }
  if (simulates_network(scenario.mode) && scenario.topology == nullptr) {
    const bool is_of_file =
        file != nullptr && flags.mode.empty() && (file->has_mode() || (flags.workload.empty() && flags.flows.empty()));
    fail("no-topology", fmt::format("{} mode needs a topology", to_text(scenario.mode)),
         is_of_file ? file->place_of("mode") : command,
         is_of_file ? "give a topology instead of the cluster, or take mode: JOB"
                    : "give --topology=FILE or a scenario with a topology, or use --mode=job");
  }
  constexpr std::uint64_t gpus_max = 1ULL << 24;
  if (std::uint64_t{scenario.hosts} * scenario.gpus_per_host > gpus_max) {
    const bool is_of_file = file != nullptr && !flags.hosts && !flags.gpus_per_host;
    fail("cluster-too-large",
         fmt::format("{} of {} are more than {} GPUs", counted(scenario.hosts, "host", "hosts"),
                     counted(scenario.gpus_per_host, "GPU", "GPUs"), gpus_max),
         is_of_file ? file->place_of("cluster") : command, "simulate a smaller cluster");
  }
}

void check_content(const Scenario& scenario, const RunFlags& flags, const ScenarioFile* file) {
  const bool has_jobs = !flags.jobs.empty() || !flags.workload.empty() || (file != nullptr && file->has_jobs());
  if (flags.flows.empty() && !has_jobs && !flags.jobs_follow) {
    fail("nothing-to-run", "there is nothing to run", SourcePlace::named(file == nullptr ? "weft run" : flags.scenario_file),
         file == nullptr ? "name a scenario, or give --workload=FILE, --flows=FILE or --jobs=FILE; `weft run --help` shows examples"
                         : "add job { ... } or jobs { file: \"jobs.csv\" format: \"weft\" }");
  }
  if (!flags.flows.empty() && has_jobs) {
    fail("flows-and-jobs", "a flow list runs alone, without jobs", SourcePlace::named("--flows"), "drop --flows or the jobs");
  }
  Diagnostics diagnostics;
  if (scenario.flows && file != nullptr && file->has_scheduler()) {
    diagnostics.error("unused-field", "a scheduler says something about jobs, and a flow list has none",
                      file->place_of("scheduler"), "drop it, or --flows");
  }
  if (scenario.flows && file != nullptr && scenario.mode == Mode::job && flags.mode.empty()) {
    diagnostics.error("unused-field", "mode: JOB simulates no network, and a flow list is nothing else", file->place_of("mode"),
                      "drop it, or --flows");
  }
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const JobSpec& job = scenario.jobs[i];
    if (scenario.mode == Mode::job && job.workload != nullptr && (file == nullptr || !file->jobs().is_in_job_mode(i))) {
      diagnostics.error("no-duration",
                        fmt::format("job {} has a workload but no duration, which job mode needs", in_quotes(job.name)), job.place,
                        "use --mode=flow, or give the job a duration");
    }
  }
  diagnostics.throw_if_errors();
}

void check_data_regions(Scenario& scenario) {
  const auto has_region = [](const JobSpec& job) { return job.data_region.has_value(); };
  if (std::ranges::none_of(scenario.jobs, has_region)) return;
  if (scenario.policy != "mast") {
    scenario.assumptions.push_back(
        fmt::format("where the data of jobs is makes no difference to scheduler {}, only to mast", scenario.policy));
    return;
  }
  const std::int64_t regions = scenario.parameters.of("mast").integer("regions");
  Diagnostics diagnostics;
  for (const JobSpec& job : scenario.jobs) {
    if (!job.data_region || *job.data_region < regions) continue;
    diagnostics.error("unknown-region",
                      fmt::format("job {} has its data in region {} of {}", in_quotes(job.name), *job.data_region, regions),
                      job.place, "regions count from 0; --set=mast.regions=N makes N of the hosts");
  }
  diagnostics.throw_if_errors();
}

}  // namespace weft
