// SPDX-License-Identifier: Apache-2.0
// Channels hand over at the end of a window, and the barrier orders the two sides.
#include "core/engine/channel.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/engine/window_barrier.hpp"

namespace weft::channel_test {
namespace {

Event numbered(std::uint64_t number) {
  Event event;
  event.set_payload(number);
  return event;
}

TEST(LocalChannel, ReadsWhatTheLastWindowWrote) {
  LocalChannel channel;
  channel.open_window();
  channel.write(numbered(1));
  channel.write(numbered(2));
  channel.close_window();
  // The next window is open while the reader still looks at the previous one.
  const std::span<const Event> first = channel.read().events;
  channel.open_window();
  channel.write(numbered(3));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].payload[0], 1U);
  EXPECT_EQ(first[1].payload[0], 2U);
  channel.close_window();
  ASSERT_EQ(channel.read().events.size(), 1U);
  channel.open_window();
  channel.close_window();
  EXPECT_TRUE(channel.read().events.empty());
}

// Two workers send each other ten numbers per window; each must get exactly the other's numbers of
// the window before.
TEST(LocalChannel, TwoWorkersExchangeThroughTheBarrier) {
  constexpr std::uint64_t kWindows = 2000;
  LocalChannel channels[2];
  WindowBarrier barrier(2);
  std::uint64_t wrong[2] = {0, 0};
  const auto work = [&](std::size_t me) {
    for (std::uint64_t window = 0; window < kWindows; ++window) {
      channels[me].open_window();
      for (std::uint64_t i = 0; i < 10; ++i) channels[me].write(numbered(window * 10 + i));
      channels[me].close_window();
      barrier.wait();
      std::uint64_t expected = window * 10;
      std::uint64_t mistakes = 0;
      for (const Event& event : channels[1 - me].read().events) mistakes += event.payload[0] != expected++;
      wrong[me] += mistakes + (expected != window * 10 + 10);
    }
  };
  {
    std::jthread other(work, 1);
    work(0);
  }
  EXPECT_EQ(wrong[0], 0U);
  EXPECT_EQ(wrong[1], 0U);
}

// More parties than cores: everybody still gets through, and nobody enters phase n+1 before all
// have left phase n.
TEST(WindowBarrier, ManyPartiesStayInStep) {
  constexpr int kParties = 9;
  constexpr int kPhases = 200;
  WindowBarrier barrier(kParties);
  std::atomic<int> arrived = 0;
  std::atomic<int> early = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kParties; ++i) {
      threads.emplace_back([&] {
        for (int phase = 0; phase < kPhases; ++phase) {
          arrived.fetch_add(1);
          barrier.wait();
          if (arrived.load() < kParties * (phase + 1)) early.fetch_add(1);
          barrier.wait();
        }
      });
    }
  }
  EXPECT_EQ(arrived.load(), kParties * kPhases);
  EXPECT_EQ(early.load(), 0);
}

TEST(WindowBarrier, OnePartyNeverWaits) {
  WindowBarrier barrier(1);
  for (int i = 0; i < 10; ++i) barrier.wait();
}

}  // namespace
}  // namespace weft::channel_test
