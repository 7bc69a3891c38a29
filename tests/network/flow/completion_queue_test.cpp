// SPDX-License-Identifier: Apache-2.0
#include "network/flow/completion_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/values/random.hpp"
#include "tests/long_runs.hpp"

namespace weft::completion_queue_test {
namespace {

using Queue = CompletionQueue<std::uint32_t>;

TEST(CompletionQueue, EmptyNeverFinishes) {
  Queue queue;
  EXPECT_EQ(queue.next(), Time::max());
  queue.set(FlowSlot(0), Time::max());
  EXPECT_EQ(queue.next(), Time::max());
  std::vector<FlowSlot> due;
  queue.take_due(due);
  EXPECT_TRUE(due.empty());
}

// A horizon that cut a tie made one instant two: 1,906 instead of 1,902 in a run that had 1,902.
// All flows of one finish come together.
TEST(CompletionQueue, NeverCutsATie) {
  Queue queue;
  constexpr std::uint32_t flows = 5000;
  for (std::uint32_t f = 0; f < flows; ++f) queue.set(FlowSlot(f), Time::at_ticks(100 + f / 500));
  for (int instant = 0; instant < 10; ++instant) {
    std::vector<FlowSlot> due;
    EXPECT_EQ(queue.next(), Time::at_ticks(100 + instant));
    queue.take_due(due);
    EXPECT_EQ(due.size(), 500U);
    EXPECT_TRUE(std::is_sorted(due.begin(), due.end()));
  }
  EXPECT_EQ(queue.next(), Time::max());
}

// Of so many flows that few are near at a time.
TEST(CompletionQueue, ManyFinishInOrder) {
  const std::uint32_t flows = short_sanitized_runs() ? 30'000 : 300'000;
  RandomStream random(8, 0, 2);
  Queue queue;
  std::vector<std::pair<Time, FlowSlot>> expected;
  for (std::uint32_t i = 0; i < flows; ++i) {
    const Time finish = Time::at_ticks(1 + static_cast<std::int64_t>(random.below(flows)));
    queue.set(FlowSlot(i), finish);
    expected.emplace_back(finish, FlowSlot(i));
  }
  std::ranges::sort(expected);
  std::vector<std::pair<Time, FlowSlot>> finished;
  std::vector<FlowSlot> due;
  for (Time next = queue.next(); next < Time::max(); next = queue.next()) {
    due.clear();
    queue.take_due(due);
    for (const FlowSlot flow : due) finished.emplace_back(next, flow);
  }
  EXPECT_EQ(finished, expected);
}

// What is noted of a flow stays when it ends, or moves.
TEST(CompletionQueue, KeepsNotes) {
  Queue queue;
  for (std::uint32_t f = 0; f < 100; ++f) {
    queue.notes(FlowSlot(f)) = f + 1;
    queue.set(FlowSlot(f), Time::at_ticks(10 + f % 3));
  }
  queue.remove(FlowSlot(4));
  std::vector<FlowSlot> due;
  queue.take_due(due);
  EXPECT_EQ(due.size(), 34U);  // 0, 3, ..., 99
  EXPECT_EQ(queue.slot_count(), 100U);
  for (std::uint32_t f = 0; f < 100; ++f) EXPECT_EQ(queue.notes(FlowSlot(f)), f + 1);
}

// All at once, but for some that moved earlier and back, later, to never, or made place for others.
TEST(CompletionQueue, AllFinishAtOnce) {
  for (const bool one_is_later : {false, true}) {
    Queue queue;
    constexpr std::uint32_t flows = 10'000;
    const Time at = Time::at_ticks(1000);
    for (std::uint32_t f = 0; f < flows; ++f) queue.set(FlowSlot(f), at);
    if (one_is_later) queue.set(FlowSlot(flows), at + Duration::ticks(500));
    EXPECT_EQ(queue.next(), at);
    std::vector<FlowSlot> expected;
    for (std::uint32_t f = 0; f < flows; ++f) {
      const FlowSlot flow(f);
      if (f % 7 == 0) {
        queue.set(flow, at - Duration::ticks(1));
        queue.set(flow, at);
      } else if (f % 7 == 1) {
        queue.set(flow, at + Duration::ticks(1));
      } else if (f % 7 == 2) {
        queue.set(flow, Time::max());
      } else if (f % 7 == 3) {
        queue.remove(flow);
        if (f % 2 == 0) queue.set(flow, at);
      }
      if (f % 7 == 0 || f % 7 > 3 || (f % 7 == 3 && f % 2 == 0)) expected.push_back(flow);
    }
    std::vector<FlowSlot> due = {FlowSlot(1'000'000)};
    EXPECT_EQ(queue.next(), at);
    queue.take_due(due);
    EXPECT_EQ(due.front(), FlowSlot(1'000'000)) << "what stands there stays";
    due.erase(due.begin());
    EXPECT_EQ(due, expected);
    due.clear();
    EXPECT_EQ(queue.next(), at + Duration::ticks(1));
    queue.take_due(due);
    EXPECT_EQ(due.size(), (flows + 5) / 7);  // 1, 8, ..., 9,997
    EXPECT_EQ(queue.next(), one_is_later ? at + Duration::ticks(500) : Time::max());
    for (std::uint32_t f = 0; f < queue.slot_count(); ++f) queue.remove(FlowSlot(f));
    queue.give_back();
    queue.set(FlowSlot(3), Time::at_ticks(5));
    EXPECT_EQ(queue.next(), Time::at_ticks(5));
  }
}

// Random sets, moves in both directions and removals, against a plain map.
TEST(CompletionQueue, AgreesWithAScan) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    RandomStream random(8, seed, 1);
    Queue queue;
    std::map<FlowSlot, Time> expected;
    std::int64_t now = 0;
    const std::uint64_t spread = seed % 2 == 0 ? 50 : 100000;
    for (int step = 0; step < 3000; ++step) {
      const FlowSlot flow(static_cast<std::uint32_t>(random.below(400)));
      const std::uint64_t action = random.below(10);
      if (action < 7) {
        const Time finish =
            random.below(50) == 0 ? Time::max() : Time::at_ticks(now + 1 + static_cast<std::int64_t>(random.below(spread)));
        queue.set(flow, finish);
        expected[flow] = finish;
      } else if (action < 8) {
        if (expected.erase(flow) > 0) queue.remove(flow);
      } else {
        Time next = Time::max();
        for (const auto& [slot, finish] : expected) next = std::min(next, finish);
        ASSERT_EQ(queue.next(), next);
        if (next == Time::max()) continue;
        std::vector<FlowSlot> due_expected, due;
        for (const auto& [slot, finish] : expected) {
          if (finish == next) due_expected.push_back(slot);
        }
        queue.take_due(due);
        ASSERT_EQ(due, due_expected);
        for (const FlowSlot slot : due) expected.erase(slot);
        now = next.in_ticks();
      }
    }
  }
}

}  // namespace
}  // namespace weft::completion_queue_test
