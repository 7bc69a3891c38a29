// SPDX-License-Identifier: Apache-2.0
// Random traces against a naive scheduler written from the model's sentences, and properties that
// any schedule has.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/scheduler/scheduler_run.hpp"

namespace weft::random_traces_test {
namespace {

using testing_scheduler::fcfs_first_fit;
using testing_scheduler::find_double_booking;
using testing_scheduler::FinishedRun;
using testing_scheduler::job;
using testing_scheduler::run_jobs;

struct Case {
  std::vector<std::uint32_t> hosts;
  std::vector<JobSpec> jobs;
  bool scatter = false;
};

Case random_case(std::uint32_t seed) {
  std::mt19937 random(seed);
  Case result;
  result.hosts.resize(1 + random() % 6);
  const bool alike = random() % 2 == 0;
  const std::uint32_t size = 1 + random() % 8;
  std::uint32_t gpus = 0;
  for (std::uint32_t& host : result.hosts) gpus += host = alike ? size : 1 + random() % 8;
  result.scatter = random() % 4 == 0;
  // short spans make long queues and shared instants
  const std::uint32_t span_s = 1 + random() % 100;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const std::uint32_t wanted = random() % 3 == 0 ? 1 + random() % gpus : 1 + random() % std::min(gpus, 4U);
    result.jobs.push_back(job("job" + std::to_string(i), random() % span_s, wanted, Duration::s(random() % 12)));
  }
  sort_by_submission(result.jobs);
  return result;
}

/// First come, first served on first-fit hosts, one second after the other, with plain lists.
class NaiveCluster {
 public:
  explicit NaiveCluster(const Case& problem) : problem_(problem) {
    for (const std::uint32_t size : problem.hosts) owner_.emplace_back(size, nobody);
    start_s.assign(problem.jobs.size(), 0);
    gpus.resize(problem.jobs.size());
  }

  void run() {
    std::vector<std::size_t> queue;
    std::size_t arrived = 0;
    std::size_t ended = 0;
    std::vector<bool> running(problem_.jobs.size(), false);
    for (std::int64_t now_s = 0; ended < problem_.jobs.size(); ++now_s) {
      while (arrived < problem_.jobs.size() && problem_.jobs[arrived].submit.in_s() == static_cast<double>(now_s))
        queue.push_back(arrived++);
      for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i < running.size(); ++i) {
          if (!running[i] || start_s[i] + static_cast<std::int64_t>(problem_.jobs[i].duration.mean().in_s()) != now_s) continue;
          for (const auto& [host, gpu] : gpus[i]) owner_[host][gpu] = nobody;
          running[i] = false;
          ++ended;
        }
        while (!queue.empty() && place(queue.front())) {
          start_s[queue.front()] = now_s;
          running[queue.front()] = true;
          changed = true;
          queue.erase(queue.begin());
        }
      }
    }
  }

  std::vector<std::int64_t> start_s;
  std::vector<std::set<std::pair<std::uint32_t, std::uint32_t>>> gpus;

 private:
  static constexpr std::size_t nobody = SIZE_MAX;

  std::uint32_t free_on(std::uint32_t host) const {
    return static_cast<std::uint32_t>(std::count(owner_[host].begin(), owner_[host].end(), nobody));
  }
  void give(std::size_t index, std::uint32_t host, std::uint32_t count) {
    for (std::uint32_t gpu = 0; gpu < owner_[host].size() && count > 0; ++gpu) {
      if (owner_[host][gpu] != nobody) continue;
      owner_[host][gpu] = index;
      gpus[index].emplace(host, gpu);
      --count;
    }
  }
  bool place(std::size_t index) {
    const std::uint32_t wanted = problem_.jobs[index].gpus;
    const auto hosts = static_cast<std::uint32_t>(owner_.size());
    if (problem_.scatter) {
      std::uint32_t free = 0;
      for (std::uint32_t host = 0; host < hosts; ++host) free += free_on(host);
      if (free < wanted) return false;
      std::uint32_t missing = wanted;
      for (std::uint32_t host = 0; host < hosts; ++host) {
        const std::uint32_t taken = std::min(missing, free_on(host));
        give(index, host, taken);
        missing -= taken;
      }
      return true;
    }
    if (wanted <= *std::max_element(problem_.hosts.begin(), problem_.hosts.end())) {
      for (std::uint32_t host = 0; host < hosts; ++host) {
        if (free_on(host) < wanted) continue;
        give(index, host, wanted);
        return true;
      }
      return false;
    }
    std::set<std::uint32_t> whole;
    std::uint32_t missing = wanted;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      if (free_on(host) != owner_[host].size() || owner_[host].size() > missing) continue;
      whole.insert(host);
      missing -= static_cast<std::uint32_t>(owner_[host].size());
    }
    std::uint32_t rest = hosts;
    for (std::uint32_t host = hosts; host-- > 0;) {
      if (!whole.contains(host) && free_on(host) >= missing) rest = host;
    }
    if (missing > 0 && rest == hosts) return false;
    for (const std::uint32_t host : whole) give(index, host, static_cast<std::uint32_t>(owner_[host].size()));
    if (missing > 0) give(index, rest, missing);
    return true;
  }

  const Case& problem_;
  std::vector<std::vector<std::size_t>> owner_;
};

TEST(RandomTraces, AgreeWithTheNaiveScheduler) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const Case problem = random_case(seed);
    NaiveCluster naive(problem);
    naive.run();
    const FinishedRun run = run_jobs(problem.jobs, ClusterState(problem.hosts), fcfs_first_fit(nullptr, problem.scatter));
    for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
      ASSERT_EQ(run.records[i].start, testing_scheduler::at_s(naive.start_s[i])) << "seed " << seed << " job " << i;
      const auto gpus = testing_scheduler::gpus_of_text(run.records[i].placement);
      ASSERT_EQ(std::set(gpus.begin(), gpus.end()), naive.gpus[i]) << "seed " << seed << " job " << i;
    }
  }
}

TEST(RandomTraces, HaveThePropertiesOfASchedule) {
  for (std::uint32_t seed = 1000; seed < 1300; ++seed) {
    const Case problem = random_case(seed);
    const FinishedRun run = run_jobs(problem.jobs, ClusterState(problem.hosts), fcfs_first_fit(nullptr, problem.scatter));
    EXPECT_EQ(find_double_booking(run.records), "") << "seed " << seed;
    double gpu_time_s = 0;
    double waited_s = 0;
    for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
      const JobRecord& record = run.records[i];
      EXPECT_GE(record.wait, Duration::zero());
      EXPECT_EQ(record.run, problem.jobs[i].duration.mean());
      if (i > 0) {
        EXPECT_GE(record.start, run.records[i - 1].start);  // nobody overtakes
      }
      gpu_time_s += problem.jobs[i].gpus * record.run.in_s();
      waited_s += record.wait.in_s();
    }
    EXPECT_NEAR(run.counters.busy_gpu_s, gpu_time_s, 1e-9 * gpu_time_s);
    // Little's law
    EXPECT_NEAR(run.counters.queue_length_mean * run.counters.last_end.in_s(), waited_s, 1e-9 * (1 + waited_s));
    const ClusterState cluster(problem.hosts);
    EXPECT_GE(run.counters.makespan().in_s() * (1 + 1e-12), gpu_time_s / cluster.gpu_count());
  }
}

TEST(RandomTraces, RepeatBitByBit) {
  const Case problem = random_case(77);
  const auto fingerprint = [&](std::uint32_t threads) {
    return run_jobs(problem.jobs, ClusterState(problem.hosts), fcfs_first_fit(), threads).report.fingerprint.to_text();
  };
  EXPECT_EQ(fingerprint(1), fingerprint(1));
  EXPECT_EQ(fingerprint(1), fingerprint(2));
  EXPECT_EQ(fingerprint(1), fingerprint(8));
}

}  // namespace
}  // namespace weft::random_traces_test
