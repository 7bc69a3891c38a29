// SPDX-License-Identifier: Apache-2.0
// Job list: some of the run's jobs in an order, with removal from anywhere.
//
// Where it sits: JobStates keeps the waiting jobs (by submission) and the running jobs (by start)
// in a list each. Policies walk the lists.
//
// Model: a doubly linked list threaded through two arrays with a place per job of the run, so that
// nothing is allocated per job and removal takes constant time however long the queue is.
// Invariants: 1. a job stands in a list at most once (WEFT_CHECK).
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/check.hpp"
#include "core/values/ids.hpp"

namespace weft {

class JobList {
 public:
  explicit JobList(std::size_t job_count)
      : next_(job_count + 1, absent), previous_(job_count + 1, absent), head_(static_cast<std::uint32_t>(job_count)) {
    next_[head_] = previous_[head_] = head_;
  }

  /// Walks the list. Stays valid while other jobs are added or removed.
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = JobId;
    using difference_type = std::ptrdiff_t;
    using pointer = const JobId*;
    using reference = JobId;

    Iterator(const JobList* list, std::uint32_t at) : list_(list), at_(at) {}
    JobId operator*() const { return JobId(at_); }
    Iterator& operator++() {
      at_ = list_->next_[at_];
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const JobList* list_;
    std::uint32_t at_;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  bool contains(JobId job) const { return job.index() < head_ && next_[job.index()] != absent; }
  /// Requires: !empty().
  JobId front() const {
    WEFT_CHECK(!empty(), "the first of some jobs is asked for");
    return JobId(next_[head_]);
  }
  Iterator begin() const { return {this, next_[head_]}; }
  Iterator end() const { return {this, head_}; }

  void push_back(JobId job) {
    WEFT_CHECK(job.index() < head_ && !contains(job), "a job is added to a list once");
    const std::uint32_t last = previous_[head_];
    next_[last] = previous_[head_] = job.index();
    previous_[job.index()] = last;
    next_[job.index()] = head_;
    ++size_;
  }
  /// Puts a job behind the last one of a smaller rank. Requires: ranks by number of job; the others
  /// stand in order of theirs.
  void insert(JobId job, const std::vector<std::uint64_t>& ranks) {
    WEFT_CHECK(job.index() < head_ && !contains(job), "a job is added to a list once");
    std::uint32_t before = previous_[head_];
    while (before != head_ && ranks[before] > ranks[job.index()]) before = previous_[before];
    const std::uint32_t after = next_[before];
    next_[before] = previous_[after] = job.index();
    previous_[job.index()] = before;
    next_[job.index()] = after;
    ++size_;
  }
  void remove(JobId job) {
    WEFT_CHECK(contains(job), "a job removed from a list is in it");
    next_[previous_[job.index()]] = next_[job.index()];
    previous_[next_[job.index()]] = previous_[job.index()];
    next_[job.index()] = previous_[job.index()] = absent;
    --size_;
  }

 private:
  static constexpr std::uint32_t absent = UINT32_MAX;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> previous_;
  std::uint32_t head_;  ///< the place after the last job, closing the ring
  std::size_t size_ = 0;
};

}  // namespace weft
