// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/progress_model.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace weft::progress_model_test {
namespace {

/// Tick by tick: what a job has done after `elapsed` ticks of an attempt.
struct Walked {
  std::int64_t overhead = 0;
  std::int64_t work = 0;
  std::int64_t writing = 0;
  std::int64_t counts = 0;  ///< of the whole duration
  std::uint64_t kept_iterations = 0;
  bool ended = false;
};

Walked walk(std::int64_t total, std::uint64_t iterations, std::uint64_t kept_iterations, std::int64_t kept_work,
            std::int64_t overhead, const CheckpointPlan& plan, std::int64_t elapsed) {
  const auto n = static_cast<std::int64_t>(iterations);
  const auto begin_of = [&](std::uint64_t i) { return total * static_cast<std::int64_t>(i) / n; };
  const std::int64_t begin = iterations > 0 ? begin_of(kept_iterations) : kept_work;
  Walked walked;
  walked.kept_iterations = kept_iterations;
  walked.counts = begin;
  // The next checkpoint: after how much of the whole, and after how many iterations.
  std::uint64_t next_iterations = 0;
  std::int64_t next = -1;
  const auto find_next = [&](std::int64_t done) {
    next = -1;
    if (iterations > 0 && plan.every > 0) {
      next_iterations = walked.kept_iterations / plan.every * plan.every + plan.every;
      if (next_iterations < iterations) next = begin_of(next_iterations);
    } else if (iterations == 0 && plan.interval > Duration::zero()) {
      next = (done / plan.interval.in_ticks() + 1) * plan.interval.in_ticks();
      if (next >= total) next = -1;
    }
  };
  find_next(begin);
  std::int64_t left_to_write = -1;
  for (std::int64_t tick = 0;; ++tick) {
    // Whatever takes no time.
    while (walked.overhead == overhead && begin + walked.work == next) {
      if (left_to_write < 0) left_to_write = plan.write.in_ticks();
      if (left_to_write > 0) break;
      left_to_write = -1;
      walked.counts = next;
      walked.kept_iterations = next_iterations;
      find_next(next);
    }
    walked.ended = walked.overhead == overhead && begin + walked.work == total && next < 0;
    if (tick == elapsed || walked.ended) break;
    if (walked.overhead < overhead) {
      ++walked.overhead;
    } else if (left_to_write > 0) {
      --left_to_write;
      ++walked.writing;
    } else {
      ++walked.work;
    }
  }
  if (iterations == 0 && plan.interval == Duration::zero()) walked.counts = begin + walked.work;
  return walked;
}

TEST(ProgressModel, GetsOnTickByTick) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t total = random() % 60;
    const std::uint64_t iterations = random() % 3 == 0 ? 0 : 1 + random() % 20;
    CheckpointPlan plan;
    plan.every = random() % 6;
    plan.interval = Duration::ticks(random() % 12);
    plan.write = Duration::ticks(random() % 3 == 0 ? 0 : random() % 5);
    KeptWork kept;
    if (iterations > 0) {
      kept.iterations = random() % iterations;
    } else {
      kept.work = Duration::ticks(total > 0 ? random() % total : 0);
    }
    const std::int64_t overhead = random() % 3 == 0 ? 0 : random() % 7;
    const ProgressModel progress(Duration::ticks(total), iterations, kept, Duration::ticks(overhead), plan);
    const std::int64_t held = progress.held().value().in_ticks();
    for (std::int64_t elapsed = 0; elapsed <= held; ++elapsed) {
      const Walked walked = walk(total, iterations, kept.iterations, kept.work.in_ticks(), overhead, plan, elapsed);
      const ProgressModel::Position position = progress.at(Duration::ticks(elapsed));
      SCOPED_TRACE(fmt::format("round {} elapsed {}", round, elapsed));
      ASSERT_EQ(position.overhead.in_ticks(), walked.overhead);
      ASSERT_EQ(position.work.in_ticks(), walked.work);
      ASSERT_EQ(position.writing.in_ticks(), walked.writing);
      ASSERT_EQ(position.counts.in_ticks(), walked.counts);
      ASSERT_EQ(position.kept.iterations, iterations > 0 ? walked.kept_iterations : 0);
      ASSERT_EQ(position.kept.work.in_ticks(), iterations > 0 ? 0 : walked.counts);
      ASSERT_EQ(walked.ended, elapsed == held);
      // Of a job that writes a checkpoint now: every iteration that has begun and ended, no less
      // than what is kept anyway.
      std::uint64_t whole = walked.kept_iterations;
      const std::int64_t done = position.done.in_ticks();
      while (total > 0 && whole < iterations &&
             total * static_cast<std::int64_t>(whole + 1) / static_cast<std::int64_t>(iterations) <= done)
        ++whole;
      ASSERT_EQ(position.whole.iterations, iterations > 0 ? whole : 0);
      ASSERT_EQ(position.whole.work.in_ticks(), iterations > 0 ? 0 : done);
      ASSERT_LE(position.counts, position.counts_whole);
      ASSERT_LE(position.counts_whole, position.done);
    }
  }
}

// 10 iterations of 6 s, a checkpoint of 2 s after every 3: 5 s to start, then 18 + 2 + 18 + 2 + 18
// + 2 + 6.
TEST(ProgressModel, ByHand) {
  CheckpointPlan plan;
  plan.every = 3;
  plan.write = Duration::s(2);
  const ProgressModel progress(Duration::s(60), 10, {}, Duration::s(5), plan);
  EXPECT_EQ(progress.held(), Duration::s(71));
  // 1 s into the second write
  const ProgressModel::Position writing = progress.at(Duration::s(44));
  EXPECT_EQ(writing.work, Duration::s(36));
  EXPECT_EQ(writing.writing, Duration::s(3));
  EXPECT_EQ(writing.kept.iterations, 3U);
  EXPECT_EQ(progress.at(Duration::s(45)).kept.iterations, 6U);
  // From there on: 24 s of work and one checkpoint.
  EXPECT_EQ(ProgressModel(Duration::s(60), 10, {6, {}}, Duration::s(5), plan).held(), Duration::s(5 + 24 + 2));
}

// As above with two iterations kept: 5 s to start, 6 s up to the checkpoint after the third.
TEST(ProgressModel, TellsWhenIterationsBegin) {
  CheckpointPlan plan;
  plan.every = 3;
  plan.write = Duration::s(2);
  const ProgressModel progress(Duration::s(60), 10, {2, {}}, Duration::s(5), plan);
  EXPECT_EQ(progress.begin_of(2), Duration::s(5));
  EXPECT_EQ(progress.begin_of(3), Duration::s(5 + 6 + 2));
  EXPECT_EQ(progress.begin_of(4), Duration::s(5 + 6 + 2 + 6));
  EXPECT_EQ(progress.begin_of(9), Duration::s(5 + 6 + 2 + 18 + 2 + 18 + 2));
}

// An attempt that is cut where an iteration begins comes to the same as the whole one.
TEST(AttemptAccount, PartsAddUp) {
  std::mt19937 random(7);
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t iterations = 2 + random() % 12;
    const std::uint64_t kept = random() % iterations;
    const Duration total = Duration::ticks(static_cast<std::int64_t>(iterations * (1 + random() % 50)));
    CheckpointPlan plan;
    plan.every = random() % 5;
    plan.write = Duration::ticks(random() % 20);
    const ProgressModel whole(total, iterations, {kept, {}}, Duration::ticks(random() % 30), plan);
    const std::uint64_t cut = kept + random() % (iterations - kept);
    const Duration first = whole.begin_of(cut);
    const ProgressModel rest(total, iterations, {cut, {}}, Duration::zero(), plan);
    for (Duration elapsed = Duration::zero(); first + elapsed <= *whole.held(); elapsed += Duration::ticks(1 + random() % 10)) {
      const AttemptAccount expected = whole.account(first + elapsed);
      const AttemptAccount both = whole.account(first).followed_by(rest.account(elapsed));
      ASSERT_EQ(both.overhead, expected.overhead) << i;
      ASSERT_EQ(both.writing, expected.writing) << i;
      ASSERT_EQ(both.work, expected.work) << i;
      ASSERT_EQ(both.work_whole, expected.work_whole) << i;
      ASSERT_EQ(both.kept.iterations, expected.kept.iterations) << i;
      ASSERT_EQ(both.whole.iterations, expected.whole.iterations) << i;
    }
  }
}

TEST(ProgressModel, LongJobsDoNotFitTheClock) {
  CheckpointPlan plan;
  plan.write = Duration::s(3600);
  EXPECT_EQ(ProgressModel(Duration::s(1'000'000), 1'000'000, {}, Duration::zero(), plan).held(), std::nullopt);
}

}  // namespace
}  // namespace weft::progress_model_test
