// SPDX-License-Identifier: Apache-2.0
#include "core/engine/agenda.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/values/random.hpp"

namespace weft::agenda_test {
namespace {

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

}  // namespace
}  // namespace weft::agenda_test
