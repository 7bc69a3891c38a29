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
  Pace pace;
  double events = 0;
  for (std::uint64_t ms = 1; ms <= wall_ms; ++ms) {
    events += 1000 * (pace.mode() == Pace::Mode::all_threads ? pace_all : pace_one);
    *on_all_threads_ms += pace.mode() == Pace::Mode::all_threads;
    pace.look(ms * 1'000'000, static_cast<std::uint64_t>(events));
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
  Pace pace;
  double events = 0;
  for (std::uint64_t ms = 1; ms <= 100; ++ms) {
    const double by_itself = 1000 * static_cast<double>(ms);
    events += by_itself * (pace.mode() == Pace::Mode::all_threads ? 1 : 0.9);
    pace.look(ms * 1'000'000, static_cast<std::uint64_t>(events));
  }
  EXPECT_EQ(pace.mode(), Pace::Mode::all_threads);
}

// At its beginning a run is slow, whichever way it goes, and for longer than one comparison takes.
TEST(Pace, IsNotMisledByASlowBeginning) {
  Pace pace;
  double events = 0;
  for (std::uint64_t ms = 1; ms <= 80; ++ms) {
    const double by_itself = ms <= 10 ? 600 : 1000;
    events += by_itself * (pace.mode() == Pace::Mode::all_threads ? 1 : 0.85);
    pace.look(ms * 1'000'000, static_cast<std::uint64_t>(events));
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
  Pace pace;
  std::uint64_t events = 0;
  std::vector<std::uint64_t> alone;
  for (std::uint64_t window = 0; window < 200; ++window) {
    if (pace.mode() == Pace::Mode::one_thread) alone.push_back(window);
    events += 1'000'000;
    pace.look(30'000'000 * (window + 1), events);
  }
  // One window to warm up, one that is measured, 40 on all threads, one before. At equal pace the
  // choice stays; one after, as many as make 3.2 s, and one before.
  EXPECT_EQ(alone, (std::vector<std::uint64_t>{43, 43 + 1 + (3200 + 29) / 30 + 2}));
}

// Windows of 6 ms on all threads, of 90 ms on one: the trial of one thread was long, and 40 times
// as long passes until the next.
TEST(Pace, TriesSeldomWhereTheOtherWayIsSlow) {
  Pace pace;
  std::uint64_t wall_ms = 0;
  std::uint64_t events = 0;
  std::vector<std::uint64_t> alone_ms;
  while (wall_ms < 8000) {
    const bool is_alone = pace.mode() == Pace::Mode::one_thread;
    if (is_alone) alone_ms.push_back(wall_ms);
    wall_ms += is_alone ? 90 : 6;
    events += 1'000'000;
    pace.look(wall_ms * 1'000'000, events);
  }
  // A window to warm up and one before; then one alone and one after, 600 of 6 ms (40 x 90 ms), and
  // one before.
  EXPECT_EQ(alone_ms, (std::vector<std::uint64_t>{12, 12 + 90 + 6 + 3600 + 6, 12 + 2 * (90 + 6 + 3600 + 6)}));
}

}  // namespace
}  // namespace weft::pace_test
