// SPDX-License-Identifier: Apache-2.0
// The event queue against a naive oracle: std::multimap in key order.
#include "core/engine/event_queue.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft::event_queue_test {
namespace {

Event event_at(std::int64_t ticks, EventClass event_class, std::uint32_t source, std::uint64_t sequence) {
  Event event;
  event.key.time = Time::at_ticks(ticks);
  event.key.event_class = event_class;
  event.key.source = EntityId(source);
  event.key.sequence = sequence;
  event.set_payload(sequence * 1000 + source);
  return event;
}

TEST(EventQueue, EmptyQueueHasNoNextEvent) {
  EventQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.top_time(), Time::max());
  EXPECT_THROW(queue.pop(), CheckFailure);
}

TEST(EventQueue, OrdersByTimeClassSourceSequence) {
  // In the order in which they must leave; pushed backwards.
  const Event expected[] = {event_at(1, EventClass::settle, 9, 9),
                            event_at(2, EventClass::message, 0, 5),
                            event_at(2, EventClass::message, 3, 0),
                            event_at(2, EventClass::message, 3, 1),
                            event_at(2, EventClass::message, UINT32_MAX - 1, 0),
                            event_at(2, EventClass::timer, 0, 0),
                            event_at(2, EventClass::settle, 0, 0),
                            event_at(2, EventClass::settle, 0, UINT64_MAX),
                            event_at(3, EventClass::message, 0, 0)};
  EventQueue queue;
  for (auto event = std::rbegin(expected); event != std::rend(expected); ++event) queue.push(*event);
  EXPECT_EQ(queue.size(), std::size(expected));
  for (const Event& event : expected) {
    EXPECT_EQ(queue.top_time(), event.key.time);
    EXPECT_EQ(queue.top().key, event.key);
    const Event popped = queue.pop();
    EXPECT_EQ(popped.key, event.key);
    EXPECT_EQ(popped.payload, event.payload);
  }
  EXPECT_TRUE(queue.empty());
}

// Few distinct times, classes and sources make most comparisons ties.
TEST(EventQueue, FuzzAgainstMultimap) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed, 0, 0);
    EventQueue queue;
    std::multimap<EventKey, Event> oracle;
    const std::uint64_t times = 1 + random.below(seed % 2 == 0 ? 5 : 100000);
    std::uint64_t sequence = 0;
    const std::uint64_t push_percent = 40 + random.below(40);
    for (int step = 0; step < 4000; ++step) {
      if (oracle.empty() || random.below(100) < push_percent) {
        const Event event = event_at(static_cast<std::int64_t>(random.below(times)), static_cast<EventClass>(random.below(3)),
                                     static_cast<std::uint32_t>(random.below(4)), sequence++);
        queue.push(event);
        oracle.emplace(event.key, event);
      } else {
        const Event popped = queue.pop();
        ASSERT_EQ(popped.key, oracle.begin()->first);
        ASSERT_EQ(popped.payload, oracle.begin()->second.payload);
        oracle.erase(oracle.begin());
      }
      ASSERT_EQ(queue.size(), oracle.size());
      ASSERT_EQ(queue.top_time(), oracle.empty() ? Time::max() : oracle.begin()->first.time);
    }
    while (!oracle.empty()) {
      ASSERT_EQ(queue.pop().key, oracle.begin()->first);
      oracle.erase(oracle.begin());
    }
    EXPECT_TRUE(queue.empty());
  }
}

// 2^18 events come at once and go but for few, as where all ranks hand over at one instant.
TEST(EventQueue, GivesBackWhatEventsOfAnInstantTook) {
  constexpr std::uint64_t events = std::uint64_t{1} << 18;
  EventQueue queue;
  for (std::uint64_t i = 0; i < events; ++i) queue.push(event_at(i % 2 == 0 ? 1 : 2, EventClass::message, 3, i));
  EXPECT_EQ(queue.places(), events);
  for (std::uint64_t i = 0; i < events; i += 2) ASSERT_EQ(queue.pop().key, event_at(1, EventClass::message, 3, i).key);
  EXPECT_EQ(queue.places(), events);  // every other place is taken
  for (std::uint64_t i = 1; i < events; i += 2) {
    // One more behind, so that the queue is never empty.
    if (i == 1) queue.push(event_at(3, EventClass::timer, 4, 0));
    const Event popped = queue.pop();
    ASSERT_EQ(popped.key, event_at(2, EventClass::message, 3, i).key);
    ASSERT_EQ(popped.payload, event_at(2, EventClass::message, 3, i).payload);
  }
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_LE(queue.places(), std::size_t{1} << 16);
  EXPECT_EQ(queue.pop().key, event_at(3, EventClass::timer, 4, 0).key);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace weft::event_queue_test
