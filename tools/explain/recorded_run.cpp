// SPDX-License-Identifier: Apache-2.0
#include "tools/explain/recorded_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "host/ranks/job.hpp"

namespace weft {

namespace {

void refuse(const std::string& code, const std::string& why, const std::string& place, const std::string& help) {
  fail(code, why, SourcePlace::named(place), help);
}

std::vector<ExplainedJob> jobs_of(const Scenario& scenario, const RunRecording& recording) {
  const FlowTape& tape = recording.tape;
  std::vector<ExplainedJob> jobs;
  if (scenario.flows) {
    ExplainedJob list;
    list.name = scenario.flows->name;
    list.begin = Time::max();
    for (const FlowTape::TransferRecord& transfer : tape.transfers()) {
      list.begin = std::min(list.begin, transfer.start);
      if (!transfer.is_over || transfer.delivered < list.end) continue;
      list.end = transfer.delivered;
      list.ends.clear();
      if (transfer.delivered_by != FlowTape::none) list.ends.emplace_back(transfer.delivered_by, 1.0);
    }
    jobs.push_back(std::move(list));
    return jobs;
  }
  std::map<JobId, ExplainedJob> by_id;
  for (std::uint32_t i = 0; i < tape.nodes().size(); ++i) {
    const FlowTape::Node& node = tape.nodes()[i];
    const bool is_start = node.event.kind == start_job && node.event.target != recording.scheduler;
    const bool is_end = node.event.kind == iteration_done && node.event.target == recording.scheduler;
    if (!is_start && !is_end) continue;
    const AttemptId attempt = is_start ? node.event.payload_as<StartJob>().attempt : node.event.payload_as<IterationDone>().attempt;
    const RunningJob& running = recording.attempts->at(attempt);
    ExplainedJob& job = by_id[running.job];
    if (job.id.is_none()) {
      job.id = running.job;
      job.name = scenario.jobs[running.job.index()].name;
      job.begin = node.event.key.time;
    }
    if (!is_end) continue;
    const auto done = node.event.payload_as<IterationDone>();
    if (done.iteration + 1 < running.iterations || done.end < job.end) continue;
    job.end = done.end;
    job.last = i;
    job.ends.clear();
    if (node.origin != FlowTape::none) job.ends.emplace_back(node.origin, 1.0);
  }
  for (auto& [id, job] : by_id) {
    if (job.last != FlowTape::none) jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace

std::size_t records_that_fit() {
  constexpr std::size_t record_bytes = 250;  // of a 70B model's iteration on 64 GPUs: 180
  constexpr std::size_t records_min = 10'000'000;
  const auto memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::max(records_min, memory / 2 / record_bytes);
}

void check_recordable(const Scenario& scenario) {
  WEFT_CHECK(simulates_network(scenario.mode), "job mode has nothing to record");
  if (network_changes(scenario))
    refuse("cannot-explain", "links and switches fail or change in this run, and shares of links that change are not recorded",
           "the scenario", "take the failures out, or look at the parts before and after by themselves");
  if (fast_forwards(scenario))
    refuse("cannot-explain", "the run leaves out iterations, of which nothing can be recorded", "scheduler.fast_forward",
           "add --set=scheduler.fast_forward=0 and give the jobs few iterations");
  if (detects_congestion(scenario))
    refuse("cannot-explain", "looking for congestion and recording cannot be done in one run", "flow.detect_congestion",
           "add --set=flow.detect_congestion=off");
}

std::unique_ptr<TapedRun> record_run(const Scenario& scenario, const RecordingOptions& options) {
  auto recorded = std::make_unique<TapedRun>();
  recorded->recording = std::make_unique<RunRecording>(options.records_max);
  recorded->topology = scenario.topology;
  RunOptions simulation;
  simulation.recording = recorded->recording.get();
  simulation.queue_blame = options.queue_blame;
  simulation.interrupt = options.interrupt;
  simulation.progress = options.progress;
  recorded->summary = finish_run(scenario, recorded->spans, simulation).summary;
  recorded->jobs = jobs_of(scenario, *recorded->recording);
  return recorded;
}

std::vector<WeighedFlow> mean_of_transfers(const FlowTape& tape) {
  std::vector<WeighedFlow> ends;
  double transfers = 0;
  for (const FlowTape::TransferRecord& transfer : tape.transfers()) transfers += transfer.is_over ? 1 : 0;
  for (const FlowTape::TransferRecord& transfer : tape.transfers()) {
    if (transfer.is_over && transfer.delivered_by != FlowTape::none) ends.emplace_back(transfer.delivered_by, 1 / transfers);
  }
  return ends;
}

}  // namespace weft
