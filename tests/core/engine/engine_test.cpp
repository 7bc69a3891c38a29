// SPDX-License-Identifier: Apache-2.0
// The engine's contract: order, connections, failures, interrupts, pieces, progress, re-dealing.
#include "core/engine/engine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/values/random.hpp"

namespace weft::engine_test {
namespace {

/// An entity that does what a function says and remembers what it saw.
class Scripted final : public Entity {
 public:
  using Script = std::function<void(const Event&, EventContext&)>;
  explicit Scripted(Script script = {}) : script_(std::move(script)) {}

  void handle(const Event& event, EventContext& context) override {
    seen.push_back(event);
    if (script_) script_(event, context);
  }
  std::vector<std::uint16_t> kinds() const {
    std::vector<std::uint16_t> kinds;
    for (const Event& event : seen) kinds.push_back(event.kind);
    return kinds;
  }

  std::vector<Event> seen;

 private:
  Script script_;
};

EntityId add(EngineBuilder& builder, const std::string& name, Scripted::Script script = {}) {
  return builder.add_entity(std::make_unique<Scripted>(std::move(script)), name);
}

Time at_ns(std::int64_t ns) { return Time::zero() + Duration::ns(ns); }

EngineOptions each_alone(std::size_t entities, std::uint32_t threads) {
  EngineOptions options;
  options.threads = threads;
  PartitionExplicit partition;
  for (std::uint32_t i = 0; i < entities; ++i) partition.lp_of_entity.push_back(LpId(i));
  options.partition = partition;
  return options;
}

/// The message of the CheckFailure that the run ends with.
std::string failure_of(Engine& engine) {
  try {
    engine.run({});
  } catch (const CheckFailure& failure) {
    return failure.what();
  }
  return "no failure";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Engine, NothingToDo) {
  Engine empty = EngineBuilder().build({});
  const RunReport report = empty.run({});
  EXPECT_EQ(report.events, 0U);
  EXPECT_EQ(report.end_time, Time::zero());
  EXPECT_EQ(report.lp_count, 0U);
  EngineBuilder builder;
  add(builder, "idle");
  Engine idle = std::move(builder).build({});
  EXPECT_EQ(idle.run({}).events, 0U);
}

TEST(Engine, EventsOfAnInstantGoByClassSourceSequence) {
  EngineBuilder builder;
  const EntityId target = add(builder, "target");
  const auto sender = [target](const Event&, EventContext& context) {
    context.send(target, Duration::ns(10), static_cast<std::uint16_t>(10 * context.self().index()), 0);
    context.send(target, Duration::ns(10), static_cast<std::uint16_t>(10 * context.self().index() + 1), 0);
  };
  const EntityId a = add(builder, "a", sender);
  const EntityId b = add(builder, "b", sender);
  builder.connect(a, target, Duration::ns(10));
  builder.connect(b, target, Duration::ns(5));
  builder.post_initial(target, at_ns(10), EventClass::settle, 99);
  builder.post_initial(target, at_ns(10), EventClass::timer, 98);
  builder.post_initial(target, at_ns(10), EventClass::message, 97);
  builder.post_initial(b, Time::zero(), EventClass::timer, 0);
  builder.post_initial(a, Time::zero(), EventClass::timer, 0);
  Engine engine = std::move(builder).build({});
  const RunReport report = engine.run({});
  // Messages before the timer before settle; among messages the target's own (source 0), then a
  // (1), then b (2), each in order of sending.
  EXPECT_EQ(engine.entity_as<Scripted>(target).kinds(), (std::vector<std::uint16_t>{97, 10, 11, 20, 21, 98, 99}));
  EXPECT_EQ(report.events, 9U);
  EXPECT_EQ(report.end_time, at_ns(10));
  EXPECT_EQ(engine.entity_name(b), "b");
  class Other final : public Entity {
    void handle(const Event&, EventContext&) override {}
  };
  EXPECT_THROW(engine.entity_as<Other>(b), CheckFailure);
}

// A settle event may cause work at the same instant: it is handled before time moves on, and may
// settle again.
TEST(Engine, WorkAtTheSameInstantAfterSettle) {
  EngineBuilder builder;
  int rounds = 0;
  const EntityId fabric = add(builder, "fabric", [&](const Event& event, EventContext& context) {
    if (event.key.event_class == EventClass::settle && ++rounds == 1) {
      context.schedule(Duration::zero(), EventClass::message, 7);
      context.schedule(Duration::zero(), EventClass::settle, 8);
    }
  });
  builder.post_initial(fabric, at_ns(5), EventClass::settle, 6);
  builder.post_initial(fabric, at_ns(6), EventClass::timer, 9);
  Engine engine = std::move(builder).build({});
  engine.run({});
  EXPECT_EQ(engine.entity_as<Scripted>(fabric).kinds(), (std::vector<std::uint16_t>{6, 7, 8, 9}));
  EXPECT_EQ(engine.entity_as<Scripted>(fabric).seen[2].key.time, at_ns(5));
}

TEST(Engine, PayloadTravelsUnchanged) {
  struct Payload {
    std::uint64_t a;
    std::int64_t b;
    Time c;
    EntityId d;
    std::uint32_t e;
  };
  EngineBuilder builder;
  const EntityId target = add(builder, "target");
  const EntityId source = add(builder, "source", [&](const Event&, EventContext& context) {
    context.send(target, Duration::us(1), 1, Payload{1, -2, Time::at_ticks(3), EntityId(4), 5});
  });
  builder.connect(source, target, Duration::us(1));
  builder.post_initial(source, Time::zero(), EventClass::timer, 0);
  Engine engine = std::move(builder).build(each_alone(2, 2));
  const RunReport report = engine.run({});
  const auto payload = engine.entity_as<Scripted>(target).seen.at(0).payload_as<Payload>();
  EXPECT_EQ(payload.a, 1U);
  EXPECT_EQ(payload.b, -2);
  EXPECT_EQ(payload.c, Time::at_ticks(3));
  EXPECT_EQ(payload.d, EntityId(4));
  EXPECT_EQ(payload.e, 5U);
  EXPECT_EQ(report.messages, 1U);
  EXPECT_EQ(report.lookahead, Duration::us(1));
}

TEST(Engine, ZeroDelayConnectionsShareALogicalProcess) {
  EngineBuilder builder;
  const EntityId b = EntityId(1);
  const EntityId a = add(builder, "a", [&](const Event&, EventContext& context) { context.send(b, Duration::zero(), 1, 0); });
  add(builder, "b");
  const EntityId c = add(builder, "c");
  builder.connect(a, b, Duration::zero());
  builder.connect(b, c, Duration::ns(1));
  builder.post_initial(a, at_ns(3), EventClass::timer, 0);
  EngineOptions options;
  options.partition = PartitionByZeta{Duration::zero()};
  Engine engine = std::move(builder).build(options);
  EXPECT_EQ(engine.lp_of(a), engine.lp_of(b));
  EXPECT_NE(engine.lp_of(a), engine.lp_of(c));
  engine.run({});
  EXPECT_EQ(engine.entity_as<Scripted>(b).seen.at(0).key.time, at_ns(3));
}

TEST(Engine, SmallestDeclaredDelayCounts) {
  EngineBuilder builder;
  const EntityId a = add(builder, "a");
  const EntityId b = add(builder, "b");
  builder.connect_both(a, b, Duration::ns(500));
  builder.connect(a, b, Duration::ns(200));
  builder.connect(a, b, Duration::ns(300));
  Engine engine = std::move(builder).build(each_alone(2, 1));
  EXPECT_EQ(engine.run({}).lookahead, Duration::ns(200));
}

// --- Misuse is our bug and says when and where
// ------------------------------------------------------------------------------------

TEST(EngineFailure, MessageFasterThanDeclared) {
  EngineBuilder builder;
  const EntityId b = EntityId(1);
  const EntityId a = add(builder, "host0", [&](const Event&, EventContext& context) { context.send(b, Duration::ns(99), 1, 0); });
  add(builder, "fabric");
  builder.connect(a, b, Duration::ns(100));
  builder.post_initial(a, at_ns(1500), EventClass::timer, 0);
  Engine engine = std::move(builder).build({});
  const std::string failure = failure_of(engine);
  EXPECT_TRUE(contains(failure, "at t=1.5us, entity \"host0\": ")) << failure;
  EXPECT_TRUE(contains(failure, "a message to \"fabric\" travels at least the declared 100ns, but was sent with 99ns")) << failure;
  EXPECT_THROW(engine.run({}), CheckFailure);
  EXPECT_EQ(engine.entity_as<Scripted>(a).seen.size(), 1U);
}

TEST(EngineFailure, MessageToAStranger) {
  EngineBuilder builder;
  const EntityId b = EntityId(1);
  const EntityId a = add(builder, "a", [&](const Event&, EventContext& context) { context.send(b, Duration::s(1), 1, 0); });
  add(builder, "b");
  builder.connect(b, a, Duration::ns(100));  // the other way only
  builder.post_initial(a, Time::zero(), EventClass::timer, 0);
  Engine engine = std::move(builder).build({});
  EXPECT_TRUE(contains(failure_of(engine), "\"b\" was not"));
}

TEST(EngineFailure, EventInThePast) {
  EngineBuilder builder;
  const EntityId a =
      add(builder, "a", [](const Event&, EventContext& context) { context.schedule(Duration::ns(-1), EventClass::timer, 1); });
  builder.post_initial(a, at_ns(5), EventClass::timer, 0);
  Engine engine = std::move(builder).build({});
  EXPECT_TRUE(contains(failure_of(engine), "not in the past"));
}

TEST(EngineFailure, TimeOverflowNamesTheEntity) {
  EngineBuilder builder;
  const EntityId a =
      add(builder, "clock", [](const Event&, EventContext& context) { context.schedule(Duration::max(), EventClass::timer, 1); });
  builder.post_initial(a, at_ns(5), EventClass::timer, 0);
  Engine engine = std::move(builder).build({});
  EXPECT_TRUE(contains(failure_of(engine), "at t=5ns, entity \"clock\": "));
}

TEST(EngineFailure, BuilderMisuse) {
  EngineBuilder negative;
  const EntityId a = add(negative, "a");
  EXPECT_THROW(negative.connect(a, a, Duration::ns(-1)), CheckFailure);
  EXPECT_THROW(negative.post_initial(a, Time::zero() - Duration::ns(1), EventClass::timer, 0), CheckFailure);
  EngineBuilder unknown;
  unknown.connect(EntityId(0), EntityId(1), Duration::ns(1));
  EXPECT_THROW(std::move(unknown).build({}), CheckFailure);
  EngineBuilder torn;
  torn.connect(add(torn, "a"), add(torn, "b"), Duration::zero());
  EXPECT_THROW(std::move(torn).build(each_alone(2, 1)), CheckFailure);
  EngineOptions none;
  none.threads = 0;
  EXPECT_THROW(EngineBuilder().build(none), CheckFailure);
}

// Eight entities each run a timer of their own; three of them fail. Whatever runs where, the
// failure of the smallest event key comes out.
TEST(EngineFailure, TheFirstFailureIsTheSameForEveryPartition) {
  const auto make = [] {
    EngineBuilder builder;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const EntityId id = add(builder, "e" + std::to_string(i), [i](const Event& event, EventContext& context) {
        const auto round = event.payload_as<std::uint64_t>();
        // e6 fails first in time (at 60 ns), then e2 and e5 at the same instant 90 ns.
        if (i == 6 && round == 6) throw std::runtime_error("e6 failed");
        if ((i == 2 || i == 5) && round == 9) throw std::runtime_error("too late");
        if (round < 1000) context.schedule(Duration::ns(10), EventClass::timer, 0, round + 1);
      });
      builder.post_initial(id, Time::zero(), EventClass::timer, 0, std::uint64_t{0});
    }
    return builder;
  };
  const auto message_of = [](Engine& engine) -> std::string {
    try {
      engine.run({});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "no failure";
  };
  for (const bool connected : {false, true}) {
    for (const std::uint32_t threads : {1U, 2U, 4U}) {
      for (const bool one_lp : {false, true}) {
        for (const std::uint64_t alternate : {0U, 1U, 2U, 3U}) {
          EngineBuilder builder = make();
          // Far apart: one window of 1 us spans all three failures. Not connected: the run goes in
          // slices.
          if (connected) builder.connect_all(Duration::us(1));
          EngineOptions options = each_alone(8, threads);
          if (one_lp) options.partition = PartitionExplicit{std::vector<LpId>(8, LpId(0))};
          options.alternate_every_windows = alternate;
          Engine engine = std::move(builder).build(options);
          EXPECT_EQ(message_of(engine), "e6 failed") << connected << threads << one_lp << alternate;
        }
      }
    }
  }
}

TEST(EngineFailure, OfOneInstantTheSmallestSourceFailsFirst) {
  for (const std::uint32_t threads : {1U, 2U}) {
    EngineBuilder builder;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const EntityId id = add(builder, "e" + std::to_string(i), [i](const Event&, EventContext&) {
        if (i >= 1) throw std::runtime_error("e" + std::to_string(i));
      });
      builder.post_initial(id, at_ns(7), EventClass::timer, 0);
    }
    builder.connect_all(Duration::us(1));
    Engine engine = std::move(builder).build(each_alone(4, threads));
    try {
      engine.run({});
      FAIL() << "the run fails";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "e1");
    }
  }
}

// An entity whose timer fails stands before another one, which at the same instant sends itself a
// message that fails as well: that comes before timers, whether one thread has all events or not.
TEST(EngineFailure, OfOneInstantWhatOthersDoAfterAFailureCounts) {
  for (const std::uint32_t threads : {1U, 2U}) {
    for (const std::uint64_t alternate : {0U, 1U, 2U, 3U}) {
      EngineBuilder builder;
      const EntityId ticker = add(builder, "ticker", [](const Event& event, EventContext& context) {
        const auto round = event.payload_as<std::uint64_t>();
        if (round < 20) context.schedule(Duration::us(1), EventClass::timer, 0, round + 1);
      });
      const EntityId timer = add(builder, "timer", [](const Event&, EventContext&) { throw std::runtime_error("timer"); });
      const EntityId message = add(builder, "message", [](const Event& event, EventContext& context) {
        if (event.key.event_class == EventClass::message) throw std::runtime_error("message");
        context.schedule(Duration::zero(), EventClass::message, 0);
      });
      builder.connect_all(Duration::us(1));
      builder.post_initial(ticker, Time::zero(), EventClass::timer, 0, std::uint64_t{0});
      builder.post_initial(timer, at_ns(5500), EventClass::timer, 0);
      builder.post_initial(message, at_ns(5500), EventClass::timer, 0);
      EngineOptions options = each_alone(3, threads);
      options.alternate_every_windows = alternate;
      Engine engine = std::move(builder).build(options);
      try {
        engine.run({});
        FAIL() << "the run fails";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "message") << threads << alternate;
      }
    }
  }
}

// --- Control
// -------------------------------------------------------------------------------------------------

/// `count` entities that pass counters around a ring with 100 ns per hop, for ever.
EngineBuilder ring(std::uint32_t count) {
  EngineBuilder builder;
  for (std::uint32_t i = 0; i < count; ++i) {
    const EntityId next((i + 1) % count);
    add(builder, "ring" + std::to_string(i), [next](const Event& event, EventContext& context) {
      context.send(next, Duration::ns(100), 0, event.payload_as<std::uint64_t>() + 1);
    });
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    builder.connect(EntityId(i), EntityId((i + 1) % count), Duration::ns(100));
    builder.post_initial(EntityId(i), Time::zero(), EventClass::message, 0, std::uint64_t{0});
  }
  return builder;
}

// Changing to one thread and back at every window, also when the run stops or fails while one
// thread works for all.
TEST(EngineControl, OneThreadForAllAndBack) {
  for (const std::uint64_t alternate : {1U, 2U, 7U}) {
    EngineOptions options = each_alone(4, 3);
    options.alternate_every_windows = alternate;
    Engine engine = ring(4).build(options);
    for (int piece = 1; piece <= 20; ++piece) {
      const RunReport report = engine.run({.until = at_ns(100 * piece), .interrupt = nullptr, .progress = {}});
      ASSERT_EQ(report.events, 4U * static_cast<std::uint64_t>(piece));
      ASSERT_EQ(report.windows, static_cast<std::uint64_t>(piece));
    }
    const RunReport report = engine.run({.until = at_ns(50000), .interrupt = nullptr, .progress = {}});
    EXPECT_EQ(report.events, 4U * 500U);
    for (std::uint32_t ending = 40; ending < 50; ++ending) {
      EngineBuilder failing = ring(4);
      const EntityId bomb = add(failing, "bomb", [](const Event&, EventContext&) { throw std::runtime_error("boom"); });
      failing.connect(EntityId(0), bomb, Duration::ns(100));
      failing.post_initial(bomb, at_ns(100 * ending + 50), EventClass::timer, 0);
      EngineOptions failing_options = each_alone(5, 3);
      failing_options.alternate_every_windows = alternate;
      Engine broken = std::move(failing).build(failing_options);
      EXPECT_THROW(broken.run({}), std::runtime_error);
    }
  }
}

// One thread takes all events and gives them back while an instant is under way: each entity sees
// the same ones in the same order.
TEST(EngineControl, OneThreadMayStopWithinAnInstant) {
  const auto make = [] {
    EngineBuilder builder;
    for (std::uint32_t i = 0; i < 30; ++i) {
      const EntityId id = add(builder, "e" + std::to_string(i), [i](const Event& event, EventContext& context) {
        const auto left = event.payload_as<std::uint64_t>();
        if (left == 0) return;
        context.schedule(Duration::ns(10), left % 2 == 0 ? EventClass::timer : EventClass::settle, 0, left - 1);
        context.send(EntityId((i + 7) % 30), Duration::ns(10), 0, std::uint64_t{0});
      });
      builder.post_initial(id, Time::zero(), EventClass::timer, 0, std::uint64_t{50});
    }
    builder.connect_all(Duration::ns(10));
    return builder;
  };
  const RunReport alone = make().build(each_alone(30, 1)).run({});
  for (const std::uint64_t alternate : {1U, 2U, 5U}) {
    EngineOptions options = each_alone(30, 3);
    options.alternate_every_windows = alternate;
    const RunReport report = make().build(options).run({});
    EXPECT_EQ(report.fingerprint.value(), alone.fingerprint.value()) << alternate;
    EXPECT_EQ(report.events, alone.events);
    EXPECT_EQ(report.end_time, alone.end_time);
  }
}

TEST(EngineControl, UntilIsExclusiveAndRunContinues) {
  for (const std::uint32_t threads : {1U, 2U}) {
    EngineOptions options = each_alone(4, threads);
    options.measure_pace = false;  // a thread that has all events counts its windows in another way
    Engine engine = ring(4).build(options);
    // Events at 0, 100, ..., 900 ns at each of 4 entities; those at 1000 ns are left.
    RunReport report = engine.run({.until = at_ns(1000), .interrupt = nullptr, .progress = {}});
    EXPECT_EQ(report.events, 40U);
    EXPECT_EQ(report.end_time, at_ns(900));
    EXPECT_EQ(report.windows, 10U);
    report = engine.run({.until = at_ns(1001), .interrupt = nullptr, .progress = {}});
    EXPECT_EQ(report.events, 44U);
    EXPECT_FALSE(report.interrupted);
  }
}

TEST(EngineBuilder, DeclaresWhatOthersMustKnowBeforeItCanBeMade) {
  EngineBuilder builder;
  const EntityId later = builder.declare("later");
  const EntityId first =
      add(builder, "first", [later](const Event&, EventContext& context) { context.send(later, Duration::ns(1), 7, 0); });
  EXPECT_EQ(later.index(), 0U);
  EXPECT_EQ(first.index(), 1U);
  builder.connect(first, later, Duration::ns(1));
  builder.post_initial(first, at_ns(0), EventClass::timer, 0);
  builder.define(later, std::make_unique<Scripted>());
  EXPECT_THROW(builder.define(later, std::make_unique<Scripted>()), CheckFailure);
  Engine engine = std::move(builder).build({});
  engine.run({});
  EXPECT_EQ(engine.entity_name(later), "later");
  EXPECT_EQ(engine.entity_as<Scripted>(later).kinds(), std::vector<std::uint16_t>{7});
  EngineBuilder unfinished;
  unfinished.declare("nobody");
  EXPECT_THROW(std::move(unfinished).build({}), CheckFailure);
}

TEST(EngineControl, AnEntityThatAbandonsTheRunEndsItLikewise) {
  for (const std::uint32_t threads : {1U, 2U}) {
    std::atomic<bool> abandon = false;
    EngineBuilder builder = ring(4);
    const EntityId stopper = add(builder, "stopper", [&](const Event&, EventContext&) { abandon = true; });
    builder.connect(EntityId(0), stopper, Duration::ns(100));
    builder.post_initial(stopper, at_ns(50000), EventClass::timer, 0);
    Engine engine = std::move(builder).build(each_alone(5, threads));
    RunControl control;
    control.abandon = &abandon;
    EXPECT_TRUE(engine.run(control).interrupted);
  }
}

TEST(EngineControl, InterruptEndsAfterTheWindowAndRunContinues) {
  for (const std::uint32_t threads : {1U, 2U}) {
    std::atomic<bool> interrupt = true;
    Engine engine = ring(4).build(each_alone(4, threads));
    RunReport report = engine.run({.until = at_ns(1000), .interrupt = &interrupt, .progress = {}});
    EXPECT_TRUE(report.interrupted);
    EXPECT_EQ(report.events, 0U);
    interrupt = false;
    report = engine.run({.until = at_ns(1000), .interrupt = &interrupt, .progress = {}});
    EXPECT_FALSE(report.interrupted);
    EXPECT_EQ(report.events, 40U);
  }
}

TEST(EngineControl, AnEntityCanInterruptAnEndlessRun) {
  for (const bool one_lp : {true, false}) {
    std::atomic<bool> interrupt = false;
    EngineBuilder builder = ring(4);
    const EntityId stopper = add(builder, "stopper", [&](const Event&, EventContext&) { interrupt = true; });
    builder.connect(EntityId(0), stopper, Duration::ns(100));
    builder.post_initial(stopper, at_ns(50000), EventClass::timer, 0);
    EngineOptions options = each_alone(5, one_lp ? 1 : 2);
    if (one_lp) options.partition = PartitionAutomatic{};
    Engine engine = std::move(builder).build(options);
    const RunReport report = engine.run({.until = Time::max(), .interrupt = &interrupt, .progress = {}});
    EXPECT_TRUE(report.interrupted);
    EXPECT_EQ(engine.entity_as<Scripted>(stopper).seen.size(), 1U);
    // At most one slice or window after it.
    EXPECT_GE(report.end_time, at_ns(50000));
    EXPECT_LT(report.events, 4U * 501U + 20000U);
  }
}

TEST(EngineControl, ProgressNeverGoesBackAndRunsOnTheCaller) {
  for (const std::uint32_t threads : {1U, 2U}) {
    Engine engine = ring(4).build(each_alone(4, threads));
    std::atomic<bool> interrupt = false;
    const auto caller = std::this_thread::get_id();
    Time last = Time::zero();
    std::uint64_t last_events = 0;
    int calls = 0;
    engine.run({.until = Time::max(), .interrupt = &interrupt, .progress = [&](const RunProgress& progress) {
                  EXPECT_EQ(std::this_thread::get_id(), caller);
                  EXPECT_GE(progress.sim_time, last);
                  EXPECT_GE(progress.events, last_events);
                  last = progress.sim_time;
                  last_events = progress.events;
                  interrupt = ++calls == 2;
                }});
    EXPECT_EQ(calls, 2);
    EXPECT_GT(last_events, 0U);
  }
}

TEST(EngineControl, AFailingProgressCallbackEndsTheRun) {
  Engine engine = ring(4).build(each_alone(4, 2));
  EXPECT_THROW(engine.run({.until = Time::max(),
                           .interrupt = nullptr,
                           .progress = [](const RunProgress&) { throw std::runtime_error("the terminal is gone"); }}),
               std::runtime_error);
}

TEST(EngineControl, NoMoreThreadsThanLogicalProcesses) {
  Engine engine = ring(3).build(each_alone(3, 16));
  EXPECT_EQ(engine.run({.until = at_ns(100), .interrupt = nullptr, .progress = {}}).workers.size(), 3U);
}

TEST(EngineControl, ForcedRedealingHappensAndTheLogSaysSo) {
  std::vector<std::string> said;
  EngineOptions options = each_alone(6, 3);
  options.redeal_every_windows = 2;
  options.measure_pace = false;  // how fast this machine is must not matter here
  options.log = Log::to_function([&](LogLevel, std::string_view message) { said.emplace_back(message); }, LogLevel::debug);
  Engine engine = ring(6).build(options);
  const RunReport report = engine.run({.until = at_ns(2000), .interrupt = nullptr, .progress = {}});
  EXPECT_EQ(report.events, 6U * 20U);
  EXPECT_GE(report.redeals, 8U);
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said[0], "6 entities in 6 logical processes on 3 threads, lookahead 100ns");
  EXPECT_TRUE(contains(said[1], "re-dealt 6 logical processes"));
}

// One of eight processes does nearly all the work, and all the work starts on one worker: looking
// at the balance after every window moves it.
TEST(EngineControl, MeasuredImbalanceIsRedealt) {
  EngineBuilder builder;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const EntityId id = add(builder, "e" + std::to_string(i), [](const Event& event, EventContext& context) {
      if (event.payload_as<std::uint64_t>() > 0) {
        context.schedule(Duration::ns(10), EventClass::timer, 0, event.payload_as<std::uint64_t>() - 1);
      }
    });
    // The first four are busy for ever, the others for an instant; blocks put the busy ones on
    // worker 0.
    builder.post_initial(id, Time::zero(), EventClass::timer, 0, std::uint64_t{i < 4 ? 20000U : 0U});
  }
  builder.connect_all(Duration::us(1));
  EngineOptions options = each_alone(8, 2);
  options.redeal_interval_wall_s = 0;
  options.measure_pace = false;  // how fast this machine is must not matter here
  Engine engine = std::move(builder).build(options);
  const RunReport report = engine.run({});
  EXPECT_EQ(report.events, 4U * 20001U + 4U);
  EXPECT_GE(report.redeals, 1U);
  EXPECT_GT(report.workers[1].events, 4U);  // more than the four instants it was dealt at first
}

TEST(EngineControl, TwoEnginesLiveInOneProcess) {
  Engine first = ring(4).build(each_alone(4, 2));
  Engine second = ring(5).build(each_alone(5, 2));
  const RunControl until_1us{.until = at_ns(1000), .interrupt = nullptr, .progress = {}};
  RunReport of_first;
  RunReport of_second;
  {
    std::jthread other([&] { of_second = second.run(until_1us); });
    of_first = first.run(until_1us);
  }
  EXPECT_EQ(of_first.events, 40U);
  EXPECT_EQ(of_second.events, 50U);
  Engine moved = std::move(first);
  EXPECT_EQ(moved.run({.until = at_ns(1100), .interrupt = nullptr, .progress = {}}).events, 44U);
}

// Idle logical processes cost nothing: of a thousand, only the two that talk are ever run.
TEST(EngineControl, IdleProcessesAreNotRun) {
  EngineBuilder builder;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    add(builder, "e" + std::to_string(i), [i](const Event& event, EventContext& context) {
      if (event.payload_as<std::uint64_t>() < 99)
        context.send(EntityId(1 - i), Duration::us(1), 0, event.payload_as<std::uint64_t>() + 1);
    });
  }
  builder.connect_all(Duration::us(1));
  builder.post_initial(EntityId(0), Time::zero(), EventClass::timer, 0, std::uint64_t{0});
  Engine engine = std::move(builder).build(each_alone(1000, 1));
  const RunReport report = engine.run({});
  EXPECT_EQ(report.events, 100U);
  EXPECT_EQ(report.windows, 100U);
  EXPECT_EQ(report.workers[0].lp_runs, 100U);
}

TEST(EngineControl, EmptyWindowsAreSkipped) {
  EngineBuilder builder;
  const EntityId a = add(builder, "a");
  const EntityId b = add(builder, "b");
  builder.connect_both(a, b, Duration::ns(1));
  builder.post_initial(a, Time::zero(), EventClass::timer, 0);
  builder.post_initial(b, Time::zero() + Duration::s(3600), EventClass::timer, 0);
  Engine engine = std::move(builder).build(each_alone(2, 2));
  const RunReport report = engine.run({});
  EXPECT_EQ(report.windows, 2U);
  EXPECT_EQ(report.end_time, Time::zero() + Duration::s(3600));
}

// --- Fingerprint
// -------------------------------------------------------------------------------------------------

TEST(EngineFingerprint, SeesTimeKindPayloadAndTarget) {
  const auto fingerprint = [](std::uint32_t target, std::int64_t ns, std::uint16_t kind, std::uint64_t payload,
                              EventClass event_class) {
    EngineBuilder builder;
    add(builder, "a");
    add(builder, "b");
    builder.post_initial(EntityId(target), at_ns(ns), event_class, kind, payload);
    Engine engine = std::move(builder).build({});
    return engine.run({}).fingerprint.value();
  };
  const std::uint64_t base = fingerprint(0, 1, 1, 1, EventClass::timer);
  EXPECT_EQ(fingerprint(0, 1, 1, 1, EventClass::timer), base);
  EXPECT_NE(fingerprint(1, 1, 1, 1, EventClass::timer), base);
  EXPECT_NE(fingerprint(0, 2, 1, 1, EventClass::timer), base);
  EXPECT_NE(fingerprint(0, 1, 2, 1, EventClass::timer), base);
  EXPECT_NE(fingerprint(0, 1, 1, 2, EventClass::timer), base);
  EXPECT_NE(fingerprint(0, 1, 1, 1, EventClass::settle), base);
}

// What a sender does for others does not show in an entity that handles the same events.
TEST(EngineFingerprint, DoesNotSeeTheSendersSequenceNumbers) {
  const auto chain_of_target = [](int others) {
    EngineBuilder builder;
    const EntityId target = add(builder, "target");
    const EntityId source = add(builder, "source", [=](const Event&, EventContext& context) {
      for (int i = 0; i < others; ++i) context.schedule(Duration::s(1), EventClass::timer, 5);
      context.send(target, Duration::ns(1), 1, 0);
    });
    builder.connect(source, target, Duration::ns(1));
    builder.post_initial(source, Time::zero(), EventClass::timer, 0);
    Engine engine = std::move(builder).build({});
    // Before the extra timers fire, both runs have handled the same events.
    return engine.run({.until = at_ns(100), .interrupt = nullptr, .progress = {}}).fingerprint.value();
  };
  EXPECT_EQ(chain_of_target(0), chain_of_target(3));
}

}  // namespace
}  // namespace weft::engine_test
