// SPDX-License-Identifier: Apache-2.0
#include "network/flow/queue_pair_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/values/random.hpp"

namespace weft::queue_pair_order_test {
namespace {

/// A queue pair, by all that tells it from others.
struct Named {
  QueuePairName name;
  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t> key;
};

/// Few of each, so that queue pairs meet, and differ in any one thing.
Named drawn_name(RandomStream& random) {
  const auto one_of = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random.below(n)); };
  Transfer transfer;
  transfer.attempt = AttemptId(one_of(2));
  transfer.source = NodeId(one_of(3));
  transfer.destination = NodeId(one_of(3));
  const std::uint32_t connection = transfer.connection = one_of(2);
  const std::uint32_t priority = transfer.priority = one_of(2);
  const std::uint32_t queue_pair = one_of(2);
  return {QueuePairName(transfer, queue_pair),
          {transfer.attempt.index(), transfer.source.index(), transfer.destination.index(), connection, priority, queue_pair}};
}

/// The order beside a map of queues: the first of each moves.
class Both {
 public:
  void enter(const Named& named, int what, RandomStream& random) {
    const std::optional<std::uint32_t> moving =
        order_.moving(named.name, [this](std::uint32_t number) { return names_[number]->name; });
    std::deque<int>& line = lines_[named.key];
    ASSERT_EQ(moving.has_value(), !line.empty());
    if (moving) {
      EXPECT_EQ(what_[*moving], line.front());
      order_.wait(*moving, what, [](int a, int b) { return a < b; });
      // From the end of the line to before the last that is not greater.
      auto place = line.end();
      while (place - 1 != line.begin() && what < *(place - 1)) --place;
      line.insert(place, what);
    } else {
      move(named, what, {}, random);
      line.push_back(what);
    }
  }
  void leave(RandomStream& random) {
    const std::optional<std::uint32_t> number = drawn_number(random);
    if (!number) return;
    const Named named = *names_[*number];
    Fifo<int> line = order_.end(*number);
    is_used_[*number] = false;
    std::deque<int>& expected = lines_[named.key];
    expected.pop_front();
    ASSERT_EQ(line.size(), expected.size());
    for (std::uint32_t i = 0; i < line.size(); ++i) EXPECT_EQ(line[i], expected[i]);
    if (line.empty()) return;
    const int next = line.front();
    line.pop();
    move(named, next, std::move(line), random);
  }
  void renumber(RandomStream& random) {
    const std::optional<std::uint32_t> number = drawn_number(random);
    if (!number) return;
    const std::uint32_t to = free_number(random);
    const Named named = *names_[*number];
    order_.renumber(named.name, *number, to);
    is_used_[*number] = false;
    note(to, named, what_[*number]);
  }
  void leave_line(RandomStream& random) {
    const std::optional<std::uint32_t> number = drawn_number(random);
    if (!number) return;
    const auto is_odd = [](int what) { return what % 2 != 0; };
    order_.leave_line(*number, is_odd);
    std::deque<int>& line = lines_[names_[*number]->key];
    line.erase(std::remove_if(line.begin() + 1, line.end(), is_odd), line.end());
    ASSERT_EQ(order_.line_behind(*number).size(), line.size() - 1);
  }
  void hold_back(int what, RandomStream& random) {
    const std::optional<std::uint32_t> number = drawn_number(random);
    if (!number) return;
    const Named named = *names_[*number];
    Fifo<int> line = order_.hold_back(*number, what_[*number]);
    is_used_[*number] = false;
    move(named, what, std::move(line), random);
    lines_[named.key].push_front(what);
  }
  bool nobody_waits() const {
    EXPECT_EQ(order_.nobody_waits(), std::ranges::all_of(lines_, [](const auto& line) { return line.second.size() < 2; }));
    return order_.nobody_waits();
  }
  bool is_empty() const { return std::ranges::count(is_used_, true) == 0; }

 private:
  void note(std::uint32_t number, const Named& named, int what) {
    if (names_.size() <= number) {
      names_.resize(number + 1);
      what_.resize(number + 1);
      is_used_.resize(number + 1, false);
    }
    names_[number] = named;
    what_[number] = what;
    is_used_[number] = true;
  }
  std::uint32_t free_number(RandomStream& random) {
    auto number = static_cast<std::uint32_t>(random.below(is_used_.size() + 3));
    while (number < is_used_.size() && is_used_[number]) ++number;
    return number;
  }
  std::optional<std::uint32_t> drawn_number(RandomStream& random) {
    std::vector<std::uint32_t> used;
    for (std::uint32_t i = 0; i < is_used_.size(); ++i) {
      if (is_used_[i]) used.push_back(i);
    }
    return used.empty() ? std::nullopt : std::optional(used[random.below(used.size())]);
  }
  void move(const Named& named, int what, Fifo<int> line, RandomStream& random) {
    const std::uint32_t number = free_number(random);
    order_.begin(named.name, number, std::move(line));
    note(number, named, what);
  }

  QueuePairOrder<int> order_;
  std::map<decltype(Named::key), std::deque<int>> lines_;
  std::vector<std::optional<Named>> names_;  ///< by number
  std::vector<int> what_;
  std::vector<bool> is_used_;
};

TEST(QueuePairOrder, DoesAsAQueueForEach) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, 0, 0);
    Both both;
    for (int what = 0; what < 2000; ++what) {
      switch (random.below(12)) {
        case 0:
          both.renumber(random);
          break;
        case 1:
          both.leave_line(random);
          break;
        case 2:
          both.hold_back(what, random);
          break;
        case 3:
        case 4:
        case 5:
        case 6:
          both.leave(random);
          break;
        default:
          both.enter(drawn_name(random), static_cast<int>(random.below(50)), random);
      }
      both.nobody_waits();
      if (HasFatalFailure()) return;
    }
    while (!both.is_empty()) both.leave(random);
    EXPECT_TRUE(both.nobody_waits());
  }
}

// Expectation: by tag, whatever their sizes.
TEST(QueuePairOrder, WhatEntersAtOneInstantHasAnOrder) {
  const auto of = [](std::int64_t bytes, std::uint64_t tag) {
    Transfer transfer;
    transfer.size = Bytes::of(bytes);
    transfer.tag = tag;
    return transfer;
  };
  EXPECT_TRUE(goes_first(of(10, 1), of(0, 7)));
  EXPECT_FALSE(goes_first(of(0, 7), of(10, 1)));
  EXPECT_TRUE(goes_first(of(99, 1), of(10, 2)));
  EXPECT_TRUE(goes_first(of(10, 1), of(99, 1)));
  EXPECT_FALSE(goes_first(of(10, 1), of(10, 1)));
}

}  // namespace
}  // namespace weft::queue_pair_order_test
