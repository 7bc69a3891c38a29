// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/exposure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/values/random.hpp"

namespace weft::exposure_test {
namespace {

using enum Exposure::Change;

Time at_us(std::int64_t us) { return Time::zero() + Duration::us(us); }

// Communication of 0 runs from 2 to 10 us, of 1 from 8 to 12, computation from 4 to 9: 0 is exposed
// from 2 to 4 and from 9 to 10, 1 from 9 to 12, and the rank from 2 to 4 and from 9 to 12.
TEST(Exposure, CountsCommunicationThatNoComputationHides) {
  Exposure exposure(2);
  exposure.begin(at_us(1));
  exposure.note(communication_begins, 0, at_us(2), at_us(2));
  exposure.note(compute_begins, 0, at_us(4), at_us(4));
  exposure.note(communication_begins, 1, at_us(8), at_us(8));
  exposure.note(compute_ends, 0, at_us(9), at_us(9));
  exposure.note(communication_ends, 0, at_us(10), at_us(10));
  EXPECT_TRUE(exposure.is_communicating());
  exposure.note(communication_ends, 1, at_us(12), at_us(12));
  EXPECT_FALSE(exposure.is_communicating());
  exposure.account(at_us(20));
  EXPECT_EQ(exposure.take_exposed(), Duration::us(5));
  EXPECT_EQ(exposure.take_exposed(), Duration::zero());
  EXPECT_EQ(exposure.by_communicator(at_us(20)), (std::vector{Duration::us(3), Duration::us(3)}));
}

TEST(Exposure, OfWhatLiesAheadCountsWhatHasCome) {
  Exposure exposure(1);
  exposure.begin(at_us(0));
  exposure.note(communication_begins, 0, at_us(2), at_us(0));
  exposure.note(communication_ends, 0, at_us(6), at_us(0));
  EXPECT_EQ(exposure.changes_ahead(), 2U);
  EXPECT_EQ(exposure.by_communicator(at_us(1)).front(), Duration::zero());
  EXPECT_EQ(exposure.by_communicator(at_us(5)).front(), Duration::zero()) << "it counts until the last change by then";
  EXPECT_EQ(exposure.by_communicator(at_us(6)).front(), Duration::us(4));
  exposure.account(at_us(5));
  EXPECT_EQ(exposure.take_exposed(), Duration::us(3));
  EXPECT_EQ(exposure.changes_ahead(), 1U);
  exposure.account(at_us(9));
  EXPECT_EQ(exposure.take_exposed(), Duration::us(1));
}

// Ops that are known ahead, in any order, come to what they do when each is told of at its time.
TEST(Exposure, IsTheSameAheadAndInTime) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed, 0, 0);
    struct Op {
      bool computes = false;
      std::uint16_t communicator = 0;
      Time start;
      Time end;
    };
    std::vector<Op> ops;
    struct Told {
      Time at;
      Exposure::Change change;
      std::uint16_t communicator = 0;
    };
    std::vector<Told> in_time;
    for (int i = 0; i < 30; ++i) {
      const auto start = static_cast<std::int64_t>(random.below(100));
      const auto length = static_cast<std::int64_t>(1 + random.below(20));
      const Op op{random.below(2) == 0, static_cast<std::uint16_t>(random.below(3)), at_us(start), at_us(start + length)};
      ops.push_back(op);
      in_time.push_back({op.start, op.computes ? compute_begins : communication_begins, op.communicator});
      in_time.push_back({op.end, op.computes ? compute_ends : communication_ends, op.communicator});
    }
    std::ranges::stable_sort(in_time, {}, &Told::at);
    Exposure ahead(3);
    Exposure told(3);
    ahead.begin(at_us(0));
    told.begin(at_us(0));
    for (const Op& op : ops) {
      ahead.note(op.computes ? compute_begins : communication_begins, op.communicator, op.start, at_us(0));
      ahead.note(op.computes ? compute_ends : communication_ends, op.communicator, op.end, at_us(0));
    }
    for (const Told& one : in_time) told.note(one.change, one.communicator, one.at, one.at);
    ahead.account(at_us(200));
    told.account(at_us(200));
    EXPECT_EQ(ahead.take_exposed(), told.take_exposed()) << seed;
    EXPECT_EQ(ahead.by_communicator(at_us(200)), told.by_communicator(at_us(200))) << seed;
  }
}

}  // namespace
}  // namespace weft::exposure_test
