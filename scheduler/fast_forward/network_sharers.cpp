// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fast_forward/network_sharers.hpp"

#include "core/check.hpp"

namespace weft {

void NetworkSharers::leave(JobId job) {
  WEFT_CHECK(shares(job), "a job joins before it leaves");
  shares_[job.index()] = false;
  if (coupled_ != nullptr) coupled_->remove(job);
}

std::vector<JobId> NetworkSharers::others_of(JobId job) const {
  std::vector<JobId> others;
  if (coupled_ != nullptr) {
    others = coupled_->set_of(job);
  } else {
    for (const JobId other : running_) {
      if (shares(other)) others.push_back(other);
    }
  }
  std::erase(others, job);
  return others;
}

}  // namespace weft
