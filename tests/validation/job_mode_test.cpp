// SPDX-License-Identifier: Apache-2.0
// Job mode on real traces: every job of the trace is in jobs.csv, no GPU is booked twice, and the
// makespan respects the work.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "scenario_run.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"

namespace weft::job_mode_test {
namespace {

struct Booking {
  double start_s = 0;
  double end_s = 0;
};

/// Slots of a placement text such as "host0:0-7,host1-3:0-7,host5:0+2-3".
std::vector<std::pair<int, int>> slots_of(const std::string& placement) {
  std::vector<std::pair<int, int>> slots;
  const auto range = [](const std::string& text) {
    const std::size_t dash = text.find('-');
    const int first = std::stoi(text.substr(0, dash));
    return std::make_pair(first, dash == std::string::npos ? first : std::stoi(text.substr(dash + 1)));
  };
  std::istringstream parts(placement);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t colon = part.find(':');
    const auto [host_first, host_last] = range(part.substr(4, colon - 4));
    std::istringstream gpus(part.substr(colon + 1));
    for (std::string gpu; std::getline(gpus, gpu, '+');) {
      const auto [first, last] = range(gpu);
      for (int host = host_first; host <= host_last; ++host) {
        for (int local = first; local <= last; ++local) slots.emplace_back(host, local);
      }
    }
  }
  return slots;
}

void check_trace(const std::string& file, const std::string& format, std::uint32_t hosts, double gpu_time_s_expected) {
  RunFlags flags;
  flags.jobs = file + ":" + format;
  flags.hosts = hosts;
  flags.gpus_per_host = 8;
  const JobTrace trace = load_job_trace(file, format);
  const ScenarioRun run = run_scenario(flags);
  ASSERT_EQ(run.jobs.size(), trace.jobs.size());
  std::multiset<std::string> given;
  std::multiset<std::string> ran;
  for (const TraceJob& job : trace.jobs) given.insert(job.name);
  std::map<std::pair<int, int>, std::vector<Booking>> bookings;
  double gpu_time_s = 0;
  for (const auto& row : run.jobs) {
    ran.insert(row.at("job"));
    const std::vector<std::pair<int, int>> slots = slots_of(row.at("placement"));
    EXPECT_EQ(std::to_string(slots.size()), row.at("gpus"));
    const Booking booking{std::stod(row.at("start_s")), std::stod(row.at("end_s"))};
    EXPECT_GE(booking.start_s, std::stod(row.at("submit_s")));
    gpu_time_s += static_cast<double>(slots.size()) * (booking.end_s - booking.start_s);
    for (const auto& slot : slots) bookings[slot].push_back(booking);
  }
  EXPECT_EQ(ran, given);
  for (auto& [slot, of_slot] : bookings) {
    EXPECT_LT(slot.first, static_cast<int>(hosts));
    std::sort(of_slot.begin(), of_slot.end(), [](const Booking& a, const Booking& b) { return a.start_s < b.start_s; });
    for (std::size_t i = 1; i < of_slot.size(); ++i) {
      ASSERT_GE(of_slot[i].start_s, of_slot[i - 1].end_s - 1e-9) << "host " << slot.first << " GPU " << slot.second;
    }
  }
  EXPECT_NEAR(gpu_time_s, gpu_time_s_expected, gpu_time_s_expected * 1e-6);
  EXPECT_GE(run.summary.makespan.in_s(), gpu_time_s / (hosts * 8.0));
}

TEST(JobMode, MuriOn64GpusUnderFcfs) {
  const std::string file = real_data("traces/muri/cluster_trace.csv");
  if (file.empty()) GTEST_SKIP() << "../shared/data is not there";
  // 65,986.1297 GPU-hours of iterations in the trace, so at least 3,711,720 s on 64 GPUs.
  check_trace(file, "muri", 8, 65'986.1297 * 3600);
}

TEST(JobMode, PhillyOn2400GpusUnderFcfs) {
  const std::string file = real_data("traces/philly/philly_82247jobs.csv.gz");
  if (file.empty()) GTEST_SKIP() << "../shared/data is not there";
  // 978,078.47 GPU-hours in 82,247 jobs.
  check_trace(file, "philly", 300, 978'078.47 * 3600);
}

}  // namespace
}  // namespace weft::job_mode_test
