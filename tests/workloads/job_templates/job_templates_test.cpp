// SPDX-License-Identifier: Apache-2.0
// Job templates: samples have the published aggregates, fits find the parameters that made the
// aggregates, mistakes are told.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/text/source_text.hpp"
#include "tests/long_runs.hpp"
#include "tests/workloads/workload_testing.hpp"
#include "workloads/job_templates/job_templates.hpp"
#include "workloads/job_templates/run_time_law.hpp"
#include "workloads/job_templates/size_law.hpp"
#include "workloads/job_templates/week_profile.hpp"
#include "workloads/job_traces/weft_csv.hpp"
#include "workloads/measurements/cluster_summary.hpp"

namespace weft::job_templates_test {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

const SourcePlace place = SourcePlace::named("test");

JobTrace make(const std::string& name, const Settings& settings = {}, std::uint64_t seed = 1) {
  const auto& module = find_module(job_templates(), name, place);
  ParamSet params(name, module.info.params);
  for (const auto& [key, value] : settings) params.set(key, value, place);
  return module.make(params, seed, place);
}

/// E[min(X, L)^2] of a log-normal X: e^(2 mu + 2 sigma^2) Phi(z - 2 sigma) + L^2 Phi(-z), z = (ln L
/// - mu) / sigma.
double capped_square(double mu, double sigma, double max) {
  const auto below = [](double z) { return std::erfc(-z / std::sqrt(2.)) / 2; };
  const double z = (std::log(max) - mu) / sigma;
  return std::exp(2 * mu + 2 * sigma * sigma) * below(z - 2 * sigma) + max * max * below(-z);
}

/// The rows of cluster_summary.csv, GPU jobs only: of the Helios data set (Hu et al., SC 2021) and
/// of AcmeTrace (Hu et al., NSDI 2024). The longest run times and largest jobs are of all of
/// Helios, in the latter.
struct Published {
  const char* name;
  double jobs, run_mean_s, run_median_s, run_max_s, gpus_mean;
  /// Helios: a quarter of the cluster, as Venus' largest virtual cluster of 32 x 8 GPUs
  std::uint32_t gpus_max;
  std::array<double, 3> shares, gpu_s;
  double days;
};
const std::vector<Published> published = {
    {"helios_venus", 125303, 13040.598, 204, 4320009, 6.736, 256, {.526, .272, .202}, {6373315670., 4920266598., 1052030340.}, 183},
    {"helios_earth", 427148, 5130.609, 234, 4320009, 2.101, 256, {.735, .136, .129}, {5713038873., 4793853520., 932310362.}, 183},
    {"helios_saturn",
     698896,
     5252.927,
     124,
     4320009,
     4.01,
     512,
     {.582, .272, .145},
     {14375709962., 10733792235., 2542859066.},
     183},
    {"helios_uranus",
     329117,
     9163.725,
     280,
     4320009,
     4.038,
     512,
     {.607, .201, .192},
     {13532231815., 10267196772., 2761134934.},
     183},
    {"helios_all",
     1580464,
     6651.681,
     206,
     4320009,
     3.716,
     2048,
     {.624, .221, .155},
     {39994296320., 30715109125., 7288334702.},
     183},
    {"acme_seren", 663813, 1414.335, 122, 1209604, 5.68, 1024, {.497, .075, .429}, {4560592618., 14274584510., 2675447459.}, 184},
    {"acme_kalos", 19907, 1259.689, 124, 625740, 26.77, 1024, {.541, .062, .397}, {1667685146., 3239202064., 426292851.}, 184},
};

/// The mean of `values` is within 4.5 standard errors of the published one: of 100,000 right
/// samples one is further off. `square` is the mean square of the law that was drawn from; a
/// sample's own is too small whenever it lacks its share of the few longest jobs, of which most of
/// it comes.
void expect_mean(const std::vector<double>& values, double mean, double square, const std::string& what) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  EXPECT_NEAR(sum / static_cast<double>(values.size()), mean,
              4.5 * std::sqrt((square - mean * mean) / static_cast<double>(values.size())))
      << what;
}

TEST(JobTemplates, SamplesHaveThePublishedAggregates) {
  ASSERT_EQ(published.size(), job_templates().size());
  for (const Published& cluster : published) {
    const std::string name = cluster.name;
    const double count = long_runs() ? cluster.jobs : std::min(cluster.jobs, 300'000.);
    const JobTrace trace = make(name, {{"jobs", std::to_string(static_cast<int>(count))}});
    ASSERT_EQ(trace.jobs.size(), static_cast<std::size_t>(count));

    // Means per job, by what became of it.
    RunTimeAggregates aggregates{cluster.run_mean_s, cluster.run_median_s, cluster.run_max_s, {}, {}};
    const double all_shares = cluster.shares[0] + cluster.shares[1] + cluster.shares[2];
    for (std::size_t end = 0; end < job_end_count; ++end) {
      aggregates.shares[end] = cluster.shares[end] / all_shares;
      aggregates.gpu_time_s[end] = cluster.gpu_s[end] / (cluster.jobs * aggregates.shares[end]);
    }
    const SizeLaw sizes = fit_size_law(cluster.gpus_mean, cluster.gpus_max, 0.55, place);
    const RunTimeLaw law = fit_run_time_law(aggregates, sizes, place);

    constexpr std::array ends = {"completed", "cancelled", "failed"};
    std::vector<double> run_s;
    std::vector<double> gpus;
    double square_of_run = 0;
    double square_of_gpus = 0;
    for (const TraceJob& job : trace.jobs) {
      run_s.push_back(job.run.in_s());
      gpus.push_back(job.gpus);
    }
    for (std::size_t end = 0; end < job_end_count; ++end) {
      std::vector<double> is_so;
      std::vector<double> gpu_s;
      for (const TraceJob& job : trace.jobs) {
        is_so.push_back(job.model == ends[end] ? 1 : 0);
        if (job.model == ends[end]) gpu_s.push_back(job.run.in_s() * job.gpus);
      }
      double square_of_gpu_time = 0;
      for (std::size_t k = 0; k < sizes.shares.size(); ++k) {
        const double size = std::ldexp(1, static_cast<int>(k));
        const double square =
            sizes.shares[k] * capped_square(law.mu[end] + law.size_exponent * std::log(size), law.sigma, law.max_s);
        square_of_gpu_time += square * size * size;
        square_of_run += square * aggregates.shares[end];
        square_of_gpus += sizes.shares[k] * size * size * aggregates.shares[end];
      }
      expect_mean(is_so, aggregates.shares[end], aggregates.shares[end], name + ": share " + ends[end]);
      expect_mean(gpu_s, aggregates.gpu_time_s[end], square_of_gpu_time, name + ": GPU time " + ends[end]);
    }
    expect_mean(run_s, cluster.run_mean_s, square_of_run, name + ": run time");
    expect_mean(gpus, cluster.gpus_mean, square_of_gpus, name + ": GPUs");

    // As many run for less than the median as for more: half of n, give or take 4.5 sqrt(n) / 2.
    // Times of whole seconds tie.
    const auto shorter = std::count_if(trace.jobs.begin(), trace.jobs.end(),
                                       [&](const TraceJob& job) { return job.run.in_s() < cluster.run_median_s; });
    const auto longer = std::count_if(trace.jobs.begin(), trace.jobs.end(),
                                      [&](const TraceJob& job) { return job.run.in_s() > cluster.run_median_s; });
    EXPECT_LT(static_cast<double>(shorter), count / 2 + 2.25 * std::sqrt(count)) << cluster.name;
    EXPECT_LT(static_cast<double>(longer), count / 2 + 2.25 * std::sqrt(count)) << cluster.name;

    // The published median of GPUs is 1 everywhere; sizes are powers of two up to the largest,
    // which is there.
    std::map<std::uint32_t, int> by_size;
    Duration longest;
    for (const TraceJob& job : trace.jobs) {
      ++by_size[job.gpus];
      longest = std::max(longest, job.run);
    }
    EXPECT_GT(2 * by_size[1], static_cast<int>(count)) << cluster.name;
    EXPECT_EQ(by_size.rbegin()->first, cluster.gpus_max) << cluster.name;
    EXPECT_LE(longest.in_s(), cluster.run_max_s) << cluster.name;
    EXPECT_GE(longest.in_s(), cluster.run_max_s / 2) << cluster.name;

    // n submissions at the published rate take n / rate, with a deviation of sqrt(n) / rate and up
    // to half a week more or less for where in the week it ends.
    const double rate = cluster.jobs / cluster.days;
    EXPECT_NEAR(trace.jobs.back().submit.in_s() / 86400, count / rate, 4.5 * std::sqrt(count) / rate + 3.5) << cluster.name;
  }
}

TEST(JobTemplates, HaveTheNumbersOfTheDataSets) {
  if (!std::filesystem::exists(data_path("traces/helios_acme"))) GTEST_SKIP() << "no data";
  std::map<std::string, ClusterSummary> rows;
  for (const char* file : {"helios_cluster_summary.csv", "acme_cluster_summary.csv"}) {
    for (const ClusterSummary& row :
         read_cluster_summaries(SourceText::read(data_path(std::string("traces/helios_acme/") + file)))) {
      rows.insert_or_assign(row.id, row);
    }
  }
  const std::vector<std::string> ids = {"Venus", "Earth", "Saturn", "Uranus", "total", "Seren", "Kalos"};
  for (std::size_t i = 0; i < published.size(); ++i) {
    const ClusterSummary& row = rows.at(ids[i]);
    EXPECT_EQ(static_cast<double>(row.gpu_jobs), published[i].jobs) << ids[i];
    EXPECT_EQ(row.mean_run_s, published[i].run_mean_s) << ids[i];
    EXPECT_EQ(row.mean_gpus, published[i].gpus_mean) << ids[i];
    EXPECT_NEAR(*row.gpu_time_s, published[i].gpu_s[0] + published[i].gpu_s[1] + published[i].gpu_s[2], 1) << ids[i];
  }
}

TEST(JobTemplates, VirtualClustersHaveGpusForTheirJobs) {
  const JobTrace trace = make("helios_venus", {{"jobs", "50000"}});
  std::map<std::string, double> jobs_of_one_gpu;
  double one_gpu = 0;
  for (const TraceJob& job : trace.jobs) {
    // cluster_gpu_number.csv: vcgkz has 1 node, vcvlY 2, vcJsw 32 of 8 GPUs.
    const std::uint32_t most = job.group == "vcgkz" ? 8 : job.group == "vcvlY" ? 16 : 256;
    EXPECT_LE(job.gpus, most);
    EXPECT_TRUE(job.gpus < 256 || job.group == "vcJsw");
    if (job.gpus == 1) jobs_of_one_gpu[job.group] += 1;
    if (job.gpus == 1) one_gpu += 1;
  }
  ASSERT_EQ(jobs_of_one_gpu.size(), 15U);
  // Jobs of one GPU fit everywhere: 32 of the 135 nodes are vcJsw's. The deviation of the share is
  // sqrt(p (1 - p) / n).
  const double share = 32. / 135;
  EXPECT_NEAR(jobs_of_one_gpu["vcJsw"] / one_gpu, share, 4.5 * std::sqrt(share * (1 - share) / one_gpu));
}

TEST(JobTemplates, SizesAreAPowerLawWithTheMean) {
  // Sizes 1, 2, 4 with shares 4 : 2 : 1, so exponent 1: the mean is (4 + 4 + 4) / 7.
  const SizeLaw law = fit_size_law(12. / 7, 4, 0, place);
  EXPECT_NEAR(law.exponent, 1, 1e-6);
  EXPECT_FALSE(law.one_gpu_apart);
  EXPECT_NEAR(law.shares[0], 4. / 7, 1e-6);
  EXPECT_NEAR(law.shares[2], 1. / 7, 1e-6);
  // With 60 % of one GPU the others have the mean (12/7 - 0.6) / 0.4 = 2.785714: 2 with share
  // 0.607143 and 4 with 0.392857 of them.
  const SizeLaw apart = fit_size_law(12. / 7, 4, 0.6, place);
  EXPECT_TRUE(apart.one_gpu_apart);
  EXPECT_NEAR(apart.shares[1], 0.4 * 0.607143, 1e-5);
  EXPECT_NEAR(apart.exponent, std::log2(0.607143 / 0.392857), 1e-5);
  EXPECT_EQ(fit_size_law(1, 64, 0.55, place).shares.front(), 1);

  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t most = 1U << (1 + random() % 14);
    const double mean = std::pow(most, std::uniform_real_distribution<>(0.01, 0.99)(random));
    const SizeLaw fitted = fit_size_law(mean, most, 0, place);
    EXPECT_NEAR(fitted.mean(), mean, 1e-4 * mean);
    double sum = 0;
    for (const double share : fitted.shares) sum += share;
    EXPECT_NEAR(sum, 1, 1e-9);
    for (std::size_t k = 1; k + 1 < fitted.shares.size(); ++k) {
      EXPECT_NEAR(fitted.shares[k] * fitted.shares[k], fitted.shares[k - 1] * fitted.shares[k + 1], 1e-9);
    }
  }
}

/// Mean of f(N) for a standard normal N, by the trapezoidal rule.
template <class F>
double normal_mean(const F& f) {
  double sum = 0;
  const double step = 1e-3;
  for (double n = -9; n < 9; n += step) sum += f(n) * std::exp(-n * n / 2);
  return sum * step / std::sqrt(2 * std::acos(-1.));
}

TEST(JobTemplates, FitsFindTheLawThatMadeTheAggregates) {
  std::mt19937 random(5);
  const auto between = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  for (int i = 0; i < 10; ++i) {
    const SizeLaw sizes = fit_size_law(between(2, 12), 256, 0.5, place);
    RunTimeLaw law;
    law.sigma = between(0.5, 3);
    law.size_exponent = between(0, 0.7);
    for (double& mu : law.mu) mu = between(3, 8);
    law.max_s = 1e6;
    RunTimeAggregates aggregates;
    aggregates.shares = {0.5, 0.2, 0.3};
    aggregates.max_s = law.max_s;
    const auto run_s = [&](std::size_t end, std::size_t k, double normal) {
      return std::min(
          law.max_s, std::exp(law.mu[end] + law.size_exponent * std::log(std::ldexp(1, static_cast<int>(k))) + law.sigma * normal));
    };
    for (std::size_t end = 0; end < job_end_count; ++end) {
      for (std::size_t k = 0; k < sizes.shares.size(); ++k) {
        const double mean = normal_mean([&](double normal) { return run_s(end, k, normal); });
        aggregates.mean_s += aggregates.shares[end] * sizes.shares[k] * mean;
        aggregates.gpu_time_s[end] += sizes.shares[k] * std::ldexp(mean, static_cast<int>(k));
      }
    }
    // The median by bisection of the distribution function, a mixture of normal ones of the
    // logarithm.
    double low = 0;
    double high = law.max_s;
    while (high - low > 1e-9 * high) {
      aggregates.median_s = (low + high) / 2;
      double below = 0;
      for (std::size_t end = 0; end < job_end_count; ++end) {
        for (std::size_t k = 0; k < sizes.shares.size(); ++k) {
          const double z = (std::log(aggregates.median_s) - std::log(run_s(end, k, 0))) / law.sigma;
          below += aggregates.shares[end] * sizes.shares[k] * std::erfc(-z / std::sqrt(2.)) / 2;
        }
      }
      (below < 0.5 ? low : high) = aggregates.median_s;
    }
    const RunTimeLaw fitted = fit_run_time_law(aggregates, sizes, place);
    EXPECT_NEAR(fitted.sigma, law.sigma, 1e-3);
    EXPECT_NEAR(fitted.size_exponent, law.size_exponent, 1e-3);
    for (std::size_t end = 0; end < job_end_count; ++end) EXPECT_NEAR(fitted.mu[end], law.mu[end], 5e-3);
  }
}

TEST(JobTemplates, SubmissionsFollowTheWeek) {
  WeekProfile week(0.6, 16, 0.5);
  RandomStream stream(1, 0, 0);
  std::array<double, 168> counts{};
  const int n = 300'000;
  double last_s = 0;
  for (int i = 0; i < n; ++i) {
    const double at_s = week.next(0.05, stream);
    ASSERT_GE(at_s, last_s);
    last_s = at_s;
    counts[static_cast<std::size_t>(std::fmod(at_s, 168 * 3600.) / 3600)] += 1;
  }
  // 300,000 / 0.05 per second are 6,000,000 s, 9.9 weeks; the last is cut short, so only whole ones
  // are counted by their share.
  EXPECT_NEAR(last_s, n / 0.05, 4.5 * std::sqrt(n) / 0.05 + 0.5 * 168 * 3600);
  // Weights of the busiest and the quietest hour of Monday: 1 + 0.6 cos(2 pi 0.5 / 24) = 1.595 and
  // 1 - 0.595 = 0.405.
  EXPECT_NEAR(counts[16] / counts[4], 1.59487 / 0.40513, 4.5 * (1.59487 / 0.40513) * std::sqrt(1 / counts[16] + 1 / counts[4]));
  // Saturday (day 5) and Monday at the same hour: 0.5, but the week that was cut short may hold a
  // Monday more, one in ten.
  EXPECT_NEAR(counts[5 * 24 + 16] / counts[16], 0.5, 0.05 + 4.5 * 0.5 * std::sqrt(1 / counts[136] + 1 / counts[16]));

  // Without a rhythm it is a Poisson process: gaps have mean and deviation 1 / rate.
  WeekProfile even(0, 0, 1);
  double before_s = 0;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    const double at_s = even.next(0.01, stream);
    squares += (at_s - before_s) * (at_s - before_s);
    before_s = at_s;
  }
  const double mean = before_s / n;
  EXPECT_NEAR(mean, 100, 4.5 * 100 / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(squares / n - mean * mean), 100, 4.5 * 100 * std::sqrt(2. / n));
}

TEST(JobTemplates, SeedsRepeatAndSurviveAFile) {
  const Settings few = {{"jobs", "2000"}};
  const JobTrace trace = make("helios_venus", few);
  const JobTrace again = make("helios_venus", few);
  const JobTrace other = make("helios_venus", few, 2);
  const JobTrace denser = make("helios_venus", {{"jobs", "2000"}, {"load", "2"}});
  std::string csv;
  write_weft_csv(trace, [&](std::string_view piece) { csv += piece; });
  const JobTrace read = read_weft_csv(SourceText("trace.csv", csv));
  ASSERT_EQ(read.jobs.size(), trace.jobs.size());
  std::size_t alike = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const auto facts = [](const TraceJob& job) {
      return std::tuple(job.name, job.gpus, job.run, job.group, job.model, job.submit);
    };
    EXPECT_EQ(facts(trace.jobs[i]), facts(again.jobs[i]));
    EXPECT_EQ(facts(trace.jobs[i]), facts(read.jobs[i]));
    EXPECT_EQ(trace.jobs[i].line, read.jobs[i].line);
    alike += trace.jobs[i].run == other.jobs[i].run ? 1 : 0;
    // Another rate is another stream's business.
    EXPECT_EQ(std::pair(trace.jobs[i].gpus, trace.jobs[i].run), std::pair(denser.jobs[i].gpus, denser.jobs[i].run));
  }
  EXPECT_LT(alike, 100U);
  EXPECT_NEAR(denser.jobs.back().submit.in_s() / trace.jobs.back().submit.in_s(), 0.5, 0.25);
}

TEST(JobTemplates, FilesQuoteWhatNeedsIt) {
  JobTrace trace;
  TraceJob job;
  job.name = "a \"b\", c";
  job.group = "x\ny";
  job.run = Duration::ms(1500) + Duration::ticks(7);
  job.gpus = 3;
  job.iterations = 4;
  job.priority = -2;
  job.line = 2;
  trace.jobs.push_back(job);
  std::string csv;
  write_weft_csv(trace, [&](std::string_view piece) { csv += piece; });
  EXPECT_EQ(csv, "job,submit_s,gpus,run_s,iterations,group,priority\n\"a \"\"b\"\", c\",0,3,1.50000000007,4,\"x\ny\",-2\n");
}

TEST(JobTemplates, WhatCannotBeIsTold) {
  const auto errors = [](const Settings& settings) { return errors_of([&] { make("helios_earth", settings); }); };
  EXPECT_HAS(errors({{"gpus_mean", "300"}}), "[no-fit]");
  EXPECT_HAS(errors({{"gpus_max", "48"}}), "gpus_max = 48 is no power of two [bad-value]");
  EXPECT_HAS(errors({{"run_median", "6000s"}}), "no log-normal run times have this mean and this median [no-fit]");
  EXPECT_HAS(errors({{"completed_gpu_s", "1"}}), "[no-fit]");
  EXPECT_HAS(errors({{"completed_gpu_s", "1e17"}}), "no run times have both this mean and these GPU times [no-fit]");
  EXPECT_HAS(errors({{"completed_share", "0.5"}}), "do not add up to 1 [bad-value]");
  EXPECT_HAS(errors({{"failed_share", "0"}, {"completed_share", "0.864"}}),
             "a share of 0 or a GPU time of 0, but not both [bad-value]");
  for (const char* clusters : {"a", "a:", "a:0", ":3", "a:2,a:3", "a:2,,b:3", "a:-1", "a:2x"}) {
    EXPECT_HAS(errors({{"virtual_clusters", clusters}}), "[bad-value]") << clusters;
  }
  EXPECT_HAS(errors({{"virtual_clusters", "a:3,b:16"}}), "no virtual cluster has GPUs for a job of 256 [bad-value]");
  EXPECT_EQ(errors({{"virtual_clusters", "a:3,b:32"}, {"jobs", "10"}}), "");
  // A cluster all of whose jobs complete.
  EXPECT_EQ(errors({{"completed_share", "1"},
                    {"cancelled_share", "0"},
                    {"failed_share", "0"},
                    {"cancelled_gpu_s", "0"},
                    {"failed_gpu_s", "0"},
                    {"jobs", "10"}}),
            "");
}

}  // namespace
}  // namespace weft::job_templates_test
