// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/job_rules.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/name_pattern.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

bool fits(const std::string& pattern, const std::string& text) { return pattern.empty() || matches_pattern(pattern, text); }

class ForAll final : public MeasuredIterations {
 public:
  ForAll(PlacementTimes times, std::string file)
      : times_(std::make_shared<PlacementTimes>(std::move(times))), file_(std::move(file)) {}

  std::shared_ptr<const PlacementTimes> of(const TraceJob& job, const SourcePlace& place) const override {
    if (times_->knows(job.gpus)) return times_;
    std::string counts;
    for (const std::uint32_t gpus : times_->gpu_counts()) counts += (counts.empty() ? "" : ", ") + fmt::to_string(gpus);
    fail("not-measured",
         fmt::format("{} has no placement of {}, which job \"{}\" wants", file_, counted(job.gpus, "GPU", "GPUs"), job.name), place,
         fmt::format("it has placements of {}; limit the rule with gpus", counts));
  }

 private:
  std::shared_ptr<const PlacementTimes> times_;
  std::string file_;
};

class ByJobType final : public MeasuredIterations {
 public:
  ByJobType(GavelThroughputs table, std::string gpu_type) : table_(std::move(table)), gpu_type_(std::move(gpu_type)) {}

  std::shared_ptr<const PlacementTimes> of(const TraceJob& job, const SourcePlace& place) const override {
    std::shared_ptr<const PlacementTimes>& known = times_[{job.model, job.gpus}];
    if (known != nullptr) return known;
    if (!table_.steps_per_s(gpu_type_, job.model, job.gpus)) {
      fail("unknown-job-type",
           fmt::format("{} has no \"{}\" with {} on {}", table_.file(), job.model, counted(job.gpus, "GPU", "GPUs"), gpu_type_),
           place, suggestion(job.model, table_.job_types(gpu_type_), "job type"));
    }
    std::optional<PlacementTimes> times = table_.placement_times(gpu_type_, job.model, job.gpus);
    if (!times) {
      fail("does-not-run", fmt::format("\"{}\" does not run on {}: its throughput is 0", job.model, gpu_type_), place,
           "choose another gpu_type, or leave the job out");
    }
    known = std::make_shared<PlacementTimes>(std::move(*times));
    return known;
  }

 private:
  GavelThroughputs table_;
  std::string gpu_type_;
  mutable std::map<std::pair<std::string, std::uint32_t>, std::shared_ptr<const PlacementTimes>> times_;
};

/// From the least to the most of what was seen.
template <class Value>
struct Range {
  std::optional<Value> least;
  std::optional<Value> most;

  void add(Value value) {
    least = std::min(least.value_or(value), value);
    most = std::max(most.value_or(value), value);
  }
};

/// "8 GPUs", "1 to 8 GPUs".
template <class Count>
std::string counted_range(const Range<Count>& range, std::string_view one, std::string_view many) {
  return (*range.least < *range.most ? fmt::format("{} to ", *range.least) : "") + counted(*range.most, one, many);
}

/// What became of the jobs of one rule, for the notes.
struct Tally {
  std::uint64_t jobs = 0;
  Range<std::uint64_t> iterations;
  // Of the jobs whose iteration time is known
  Range<Duration> iteration_time;
  Range<std::uint32_t> gpus;
  Range<std::size_t> hosts;                         ///< where the empty cluster places them
  std::map<std::uint32_t, ProbedIteration> probed;  ///< of the rule's workload, by number of GPUs
  /// jobs whose placement was not measured: by the mean of those on as many hosts
  std::uint64_t as_on_as_many_hosts = 0;
  Range<std::size_t> other_hosts;
  std::uint64_t as_on_other_hosts = 0;  ///< by the mean of those on other numbers of hosts
  /// jobs of traces that would restart on fewer GPUs, but run the rule's workload
  std::uint64_t not_elastic = 0;

  void add_iteration(Duration time, std::uint32_t of_gpus) {
    iteration_time.add(time);
    gpus.add(of_gpus);
  }
};

class Assignment {
 public:
  Assignment(const JobTrace& trace, std::string path, const std::vector<JobRule>& rules, Mode mode, const ClusterProbes& probes)
      : trace_(trace), path_(std::move(path)), rules_(rules), mode_(mode), probes_(probes), tallies_(rules.size()) {}

  std::vector<JobSpec> run() {
    std::vector<JobSpec> jobs = jobs_of_trace(trace_, path_);
    for (std::size_t i = 0; i < jobs.size(); ++i) assign(trace_.jobs[i], jobs[i]);
    return jobs;
  }

  void note(std::vector<std::string>& assumptions) {
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      assumptions.push_back(fmt::format("{}: rule {}: {}", path_, r + 1, text_of(rules_[r], tallies_[r])));
    }
    if (has_gaps_) {
      assumptions.push_back(fmt::format(
          "{}: a placement that was not measured takes the mean of those on as many hosts, else of all of as many GPUs", path_));
    }
    if (rules_.empty() || without_rule_ == 0) return;
    assumptions.push_back(fmt::format(
        "{}: {}", path_,
        without_rule_ == 1 ? "1 job matches no rule and holds its GPUs for its run time"
                           : fmt::format("{} jobs match no rule and hold their GPUs for their run times", without_rule_)));
  }

 private:
  void assign(const TraceJob& job, JobSpec& spec) {
    if (job.iteration_times != nullptr) {
      spec.iteration_times = job.iteration_times;
      spec.duration = run_alone(spec);
    }
    const auto rule = std::find_if(rules_.begin(), rules_.end(), [&](const JobRule& known) { return known.matches(job); });
    if (rule == rules_.end()) {
      require_run_time(spec, "matches no rule");
      ++without_rule_;
      return;
    }
    Tally& tally = tallies_[static_cast<std::size_t>(rule - rules_.begin())];
    ++tally.jobs;
    spec.data = rule->data;
    spec.data_hosts = rule->data_hosts;
    spec.checkpoint = rule->checkpoint;
    if (rule->measured != nullptr) {
      give_measured(*rule, job, spec, tally);
    } else if (!rule->workload) {
      require_run_time(spec, "its rule says nothing of what it runs");
    } else if (rule->mode == Mode::job) {
      give_duration(*rule, job, spec, tally);
    } else if (mode_ == Mode::job) {
      require_run_time(spec, "needs one in job mode, in which workloads are not run");
    } else {
      give_workload(*rule, job, spec, tally);
      spec.is_in_flow_mode = mode_ == Mode::packet && rule->mode == Mode::flow;
    }
    tally.iterations.add(spec.iterations);
  }

  void require_run_time(const JobSpec& spec, const char* why) const {
    if (trace_.has_run_times) return;
    fail("no-run-times", fmt::format("job \"{}\" has no run time and {}", spec.name, why), spec.place,
         "add a rule that it matches, or throughputs and gpu_type to the trace");
  }

  void give_measured(const JobRule& rule, const TraceJob& job, JobSpec& spec, Tally& tally) {
    spec.iteration_times = rule.measured->of(job, spec.place);
    spec.samples_per_iteration = rule.samples_per_iteration;
    count_basis(*spec.iteration_times, job.gpus, tally);
    if (!spec.iteration_times->covers_all(job.gpus)) has_gaps_ = true;
    const Duration alone = time_alone(*spec.iteration_times, job.gpus);
    tally.add_iteration(alone, job.gpus);
    if (rule.iterations > 0) {
      spec.iterations = rule.iterations;
    } else if (job.iterations == 0) {
      spec.iterations = fitting(job.run, alone, spec, rule);
    }
    const double longest_s = spec.iteration_times->longest(job.gpus).in_s() * static_cast<double>(spec.iterations);
    if (longest_s > op_duration_max.in_s()) {
      fail("out-of-range", fmt::format("job \"{}\" would run for more than a year", spec.name), spec.place,
           fmt::format("{} of up to {}", counted(spec.iterations, "iteration", "iterations"),
                       to_text(spec.iteration_times->longest(job.gpus))));
    }
    spec.duration = run_alone(spec);
  }

  /// The run time where the empty cluster places the job.
  DurationModel run_alone(const JobSpec& spec) {
    return DurationModel::fixed(time_alone(*spec.iteration_times, spec.gpus) * static_cast<std::int64_t>(spec.iterations));
  }

  void count_basis(const PlacementTimes& times, std::uint32_t gpus, Tally& tally) {
    const std::vector<std::uint32_t>& gpus_of_hosts = placement_alone(gpus);
    if (gpus_of_hosts.empty()) return;
    tally.hosts.add(gpus_of_hosts.size());
    const PlacementTimes::Found found = times.find(gpus_of_hosts);
    if (found.basis == PlacementTimes::Basis::as_many_hosts) ++tally.as_on_as_many_hosts;
    if (found.basis != PlacementTimes::Basis::other_hosts) return;
    ++tally.as_on_other_hosts;
    if (found.hosts_min == 0) return;
    tally.other_hosts.add(found.hosts_min);
    tally.other_hosts.add(found.hosts_max);
  }

  const std::vector<std::uint32_t>& placement_alone(std::uint32_t gpus) {
    const auto [known, is_new] = placements_alone_.try_emplace(gpus);
    if (is_new) known->second = probes_.placement(gpus);
    return known->second;
  }

  Duration time_alone(const PlacementTimes& times, std::uint32_t gpus) {
    const std::vector<std::uint32_t>& gpus_of_hosts = placement_alone(gpus);
    // A job without a place is refused by check_jobs(), together with all others.
    return gpus_of_hosts.empty() ? times.packed(gpus) : times.of(gpus_of_hosts);
  }

  void give_workload(const JobRule& rule, const TraceJob& job, JobSpec& spec, Tally& tally) {
    spec.workload = rule.workload(job.gpus);
    if (job.min_gpus > 0 && rule.mode != Mode::job) ++tally.not_elastic;
    spec.samples_per_iteration = rule.samples_per_iteration;
    spec.iteration_times = nullptr;
    if (rule.iterations > 0) {
      spec.iterations = rule.iterations;
    } else if (trace_.has_run_times) {
      spec.iterations =
          is_left_to_run(rule) ? 1 : fitting(spec.duration.mean(), iteration_of(rule, job, spec, tally).time, spec, rule);
    }
  }

  /// Of a workload in job mode.
  void give_duration(const JobRule& rule, const TraceJob& job, JobSpec& spec, Tally& tally) {
    if (!rule.iteration_time && !probes_.has_network) {
      fail("no-topology", "the rule needs a topology on which an iteration of its workload is measured", rule.mode_place,
           "give a topology instead of the cluster, or say iteration_time: \"200ms\"");
    }
    give_workload(rule, job, spec, tally);
    // Where nothing may run, the trace's run time has to do.
    if (rule.iteration_time || probes_.iteration != nullptr) {
      const auto [time, compute_share] = iteration_of(rule, job, spec, tally);
      if (time >
          Duration::ticks(op_duration_max.in_ticks() / static_cast<std::int64_t>(std::max<std::uint64_t>(spec.iterations, 1)))) {
        fail("out-of-range", fmt::format("job \"{}\" would run for more than a year", spec.name), spec.place,
             fmt::format("{} of {}", counted(spec.iterations, "iteration", "iterations"), to_text(time)));
      }
      spec.duration = DurationModel::fixed(time * static_cast<std::int64_t>(spec.iterations));
      if (!rule.iteration_time) spec.compute_share = compute_share;
    }
    spec.workload = nullptr;
  }

  ProbedIteration iteration_of(const JobRule& rule, const TraceJob& job, const JobSpec& spec, Tally& tally) {
    const auto [known, is_new] = tally.probed.try_emplace(job.gpus);
    if (is_new)
      known->second = rule.iteration_time ? ProbedIteration{*rule.iteration_time} : probes_.iteration(spec.workload, rule.place);
    tally.add_iteration(known->second.time, job.gpus);
    return known->second;
  }

  /// Would the number of iterations follow from a run that is not allowed here?
  bool is_left_to_run(const JobRule& rule) const {
    return rule.workload && rule.measured == nullptr && rule.iterations == 0 && !rule.iteration_time && trace_.has_run_times &&
           probes_.iteration == nullptr;
  }

  static std::uint64_t fitting(Duration run, Duration iteration, const JobSpec& spec, const JobRule& rule) {
    if (iteration <= Duration::zero()) {
      fail("zero-iteration",
           fmt::format("an iteration of job \"{}\" takes no time, so that no number of them fits its run time", spec.name),
           rule.place, "say how many: iterations: 1000");
    }
    const std::int64_t half = iteration.in_ticks() / 2;
    const std::int64_t count = run.in_ticks() / iteration.in_ticks() + (run.in_ticks() % iteration.in_ticks() > half ? 1 : 0);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(1, count));
  }

  std::string text_of(const JobRule& rule, const Tally& tally) {
    if (tally.jobs == 0) return "no job matches it";
    std::string text = counted(tally.jobs, "job", "jobs");
    if (rule.measured == nullptr && !rule.workload) return text + ", run times as in the trace";
    if (rule.measured == nullptr && mode_ == Mode::job && !rule.mode)
      return text + ", run times as in the trace: job mode runs no workloads";
    text += fmt::format(" of {}", rule.measured != nullptr ? "measured iterations" : rule.workload_name);
    if (rule.measured == nullptr && rule.mode == Mode::job) text += " in job mode";
    if (mode_ == Mode::packet && rule.mode == Mode::flow) text += " in flow mode";
    if (is_left_to_run(rule)) return text + ", as often as fits the run time: `weft run` measures an iteration first";
    text += fmt::format(", {}", counted_range(tally.iterations, "time", "times"));
    if (tally.not_elastic > 0)
      text += fmt::format(", {} on no fewer GPUs than the workload has ranks",
                          counted(tally.not_elastic, "of them restarts", "of them restart"));
    const Range<Duration>& time = tally.iteration_time;
    if (!time.least) return text;
    text += fmt::format("; an iteration on {} takes {}{}", counted_range(tally.gpus, "GPU", "GPUs"),
                        *time.least < *time.most ? fmt::format("{} to ", to_text(*time.least)) : "", to_text(*time.most));
    if (rule.measured == nullptr) {
      return text + (rule.iteration_time ? ", as the rule says" : ", measured alone on the empty cluster");
    }
    if (tally.hosts.least)
      text += fmt::format(" on {}, as the empty cluster places it", counted_range(tally.hosts, "host", "hosts"));
    return text + substitutes(tally);
  }

  static std::string substitutes(const Tally& tally) {
    const auto of = [](std::uint64_t jobs, const std::string& means) {
      if (jobs == 0) return std::string();
      return fmt::format("; for {} that placement was not measured and the mean of placements on {} stands in",
                         counted(jobs, "job", "jobs"), means);
    };
    return of(tally.as_on_as_many_hosts, "as many hosts") +
           of(tally.as_on_other_hosts,
              tally.other_hosts.least ? counted_range(tally.other_hosts, "host", "hosts") : "several hosts");
  }

  const JobTrace& trace_;
  std::string path_;
  const std::vector<JobRule>& rules_;
  Mode mode_;
  const ClusterProbes& probes_;
  std::vector<Tally> tallies_;
  /// GPUs on each host, by number of GPUs
  std::map<std::uint32_t, std::vector<std::uint32_t>> placements_alone_;
  std::uint64_t without_rule_ = 0;
  /// may a run place a job with measured iterations where nothing was measured?
  bool has_gaps_ = false;
};

}  // namespace

std::unique_ptr<MeasuredIterations> measured_for_all(PlacementTimes times, std::string file) {
  return std::make_unique<ForAll>(std::move(times), std::move(file));
}

std::unique_ptr<MeasuredIterations> measured_by_job_type(GavelThroughputs table, const std::string& gpu_type,
                                                         const SourcePlace& place) {
  table.require_gpu_type(gpu_type, place);
  return std::make_unique<ByJobType>(std::move(table), gpu_type);
}

bool JobRule::matches(const TraceJob& job) const {
  return job.gpus >= gpus_min && job.gpus <= gpus_max && fits(name, job.name) && fits(group, job.group) && fits(model, job.model);
}

void read_gpu_range(const std::string& text, const SourcePlace& place, JobRule& rule) {
  if (text.empty()) return;
  const char* const end = text.data() + text.size();
  const auto [dash, error] = std::from_chars(text.data(), end, rule.gpus_min);
  bool good = error == std::errc{} && rule.gpus_min > 0;
  if (good && dash == end) {
    rule.gpus_max = rule.gpus_min;
  } else if (good && *dash == '-' && dash + 1 != end) {
    const auto [last, last_error] = std::from_chars(dash + 1, end, rule.gpus_max);
    good = last_error == std::errc{} && last == end && rule.gpus_max >= rule.gpus_min;
  } else {
    good = good && *dash == '-';
  }
  if (!good) fail("bad-value", fmt::format("gpus is no range: \"{}\"", text), place, "write \"8\", \"1-8\" or \"64-\"");
}

std::vector<JobSpec> jobs_by_rule(const JobTrace& trace, const std::string& path, const std::vector<JobRule>& rules, Mode mode,
                                  const ClusterProbes& probes, std::vector<std::string>& assumptions) {
  for (const JobRule& rule : rules) {
    if (!rule.mode || rule.mode == Mode::job || (may_be_in(*rule.mode, mode) && rule.measured == nullptr)) continue;
    fail("job-mode",
         rule.measured != nullptr
             ? "measured iterations use no network, whatever the mode"
             : fmt::format("the rule asks for {} mode in a run in {} mode", to_text(*rule.mode), to_text(mode)),
         rule.mode_place, other_mode_hint);
  }
  Assignment assignment(trace, path, rules, mode, probes);
  std::vector<JobSpec> jobs = assignment.run();
  assignment.note(assumptions);
  return jobs;
}

}  // namespace weft
