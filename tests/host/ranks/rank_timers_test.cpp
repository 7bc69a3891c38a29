// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/rank_timers.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft::rank_timers_test {
namespace {

/// Keeps what is posted.
class Kept final : public EventContext {
 public:
  Time now() const override { return {}; }
  EntityId self() const override { return EntityId(0); }
  std::vector<Event> events;

 private:
  Event make(EntityId target, Duration delay, EventClass event_class, std::uint16_t kind) override {
    Event event;
    event.key.time = now() + delay;
    event.key.event_class = event_class;
    event.target = target;
    event.kind = kind;
    return event;
  }
  void post(const Event& event) override { events.push_back(event); }
};

RankTimerPayload timer(std::uint32_t slot, std::uint32_t index, std::uint32_t attempt = 0) {
  return {slot, index, 7, AttemptId(attempt), 0};
}

// Slots 1, 3 and 70 wait 5 ns for the same; 64 slots share an event at most.
TEST(RankTimers, AreOneEventWhereRanksWaitForTheSame) {
  RankTimers timers;
  Kept kept;
  for (const std::uint32_t slot : {3U, 1U, 70U}) timers.add(Duration::ns(5), compute_done, timer(slot, 2));
  timers.add(Duration::ns(6), compute_done, timer(2, 2));
  timers.add(Duration::ns(5), launch_done, timer(2, 2));
  timers.add(Duration::ns(5), compute_done, timer(2, 9));
  timers.add(Duration::ns(5), compute_done, timer(2, 2, 1));
  timers.post(kept);
  ASSERT_EQ(kept.events.size(), 6U);
  EXPECT_EQ(kept.events[0].kind, several_ranks);
  EXPECT_EQ(kept.events[0].key.time, Time::zero() + Duration::ns(5));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> told;
  RankTimers::each(kept.events[0].payload_as<SeveralRanksPayload>(), [&](const RankTimerPayload& one) {
    EXPECT_EQ(one.stream, 7U);
    told.emplace_back(one.slot, one.index);
  });
  EXPECT_EQ(told, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 2}, {3, 2}}));
  EXPECT_EQ(kept.events[1].kind, compute_done) << "a lone rank has an event of its own";
  EXPECT_EQ(kept.events[1].payload_as<RankTimerPayload>().slot, 70U);
  EXPECT_EQ(kept.events[3].kind, launch_done);
  timers.post(kept);
  EXPECT_EQ(kept.events.size(), 6U) << "nothing is posted twice";
}

}  // namespace
}  // namespace weft::rank_timers_test
