// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/job_rules.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "workloads/dag/dag.hpp"

namespace weft::job_rules_test {
namespace {

TraceJob job(const std::string& name, std::uint32_t gpus, Duration run, const std::string& group = "",
             const std::string& model = "") {
  TraceJob result;
  result.name = name;
  result.gpus = gpus;
  result.run = run;
  result.group = group;
  result.model = model;
  return result;
}

JobTrace trace_of(std::vector<TraceJob> jobs) {
  JobTrace trace;
  trace.jobs = std::move(jobs);
  return trace;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

/// Says that an iteration takes 10 ms and that hosts have 8 GPUs, and how often it was asked to run
/// one.
struct Cluster {
  std::uint32_t gpus_per_host = 8;
  int runs = 0;
  ClusterProbes probes = {[this](const std::shared_ptr<const Workload>&, const SourcePlace&) {
                            ++runs;
                            return ProbedIteration{Duration::ms(10)};
                          },
                          [this](std::uint32_t gpus) {
                            std::vector<std::uint32_t> hosts(gpus / gpus_per_host, gpus_per_host);
                            if (gpus % gpus_per_host > 0) hosts.push_back(gpus % gpus_per_host);
                            return hosts;
                          }};
};

JobRule workload_rule() {
  JobRule rule;
  rule.workload_name = "w.textproto";
  rule.workload = [](std::uint32_t gpus) {
    auto workload = std::make_shared<Workload>();
    workload->rank_count = gpus;
    return workload;
  };
  return rule;
}

TEST(JobRules, Ranges) {
  const auto range = [](const std::string& text) {
    JobRule rule;
    read_gpu_range(text, SourcePlace::named("s"), rule);
    return std::pair(rule.gpus_min, rule.gpus_max);
  };
  EXPECT_EQ(range(""), std::pair(1U, UINT32_MAX));
  EXPECT_EQ(range("8"), std::pair(8U, 8U));
  EXPECT_EQ(range("1-8"), std::pair(1U, 8U));
  EXPECT_EQ(range("64-"), std::pair(64U, UINT32_MAX));
  for (const char* bad : {"0", "8-1", "-8", "x", "8x", "1-8x", "8 - 9", "99999999999", "-"}) {
    EXPECT_NE(error_of([&] { range(bad); }).find("gpus is no range: \"" + std::string(bad) + "\" [bad-value]"), std::string::npos)
        << bad;
  }
}

TEST(JobRules, PatternsMatchNameGroupAndModel) {
  JobRule rule;
  rule.gpus_min = 2;
  rule.gpus_max = 8;
  rule.group = "vc*";
  rule.model = "llm-?b";
  EXPECT_TRUE(rule.matches(job("a", 2, {}, "vcA", "llm-7b")));
  EXPECT_FALSE(rule.matches(job("a", 1, {}, "vcA", "llm-7b")));
  EXPECT_FALSE(rule.matches(job("a", 9, {}, "vcA", "llm-7b")));
  EXPECT_FALSE(rule.matches(job("a", 2, {}, "A", "llm-7b")));
  EXPECT_FALSE(rule.matches(job("a", 2, {}, "vcA", "llm-13b")));
}

TEST(JobRules, IterationsFitTheRunTime) {
  Cluster cluster;
  std::vector<JobRule> rules;
  rules.push_back(workload_rule());
  rules[0].gpus_min = rules[0].gpus_max = 8;
  std::vector<std::string> notes;
  const auto jobs = jobs_by_rule(trace_of({job("a", 8, Duration::ms(104)), job("b", 8, Duration::ms(106)),
                                           job("c", 8, Duration::ms(1)), job("d", 4, Duration::s(5))}),
                                 "t.csv", rules, Mode::flow, cluster.probes, notes);
  EXPECT_EQ(jobs[0].iterations, 10U);  // 10.4
  EXPECT_EQ(jobs[1].iterations, 11U);  // 10.6
  EXPECT_EQ(jobs[2].iterations, 1U);   // 0.1, but at least one
  EXPECT_EQ(jobs[0].workload->rank_count, 8U);
  EXPECT_EQ(jobs[3].workload, nullptr);
  EXPECT_EQ(jobs[3].duration, DurationModel::fixed(Duration::s(5)));
  EXPECT_EQ(cluster.runs, 1);  // one number of GPUs
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0],
            "t.csv: rule 1: 3 jobs of w.textproto, 1 to 11 times; an iteration on 8 GPUs takes 10ms, measured alone on the empty "
            "cluster");
  EXPECT_EQ(notes[1], "t.csv: 1 job matches no rule and holds its GPUs for its run time");
}

TEST(JobRules, TheFirstRuleThatMatchesWins) {
  Cluster cluster;
  std::vector<JobRule> rules;
  rules.push_back(workload_rule());
  rules[0].name = "a";
  rules[0].iterations = 7;
  rules.push_back(workload_rule());
  rules[1].iteration_time = Duration::ms(50);
  std::vector<std::string> notes;
  const auto jobs = jobs_by_rule(trace_of({job("a", 8, Duration::s(1)), job("b", 8, Duration::s(1))}), "t.csv", rules, Mode::flow,
                                 cluster.probes, notes);
  EXPECT_EQ(jobs[0].iterations, 7U);
  EXPECT_EQ(jobs[1].iterations, 20U);
  EXPECT_EQ(cluster.runs, 0);
}

TEST(JobRules, JobModeRunsNoWorkloads) {
  Cluster cluster;
  std::vector<JobRule> rules;
  rules.push_back(workload_rule());
  std::vector<std::string> notes;
  const auto jobs = jobs_by_rule(trace_of({job("a", 8, Duration::s(1))}), "t.csv", rules, Mode::job, cluster.probes, notes);
  EXPECT_EQ(jobs[0].workload, nullptr);
  EXPECT_EQ(jobs[0].duration, DurationModel::fixed(Duration::s(1)));
  EXPECT_NE(notes[0].find("job mode runs no workloads"), std::string::npos);
}

TEST(JobRules, MeasuredIterationsByPlacement) {
  Cluster cluster;
  PlacementTimes times;
  times.add(std::array{4U}, Duration::ms(100));
  times.add(std::array{2U, 2U}, Duration::ms(300));
  std::vector<JobRule> rules(1);
  rules[0].measured = measured_for_all(times, "times.csv");
  JobTrace trace = trace_of({job("a", 4, Duration::s(5)), job("b", 4, Duration::zero())});
  trace.jobs[1].iterations = 20;
  std::vector<std::string> notes;
  const auto jobs = jobs_by_rule(trace, "t.csv", rules, Mode::job, cluster.probes, notes);
  EXPECT_EQ(jobs[0].iterations, 50U);  // 5 s at 100 ms on one host
  EXPECT_EQ(jobs[0].duration, DurationModel::fixed(Duration::s(5)));
  EXPECT_EQ(jobs[1].iterations, 20U);
  EXPECT_EQ(jobs[1].duration, DurationModel::fixed(Duration::s(2)));
  EXPECT_EQ(jobs[1].iteration_times->of(std::array{2U, 2U}), Duration::ms(300));
}

// Iterations used to fit the time on the fewest hosts of the table, here one, on whatever cluster:
// a job that 5 s belong to would have run for 15 s on hosts of 2 GPUs, wherever it was placed.
TEST(JobRules, MeasuredIterationsFitWhereTheClusterPlacesThem) {
  PlacementTimes times;
  times.add(std::array{4U}, Duration::ms(100));
  times.add(std::array{2U, 2U}, Duration::ms(300));
  std::vector<JobRule> rules(1);
  rules[0].measured = measured_for_all(times, "times.csv");
  Cluster cluster;
  const auto iterations_and_note = [&] {
    std::vector<std::string> notes;
    const auto jobs = jobs_by_rule(trace_of({job("a", 4, Duration::s(6))}), "t.csv", rules, Mode::job, cluster.probes, notes);
    return std::pair(jobs[0].iterations, notes[0]);
  };
  // 6 s / 100 ms = 60.
  EXPECT_EQ(iterations_and_note(),
            std::pair(std::uint64_t{60}, std::string("t.csv: rule 1: 1 job of measured iterations, 60 times; an iteration on "
                                                     "4 GPUs takes 100ms on 1 host, as the empty cluster places it")));
  cluster.gpus_per_host = 2;
  // 6 s / 300 ms = 20.
  EXPECT_EQ(iterations_and_note(),
            std::pair(std::uint64_t{20}, std::string("t.csv: rule 1: 1 job of measured iterations, 20 times; an iteration on "
                                                     "4 GPUs takes 300ms on 2 hosts, as the empty cluster places it")));
}

// A job on one host of 8 took the mean of placements on several, and the note said that it was the
// time of 1 host.
TEST(JobRules, NotesSayWhatStandsInForPlacementsThatWereNotMeasured) {
  Cluster cluster;
  PlacementTimes times;
  times.add(std::array{4U, 4U}, Duration::ms(100));
  times.add(std::array{2U, 2U, 2U, 2U}, Duration::ms(300));
  times.add(std::array{4U}, Duration::ms(50));
  std::vector<JobRule> rules(1);
  rules[0].measured = measured_for_all(times, "times.csv");
  const auto notes_of = [&] {
    std::vector<std::string> notes;
    const auto jobs = jobs_by_rule(trace_of({job("a", 8, Duration::s(2)), job("b", 4, Duration::s(2))}), "t.csv", rules, Mode::job,
                                   cluster.probes, notes);
    // What a run takes there is the same: (100 + 300) / 2 ms.
    EXPECT_EQ(jobs[0].iteration_times->of(std::array{8U}), Duration::ms(200));
    return notes;
  };
  // 2 s / 200 ms = 10, 2 s / 50 ms = 40.
  EXPECT_EQ(
      notes_of(),
      (std::vector<std::string>{
          "t.csv: rule 1: 2 jobs of measured iterations, 10 to 40 times; an iteration on 4 to 8 GPUs takes 50ms to 200ms on 1 "
          "host, as the empty cluster places it; for 1 job that placement was not measured and the mean of placements on 2 to "
          "4 hosts stands in",
          "t.csv: a placement that was not measured takes the mean of those on as many hosts, else of all of as many GPUs"}));
  cluster.gpus_per_host = 5;  // 5 + 3 GPUs, where 4 + 4 was measured
  std::vector<std::string> notes;
  jobs_by_rule(trace_of({job("a", 8, Duration::s(2))}), "t.csv", rules, Mode::job, cluster.probes, notes);
  EXPECT_EQ(notes[0],
            "t.csv: rule 1: 1 job of measured iterations, 20 times; an iteration on 8 GPUs takes 100ms on 2 hosts, as the empty "
            "cluster places it; for 1 job that placement was not measured and the mean of placements on as many hosts stands in");
}

// The time of the job with the fewest GPUs stood there for all.
TEST(JobRules, NotesSayFromWhichToWhichTimeAnIterationTakes) {
  Cluster cluster;
  std::vector<JobRule> rules;
  rules.push_back(workload_rule());
  const auto by_gpus = [](const std::shared_ptr<const Workload>& workload, const SourcePlace&) {
    return ProbedIteration{Duration::ms(10) * workload->rank_count};
  };
  cluster.probes.iteration = by_gpus;
  std::vector<std::string> notes;
  jobs_by_rule(trace_of({job("a", 8, Duration::ms(800)), job("b", 2, Duration::ms(800)), job("c", 8, Duration::ms(800))}), "t.csv",
               rules, Mode::flow, cluster.probes, notes);
  EXPECT_EQ(notes[0],
            "t.csv: rule 1: 3 jobs of w.textproto, 10 to 40 times; an iteration on 2 to 8 GPUs takes 20ms to 80ms, measured alone "
            "on the empty cluster");
}

// Jobs of a trace with a table of throughputs ran as if on one host wherever they were placed.
TEST(JobRules, JobsWithTimesOfTheirOwnFollowTheirPlacement) {
  Cluster cluster;
  cluster.gpus_per_host = 1;
  auto times = std::make_shared<PlacementTimes>();
  times->add(std::array{2U}, Duration::ms(100));
  times->add_spread(2, Duration::ms(300));
  JobTrace trace = trace_of({job("a", 2, Duration::s(1), "", "LM"), job("b", 2, Duration::s(1), "", "other")});
  for (TraceJob& each : trace.jobs) {
    each.iterations = 10;
    each.iteration_times = times;
  }
  std::vector<JobRule> rules;
  rules.push_back(workload_rule());
  rules[0].model = "other";
  std::vector<std::string> notes;
  const auto jobs = jobs_by_rule(trace, "t.csv", rules, Mode::flow, cluster.probes, notes);
  EXPECT_EQ(jobs[0].duration, DurationModel::fixed(Duration::s(3)));  // 10 x 300 ms on two hosts
  EXPECT_EQ(jobs[0].iteration_times->of(std::array{2U}), Duration::ms(100));
  EXPECT_EQ(jobs[1].iterations, 300U);  // 3 s of 10 ms
  EXPECT_EQ(jobs[1].iteration_times, nullptr);
}

// `weft check` used to simulate two iterations of each workload, though it says that it runs
// nothing.
TEST(JobRules, WithoutAProbeTheNumberOfIterationsIsLeftToTheRun) {
  Cluster cluster;
  cluster.probes.iteration = nullptr;
  std::vector<JobRule> rules;
  rules.push_back(workload_rule());
  rules[0].name = "a";
  rules.push_back(workload_rule());
  rules[1].iteration_time = Duration::ms(50);
  std::vector<std::string> notes;
  const auto jobs = jobs_by_rule(trace_of({job("a", 8, Duration::s(1)), job("b", 8, Duration::s(1))}), "t.csv", rules, Mode::flow,
                                 cluster.probes, notes);
  EXPECT_EQ(jobs[0].iterations, 1U);
  EXPECT_EQ(jobs[1].iterations, 20U);  // 1 s / 50 ms: nothing needs to run for that
  EXPECT_EQ(notes[0], "t.csv: rule 1: 1 job of w.textproto, as often as fits the run time: `weft run` measures an iteration first");
  EXPECT_EQ(notes[1], "t.csv: rule 2: 1 job of w.textproto, 20 times; an iteration on 8 GPUs takes 50ms, as the rule says");
}

TEST(JobRules, Faults) {
  Cluster cluster;
  std::vector<std::string> notes;
  PlacementTimes times;
  times.add(std::array{4U}, Duration::ms(100));
  std::vector<JobRule> rules(1);
  rules[0].measured = measured_for_all(times, "times.csv");
  const auto error = [&](const JobTrace& trace, Mode mode) {
    return error_of([&] { jobs_by_rule(trace, "t.csv", rules, mode, cluster.probes, notes); });
  };
  EXPECT_NE(error(trace_of({job("a", 8, Duration::s(5))}), Mode::job)
                .find("times.csv has no placement of 8 GPUs, which job \"a\" wants [not-measured]"),
            std::string::npos);
  JobTrace long_one = trace_of({job("a", 4, Duration::s(5))});
  long_one.jobs[0].iterations = UINT64_MAX;
  EXPECT_NE(error(long_one, Mode::job).find("would run for more than a year [out-of-range]"), std::string::npos);

  rules[0] = workload_rule();
  rules[0].name = "other";
  JobTrace no_times = trace_of({job("a", 4, Duration::zero())});
  no_times.has_run_times = false;
  EXPECT_NE(error(no_times, Mode::flow).find("job \"a\" has no run time and matches no rule [no-run-times]"), std::string::npos);
  rules[0].name = "";
  EXPECT_NE(error(no_times, Mode::job).find("[no-run-times]"), std::string::npos);
  // The row is right; it is the rule that must say how many.
  rules[0].iteration_time = Duration::zero();
  rules[0].place = SourcePlace::named("s.textproto");
  EXPECT_NE(error(trace_of({job("a", 4, Duration::s(5))}), Mode::flow)
                .find("s.textproto: error: an iteration of job \"a\" takes no time, so that no number of them fits its run time "
                      "[zero-iteration]"),
            std::string::npos);
}

TEST(JobRules, ThroughputsByJobType) {
  const GavelThroughputs table = GavelThroughputs::read(SourceText(
      "t.json",
      R"json({"v100": {"('LM', 2)": {"null": 50}, "('A3C', 1)": {"null": 0}}, "v100_unconsolidated": {"('LM', 2)": {"null": 10}}})json"));
  const auto measured = measured_by_job_type(table, "v100", SourcePlace::named("s"));
  const auto times = measured->of(job("a", 2, {}, "", "LM"), SourcePlace::named("t:1"));
  EXPECT_EQ(times->of(std::array{2U}), Duration::ms(20));
  EXPECT_EQ(times->of(std::array{1U, 1U}), Duration::ms(100));
  EXPECT_NE(error_of([&] { measured->of(job("a", 1, {}, "", "LN"), SourcePlace::named("t:1")); }).find("did you mean \"LM\"?"),
            std::string::npos);
  EXPECT_NE(error_of([&] { measured->of(job("a", 1, {}, "", "A3C"), SourcePlace::named("t:1")); }).find("[does-not-run]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { measured_by_job_type(table, "v10", SourcePlace::named("s")); }).find("[unknown-gpu-type]"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::job_rules_test
