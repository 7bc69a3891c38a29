#include "core/load_balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/agenda.hpp"
#include "core/pace.hpp"
#include "core/random.hpp"

namespace weft {
namespace {

using Loads = std::vector<std::uint64_t>;
using Workers = std::vector<std::uint32_t>;

TEST(LoadBalance, BlocksKeepNeighboursTogether) {
  EXPECT_EQ(deal_in_blocks(Loads{1, 1, 1, 1, 1, 1}, 2), (Workers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(deal_in_blocks(Loads{1, 1, 1, 1, 1, 1}, 3), (Workers{0, 0, 1, 1, 2, 2}));
  // The heavy one fills the first worker's half.
  EXPECT_EQ(deal_in_blocks(Loads{4, 1, 1, 1, 1}, 2), (Workers{0, 1, 1, 1, 1}));
  EXPECT_EQ(deal_in_blocks(Loads{5}, 1), (Workers{0}));
}

TEST(LoadBalance, LongestProcessingTimeFirstByHand) {
  // 7 -> 0; 6 -> 1; 5 -> 1 (11); 4 -> 0 (11); 3 -> 0 (14, tie to the smaller worker); 2 -> 1 (13).
  EXPECT_EQ(deal_by_load(Loads{7, 6, 5, 4, 3, 2}, 2), (Workers{0, 1, 1, 0, 0, 1}));
}

TEST(LoadBalance, IdleProcessesAreSpread) {
  const Workers workers = deal_by_load(Loads(8, 0), 4);
  for (std::uint32_t worker = 0; worker < 4; ++worker) EXPECT_EQ(std::count(workers.begin(), workers.end(), worker), 2);
}

// Graham's bound: at most 4/3 - 1/(3m) of the optimum, which is at least the mean and at least the largest load.
TEST(LoadBalance, StaysWithinGrahamsBound) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, 0, 0);
    const auto worker_count = static_cast<std::uint32_t>(1 + random.below(8));
    Loads load(worker_count + random.below(40));
    for (std::uint64_t& l : load) l = 1 + random.below(1000);
    const Workers workers = deal_by_load(load, worker_count);
    Loads sums(worker_count, 0);
    for (std::size_t i = 0; i < load.size(); ++i) sums[workers[i]] += load[i];
    const double largest = static_cast<double>(*std::max_element(sums.begin(), sums.end()));
    const double total = static_cast<double>(std::accumulate(load.begin(), load.end(), std::uint64_t{0}));
    // Longest first ends at most (1 - 1/m) of the last load above the mean; the last load is no larger than the largest.
    const double bound =
        total / worker_count + (1 - 1.0 / worker_count) * static_cast<double>(*std::max_element(load.begin(), load.end()));
    EXPECT_LE(largest, bound + 1e-9);
    EXPECT_NEAR(imbalance(load, workers, worker_count), largest / (total / worker_count) - 1, 1e-12);
  }
}

TEST(LoadBalance, NothingIsBalanced) { EXPECT_EQ(imbalance(Loads{0, 0}, Workers{0, 0}, 2), 0.0); }

TEST(Agenda, GivesTheEarliestAfterAnyMoves) {
  RandomStream random(3, 0, 0);
  std::vector<Agenda::Item> items(50);
  Agenda agenda;
  EXPECT_EQ(agenda.earliest(), Time::max());
  for (Agenda::Item& item : items) {
    item.next = Time::at_ticks(static_cast<std::int64_t>(random.below(100)));
    agenda.add(&item);
  }
  for (int step = 0; step < 5000; ++step) {
    Agenda::Item& item = items[random.below(items.size())];
    agenda.move(&item, random.below(10) == 0 ? Time::max() : Time::at_ticks(static_cast<std::int64_t>(random.below(100))));
    const auto earliest =
        std::min_element(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.next < b.next; });
    ASSERT_EQ(agenda.earliest(), earliest->next);
    ASSERT_EQ(agenda.top()->next, earliest->next);
  }
}

// The wall clock is a number here: all threads handle `pace_all` events per microsecond, one thread `pace_one`.
Pace::Way way_after(std::uint64_t wall_ms, double pace_all, double pace_one, std::uint64_t* on_all_threads_ms) {
  Pace pace;
  double events = 0;
  for (std::uint64_t ms = 1; ms <= wall_ms; ++ms) {
    events += 1000 * (pace.way() == Pace::Way::all_threads ? pace_all : pace_one);
    *on_all_threads_ms += pace.way() == Pace::Way::all_threads;
    pace.look(ms * 1'000'000, static_cast<std::uint64_t>(events));
  }
  return pace.way();
}

TEST(Pace, KeepsTheFasterWayAndSeldomTriesTheOther) {
  std::uint64_t on_all_threads_ms = 0;
  EXPECT_EQ(way_after(1000, 3, 10, &on_all_threads_ms), Pace::Way::one_thread);
  // 5 ms to warm up, 10 of the first comparison; 5 of each at 20 + 200 and 235 + 400 ms.
  EXPECT_EQ(on_all_threads_ms, 25U);
  on_all_threads_ms = 0;
  EXPECT_EQ(way_after(1000, 10, 3, &on_all_threads_ms), Pace::Way::all_threads);
  // Trials of the other way at 10 and, as that confirmed the choice at 20 ms, at 425 ms.
  EXPECT_EQ(on_all_threads_ms, 1000U - 10U);
}

// The run becomes faster and faster by itself: what comes later is no better for that.
TEST(Pace, IsNotMisledByWhatChangesEvenly) {
  Pace pace;
  double events = 0;
  for (std::uint64_t ms = 1; ms <= 100; ++ms) {
    const double by_itself = 1000 * static_cast<double>(ms);
    events += by_itself * (pace.way() == Pace::Way::all_threads ? 1 : 0.9);
    pace.look(ms * 1'000'000, static_cast<std::uint64_t>(events));
  }
  EXPECT_EQ(pace.way(), Pace::Way::all_threads);
}

// Windows of 30 ms: a trial is a window, and 40 times as long lies before the first.
TEST(Pace, TriesSeldomWhereWindowsAreLong) {
  Pace pace;
  std::uint64_t events = 0;
  std::vector<std::uint64_t> alone;
  for (std::uint64_t window = 0; window < 200; ++window) {
    if (pace.way() == Pace::Way::one_thread) alone.push_back(window);
    events += 1'000'000;
    pace.look(30'000'000 * (window + 1), events);
  }
  // One window to warm up, one that is measured, 40 on all threads, one before. At equal pace the choice stays; one after, 80, and one before.
  EXPECT_EQ(alone, (std::vector<std::uint64_t>{43, 43 + 1 + 80 + 2}));
}

}  // namespace
}  // namespace weft
