// SPDX-License-Identifier: Apache-2.0
// Job sizes: how many GPUs the job of a measured time has.
//
// Where it sits: alignments and the page's figures go by it.
// Threads: values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "calibration/measured_times.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

class JobSizes {
 public:
  explicit JobSizes(const Scenario& scenario) {
    for (const JobSpec& job : scenario.jobs) gpus_of_job_[job.name] = job.gpus;
  }

  /// None if the job is not the scenario's. Measurements of the only job need not name it.
  std::optional<std::uint64_t> gpus(const TimedEntity& timed) const {
    const auto job = timed.job.empty() && gpus_of_job_.size() == 1 ? gpus_of_job_.begin() : gpus_of_job_.find(timed.job);
    return job == gpus_of_job_.end() ? std::nullopt : std::optional<std::uint64_t>(job->second);
  }

 private:
  std::map<std::string, std::uint64_t, std::less<>> gpus_of_job_;
};

}  // namespace weft
