// SPDX-License-Identifier: Apache-2.0
// Queueing theory: jobs of one GPU that come at random, against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/values/random.hpp"
#include "tests/scheduler/scheduler_run.hpp"

namespace weft::queueing_test {
namespace {

using testing_scheduler::job;
using testing_scheduler::run_jobs;

constexpr int kJobs = 120'000;
constexpr int kBatches = 30;

/// Mean time in the system or in the queue, by batches of jobs in order of submission, which are
/// nearly independent of each other.
struct Estimate {
  double mean = 0;
  double standard_error = 0;
};

Estimate estimate(const std::vector<JobRecord>& records, const std::function<double(const JobRecord&)>& value) {
  // The first tenth, when the system was still empty, does not count.
  const std::size_t begin = records.size() / 10;
  const std::size_t length = (records.size() - begin) / kBatches;
  std::vector<double> means;
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += value(records[begin + batch * length + i]);
    means.push_back(sum / static_cast<double>(length));
  }
  Estimate result;
  for (const double mean : means) result.mean += mean / kBatches;
  double squares = 0;
  for (const double mean : means) squares += (mean - result.mean) * (mean - result.mean);
  result.standard_error = std::sqrt(squares / (kBatches - 1) / kBatches);
  return result;
}

/// Poisson arrivals at `rate_per_s`, service times by `draw`.
std::vector<JobSpec> arrivals(double rate_per_s, const std::function<double(RandomStream&)>& draw_s) {
  RandomStream random(11, 0, 0);
  std::vector<JobSpec> jobs;
  double at_s = 0;
  for (int i = 0; i < kJobs; ++i) {
    at_s += -std::log1p(-random.uniform()) / rate_per_s;
    jobs.push_back(job("job", 0, 1, Duration::from_seconds(draw_s(random))));
    jobs.back().submit = Time::zero() + Duration::from_seconds(at_s);
  }
  return jobs;
}

double exponential(RandomStream& random, double mean) { return -mean * std::log1p(-random.uniform()); }

std::vector<JobRecord> records_of(const std::vector<JobSpec>& jobs, std::uint32_t gpus, const std::string& policy) {
  return run_jobs(jobs, ClusterState(1, gpus), testing_scheduler::settings_with(testing_scheduler::policy_called(policy))).records;
}

// The estimate's error is normal, nearly; four standard errors are missed once in 16,000 seeds.
void expect_near(const Estimate& found, double expected) {
  EXPECT_NEAR(found.mean, expected, 4 * found.standard_error);
  EXPECT_LT(found.standard_error, 0.05 * expected) << "the run is long enough to tell";
}

// M/M/c: the mean wait is C / (c mu - lambda), where Erlang's C formula says who has to wait
// (Kleinrock, Queueing Systems I, 1975, section 3.5).
TEST(Queueing, MMcUnderFcfs) {
  constexpr int c = 8;
  const double load = 0.7;
  const double service_s = 100;
  const double rate = load * c / service_s;
  double term = 1;  // (c rho)^k / k!
  double sum = 0;
  for (int k = 0; k < c; ++k) {
    sum += term;
    term *= load * c / (k + 1);
  }
  const double erlang_c = term / (1 - load) / (sum + term / (1 - load));
  const double wait_s = erlang_c / (c / service_s - rate);
  const auto records = records_of(arrivals(rate, [&](RandomStream& random) { return exponential(random, service_s); }), c, "fcfs");
  expect_near(estimate(records, [](const JobRecord& record) { return record.wait.in_s(); }), wait_s);
}

// M/G/1: the mean wait is lambda E[S^2] / (2 (1 - rho)) (Pollaczek and Khinchine). Lognormal
// services: E[S] = m exp(s^2/2), E[S^2] = m^2 exp(2 s^2).
TEST(Queueing, MG1UnderFcfs) {
  const double median_s = 60;
  const double sigma = 0.8;
  const double mean_s = median_s * std::exp(sigma * sigma / 2);
  const double square_s2 = median_s * median_s * std::exp(2 * sigma * sigma);
  const double rate = 0.6 / mean_s;
  const auto lognormal = [&](RandomStream& random) {
    const double radius = std::sqrt(-2 * std::log1p(-random.uniform()));
    return median_s * std::exp(sigma * radius * std::cos(2 * M_PI * random.uniform()));
  };
  const auto records = records_of(arrivals(rate, lognormal), 1, "fcfs");
  expect_near(estimate(records, [](const JobRecord& record) { return record.wait.in_s(); }), rate * square_s2 / (2 * (1 - 0.6)));
}

// M/M/1 under SRPT (Schrage and Miller, Operations Research 14, 1966): a job of size x takes
//   lambda (int_0^x t^2 f(t) dt + x^2 (1 - F(x))) / (2 (1 - rho(x))^2) + int_0^x dt / (1 - rho(t)),
//   rho(x) = lambda int_0^x t f(t) dt.
TEST(Queueing, MM1UnderSrtf) {
  const double rate = 0.8;  // per mean service of 1 s
  double expected_s = 0;
  double rho = 0;
  double squares = 0;
  double residence_s = 0;
  const double step = 1e-4;
  for (double x = step / 2; x < 40; x += step) {
    const double density = std::exp(-x);
    rho += rate * x * density * step;
    squares += x * x * density * step;
    residence_s += step / (1 - rho);
    const double wait_s = rate * (squares + x * x * density) / (2 * (1 - rho) * (1 - rho));
    expected_s += (wait_s + residence_s) * density * step;
  }
  const auto records = records_of(arrivals(rate, [](RandomStream& random) { return exponential(random, 1); }), 1, "srtf");
  expect_near(estimate(records, [](const JobRecord& record) { return record.completion().in_s(); }), expected_s);
  EXPECT_LT(expected_s, 1 / (1 - rate));  // FCFS takes 5 s
}

}  // namespace
}  // namespace weft::queueing_test
