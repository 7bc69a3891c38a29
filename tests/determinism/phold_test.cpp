// SPDX-License-Identifier: Apache-2.0
// PHOLD under every combination of threads, partition and re-dealing.
#include <gtest/gtest.h>

#include "tests/determinism/fingerprint_matrix.hpp"
#include "tests/determinism/phold_model.hpp"

namespace weft::phold_test {
namespace {

RunReport run_until(Engine& engine, Time until) { return engine.run({.until = until, .interrupt = nullptr, .progress = {}}); }

TEST(Phold, SameFingerprintForThreadsPartitionsAndRedealing) {
  phold::Config config;
  // Zeta between the 40 ns of neighbours and the 100 ns of all pairs up neighbours: 32 LPs of 64
  // entities.
  expect_one_fingerprint("phold", partitions_of(config.entities, Duration::ns(60)), [&](const EngineOptions& options) {
    Engine engine = phold::make(config, Duration::ns(40)).build(options);
    return run_until(engine, Time::zero() + Duration::us(60));
  });
}

TEST(Phold, ZetaPairsNeighbours) {
  EngineOptions options;
  options.partition = PartitionByZeta{Duration::ns(60)};
  Engine engine = phold::make({}, Duration::ns(40)).build(options);
  const RunReport report = run_until(engine, Time::zero() + Duration::us(1));
  EXPECT_EQ(report.lp_count, 32U);
  EXPECT_EQ(report.lookahead, Duration::ns(100));
}

TEST(Phold, SeedChangesTheFingerprint) {
  phold::Config config;
  Engine first = phold::make(config).build({});
  config.seed = 2;
  Engine second = phold::make(config).build({});
  const Time until = Time::zero() + Duration::us(5);
  EXPECT_NE(run_until(first, until).fingerprint.value(), run_until(second, until).fingerprint.value());
}

// A job is in exactly one place: a hop takes 1,000 ns on average, so 64 x 4 jobs make about 256
// hops per microsecond.
TEST(Phold, HandlesTheExpectedNumberOfEvents) {
  Engine engine = phold::make({}).build({});
  const RunReport report = run_until(engine, Time::zero() + Duration::us(200));
  const double expected = 256.0 * 200;
  // The count of renewals of 256 independent jobs has a standard deviation of 0.9 sqrt(expected) or
  // 0.4 %.
  EXPECT_NEAR(static_cast<double>(report.events), expected, 0.02 * expected);
  std::uint64_t handled = 0;
  for (std::uint32_t i = 0; i < 64; ++i) handled += engine.entity_as<phold::Node>(EntityId(i)).handled();
  EXPECT_EQ(handled, report.events);
}

TEST(Phold, RunInPiecesEqualsRunInOne) {
  for (const std::uint32_t threads : {1U, 2U}) {
    EngineOptions options;
    options.threads = threads;
    options.partition = PartitionByZeta{Duration::ns(60)};
    options.measure_pace = false;  // a thread that has all events sends no messages
    Engine whole = phold::make({}, Duration::ns(40)).build(options);
    Engine pieces = phold::make({}, Duration::ns(40)).build(options);
    RunReport last;
    // 1.7 us is no multiple of the lookahead, so windows are cut at other places.
    for (int piece = 1; piece <= 10; ++piece) last = run_until(pieces, Time::zero() + Duration::ns(1700 * piece));
    const RunReport all = run_until(whole, Time::zero() + Duration::us(17));
    EXPECT_EQ(last.fingerprint.value(), all.fingerprint.value());
    EXPECT_EQ(last.events, all.events);
    EXPECT_EQ(last.messages, all.messages);
  }
}

}  // namespace
}  // namespace weft::phold_test
