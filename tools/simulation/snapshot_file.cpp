// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/snapshot_file.hpp"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/text/beside.hpp"
#include "core/text/source_text.hpp"
#include "core/text/textproto.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "tools/simulation/snapshot.pb.h"
#include "workloads/dag/dag.hpp"
#include "workloads/dag/rank_list.hpp"

namespace weft {

namespace {

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

/// GPUs are numbered as ranks are, so that they are written as those.
std::string to_list(std::span<const GpuSlot> gpus) {
  std::vector<RankId> numbers;
  for (const GpuSlot gpu : gpus) numbers.emplace_back(gpu.index());
  return to_text(numbers);
}

std::vector<GpuSlot> from_list(const std::string& text, std::uint32_t gpu_count, const SourcePlace& place) {
  std::vector<GpuSlot> gpus;
  if (text.empty()) return gpus;
  const ParsedRankList parsed = parse_rank_list(text, gpu_count);
  if (!parsed.error.empty()) {
    fail("other-snapshot", fmt::format("GPUs of the snapshot: {}", parsed.error), place,
         "was the snapshot taken of this scenario and topology?");
  }
  for (const RankId number : parsed.ranks) gpus.emplace_back(number.index());
  return gpus;
}

void write(const KeptWork& from, snapshot::Work& to) {
  to.set_iterations(from.iterations);
  to.set_work_ticks(from.work.in_ticks());
}
KeptWork read(const snapshot::Work& from) { return {from.iterations(), Duration::ticks(from.work_ticks())}; }

void write(const AttemptAccount& from, snapshot::Account& to) {
  to.set_overhead_ticks(from.overhead.in_ticks());
  to.set_writing_ticks(from.writing.in_ticks());
  to.set_work_ticks(from.work.in_ticks());
  to.set_work_whole_ticks(from.work_whole.in_ticks());
  write(from.kept, *to.mutable_kept());
  write(from.whole, *to.mutable_whole());
}
AttemptAccount read(const snapshot::Account& from) {
  AttemptAccount account;
  account.overhead = Duration::ticks(from.overhead_ticks());
  account.writing = Duration::ticks(from.writing_ticks());
  account.work = Duration::ticks(from.work_ticks());
  account.work_whole = Duration::ticks(from.work_whole_ticks());
  account.kept = read(from.kept());
  account.whole = read(from.whole());
  return account;
}

snapshot::State to_proto(ClusterSnapshot::State state) {
  switch (state) {
    case ClusterSnapshot::State::not_arrived:
      return snapshot::NOT_ARRIVED;
    case ClusterSnapshot::State::waits:
      return snapshot::WAITS;
    case ClusterSnapshot::State::runs:
      return snapshot::RUNS;
    case ClusterSnapshot::State::ended:
      return snapshot::ENDED;
  }
  return snapshot::STATE_UNSPECIFIED;
}

ClusterSnapshot::State from_proto(snapshot::State state) {
  switch (state) {
    case snapshot::WAITS:
      return ClusterSnapshot::State::waits;
    case snapshot::RUNS:
      return ClusterSnapshot::State::runs;
    case snapshot::ENDED:
      return ClusterSnapshot::State::ended;
    default:
      return ClusterSnapshot::State::not_arrived;
  }
}

void write(const ClusterSnapshot::Job& from, snapshot::Job& to) {
  to.set_state(to_proto(from.state));
  write(from.kept, *to.mutable_kept());
  to.set_queued_ticks(from.queued.in_ticks());
  to.set_priority(from.priority);
  if (from.submitted) to.set_submit_ticks(from.submitted->in_ticks());
  const JobRecord& record = from.record;
  to.set_starts(record.start ? record.restarts + 1 : 0);
  if (record.start) to.set_first_start_ticks(record.start->in_ticks());
  to.set_wait_ticks(record.wait.in_ticks());
  to.set_run_ticks(record.run.in_ticks());
  to.set_run_whole_ticks(record.run_whole.in_ticks());
  if (from.state != ClusterSnapshot::State::runs) return;
  to.set_gpus(to_list(from.placement.gpus));
  to.set_since_ticks(from.since.in_ticks());
  to.set_part_since_ticks(from.part_since.in_ticks());
  write(from.past, *to.mutable_past());
  to.set_fetches(from.fetches);
  if (!from.pace) return;
  to.mutable_pace()->set_period_ticks(from.pace->period.in_ticks());
  to.mutable_pace()->set_spread_ticks(from.pace->spread.in_ticks());
}

ClusterSnapshot::Job read(const snapshot::Job& from, const JobSpec& spec, std::uint32_t gpu_count, const SourcePlace& place) {
  ClusterSnapshot::Job job;
  job.state = from_proto(from.state());
  job.kept = read(from.kept());
  job.queued = Time::at_ticks(from.queued_ticks());
  job.priority = from.priority();
  JobRecord& record = job.record;
  record.gpus = spec.gpus;
  record.submit = from.has_submit_ticks() ? Time::at_ticks(from.submit_ticks()) : spec.submit;
  record.iterations = spec.workload == nullptr ? spec.iterations : job.kept.iterations;
  if (from.starts() > 0) {
    record.start = Time::at_ticks(from.first_start_ticks());
    record.restarts = from.starts() - 1;
  }
  record.wait = Duration::ticks(from.wait_ticks());
  record.run = Duration::ticks(from.run_ticks());
  record.run_whole = Duration::ticks(from.run_whole_ticks());
  if (job.state != ClusterSnapshot::State::runs) return job;
  job.placement.gpus = from_list(from.gpus(), gpu_count, place);
  const auto held = static_cast<std::uint32_t>(job.placement.gpus.size());
  if (held == 0 || !may_restart_on(spec, held)) {
    fail("other-snapshot",
         fmt::format("job \"{}\" holds {} GPUs in the snapshot and wants {} in the scenario", spec.name, held, spec.gpus), place,
         "the scenario has changed since the snapshot was taken; take another");
  }
  job.since = Time::at_ticks(from.since_ticks());
  record.last_start = job.since;
  job.part_since = Time::at_ticks(from.part_since_ticks());
  job.past = read(from.past());
  job.fetches = from.fetches();
  if (from.has_pace())
    job.pace = KnownPace{Duration::ticks(from.pace().period_ticks()), Duration::ticks(from.pace().spread_ticks())};
  return job;
}

}  // namespace

void check_snapshot_flags(const RunFlags& flags) {
  if (!flags.scenario_file.empty() && flags.workload.empty() && flags.flows.empty() && flags.jobs.empty()) return;
  fail("cannot-snapshot", "a snapshot names the scenario that its jobs come from", SourcePlace::named("--snapshot"),
       "put what --workload or --jobs name into a scenario file, and run that");
}

std::string to_snapshot_text(const RunFlags& flags, const Scenario& scenario, const ClusterSnapshot& taken) {
  snapshot::Snapshot file;
  snapshot::Run& run = *file.mutable_run();
  run.set_scenario(absolute(flags.scenario_file));
  run.set_topology(absolute(flags.topology));
  run.set_mode(flags.mode);
  run.set_scheduler(flags.scheduler);
  run.set_placement(flags.placement);
  if (flags.seed) run.set_seed(*flags.seed);
  if (flags.hosts) run.set_hosts(*flags.hosts);
  if (flags.gpus_per_host) run.set_gpus_per_host(*flags.gpus_per_host);
  run.set_skip_larger_jobs(flags.skip_larger_jobs);
  for (const std::string& setting : flags.settings) {
    const std::size_t equals = std::min(setting.find('='), setting.size() - 1);
    const std::string name = setting.substr(0, equals);
    run.add_set(scenario.parameters.is_file(name) ? fmt::format("{}={}", name, absolute(setting.substr(equals + 1))) : setting);
  }
  file.set_at_ticks(taken.at.in_ticks());
  for (std::size_t i = 0; i < taken.jobs.size(); ++i) {
    snapshot::Job& job = *file.add_job();
    job.set_name(scenario.jobs[i].name);
    const JobSpec& spec = scenario.jobs[i];
    job.set_iterations(spec.iterations);
    if (spec.workload == nullptr && spec.duration.shape() == DurationModel::Shape::fixed)
      job.set_duration_ticks(spec.duration.mean().in_ticks());
    if (spec.compute_share) job.set_compute_share(*spec.compute_share);
    write(taken.jobs[i], job);
  }
  file.set_gpus_out(to_list(taken.out_of_service));
  for (const CableShare& cable : taken.slow_cables) {
    snapshot::SlowCable& slow = *file.add_slow_cable();
    slow.set_link(cable.cable.index());
    slow.set_share(cable.share);
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(file, &text);
  return text;
}

LoadedSnapshot read_snapshot(const std::string& path, const std::vector<std::string>& settings) {
  const SourceText source = SourceText::read(path);
  snapshot::Snapshot file;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  const snapshot::Run& run = file.run();
  RunFlags flags;
  flags.scenario_file = beside(path, run.scenario());
  flags.topology = beside(path, run.topology());
  flags.mode = run.mode();
  flags.scheduler = run.scheduler();
  flags.placement = run.placement();
  if (run.has_seed()) flags.seed = run.seed();
  if (run.has_hosts()) flags.hosts = run.hosts();
  if (run.has_gpus_per_host()) flags.gpus_per_host = run.gpus_per_host();
  flags.skip_larger_jobs = run.skip_larger_jobs();
  flags.settings.assign(run.set().begin(), run.set().end());
  for (const std::string& setting : settings) {
    const std::string name = setting.substr(0, setting.find('=') + 1);
    std::erase_if(flags.settings, [&](const std::string& of_run) { return of_run.starts_with(name); });
  }
  flags.settings.insert(flags.settings.end(), settings.begin(), settings.end());

  LoadedSnapshot loaded{load_scenario(flags, Probing::forbidden), {}};
  Scenario& scenario = loaded.scenario;
  const SourcePlace place = SourcePlace::named(path);
  const auto refuse = [&](const std::string& message) {
    fail("other-snapshot", message, place, "the scenario has changed since the snapshot was taken; take another");
  };
  if (static_cast<std::size_t>(file.job_size()) != scenario.jobs.size()) {
    refuse(fmt::format("the snapshot has {} jobs and the scenario {}", file.job_size(), scenario.jobs.size()));
  }
  const std::uint32_t gpu_count = empty_cluster(scenario).gpu_count();
  loaded.snapshot.at = Time::at_ticks(file.at_ticks());
  for (int i = 0; i < file.job_size(); ++i) {
    JobSpec& spec = scenario.jobs[i];
    if (file.job(i).name() != spec.name)
      refuse(fmt::format("job {} is \"{}\" in the snapshot and \"{}\" in the scenario", i, file.job(i).name(), spec.name));
    // Where they follow from a measured iteration time, the scenario alone does not know them.
    if (file.job(i).iterations() > 0) spec.iterations = file.job(i).iterations();
    if (file.job(i).has_duration_ticks()) spec.duration = DurationModel::fixed(Duration::ticks(file.job(i).duration_ticks()));
    if (file.job(i).has_compute_share()) spec.compute_share = file.job(i).compute_share();
    loaded.snapshot.jobs.push_back(read(file.job(i), spec, gpu_count, place));
    if (file.job(i).state() == snapshot::ENDED) loaded.snapshot.jobs.back().record.end = loaded.snapshot.at;
  }
  loaded.snapshot.out_of_service = from_list(file.gpus_out(), gpu_count, place);
  const std::size_t link_count = scenario.topology == nullptr ? 0 : scenario.topology->link_count();
  for (const snapshot::SlowCable& slow : file.slow_cable()) {
    if (slow.link() >= link_count || slow.link() % 2 != 0 || !(slow.share() >= 0 && slow.share() < 1))
      refuse(fmt::format("the topology has no cable {} that could carry {:f} of its speed", slow.link(), slow.share()));
    loaded.snapshot.slow_cables.push_back({LinkId(slow.link()), slow.share()});
  }
  return loaded;
}

}  // namespace weft
