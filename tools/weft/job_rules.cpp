#include "tools/weft/job_rules.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/counted.hpp"
#include "workloads/limits.hpp"

namespace weft {

namespace {

[[noreturn]] void fail(std::string code, std::string message, SourcePlace place, std::string help) {
  throw InputError({Severity::error, std::move(code), std::move(message), std::move(place), std::move(help)});
}

bool fits(const std::string& pattern, const std::string& text) {
  return pattern.empty() || fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
}

class ForAll final : public MeasuredIterations {
 public:
  ForAll(PlacementTimes times, std::string file)
      : times_(std::make_shared<PlacementTimes>(std::move(times))), file_(std::move(file)) {}

  std::shared_ptr<const PlacementTimes> of(const TraceJob& job, const SourcePlace& place) const override {
    if (times_->knows(job.gpus)) return times_;
    std::string counts;
    for (const std::uint32_t gpus : times_->gpu_counts()) counts += (counts.empty() ? "" : ", ") + std::to_string(gpus);
    fail("not-measured",
         file_ + " has no placement of " + counted(job.gpus, "GPU", "GPUs") + ", which job \"" + job.name + "\" wants", place,
         "it has placements of " + counts + "; limit the rule with gpus");
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
    const std::optional<double> packed = table_.steps_per_s(gpu_type_, job.model, job.gpus);
    if (!packed) {
      fail("unknown-job-type",
           table_.file() + " has no \"" + job.model + "\" with " + counted(job.gpus, "GPU", "GPUs") + " on " + gpu_type_, place,
           suggestion(job.model, table_.job_types(gpu_type_), "job type"));
    }
    const std::optional<double> spread = table_.steps_per_s(gpu_type_ + "_unconsolidated", job.model, job.gpus);
    auto times = std::make_shared<PlacementTimes>();
    const std::uint32_t gpus = job.gpus;
    times->add(std::span(&gpus, 1), step_time(*packed, job, place));
    if (spread && gpus > 1) times->add_spread(gpus, step_time(*spread, job, place));
    known = times;
    return known;
  }

 private:
  Duration step_time(double steps_per_s, const TraceJob& job, const SourcePlace& place) const {
    const double seconds = 1 / steps_per_s;
    if (steps_per_s > 0 && seconds <= op_duration_max.in_s()) return Duration::from_seconds(seconds);
    fail("does-not-run", "\"" + job.model + "\" does not run on " + gpu_type_ + ": its throughput is 0", place,
         "choose another gpu_type, or leave the job out");
  }

  GavelThroughputs table_;
  std::string gpu_type_;
  mutable std::map<std::pair<std::string, std::uint32_t>, std::shared_ptr<const PlacementTimes>> times_;
};

/// What became of the jobs of one rule, for the notes.
struct Tally {
  std::uint64_t jobs = 0;
  std::uint64_t iterations_min = UINT64_MAX;
  std::uint64_t iterations_max = 0;
  std::map<std::uint32_t, Duration> iteration_time;  ///< by number of GPUs
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
      assumptions.push_back(path_ + ": rule " + std::to_string(r + 1) + ": " + text_of(rules_[r], tallies_[r]));
    }
    if (rules_.empty() || without_rule_ == 0) return;
    assumptions.push_back(path_ + ": " +
                          (without_rule_ == 1
                               ? "1 job matches no rule and holds its GPUs for its run time"
                               : std::to_string(without_rule_) + " jobs match no rule and hold their GPUs for their run times"));
  }

 private:
  void assign(const TraceJob& job, JobSpec& spec) {
    const auto rule = std::find_if(rules_.begin(), rules_.end(), [&](const JobRule& known) { return known.matches(job); });
    if (rule == rules_.end()) {
      require_run_time(spec, "matches no rule");
      ++without_rule_;
      return;
    }
    Tally& tally = tallies_[static_cast<std::size_t>(rule - rules_.begin())];
    ++tally.jobs;
    if (rule->measured != nullptr) {
      give_measured(*rule, job, spec, tally);
    } else if (mode_ == Mode::job) {
      require_run_time(spec, "needs one in job mode, in which workloads are not run");
    } else {
      give_workload(*rule, job, spec, tally);
    }
    tally.iterations_min = std::min(tally.iterations_min, spec.iterations);
    tally.iterations_max = std::max(tally.iterations_max, spec.iterations);
  }

  void require_run_time(const JobSpec& spec, const char* why) const {
    if (trace_.has_run_times) return;
    fail("no-run-times", "job \"" + spec.name + "\" has no run time and " + why, spec.place,
         "add a rule that it matches, or throughputs and gpu_type to the trace");
  }

  void give_measured(const JobRule& rule, const TraceJob& job, JobSpec& spec, Tally& tally) {
    spec.iteration_times = rule.measured->of(job, spec.place);
    const Duration alone = time_alone(*spec.iteration_times, job.gpus);
    tally.iteration_time[job.gpus] = alone;
    if (rule.iterations > 0) {
      spec.iterations = rule.iterations;
    } else if (job.iterations == 0) {
      spec.iterations = fitting(job.run, alone, spec, rule);
    }
    const double longest_s = spec.iteration_times->longest(job.gpus).in_s() * static_cast<double>(spec.iterations);
    if (longest_s > op_duration_max.in_s()) {
      fail("out-of-range", "job \"" + spec.name + "\" would run for more than a year", spec.place,
           counted(spec.iterations, "iteration", "iterations") + " of up to " + to_text(spec.iteration_times->longest(job.gpus)));
    }
    spec.duration = DurationModel::fixed(alone * static_cast<std::int64_t>(spec.iterations));
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
    if (rule.iterations > 0) {
      spec.iterations = rule.iterations;
    } else if (trace_.has_run_times) {
      spec.iterations = is_left_to_run(rule) ? 1 : fitting(job.run, iteration_time(rule, job, spec, tally), spec, rule);
    }
  }

  Duration iteration_time(const JobRule& rule, const TraceJob& job, const JobSpec& spec, Tally& tally) {
    const auto [known, is_new] = tally.iteration_time.try_emplace(job.gpus);
    if (is_new) known->second = rule.iteration_time ? *rule.iteration_time : probes_.iteration(spec.workload, rule.place);
    return known->second;
  }

  /// Would the number of iterations follow from a run that is not allowed here?
  bool is_left_to_run(const JobRule& rule) const {
    return rule.measured == nullptr && rule.iterations == 0 && !rule.iteration_time && trace_.has_run_times &&
           probes_.iteration == nullptr;
  }

  static std::uint64_t fitting(Duration run, Duration iteration, const JobSpec& spec, const JobRule& rule) {
    if (iteration <= Duration::zero()) {
      fail("zero-iteration", "an iteration of job \"" + spec.name + "\" takes no time, so that no number of them fits its run time",
           rule.place, "say how many: iterations: 1000");
    }
    const std::int64_t half = iteration.in_ticks() / 2;
    const std::int64_t count = run.in_ticks() / iteration.in_ticks() + (run.in_ticks() % iteration.in_ticks() > half ? 1 : 0);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(1, count));
  }

  std::string text_of(const JobRule& rule, const Tally& tally) {
    if (tally.jobs == 0) return "no job matches it";
    std::string text = counted(tally.jobs, "job", "jobs");
    if (rule.measured == nullptr && mode_ == Mode::job) return text + ", run times as in the trace: job mode runs no workloads";
    text += " of " + (rule.measured != nullptr ? "measured iterations" : rule.workload_name);
    if (is_left_to_run(rule)) return text + ", as often as fits the run time: `weft run` measures an iteration first";
    text += ", " + (tally.iterations_max > tally.iterations_min ? std::to_string(tally.iterations_min) + " to " : "") +
            counted(tally.iterations_max, "time", "times");
    if (tally.iteration_time.empty()) return text;
    const auto& [gpus, time] = *tally.iteration_time.begin();
    text += "; an iteration on " + counted(gpus, "GPU", "GPUs") + " takes " + to_text(time);
    if (rule.measured != nullptr) {
      const std::size_t hosts = placement_alone(gpus).size();
      return hosts == 0 ? text : text + " on " + counted(hosts, "host", "hosts") + ", as the empty cluster places it";
    }
    return text + (rule.iteration_time ? ", as the rule says" : ", measured alone on the empty cluster");
  }

  const JobTrace& trace_;
  std::string path_;
  const std::vector<JobRule>& rules_;
  Mode mode_;
  const ClusterProbes& probes_;
  std::vector<Tally> tallies_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> placements_alone_;  ///< GPUs on each host, by number of GPUs
  std::uint64_t without_rule_ = 0;
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
  if (!good) fail("bad-value", "gpus is no range: \"" + text + "\"", place, "write \"8\", \"1-8\" or \"64-\"");
}

std::vector<JobSpec> jobs_by_rule(const JobTrace& trace, const std::string& path, const std::vector<JobRule>& rules, Mode mode,
                                  const ClusterProbes& probes, std::vector<std::string>& assumptions) {
  Assignment assignment(trace, path, rules, mode, probes);
  std::vector<JobSpec> jobs = assignment.run();
  assignment.note(assumptions);
  return jobs;
}

}  // namespace weft
