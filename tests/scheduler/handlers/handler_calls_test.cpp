// SPDX-License-Identifier: Apache-2.0
#include "scheduler/handlers/handler_calls.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/scheduler_parts.hpp"

namespace weft::handler_calls_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::RecordingContext;
using Kind = ClusterEvent::Kind;

/// Writes down who is told of which kind, and does what the test says.
class Listener final : public EventHandler {
 public:
  using Act = std::function<void(const ClusterEvent&, ClusterControl&)>;
  Listener(std::string name, std::string& text, Act act) : name_(std::move(name)), text_(text), act_(std::move(act)) {}
  void happened(const ClusterEvent& cluster_event, ClusterControl& control) override {
    text_ += fmt::format("{}{} ", name_, static_cast<int>(cluster_event.kind));
    if (act_) act_(cluster_event, control);
  }

 private:
  std::string name_;
  std::string& text_;
  Act act_;
};

/// A cluster on which the last job may have ended. A drain of host 0 tells of itself, one of host 1
/// is refused.
class Actions final : public ClusterActions {
 public:
  bool is_over() const override { return over; }
  const ClusterState& cluster() const override { return state; }
  const JobList& queue() const override { return jobs; }
  const JobList& running() const override { return jobs; }
  JobView job(JobId, Time) const override { return {}; }
  const JobRecord& record(JobId) const override { return of_job; }
  const std::string& name_of(JobId) const override { return name; }
  bool drain(HostId host, Duration, EventContext&) override {
    if (host == HostId(0)) calls->note({Kind::drain_began, JobId::none(), host});
    return host == HostId(0);
  }
  bool cancel(JobId, EventContext&) override {
    over = true;
    return true;
  }
  bool set_priority(JobId, std::int32_t, EventContext&) override { return true; }
  void note(const EventRecord& row) override {
    rows += std::string(row.event) + " " + std::string(row.subject) + " by " + std::string(row.by) + "\n";
  }

  bool over = false;
  HandlerCalls* calls = nullptr;
  std::string rows;

 private:
  ClusterState state{2, 1};
  JobList jobs{1};
  JobRecord of_job;
  std::string name = "A";
};

class HandlerCallsTest : public testing::Test {
 protected:
  /// Handlers x and y; x does something.
  HandlerCalls calls_with(Listener::Act act) {
    std::vector<NamedHandler> handlers;
    handlers.push_back({"first", std::make_unique<Listener>("x", text, std::move(act))});
    handlers.push_back({"second", std::make_unique<Listener>("y", text, nullptr)});
    return {std::move(handlers), actions};
  }
  static std::string told(const std::string& who, Kind kind) { return fmt::format("{}{} ", who, static_cast<int>(kind)); }

  std::string text;
  Actions actions;
  RecordingContext context;
};

// What x does within the first event is told after the second, to both. Refused drains make no
// rows.
TEST_F(HandlerCallsTest, TellInOrderWhatHandlersDoToo) {
  HandlerCalls calls = calls_with([](const ClusterEvent& cluster_event, ClusterControl& control) {
    if (cluster_event.kind != Kind::job_arrived) return;
    EXPECT_FALSE(control.drain(HostId(1), Duration::s(1)));
    EXPECT_TRUE(control.drain(HostId(0), Duration::s(1)));
  });
  actions.calls = &calls;
  calls.note({Kind::job_arrived, JobId(0)});
  calls.note({Kind::job_started, JobId(0)});
  EXPECT_TRUE(calls.has_news());
  calls.tell(context);
  EXPECT_FALSE(calls.has_news());
  EXPECT_EQ(text, told("x", Kind::job_arrived) + told("y", Kind::job_arrived) + told("x", Kind::job_started) +
                      told("y", Kind::job_started) + told("x", Kind::drain_began) + told("y", Kind::drain_began));
  EXPECT_EQ(actions.rows, "drain host0 by first\n");
}

TEST_F(HandlerCallsTest, CallsAndTimersAreForOneHandler) {
  HandlerCalls calls = calls_with(nullptr);
  calls.note_call("second");
  calls.note_wake(0);
  calls.tell(context);
  EXPECT_EQ(text, told("y", Kind::called) + told("x", Kind::timer));
}

// x cancels the last job within the first event: y still hears of that one, and nobody of the
// second.
TEST_F(HandlerCallsTest, NothingIsToldOnceAllIsOver) {
  HandlerCalls calls = calls_with([](const ClusterEvent&, ClusterControl& control) { control.cancel(JobId(0)); });
  calls.note({Kind::job_started, JobId(0)});
  calls.note({Kind::job_moved, JobId(0)});
  calls.tell(context);
  EXPECT_EQ(text, told("x", Kind::job_started) + told("y", Kind::job_started));
  EXPECT_EQ(actions.rows, "cancel A by first\n");
}

// Of wishes to be woken at 5 s and at 3 s the latter is the last.
TEST_F(HandlerCallsTest, TheLastWishCounts) {
  HandlerCalls calls = calls_with([](const ClusterEvent&, ClusterControl& control) {
    control.wake_at(at_s(5));
    control.wake_at(at_s(3));
  });
  calls.note({Kind::job_started, JobId(0)});
  calls.tell(context);
  const std::vector<Event> posted = context.take();
  ASSERT_EQ(posted.size(), 2U);
  EXPECT_FALSE(calls.wants_wake(posted[0].payload_as<HandlerTimer>().handler, posted[0].key.time));
  EXPECT_TRUE(calls.wants_wake(posted[1].payload_as<HandlerTimer>().handler, posted[1].key.time));
}

TEST_F(HandlerCallsTest, WithoutHandlersThereIsNoNews) {
  HandlerCalls calls({}, actions);
  calls.note({Kind::job_started, JobId(0)});
  EXPECT_TRUE(calls.empty());
  EXPECT_FALSE(calls.has_news());
}

}  // namespace
}  // namespace weft::handler_calls_test
