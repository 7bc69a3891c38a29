// SPDX-License-Identifier: Apache-2.0
#include "core/engine/pace.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace weft::pace_test {
namespace {

// The wall clock is a number here: all threads handle `pace_all` events per microsecond, one thread
// `pace_one`.
Pace::Mode mode_after(std::uint64_t wall_ms, double pace_all, double pace_one, std::uint64_t* on_all_threads_ms) {
  Pace pace(2);
  double events = 0;
  for (std::uint64_t ms = 1; ms <= wall_ms; ++ms) {
    events += 1000 * (pace.mode() == Pace::Mode::all_threads ? pace_all : pace_one);
    *on_all_threads_ms += pace.mode() == Pace::Mode::all_threads;
    pace.look(ms * 1'000'000, static_cast<std::uint64_t>(events), {});
  }
  return pace.mode();
}

TEST(Pace, KeepsTheFasterWayAndSeldomTriesTheOther) {
  std::uint64_t on_all_threads_ms = 0;
  EXPECT_EQ(mode_after(1000, 3, 10, &on_all_threads_ms), Pace::Mode::one_thread);
  // 5 ms to warm up, 10 of the first comparison, over at 20 ms; 5 of each that starts 25 ms after
  // that, 100 after the end of that one, and 400.
  EXPECT_EQ(on_all_threads_ms, 15U + 3 * 5U);
  on_all_threads_ms = 0;
  EXPECT_EQ(mode_after(1000, 10, 3, &on_all_threads_ms), Pace::Mode::all_threads);
  // Trials of the other way in the first comparison and, as that confirmed the choice, in those 100
  // and 400 ms after the one before.
  EXPECT_EQ(on_all_threads_ms, 1000U - 3 * 5U);
}

// The run becomes faster and faster by itself: what comes later is no better for that.
TEST(Pace, IsNotMisledByWhatChangesEvenly) {
  Pace pace(2);
  double events = 0;
  for (std::uint64_t ms = 1; ms <= 100; ++ms) {
    const double by_itself = 1000 * static_cast<double>(ms);
    events += by_itself * (pace.mode() == Pace::Mode::all_threads ? 1 : 0.9);
    pace.look(ms * 1'000'000, static_cast<std::uint64_t>(events), {});
  }
  EXPECT_EQ(pace.mode(), Pace::Mode::all_threads);
}

// At its beginning a run is slow, whichever way it goes, and for longer than one comparison takes.
TEST(Pace, IsNotMisledByASlowBeginning) {
  Pace pace(2);
  double events = 0;
  for (std::uint64_t ms = 1; ms <= 80; ++ms) {
    const double by_itself = ms <= 10 ? 600 : 1000;
    events += by_itself * (pace.mode() == Pace::Mode::all_threads ? 1 : 0.85);
    pace.look(ms * 1'000'000, static_cast<std::uint64_t>(events), {});
    // 0.6 before, 0.85 and 1 after: between. Once more, 0.85 and 1: less than both.
    if (ms >= 20 && ms < 25) {
      EXPECT_EQ(pace.mode(), Pace::Mode::one_thread) << ms;
    }
    if (ms >= 25) {
      EXPECT_EQ(pace.mode(), Pace::Mode::all_threads) << ms;
    }
  }
}

// Windows of 30 ms: a trial is a window, and 40 times as long lies before the first.
TEST(Pace, TriesSeldomWhereWindowsAreLong) {
  Pace pace(2);
  std::uint64_t events = 0;
  std::vector<std::uint64_t> alone;
  for (std::uint64_t window = 0; window < 200; ++window) {
    if (pace.mode() == Pace::Mode::one_thread) alone.push_back(window);
    events += 1'000'000;
    pace.look(30'000'000 * (window + 1), events, {});
  }
  // One window to warm up, one that is measured, 40 on all threads, one before. At equal pace the
  // choice stays; one after, as many as make 3.2 s, and one before.
  EXPECT_EQ(alone, (std::vector<std::uint64_t>{43, 43 + 1 + (3200 + 29) / 30 + 2}));
}

// Windows of 6 ms on all threads, of 90 ms on one: the trial of one thread was long, and 40 times
// as long passes until the next.
TEST(Pace, TriesSeldomWhereTheOtherWayIsSlow) {
  Pace pace(2);
  std::uint64_t wall_ms = 0;
  std::uint64_t events = 0;
  std::vector<std::uint64_t> alone_ms;
  while (wall_ms < 8000) {
    const bool is_alone = pace.mode() == Pace::Mode::one_thread;
    if (is_alone) alone_ms.push_back(wall_ms);
    wall_ms += is_alone ? 90 : 6;
    events += 1'000'000;
    pace.look(wall_ms * 1'000'000, events, {});
  }
  // A window to warm up and one before; then one alone and one after, 600 of 6 ms (40 x 90 ms), and
  // one before.
  EXPECT_EQ(alone_ms, (std::vector<std::uint64_t>{12, 12 + 90 + 6 + 3600 + 6, 12 + 2 * (90 + 6 + 3600 + 6)}));
}

// All threads handle more events per second, but have less work side by side than one would do: it
// was the run that changed. One thread goes on at once, and all are tried for 5 ms each, 25, 100,
// ... ms after the trial before and another 5 ms of one thread.
TEST(Pace, OneThreadGoesOnWhereAllHaveNothingToGain) {
  Pace pace(2);
  Pace::Overlap overlap;
  std::vector<std::uint64_t> all_ms;
  for (std::uint64_t ms = 0; ms < 700; ++ms) {
    if (pace.mode() == Pace::Mode::all_threads) {
      all_ms.push_back(ms);
      overlap.wall_ns += 1'000'000;
      overlap.busy_ns += 1'050'000;
    }
    pace.look(1'000'000 * (ms + 1), 1000 * all_ms.size() + ms, overlap);
  }
  std::vector<std::uint64_t> expected;
  for (const std::uint64_t begin : {0, 0 + 5 + 25 + 5, 35 + 5 + 100 + 5, 145 + 5 + 400 + 5}) {
    for (std::uint64_t ms = begin; ms < begin + 5; ++ms) expected.push_back(ms);
  }
  EXPECT_EQ(all_ms, expected);
}

// Where all threads gain and one of them is no faster, they stay; once they gain nothing any more,
// one goes on 25 ms later, whenever a comparison is due.
TEST(Pace, AllThreadsAreLeftOnceTheyGainNothing) {
  Pace pace(2);
  Pace::Overlap overlap;
  double events = 0;
  std::uint64_t ms = 0;
  const auto go_on = [&](std::uint64_t until_ms, double gain) {
    for (; ms < until_ms; ++ms) {
      const bool is_all = pace.mode() == Pace::Mode::all_threads;
      overlap.wall_ns += is_all ? 1'000'000 : 0;
      overlap.busy_ns += is_all ? static_cast<std::uint64_t>(1e6 * gain) : 0;
      events += is_all ? 1000 * gain : 1000;
      pace.look(1'000'000 * (ms + 1), static_cast<std::uint64_t>(events), overlap);
    }
  };
  go_on(1000, 1.4);
  EXPECT_EQ(pace.mode(), Pace::Mode::all_threads);
  go_on(1050, 1);  // the 25 ms that are looked at may have begun before
  EXPECT_EQ(pace.mode(), Pace::Mode::one_thread);
}

// Where all threads work most of the time nothing is compared at first, as what a run does then
// says little; but where they only take from each other what they gain, one goes on in the end.
TEST(Pace, AllThreadsGoOnAtFirstWhereTheyGainMuch) {
  for (const bool one_is_faster : {false, true}) {
    Pace pace(4);
    Pace::Overlap overlap;
    std::uint64_t events = 0;
    std::uint64_t first_alone_ms = 0;
    for (std::uint64_t ms = 0; ms < 1000; ++ms) {
      const bool is_all = pace.mode() == Pace::Mode::all_threads;
      if (!is_all && first_alone_ms == 0) first_alone_ms = ms;
      overlap.wall_ns += is_all ? 1'000'000 : 0;
      overlap.busy_ns += is_all ? 2'500'000 : 0;  // halfway between one and four
      events += is_all || !one_is_faster ? 1000 : 2000;
      pace.look(1'000'000 * (ms + 1), events, overlap);
    }
    // 5 ms to warm up, 400, and 5 before the trial.
    EXPECT_EQ(first_alone_ms, 5U + 400U + 5U);
    EXPECT_EQ(pace.mode(), one_is_faster ? Pace::Mode::one_thread : Pace::Mode::all_threads);
  }
}

// Changing from one way to the other takes 50 ms: neither way's, but trials are longer for it, and
// the next comparison waits 40 times as long.
TEST(Pace, AChangeThatTakesLongIsMadeSeldom) {
  Pace pace(2);
  std::uint64_t wall_ms = 0;
  std::uint64_t events = 0;
  std::vector<std::uint64_t> changed_ms;
  while (wall_ms < 4800) {
    const Pace::Mode before = pace.mode();
    ++wall_ms;
    events += before == Pace::Mode::one_thread ? 3000 : 1000;
    if (pace.look(1'000'000 * wall_ms, events, {}) == before) continue;
    changed_ms.push_back(wall_ms);
    wall_ms += 50;
    pace.pause(50'000'000);
  }
  // 5 ms to warm up and 5 before. Trials of 5 ms and twice the change: of one thread, and of all
  // after it; one thread was better. 40 times such a trial after that change, and another before.
  const std::uint64_t trial = 5 + 2 * 50;
  const std::uint64_t better = 10 + 2 * (50 + trial);
  EXPECT_EQ(changed_ms, (std::vector<std::uint64_t>{10, 10 + 50 + trial, better, better + 50 + 40 * trial + trial}));
}

}  // namespace
}  // namespace weft::pace_test
