// SPDX-License-Identifier: Apache-2.0
// What the tests of the scheduler share: making jobs, running a cluster in job mode, and reading
// placements back.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.hpp"
#include "scheduler/lifecycle/job_lifecycle.hpp"
#include "scheduler/placement/first_fit.hpp"
#include "scheduler/policies/fcfs.hpp"

namespace weft::testing_scheduler {

inline Time at_s(std::int64_t seconds) { return Time::zero() + Duration::s(seconds); }

inline JobSpec job(std::string name, std::int64_t submit_s, std::uint32_t gpus, Duration duration) {
  JobSpec spec;
  spec.name = std::move(name);
  spec.submit = at_s(submit_s);
  spec.gpus = gpus;
  spec.duration = DurationModel::fixed(duration);
  return spec;
}

inline JobLifecycleSettings fcfs_first_fit(JobObserver* observer = nullptr, bool scatter = false) {
  JobLifecycleSettings settings;
  settings.policy = std::make_unique<Fcfs>();
  settings.placer = std::make_unique<FirstFit>(scatter);
  settings.control_delay = Duration::us(10);
  settings.observer = observer;
  return settings;
}

inline std::unique_ptr<SchedulingPolicy> policy_called(const std::string& name,
                                                       const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  const SourcePlace place = SourcePlace::named("test");
  const auto& module = find_module(scheduling_policies(), name, place);
  ParamSet params(name, module.info.params);
  for (const auto& [key, value] : settings) params.set(key, value, place);
  return module.make(params);
}

inline JobLifecycleSettings settings_with(std::unique_ptr<SchedulingPolicy> policy, JobObserver* observer = nullptr) {
  JobLifecycleSettings settings = fcfs_first_fit(observer);
  settings.policy = std::move(policy);
  return settings;
}

/// A run in job mode, finished or at a standstill.
struct FinishedRun {
  std::vector<JobRecord> records;
  JobCounters counters;
  RunReport report;
  std::optional<JobLifecycle::Standstill> standstill = {};
  std::optional<Diagnostic> never_repaired = {};
};

/// The run ends as it does.
inline FinishedRun run_jobs_as_far_as_they_get(std::vector<JobSpec> jobs, ClusterState cluster, JobLifecycleSettings settings,
                                               std::uint32_t threads = 1) {
  EngineBuilder builder;
  const EntityId id =
      JobLifecycle::add_to(builder, std::make_unique<JobLifecycle>(std::move(jobs), std::move(cluster), std::move(settings)));
  EngineOptions options;
  options.threads = threads;
  Engine engine = std::move(builder).build(options);
  FinishedRun run;
  run.report = engine.run({});
  const JobLifecycle& lifecycle = engine.entity_as<JobLifecycle>(id);
  run.standstill = lifecycle.standstill();
  run.never_repaired = lifecycle.never_repaired();
  if (!run.standstill && !run.never_repaired) lifecycle.require_all_finished();
  run.records = lifecycle.records();
  run.counters = lifecycle.counters();
  return run;
}

inline FinishedRun run_jobs(std::vector<JobSpec> jobs, ClusterState cluster, JobLifecycleSettings settings,
                            std::uint32_t threads = 1) {
  FinishedRun run = run_jobs_as_far_as_they_get(std::move(jobs), std::move(cluster), std::move(settings), threads);
  WEFT_CHECK(!run.standstill && !run.never_repaired, "every job ends");
  return run;
}

/// Reads "host0-1:0-7,host5:0+2-3" back to (host, GPU) pairs, without help from ClusterState.
inline std::vector<std::pair<std::uint32_t, std::uint32_t>> gpus_of_text(const std::string& text) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  std::size_t at = 0;
  const auto number = [&] {
    std::size_t length = 0;
    const auto value = static_cast<std::uint32_t>(std::stoul(text.substr(at), &length));
    at += length;
    return value;
  };
  const auto range = [&] {
    const std::uint32_t first = number();
    std::uint32_t last = first;
    if (at < text.size() && text[at] == '-') {
      ++at;
      last = number();
    }
    return std::pair(first, last);
  };
  while (at < text.size()) {
    at += std::string("host").size();
    const auto [host_first, host_last] = range();
    do {
      ++at;  // ':' or '+'
      const auto [gpu_first, gpu_last] = range();
      for (std::uint32_t host = host_first; host <= host_last; ++host) {
        for (std::uint32_t gpu = gpu_first; gpu <= gpu_last; ++gpu) result.emplace_back(host, gpu);
      }
    } while (at < text.size() && text[at] == '+');
    if (at < text.size()) ++at;  // ','
  }
  return result;
}

struct Attempt {
  Time start;
  Time end;
  JobId job;
};
/// by host and GPU
using AttemptsByGpu = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Attempt>>;

/// First pair of jobs that held one GPU at the same time, as a sentence; "" if there is none.
inline std::string find_double_booking(AttemptsByGpu attempts) {
  for (auto& [gpu, of_gpu] : attempts) {
    std::sort(of_gpu.begin(), of_gpu.end(),
              [](const Attempt& a, const Attempt& b) { return std::pair(a.start, a.end) < std::pair(b.start, b.end); });
    for (std::size_t i = 1; i < of_gpu.size(); ++i) {
      if (of_gpu[i].start < of_gpu[i - 1].end) {
        return fmt::format("host {} GPU {} is held by jobs {} and {}", gpu.first, gpu.second, of_gpu[i - 1].job.index(),
                           of_gpu[i].job.index());
      }
    }
  }
  return "";
}

/// The same of jobs that were never preempted, judged by the records alone.
inline std::string find_double_booking(const std::vector<JobRecord>& records) {
  AttemptsByGpu attempts;
  for (const JobRecord& record : records) {
    const auto gpus = gpus_of_text(record.placement);
    if (gpus.size() != record.gpus) return fmt::format("job {} got another number of GPUs", record.id.index());
    for (const auto& gpu : gpus) attempts[gpu].push_back({*record.start, *record.end, record.id});
  }
  return find_double_booking(std::move(attempts));
}

/// Every stay of a job on GPUs, in order of starts.
class AttemptLog : public JobObserver {
 public:
  struct Entry {
    JobId job;
    Time start;
    Time end = Time::max();
    std::vector<std::pair<std::uint32_t, std::uint32_t>> gpus;  ///< host and GPU
  };
  void job_started(const JobSpec&, const JobRecord& record) override {
    open_[record.id] = entries_.size();
    entries_.push_back({record.id, *record.last_start, Time::max(), gpus_of_text(record.placement)});
  }
  void job_stopped(const JobSpec&, const JobRecord& record) override { close(record); }
  void job_finished(const JobSpec&, const JobRecord& record) override { close(record); }
  void job_cancelled(const JobSpec&, const JobRecord& record) override {
    if (record.start) close(record);
  }

  const std::vector<Entry>& entries() const { return entries_; }
  std::string double_booking() const {
    AttemptsByGpu by_gpu;
    for (const Entry& entry : entries_) {
      for (const auto& gpu : entry.gpus) by_gpu[gpu].push_back({entry.start, entry.end, entry.job});
    }
    return find_double_booking(std::move(by_gpu));
  }
  double gpu_s() const {
    double sum = 0;
    for (const Entry& entry : entries_) sum += (entry.end - entry.start).in_s() * static_cast<double>(entry.gpus.size());
    return sum;
  }

 private:
  /// Waiting and running add up to the time since the submission. A job that is cancelled while it
  /// waits has left its GPUs before.
  void close(const JobRecord& record) {
    Entry& entry = entries_[open_.at(record.id)];
    entry.end = std::min(entry.end, record.submit + record.wait + record.run);
  }

  std::vector<Entry> entries_;
  std::map<JobId, std::size_t> open_;
};

/// Who held which GPU from when to when, and how the cluster stood.
class Attempts final : public AttemptLog {
 public:
  /// What the samples say of the time until `end`: GPU-seconds busy and stranded, and job-seconds
  /// waited.
  std::array<double, 3> integrals(Time end) const {
    std::array<double, 3> sums{};
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const double length_s = ((i + 1 < samples_.size() ? samples_[i + 1].since : end) - samples_[i].since).in_s();
      sums[0] += length_s * samples_[i].busy_gpus;
      sums[1] += length_s * samples_[i].stranded_gpus();
      sums[2] += length_s * static_cast<double>(samples_[i].waiting_jobs);
    }
    return sums;
  }
  void cluster_changed(const ClusterSample& sample) override {
    if (!samples_.empty()) {
      EXPECT_LE(samples_.back().since, sample.since);
    }
    EXPECT_LE(sample.fragmented_gpus, sample.free_gpus);
    samples_.push_back(sample);
  }

 private:
  std::vector<ClusterSample> samples_;
};

inline std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const auto& module : scheduling_policies()) names.emplace_back(module.info.name);
  return names;
}

}  // namespace weft::testing_scheduler
