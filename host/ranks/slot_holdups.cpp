// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/slot_holdups.hpp"

#include <algorithm>

namespace weft {

void add_holdup(const SlotHoldup& holdup, std::vector<SlotHoldup>& all) {
  const auto known = std::ranges::find_if(all, [&](const SlotHoldup& one) {
    return one.plan == holdup.plan && one.peer == holdup.peer && one.channel == holdup.channel;
  });
  if (known == all.end()) {
    all.push_back(holdup);
    return;
  }
  if (holdup.message > known->message) {
    known->message = holdup.message;
    known->message_slots = holdup.message_slots;
    known->take_over = holdup.take_over;
  }
  known->times += holdup.times;
  known->held += holdup.held;
  known->under_way += holdup.under_way;
}

}  // namespace weft
