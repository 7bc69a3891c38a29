// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/progress_model.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"

namespace weft {
namespace {

constexpr std::array checkpoint_rows = {
    param<&CheckpointPlan::every>(
        {.name = "every",
         .default_text = "1",
         .minimum = "0",
         .meaning = "iterations from one checkpoint to the next, to which a job falls back that is preempted or fails; 0: none is "
                    "written, it begins anew",
         .origin = "none: what is lost is less than an iteration until checkpoints are given a time"}),
    param<&CheckpointPlan::interval>(
        {.name = "interval",
         .default_text = "0s",
         .minimum = "0s",
         .meaning = "work from one checkpoint to the next of jobs that declare no iterations; 0s: all that was done counts, and "
                    "nothing is written",
         .origin = "as `every`; Daly (2006) has the best: sqrt(2 write MTBF) - write for write << MTBF"}),
    param<&CheckpointPlan::write>({.name = "write",
                                   .default_text = "0s",
                                   .minimum = "0s",
                                   .maximum = "8760h",
                                   .meaning = "for how long a job stands still for each checkpoint",
                                   .origin = "none; seconds to minutes by size and storage"}),
};

/// When iteration `i` of `n` equal parts of `total` begins. Requires: n > 0, i <= n.
Duration begin_of_iteration(Duration total, std::uint64_t i, std::uint64_t n) { return scaled(total, i, n); }

/// Of `n` iterations those that have ended once `done` of `total` is done.
std::uint64_t ended_iterations(Duration total, std::uint64_t n, Duration done) {
  if (total == Duration::zero()) return 0;
  __extension__ using Wide = unsigned __int128;
  // The quotient, or one more, as beginnings are rounded down.
  auto ended = static_cast<std::uint64_t>(static_cast<Wide>(done.in_ticks()) * n / static_cast<Wide>(total.in_ticks()));
  while (ended < n && begin_of_iteration(total, ended + 1, n) <= done) ++ended;
  return ended;
}

}  // namespace

ParamTable checkpoint_params() { return checkpoint_rows; }

ProgressModel::ProgressModel(Duration total, std::uint64_t iterations, const KeptWork& kept, Duration overhead,
                             const CheckpointPlan& plan)
    : total_(total), iterations_(iterations), kept_(kept), overhead_(overhead), plan_(plan) {
  WEFT_CHECK(total >= Duration::zero() && overhead >= Duration::zero() && plan.write >= Duration::zero(), "no time is negative");
  WEFT_CHECK(kept.iterations <= iterations && kept.work >= Duration::zero(), "no more is kept than was to do");
  if (iterations > 0) {
    begin_ = begin_of_iteration(total, kept.iterations, iterations);
    if (plan.every > 0)
      checkpoints_ = (iterations - 1) / plan.every - std::min((iterations - 1) / plan.every, kept.iterations / plan.every);
  } else {
    begin_ = std::min(kept.work, total);
    if (plan.interval > Duration::zero() && begin_ < total) {
      const std::int64_t interval = plan.interval.in_ticks();
      checkpoints_ = static_cast<std::uint64_t>((total.in_ticks() - 1) / interval - begin_.in_ticks() / interval);
    }
  }
}

Duration ProgressModel::checkpoint(std::uint64_t i) const {
  if (i == 0) return begin_;
  if (iterations_ > 0) return begin_of_iteration(total_, (kept_.iterations / plan_.every + i) * plan_.every, iterations_);
  return plan_.interval * (begin_.in_ticks() / plan_.interval.in_ticks() + static_cast<std::int64_t>(i));
}

std::optional<Duration> ProgressModel::held() const {
  __extension__ using Wide = __int128;
  const Wide ticks = static_cast<Wide>(overhead_.in_ticks()) + (total_ - begin_).in_ticks() +
                     static_cast<Wide>(plan_.write.in_ticks()) * static_cast<Wide>(checkpoints_);
  if (ticks > Duration::max().in_ticks()) return std::nullopt;
  return Duration::ticks(static_cast<std::int64_t>(ticks));
}

Duration ProgressModel::begin_of(std::uint64_t iteration) const {
  WEFT_CHECK(iteration >= kept_.iterations && iteration < iterations_, "an iteration of this attempt is asked for");
  const std::uint64_t checkpoints = plan_.every == 0 ? 0 : iteration / plan_.every - kept_.iterations / plan_.every;
  return overhead_ + (begin_of_iteration(total_, iteration, iterations_) - begin_) +
         plan_.write * static_cast<std::int64_t>(checkpoints);
}

ProgressModel::Position ProgressModel::at(Duration elapsed) const {
  Position position;
  position.overhead = std::min(elapsed, overhead_);
  const Duration after_start = elapsed - position.overhead;
  // When checkpoint number i is complete, counted from the end of the overhead. As it is asked for
  // no more than fits before `after_start`, it does.
  const auto is_complete = [&](std::uint64_t i) {
    const Duration work = checkpoint(i) - begin_;
    return work <= after_start && (plan_.write == Duration::zero() ||
                                   i <= static_cast<std::uint64_t>((after_start - work).in_ticks() / plan_.write.in_ticks()));
  };
  std::uint64_t complete = 0;
  for (std::uint64_t above = elapsed < overhead_ ? 1 : checkpoints_ + 1; complete + 1 < above;) {
    const std::uint64_t middle = complete + (above - complete) / 2;
    (is_complete(middle) ? complete : above) = middle;
  }
  const Duration last = checkpoint(complete);
  const Duration written = plan_.write * static_cast<std::int64_t>(complete);
  const Duration since_last = after_start - (last - begin_) - written;
  const Duration segment = (complete < checkpoints_ ? checkpoint(complete + 1) : total_) - last;
  position.done = last + std::min(since_last, segment);
  position.work = position.done - begin_;
  position.writing = after_start - position.work;
  position.kept = kept_;
  position.counts = last;
  if (iterations_ > 0) {
    if (complete > 0) position.kept.iterations = (kept_.iterations / plan_.every + complete) * plan_.every;
    position.whole.iterations = std::max(position.kept.iterations, ended_iterations(total_, iterations_, position.done));
    position.counts_whole = begin_of_iteration(total_, position.whole.iterations, iterations_);
  } else {
    if (plan_.interval == Duration::zero()) position.counts = position.done;
    position.kept.work = position.counts;
    position.whole.work = position.done;
    position.counts_whole = position.done;
  }
  return position;
}

AttemptAccount AttemptAccount::followed_by(const AttemptAccount& next) const {
  AttemptAccount both = next;
  both.overhead += overhead;
  both.writing += writing;
  both.work_whole += work_whole;
  // A checkpoint in the second part saves the first as well.
  const bool is_saved = next.kept.iterations > whole.iterations || next.kept.work > whole.work;
  both.work = is_saved ? work_whole + next.work : work;
  if (!is_saved) both.kept = kept;
  return both;
}

AttemptAccount ProgressModel::account(Duration elapsed) const {
  const Position position = at(elapsed);
  return {position.overhead, position.writing, position.counts - begin_, position.counts_whole - begin_,
          position.kept,     position.whole};
}

}  // namespace weft
