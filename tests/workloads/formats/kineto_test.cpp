// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/formats/kineto/kineto_communication.hpp"
#include "workloads/formats/kineto/kineto_files.hpp"
#include "workloads/formats/kineto/kineto_iterations.hpp"
#include "workloads/formats/kineto/kineto_replay.hpp"
#include "workloads/formats/kineto/kineto_trace.hpp"
#include "workloads/formats/workload_reader.hpp"

namespace weft::kineto_test {
namespace {

/// Writes a trace event by event. Times are microseconds.
class TraceText {
 public:
  explicit TraceText(std::string distributed_info = "") : distributed_info_(std::move(distributed_info)) {}

  TraceText& op(int thread, const std::string& name, double begin, double duration, const std::string& args = "") {
    return event("cpu_op", name, "1", std::to_string(thread), begin, duration, args);
  }
  TraceText& annotation(int thread, const std::string& name, double begin, double duration, const std::string& args = "") {
    return event("user_annotation", name, "1", std::to_string(thread), begin, duration, args);
  }
  TraceText& call(int thread, const std::string& name, double begin, double duration, int correlation) {
    return event("cuda_runtime", name, "1", std::to_string(thread), begin, duration,
                 "\"correlation\": " + std::to_string(correlation));
  }
  TraceText& kernel(int stream, const std::string& name, double begin, double duration, int correlation,
                    const std::string& more = "", const std::string& category = "kernel") {
    return event(
        category, name, "0", std::to_string(stream), begin, duration,
        fmt::format("\"device\": 0, \"stream\": {}, \"correlation\": {}{}", stream, correlation, more.empty() ? "" : ", " + more));
  }
  /// A launching call and its kernel.
  TraceText& launched(int thread, double call_begin, double call_duration, int stream, const std::string& name, double begin,
                      double duration, const std::string& more = "") {
    ++correlation_;
    call(thread, "cudaLaunchKernel", call_begin, call_duration, correlation_);
    return kernel(stream, name, begin, duration, correlation_, more);
  }
  TraceText& event(const std::string& category, const std::string& name, const std::string& process, const std::string& thread,
                   double begin, double duration, const std::string& args) {
    return raw("{\"ph\": \"X\", \"cat\": \"" + category + "\", \"name\": \"" + name + "\", \"pid\": " + process + ", \"tid\": " +
               thread + ", \"ts\": " + number(begin) + ", \"dur\": " + number(duration) + ", \"args\": {" + args + "}}");
  }
  TraceText& raw(const std::string& json) {
    events_ += (events_.empty() ? "" : ",\n") + json;
    return *this;
  }
  std::string text() const {
    return "{\"schemaVersion\": 1,\n" + (distributed_info_.empty() ? "" : "\"distributedInfo\": " + distributed_info_ + ",\n") +
           "\"traceEvents\": [\n" + events_ + "\n]}\n";
  }

 private:
  /// Traces are written with three decimals.
  static std::string number(double us) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", us);
    return text;
  }

  std::string distributed_info_;
  std::string events_;
  int correlation_ = 1000;
};

std::string world(int rank, int size, const std::string& groups = "") {
  return fmt::format("{{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}{}}}", rank, size,
                     groups.empty() ? "" : ", \"pg_config\": [" + groups + "]");
}

std::string collective(const std::string& name, int elements, const std::string& type = "Float", const std::string& more = "") {
  return fmt::format("\"Collective name\": \"{}\", \"In msg nelems\": {}, \"dtype\": \"{}\"{}", name, elements, type,
                     more.empty() ? "" : ", " + more);
}

std::string in_group(const std::string& name, const std::string& ranks, int size, const std::string& more = "") {
  return fmt::format("\"Process Group Name\": \"{}\", \"Process Group Ranks\": \"{}\", \"Group size\": {}{}", name, ranks, size,
                     more.empty() ? "" : ", " + more);
}

/// Start of every op in microseconds if each starts when its predecessors have ended; `changed`
/// replaces durations by name.
std::multimap<std::string, double> starts_us(const RoleDag& dag, const std::map<std::string, Duration>& changed = {}) {
  std::vector<Duration> start(dag.size());
  std::multimap<std::string, double> starts;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const std::string name(dag.name(OpId(i)));
    const auto other = changed.find(name);
    const Duration end = start[i] + (other == changed.end() ? dag.op(OpId(i)).duration : other->second);
    starts.emplace(name, start[i].in_us());
    for (const OpId next : dag.successors(OpId(i))) start[next.index()] = std::max(start[next.index()], end);
  }
  return starts;
}

double start_us(const RoleDag& dag, const std::string& name, const std::map<std::string, Duration>& changed = {}) {
  const auto starts = starts_us(dag, changed);
  EXPECT_EQ(starts.count(name), 1u) << name;
  const auto found = starts.find(name);
  return found == starts.end() ? -1 : found->second;
}

class KinetoTest : public testing::Test {
 protected:
  Workload import(const TraceText& trace, const KinetoOptions& options) {
    return import_kineto(folder_.write("trace.json", trace.text()), options);
  }
  Workload recorded(const TraceText& trace) {
    KinetoOptions options;
    options.as_recorded = true;
    return import(trace, options);
  }
  Workload replayed(const TraceText& trace, std::uint32_t ranks) {
    KinetoOptions options;
    options.ranks = ranks;
    return import(trace, options);
  }
  std::string errors(const std::string& text, const KinetoOptions& options = {}) {
    const std::string path = folder_.write("trace.json", text);
    return errors_of([&] { import_kineto(path, options); });
  }
  std::string errors(const TraceText& trace, const KinetoOptions& options = {}) { return errors(trace.text(), options); }
  /// Notes, one per line.
  static std::string notes(const Workload& workload) {
    std::string text;
    for (const std::string& assumption : workload.assumptions) text += assumption + "\n";
    return text;
  }

  TemporaryFolder folder_;
};

Op op_named(const RoleDag& dag, const std::string& name) {
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (dag.name(OpId(i)) == name) return dag.op(OpId(i));
  }
  ADD_FAILURE() << "no op " << name;
  return {};
}

// --- One thread and one stream ---

TEST_F(KinetoTest, KernelsStartAfterTheirLaunchAndTheirStream) {
  // CPU: a [0, 10] launches k1 at 4, b [11, 16] launches k2 at 12. GPU: k1 [9, 29], k2 [30, 40].
  // Stretches: a until 4, a until 10, host until 11, b until 12, b until 16; k1 waits 5 us after
  // its launch, k2 1 us after k1.
  TraceText trace;
  trace.op(1, "a", 0, 10).launched(1, 4, 3, 7, "k1", 9, 20).op(1, "b", 11, 5).launched(1, 12, 2, 7, "k2", 30, 10);
  const Workload workload = recorded(trace);
  const RoleDag& dag = workload.roles.at(0);
  EXPECT_EQ(workload.rank_count, 1u);
  EXPECT_EQ(dag.size(), 9u);
  EXPECT_EQ(longest_path(dag), Duration::us(40));
  EXPECT_EQ(start_us(dag, "k1"), 9);
  EXPECT_EQ(start_us(dag, "k2"), 30);
  EXPECT_EQ(start_us(dag, "launch latency"), 4);
  EXPECT_EQ(start_us(dag, "stream gap"), 29);
  EXPECT_EQ(op_named(dag, "k1").processor, Processor::gpu);
  EXPECT_EQ(op_named(dag, "a").processor, Processor::cpu);
  EXPECT_EQ(op_named(dag, "host").duration, Duration::us(1));

  // What depends on a longer op moves: k1 twice as long moves k2 by 20 us; a longer "host" moves
  // k2's launch, which does not matter until it takes longer than k1: 10 + 50 + 1 (b) = launch at
  // 61, when k1 and the gap are long over.
  EXPECT_EQ(start_us(dag, "k2", {{"k1", Duration::us(40)}}), 50);
  EXPECT_EQ(start_us(dag, "k2", {{"host", Duration::us(2)}}), 30);
  EXPECT_EQ(start_us(dag, "k2", {{"host", Duration::us(50)}}), 61);
}

TEST_F(KinetoTest, NestedCallsAreFlattenedAndNamedAfterTheOutermost) {
  // Deep nesting, a sibling, and a call that ends after its parent, as rounding leaves them.
  TraceText trace;
  trace.op(1, "outer", 0, 10).op(1, "inner", 1, 8).op(1, "innermost", 2, 3).op(1, "late", 9, 2).op(1, "next", 20, 5);
  const RoleDag dag = recorded(trace).roles.at(0);
  // outer [0, 11], host [11, 20], next [20, 25]
  ASSERT_EQ(dag.size(), 3u);
  EXPECT_EQ(op_named(dag, "outer").duration, Duration::us(11));
  EXPECT_EQ(op_named(dag, "host").duration, Duration::us(9));
  EXPECT_EQ(start_us(dag, "next"), 20);
}

TEST_F(KinetoTest, TimesAreExactToTheNanosecondWhateverTheEpoch) {
  // A double has steps of 0.25 us at this epoch.
  TraceText trace;
  trace.raw(R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1682725898236567.123, "dur": 0.456})")
      .raw(R"({"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 1682725898236568.5, "dur": 1e1})")
      .raw(R"({"ph": "X", "cat": "cpu_op", "name": "c", "pid": 1, "tid": 1, "ts": 1682725898236579, "dur": 2.1234})");
  const RoleDag dag = recorded(trace).roles.at(0);
  EXPECT_EQ(op_named(dag, "a").duration, Duration::ns(456));
  EXPECT_NEAR(start_us(dag, "b"), 1.377, 1e-9);
  EXPECT_EQ(op_named(dag, "b").duration, Duration::us(10));
  EXPECT_NEAR(start_us(dag, "c"), 11.877, 1e-9);
  EXPECT_EQ(op_named(dag, "c").duration, Duration::ns(2123));
}

TEST_F(KinetoTest, NothingRunsBeforeItIsLaunched) {
  // The GPU's clock is 2 us behind: k seems to start before its launch at 4. It keeps its duration.
  TraceText trace;
  trace.op(1, "a", 0, 10).launched(1, 4, 3, 7, "k", 2, 20);
  const RoleDag dag = recorded(trace).roles.at(0);
  EXPECT_EQ(start_us(dag, "k"), 4);
  EXPECT_EQ(op_named(dag, "k").duration, Duration::us(20));
}

TEST_F(KinetoTest, OverlappingKernelsOfOneStreamRunBesideEachOther) {
  TraceText trace;
  trace.op(1, "a", 0, 10).launched(1, 1, 1, 7, "k1", 10, 20).launched(1, 3, 1, 7, "k2", 20, 20).launched(1, 5, 1, 7, "k3", 45, 5);
  const Workload workload = recorded(trace);
  const RoleDag& dag = workload.roles.at(0);
  EXPECT_EQ(start_us(dag, "k2"), 20);
  EXPECT_EQ(start_us(dag, "k3"), 45);
  EXPECT_EQ(start_us(dag, "k3", {{"k2", Duration::us(30)}}), 55);
  EXPECT_HAS(notes(workload), "1 GPU op of the file overlaps others of its stream");
}

TEST_F(KinetoTest, KernelsWithoutALaunchFollowTheirStream) {
  TraceText trace;
  trace.op(1, "a", 0, 10).kernel(7, "k1", 3, 4, 5).kernel(7, "k2", 9, 1, 6);
  const Workload workload = recorded(trace);
  EXPECT_EQ(start_us(workload.roles.at(0), "k1"), 3);
  EXPECT_EQ(start_us(workload.roles.at(0), "k2", {{"k1", Duration::us(10)}}), 15);
  EXPECT_HAS(notes(workload), "2 GPU ops of the file have no launching call");
}

// --- The CPU waits for the GPU ---

TEST_F(KinetoTest, DeviceSynchronizeWaitsForEveryStream) {
  // The call lasts from 20 to 60. k1 ends at 50, k2 (another stream) at 55: 5 us of the call remain
  // behind k2.
  TraceText trace;
  trace.op(1, "a", 0, 10).launched(1, 1, 1, 7, "k1", 10, 40).launched(1, 3, 1, 8, "k2", 15, 40);
  trace.call(1, "cudaDeviceSynchronize", 20, 40, 1).op(1, "b", 61, 1);
  const RoleDag dag = recorded(trace).roles.at(0);
  EXPECT_EQ(start_us(dag, "b"), 61);
  EXPECT_EQ(start_us(dag, "b", {{"k2", Duration::us(50)}}), 71);
  // k1 ends at 60, 5 + 1 us later b begins
  EXPECT_EQ(start_us(dag, "b", {{"k1", Duration::us(50)}}), 66);
  EXPECT_EQ(start_us(dag, "b", {{"k1", Duration::us(1)}, {"k2", Duration::us(1)}}), 26);
}

TEST_F(KinetoTest, SynchronizeThatReturnsAtTheVeryEndOfAKernelStillWaits) {
  // Nothing of the call remains behind k, which ends with it at 40; the launch at 40 must not lose
  // the wait.
  TraceText trace;
  trace.op(1, "a", 0, 10).launched(1, 1, 1, 7, "k", 10, 30).call(1, "cudaDeviceSynchronize", 20, 20, 1);
  trace.launched(1, 40, 2, 8, "after", 42, 3);
  const RoleDag dag = recorded(trace).roles.at(0);
  EXPECT_EQ(start_us(dag, "after"), 42);
  EXPECT_EQ(start_us(dag, "after", {{"k", Duration::us(130)}}), 142);
}

TEST_F(KinetoTest, EventSynchronizeWaitsForWhatEndedLastMeanwhile) {
  TraceText trace;
  trace.op(1, "a", 0, 10).launched(1, 1, 1, 7, "k1", 10, 20).launched(1, 3, 1, 8, "k2", 10, 40);
  trace.call(1, "cudaEventSynchronize", 12, 20, 1).op(1, "b", 33, 1);
  const Workload workload = recorded(trace);
  const RoleDag& dag = workload.roles.at(0);
  EXPECT_EQ(start_us(dag, "b"), 33);
  EXPECT_EQ(start_us(dag, "b", {{"k1", Duration::us(30)}}), 43);
  EXPECT_EQ(start_us(dag, "b", {{"k2", Duration::us(90)}}), 33);
  EXPECT_HAS(notes(workload), "1 synchronisation call of the file does not say what was waited for");
}

TEST_F(KinetoTest, CudaSyncEventsSayWhatACallWaitedFor) {
  // Without them k2, which ends later, would be taken. The event was recorded on stream 7 at 3.
  TraceText trace;
  trace.op(1, "a", 0, 10).launched(1, 1, 1, 7, "k1", 10, 20).call(1, "cudaEventRecord", 3, 1, 50);
  trace.launched(1, 5, 1, 8, "k2", 10, 21).call(1, "cudaEventSynchronize", 12, 20, 51).op(1, "b", 33, 1);
  trace.event("cuda_sync", "Event Sync", "0", "-1", 12, 20,
              "\"stream\": -1, \"correlation\": 51, \"wait_on_stream\": -1, \"wait_on_cuda_event_record_corr_id\": 50");
  const Workload workload = recorded(trace);
  EXPECT_EQ(start_us(workload.roles.at(0), "b", {{"k2", Duration::us(90)}}), 33);
  EXPECT_EQ(start_us(workload.roles.at(0), "b", {{"k1", Duration::us(30)}}), 43);
  EXPECT_EQ(notes(workload).find("synchronisation calls"), std::string::npos);
}

TEST_F(KinetoTest, CopiesToPageableMemoryBlockTheirCaller) {
  // k [10, 30], the copy behind it [31, 33]; the call returns at 40, 7 us after the copy.
  TraceText trace;
  trace.op(1, "a", 0, 5).launched(1, 1, 1, 7, "k", 10, 20).call(1, "cudaMemcpyAsync", 6, 34, 9).op(1, "b", 40, 2);
  trace.kernel(7, "Memcpy DtoH (Device -> Pageable)", 31, 2, 9, "", "gpu_memcpy");
  const RoleDag dag = recorded(trace).roles.at(0);
  EXPECT_EQ(start_us(dag, "b"), 40);
  EXPECT_EQ(start_us(dag, "b", {{"k", Duration::us(40)}}), 60);
  // To pinned memory it does not wait.
  TraceText pinned;
  pinned.op(1, "a", 0, 5).launched(1, 1, 1, 7, "k", 10, 20).call(1, "cudaMemcpyAsync", 6, 34, 9).op(1, "b", 40, 2);
  pinned.kernel(7, "Memcpy DtoH (Device -> Pinned)", 31, 2, 9, "", "gpu_memcpy");
  EXPECT_EQ(start_us(recorded(pinned).roles.at(0), "b", {{"k", Duration::us(40)}}), 40);
}

// --- Threads wait for each other ---

TEST_F(KinetoTest, AThreadThatGoesOnWhenAnotherFallsIdleHasWaitedForIt) {
  // forward [0, 100] on thread 1, backward [105, 205] on thread 2, step [210, 310] on thread 1.
  TraceText trace;
  trace.op(1, "forward", 0, 100).op(2, "backward", 105, 100).op(1, "step", 210, 100);
  const Workload workload = recorded(trace);
  const RoleDag& dag = workload.roles.at(0);
  EXPECT_EQ(start_us(dag, "backward"), 105);
  EXPECT_EQ(start_us(dag, "step"), 210);
  EXPECT_EQ(start_us(dag, "step", {{"forward", Duration::us(300)}}), 410);
  EXPECT_EQ(start_us(dag, "step", {{"backward", Duration::us(10)}}), 120);
  EXPECT_HAS(notes(workload), "2 waits between CPU threads");
}

TEST_F(KinetoTest, IdleTimeThatNobodyElseExplainsIsTheThreadsOwn) {
  // Thread 2 ended 60 us before thread 1 goes on, more than a tenth of the gap of 200 us.
  TraceText trace;
  trace.op(1, "before", 0, 100).op(2, "other", 110, 130).op(1, "after", 300, 100);
  const RoleDag dag = recorded(trace).roles.at(0);
  EXPECT_EQ(start_us(dag, "after", {{"other", Duration::us(1000)}}), 300);
}

TEST_F(KinetoTest, WatchersAreLeftOutOfAnIteration) {
  // Thread 3 polls every 100 us for 300 us; the iteration is over after 250.
  TraceText trace;
  trace.annotation(1, "ProfilerStep#1", 0, 250).annotation(1, "ProfilerStep#2", 250, 250);
  trace.op(1, "a", 0, 240).launched(1, 10, 5, 7, "k", 20, 30);
  for (int i = 0; i < 6; ++i) trace.op(3, "poll", 60 + 80 * i, 1);
  trace.op(1, "a", 250, 240).launched(1, 260, 5, 7, "k", 270, 30);
  KinetoOptions options;
  options.iteration = 0;
  const Workload workload = import(trace, options);
  EXPECT_EQ(longest_path(workload.roles.at(0)), Duration::us(250));
  EXPECT_EQ(starts_us(workload.roles.at(0)).count("poll"), 0u);
  EXPECT_HAS(notes(workload), "1 CPU thread is left out that launches nothing and that nobody waits for");
  // The whole file, as recorded, has them: from 0 to 500.
  const Workload whole = recorded(trace);
  EXPECT_EQ(starts_us(whole.roles.at(0)).count("poll"), 6u);
  EXPECT_EQ(longest_path(whole.roles.at(0)), Duration::us(500));
}

// --- Streams wait for each other ---

/// A kernel, an all-reduce on another stream, a wait, and a kernel behind it. The gradient ends at
/// 110, the all-reduce takes [111, 211].
TraceText gradient_exchange(bool with_waits) {
  TraceText trace(world(0, 2, R"({"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]})"));
  trace.op(1, "backward", 0, 20).launched(1, 1, 2, 7, "gradient", 10, 100);
  trace.op(1, "c10d::allreduce_", 21, 9);
  trace.op(1, "record_param_comms", 22, 8, "\"External id\": 77, " + collective("allreduce", 1000, "Float", "\"Group size\": 2"));
  if (with_waits) trace.call(1, "cudaStreamWaitEvent", 23, 1, 1);
  trace.launched(
      1, 25, 2, 20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 111, 100,
      "\"External id\": 77, " + collective("allreduce", 1000, "Float", "\"Group size\": 2, \"Process Group Name\": \"0\""));
  trace.launched(1, 31, 2, 7, "independent", 112, 10);
  if (with_waits) trace.call(1, "cudaStreamWaitEvent", 35, 1, 2);
  trace.op(1, "step", 36, 10).launched(1, 37, 2, 7, "update", 213, 10);
  return trace;
}

TEST_F(KinetoTest, CommunicationWaitsForItsGradientAndTheUpdateForCommunication) {
  for (const bool with_waits : {true, false}) {
    SCOPED_TRACE(with_waits);
    const RoleDag dag = recorded(gradient_exchange(with_waits)).roles.at(0);
    const std::string nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    EXPECT_EQ(start_us(dag, nccl), 111);
    EXPECT_EQ(start_us(dag, "update"), 213);
    EXPECT_EQ(start_us(dag, nccl, {{"gradient", Duration::us(200)}}), 211);
    EXPECT_EQ(start_us(dag, "update", {{nccl, Duration::us(150)}}), 263);
    EXPECT_EQ(start_us(dag, "independent", {{nccl, Duration::us(150)}}), 112);
  }
}

TEST_F(KinetoTest, WaitsOfAThreadMeetItsCommunicationInOrder) {
  // Two all-reduces [20, 40] and [40, 90]; the first wait is for the first although the second has
  // been launched as well: "copy1" begins when the first ends, "copy2" when the second does.
  TraceText trace;
  trace.op(1, "a", 0, 1).launched(1, 2, 1, 20, "ncclAllReduce1", 20, 20).launched(1, 4, 1, 20, "ncclAllReduce2", 40, 50);
  trace.call(1, "cudaStreamWaitEvent", 6, 1, 1).launched(1, 8, 1, 7, "copy1", 42, 5);
  trace.call(1, "cudaStreamWaitEvent", 10, 1, 2).launched(1, 12, 1, 7, "copy2", 92, 5);
  const RoleDag dag = recorded(trace).roles.at(0);
  EXPECT_EQ(start_us(dag, "copy1"), 42);
  EXPECT_EQ(start_us(dag, "copy1", {{"ncclAllReduce2", Duration::us(500)}}), 42);
  EXPECT_EQ(start_us(dag, "copy2", {{"ncclAllReduce2", Duration::us(60)}}), 102);
  EXPECT_EQ(start_us(dag, "copy1", {{"ncclAllReduce1", Duration::us(30)}}), 52);
}

TEST_F(KinetoTest, CudaSyncEventsOrderStreams) {
  // "consumer" (stream 8) waits for the event recorded behind k1, not for k2, which is later on the
  // same stream.
  TraceText trace;
  trace.op(1, "a", 0, 1).launched(1, 2, 1, 7, "k1", 10, 20).call(1, "cudaEventRecord", 4, 1, 60).launched(1, 6, 1, 7, "k2", 30, 5);
  trace.call(1, "cudaStreamWaitEvent", 8, 1, 61).launched(1, 10, 1, 8, "consumer", 36, 5);
  trace.event("cuda_sync", "Stream Wait Event", "0", "8", 8, 0,
              "\"stream\": 8, \"correlation\": 61, \"wait_on_stream\": 7, \"wait_on_cuda_event_record_corr_id\": 60");
  const RoleDag dag = recorded(trace).roles.at(0);
  EXPECT_EQ(start_us(dag, "consumer"), 36);
  EXPECT_EQ(start_us(dag, "consumer", {{"k1", Duration::us(30)}}), 46);
  EXPECT_EQ(start_us(dag, "consumer", {{"k2", Duration::us(50)}}), 36);
}

// --- Every op begins when the trace says so ---

/// Replays as soon as predecessors are done; the naive oracle for the rebuilt dependencies.
void expect_exact(const KinetoReplay& replay) {
  std::vector<std::vector<std::uint32_t>> predecessors(replay.ops.size());
  for (const auto& [dependency, op] : replay.edges) predecessors[op].push_back(dependency);
  std::vector<std::uint32_t> last(replay.lane_count, kineto_none);
  for (std::uint32_t i = 0; i < replay.ops.size(); ++i) {
    const KinetoOp& op = replay.ops[i];
    if (i > 0) {
      EXPECT_LE(replay.ops[i - 1].begin_ns, op.begin_ns);
    }
    if (op.lane != kineto_none && last[op.lane] != kineto_none) predecessors[i].push_back(last[op.lane]);
    std::int64_t start_ns = 0;
    for (const std::uint32_t p : predecessors[i]) start_ns = std::max(start_ns, replay.ops[p].end_ns);
    ASSERT_EQ(start_ns, op.begin_ns) << "op " << i << " of " << replay.ops.size();
    if (op.lane != kineto_none) last[op.lane] = i;
  }
}

TEST_F(KinetoTest, RandomTracesAreReplayedExactly) {
  std::mt19937_64 random(20240522);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  const std::vector<std::string> syncs = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
                                          "cudaStreamWaitEvent", "cudaEventRecord"};
  for (int round = 0; round < 200; ++round) {
    TraceText trace;
    std::map<int, int> stream_end;
    int correlation = 0;
    for (int thread = 1; thread <= 1 + below(3); ++thread) {
      int now = below(3) == 0 ? 0 : below(300);
      for (int i = 0; i < 15; ++i) {
        const int length = 1 + below(60);
        trace.op(thread, "op" + std::to_string(below(5)), now, length);
        if (below(3) == 0) trace.op(thread, "nested", now + length / 4, length / 2);
        const int kind = below(4);
        const int at = now + below(length);
        ++correlation;
        if (kind == 0) {
          trace.call(thread, syncs[static_cast<std::size_t>(below(5))], at, below(now + length - at + 1), correlation);
        } else if (kind < 3) {
          const int stream = 7 + below(3);
          const bool copies = below(5) == 0;
          trace.call(thread, copies ? "cudaMemcpyAsync" : "cudaLaunchKernel", at, below(now + length - at + 1), correlation);
          // Now and then before its launch or before the stream is free.
          const int begin = std::max(at - (below(10) == 0 ? 3 : 0), below(8) == 0 ? 0 : stream_end[stream]) + below(30);
          const int duration = below(50);
          trace.kernel(stream,
                       copies          ? "Memcpy DtoH (Device -> Pageable)"
                       : below(5) == 0 ? "ncclKernel"
                                       : "kernel",
                       begin, duration, correlation);
          stream_end[stream] = std::max(stream_end[stream], begin + duration);
        }
        now += length + (below(4) == 0 ? below(400) : below(3));
      }
    }
    const KinetoTrace read = read_kineto_trace(folder_.write("random.json", trace.text()));
    KinetoBoundaries boundaries;
    if (below(2) == 0) boundaries = {below(100) * 1000, 200'000 + below(100) * 1000, 600'000};
    SCOPED_TRACE(round);
    expect_exact(rebuild_kineto(read, boundaries, below(2) == 0 ? 0 : kineto_none));
  }
}

TEST(KinetoSamples, AreReplayedExactly) {
  for (const char* name : {"nccl_data", "sampled_rank-0", "sampled_rank-1", "mi250_minitoy_train"}) {
    const std::string path = data_path("workloads/kineto/" + std::string(name) + ".json.gz");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "../shared/data is not there";
    SCOPED_TRACE(name);
    const KinetoTrace trace = read_kineto_trace(path);
    const KinetoIterations iterations = find_kineto_iterations(trace);
    expect_exact(rebuild_kineto(trace, iterations.boundaries, iterations.main_thread));
  }
}

// --- Iterations ---

/// Three steps of 100 us with kernels of 10, 20 and 60 us; `odd` gives the last one another kernel.
TraceText three_steps(const std::string& mark, bool odd = false) {
  TraceText trace;
  const double durations[] = {10, 20, 60};
  for (int i = 0; i < 3; ++i) {
    const double begin = 100.0 * i;
    const double length = i == 0 ? 90 : i == 1 ? 100 : 110;
    if (mark == "ProfilerStep#") trace.annotation(1, mark + std::to_string(i + 4), begin, length - 1);
    trace.op(1, "work", begin + 1, 80).launched(1, begin + 2, 3, 7, i == 2 && odd ? "other" : "kernel", begin + 12, durations[i]);
    if (mark == "Optimizer.step#SGD.step") trace.annotation(1, mark, begin + 82, 8);
  }
  return trace;
}

TEST_F(KinetoTest, KernelsTakeTheirMeanOverIterationsThatAreAlike) {
  // Steps last 100, 100 and 109 us; the typical one (lower median, first among equals by length: 0,
  // 1, 2) is number 1.
  const Workload workload = import(three_steps("ProfilerStep#"), {});
  // (10 + 20 + 60) / 3
  EXPECT_EQ(op_named(workload.roles.at(0), "kernel").duration, Duration::us(30));
  EXPECT_HAS(notes(workload), "of 3 iterations (by ProfilerStep annotations), number 1 is taken");
  EXPECT_HAS(notes(workload), "kernels take their mean over 3 iterations of the same kernels");

  // Another kernel in the last one: only two are alike, (10 + 20) / 2, and the last one stands
  // alone.
  EXPECT_EQ(op_named(import(three_steps("ProfilerStep#", true), {}).roles.at(0), "kernel").duration, Duration::us(15));
  KinetoOptions options;
  options.iteration = 2;
  const Workload last = import(three_steps("ProfilerStep#", true), options);
  EXPECT_EQ(op_named(last.roles.at(0), "other").duration, Duration::us(60));
  EXPECT_HAS(notes(last), "number 2 is taken");
  EXPECT_HAS(notes(last), "nothing is averaged");

  // As recorded nothing is averaged.
  options.iteration = 0;
  options.as_recorded = true;
  EXPECT_EQ(op_named(import(three_steps("ProfilerStep#"), options).roles.at(0), "kernel").duration, Duration::us(10));
}

/// Steps of 100 us, each with a communication kernel of so many elements and time.
TraceText communicating_steps(const std::string& verb, const std::vector<std::pair<int, double>>& steps) {
  TraceText trace(world(0, 2));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double begin = 100.0 * static_cast<double>(i);
    trace.annotation(1, "ProfilerStep#" + std::to_string(i), begin, 99);
    trace.op(1, "work", begin + 1, 80).launched(1, begin + 2, 3, 7, "kernel", begin + 12, steps[i].second);
    trace.launched(1, begin + 6, 3, 20, "nccl", begin + 72, 5, collective(verb, steps[i].first, "Float", "\"Group size\": 2"));
  }
  return trace;
}

TEST_F(KinetoTest, IterationsThatMoveOtherSizesAreNotAlike) {
  // Iterations were alike when their kernels had the same names, so a last, smaller batch was
  // averaged with the full ones.
  const std::vector<std::pair<int, double>> steps = {{1000, 10}, {1000, 20}, {400, 2}, {1000, 30}};
  const Workload workload = import(communicating_steps("allreduce", steps), {2, {}, "", false});
  // (10 + 20 + 30) / 3
  EXPECT_EQ(op_named(workload.roles.at(0), "kernel").duration, Duration::us(20));
  EXPECT_HAS(notes(workload), "kernels take their mean over 3 iterations of the same kernels");
  // The sizes of all-to-alls follow the routing of a mixture of experts: (10 + 20 + 2 + 30) / 4.
  const Workload routed = import(communicating_steps("all_to_allv", steps), {2, {}, "", false});
  EXPECT_EQ(op_named(routed.roles.at(0), "kernel").duration, Duration::ns(15'500));
}

TEST_F(KinetoTest, OptimizerStepsMarkIterationsWhereTheProfilerDoesNot) {
  // Two spans between the ends of three optimizer steps: [90, 190] and [190, 290].
  const Workload workload = import(three_steps("Optimizer.step#SGD.step"), {});
  EXPECT_HAS(notes(workload), "of 2 iterations (by optimizer steps), number 0 is taken");
  EXPECT_EQ(op_named(workload.roles.at(0), "kernel").duration, Duration::us(40));  // (20 + 60) / 2
}

TEST_F(KinetoTest, RepetitionMarksIterationsWhereNothingElseDoes) {
  // Four rounds of 20 kernels behind 3 kernels of warm-up; kernel 5 takes 10, 20, 30, 40 us, the
  // others 1.
  TraceText trace;
  double now = 0;
  const auto run = [&](const std::string& name, double duration) {
    trace.op(1, "op", now, 4).launched(1, now + 1, 2, 7, name, now + 50, duration);
    now += 60;
  };
  for (int i = 0; i < 3; ++i) run("warmup" + std::to_string(i), 1);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 20; ++i) run("kernel" + std::to_string(i), i == 5 ? 10 * (round + 1) : 1);
  }
  const Workload workload = import(trace, {});
  EXPECT_HAS(notes(workload), "of 4 iterations (by its repeating sequence of GPU ops)");
  EXPECT_EQ(op_named(workload.roles.at(0), "kernel5").duration, Duration::us(25));
  EXPECT_EQ(starts_us(workload.roles.at(0)).count("warmup0"), 0u);
}

TEST_F(KinetoTest, WithoutIterationsTheTraceIsOne) {
  TraceText trace;
  trace.op(1, "a", 0, 10);
  KinetoOptions options;
  options.iteration = 0;
  EXPECT_HAS(notes(import(trace, options)), "the trace shows no iterations; it is taken whole as one");
  options.iteration = 1;
  EXPECT_HAS(errors(trace, options), "--iteration=1, but the trace has no marks of iterations: it is one [no-such-iteration]");
  options.iteration = 3;
  EXPECT_HAS(errors(three_steps("ProfilerStep#"), options), "--iteration=3, but the trace has 3 iterations [no-such-iteration]");
}

TEST_F(KinetoTest, WorkOfEarlierIterationsDoesNotDelayTheOneTaken) {
  // The GPU is 500 us behind: the kernel of step 2 is launched at 1002 and runs [1600, 1650] behind
  // that of step 1, [20, 1599].
  TraceText trace;
  trace.annotation(1, "ProfilerStep#1", 0, 1000).annotation(1, "ProfilerStep#2", 1000, 100);
  trace.op(1, "work", 0, 900).launched(1, 10, 5, 7, "slow", 20, 1579);
  trace.op(1, "work", 1000, 80).launched(1, 1002, 3, 7, "quick", 1600, 50);
  KinetoOptions options;
  options.iteration = 1;
  // Launch at 2 us, the 1 us between the kernels, 50 us: ends at 53; the thread's time ends the
  // iteration at 100.
  const Workload workload = import(trace, options);
  EXPECT_EQ(start_us(workload.roles.at(0), "quick"), 3);
  EXPECT_EQ(longest_path(workload.roles.at(0)), Duration::us(100));
}

// --- Communication ---

TEST_F(KinetoTest, CollectivesTakeTheirSizeFromElementsAndType) {
  struct Case {
    const char* name;
    const char* type;
    CollectiveType expected;
    std::int64_t bytes;
  };
  // 1000 elements: 4, 2, 8, 1 bytes each.
  for (const Case& c :
       {Case{"allreduce", "Float", CollectiveType::all_reduce, 4000},
        Case{"_allgather_base", "BFloat16", CollectiveType::all_gather, 2000},
        Case{"all_gather_into_tensor_coalesced", "Half", CollectiveType::all_gather, 2000},
        Case{"_reduce_scatter_base", "Double", CollectiveType::reduce_scatter, 8000},
        Case{"reduce_scatter", "Float8_e4m3fn", CollectiveType::reduce_scatter, 1000},
        Case{"all_to_allv", "Long", CollectiveType::all_to_all, 8000}, Case{"broadcast", "Byte", CollectiveType::broadcast, 1000},
        Case{"_reduce_oop", "Int", CollectiveType::reduce, 4000}, Case{"gather", "Half", CollectiveType::gather, 2000},
        Case{"scatter", "Char", CollectiveType::scatter, 1000}, Case{"barrier", "Bool", CollectiveType::barrier, 0}}) {
    SCOPED_TRACE(c.name);
    TraceText trace(world(0, 4));
    trace.op(1, "a", 0, 10).launched(1, 1, 2, 20, "ncclKernel", 10, 100, collective(c.name, 1000, c.type, "\"Group size\": 4"));
    const Op op = op_named(replayed(trace, 4).roles.at(0), "ncclKernel");
    EXPECT_EQ(op.kind, OpKind::collective);
    EXPECT_EQ(op.collective, c.expected);
    EXPECT_EQ(op.bytes, Bytes::of(c.bytes));
    EXPECT_EQ(op.communicator, 0);
  }
}

TEST_F(KinetoTest, AnnotationsDescribeKernelsWithoutArguments) {
  // [[384], [2, 8]] long: 400 elements of 8 bytes.
  TraceText trace(world(0, 2));
  trace.annotation(1, "nccl:all_to_all", 0, 10, "\"Input Dims\": [[384], [2, 8]], \"Input type\": [\"long\", \"long\"]");
  trace.launched(1, 1, 2, 20, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", 10, 100);
  const Workload workload = replayed(trace, 2);
  const Op op = op_named(workload.roles.at(0), "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t");
  EXPECT_EQ(op.collective, CollectiveType::all_to_all);
  EXPECT_EQ(op.bytes, Bytes::of(3200));
  EXPECT_HAS(notes(workload), "1 communication names no process group");
}

TEST_F(KinetoTest, KernelsThatDoNotSayWhatTheyMoveKeepTheirTime) {
  TraceText trace(world(0, 2));
  trace.op(1, "a", 0, 10).launched(1, 1, 2, 20, "ncclDevKernel_Generic", 10, 100);
  trace.launched(1, 4, 2, 20, "ncclDevKernel_SendRecv", 120, 30, "\"Collective name\": \"coalesced\"");
  const Workload workload = replayed(trace, 2);
  EXPECT_EQ(op_named(workload.roles.at(0), "ncclDevKernel_Generic").kind, OpKind::compute);
  EXPECT_EQ(longest_path(workload.roles.at(0)), Duration::us(150));
  EXPECT_HAS(notes(workload), "2 communication kernels, which do not say what they move, take the recorded time");
}

TEST_F(KinetoTest, GroupsOfAReplayedRankAreRepeatedOverAllRanks) {
  // Tensor parallel [0, 1] of 8, data parallel [0, 2, 4, 6]; an odd group becomes everyone.
  TraceText trace(world(0, 8));
  const auto add = [&](double at, const std::string& name, const std::string& ranks, int size) {
    trace.launched(1, at, 1, 20, "nccl_" + name, at + 100, 1,
                   collective("allreduce", 10, "Float",
                              fmt::format("\"Group size\": {}, \"Process Group Name\": \"{}\", \"Process Group Ranks\": \"{}\"",
                                          size, name, ranks)));
  };
  trace.op(1, "a", 0, 50);
  add(1, "tp", "[0, 1]", 2);
  add(5, "dp", "[0, 2, 4, 6]", 4);
  add(9, "odd", "[0, 1, 5]", 3);
  add(13, "all", "[0, 1, 2, 3, 4, 5, 6, 7]", 8);
  add(17, "tp", "[0, 1]", 2);
  const Workload workload = replayed(trace, 8);
  ASSERT_EQ(workload.communicators.size(), 3u);
  const Communicator& tp = workload.communicators[1];
  const Communicator& dp = workload.communicators[2];
  EXPECT_EQ(tp.name(), "pg_tp");
  EXPECT_EQ(tp.group_count(), 4u);
  EXPECT_EQ(tp.group_of(RankId(6)), tp.group_of(RankId(7)));
  EXPECT_NE(tp.group_of(RankId(5)), tp.group_of(RankId(6)));
  EXPECT_EQ(dp.group_count(), 2u);
  EXPECT_EQ(dp.group_of(RankId(1)), dp.group_of(RankId(7)));
  EXPECT_EQ(op_named(workload.roles.at(0), "nccl_odd").communicator, 0);
  EXPECT_EQ(op_named(workload.roles.at(0), "nccl_all").communicator, 0);
  EXPECT_HAS(notes(workload), "2 process groups of the trace are repeated over all ranks");
  EXPECT_HAS(notes(workload), "1 communication of another process group is taken to be among all ranks");
}

/// Whether the groups of the communicator hold every rank once, and have so many ranks each.
void expect_fills(const Communicator& communicator, std::uint32_t rank_count, std::uint32_t size) {
  std::vector<int> memberships(rank_count, 0);
  for (std::uint32_t g = 0; g < communicator.group_count(); ++g) {
    EXPECT_EQ(communicator.ranks(GroupId(g)).size(), size);
    for (const RankId rank : communicator.ranks(GroupId(g))) ++memberships[rank.index()];
  }
  EXPECT_EQ(memberships, std::vector<int>(rank_count, 1));
}

// Recorded on 8 ranks as tp = 2, dp = 4; dp = 16 makes 2 x 16 = 32 ranks. The group is named "12"
// and described as "dp", by the kernel or by distributedInfo.
TEST_F(KinetoTest, GroupsOfAReplayedRankGrow) {
  const std::string declared = R"({"pg_name": "12", "pg_desc": "dp", "ranks": [0, 2, 4, 6]})";
  for (const bool is_declared : {true, false}) {
    TraceText trace(world(0, 8, is_declared ? declared : ""));
    const auto add = [&](double at, const std::string& what, const std::string& more, const std::string& ranks, int size) {
      trace.launched(1, at, 1, 20, what, at + 100, 1,
                     collective(what, 10, "Float",
                                "\"Group size\": " + std::to_string(size) + more + ", \"Process Group Ranks\": \"" + ranks + "\""));
    };
    trace.op(1, "a", 0, 50);
    add(1, "allreduce", R"(, "Process Group Name": "tp")", "[0, 1]", 2);
    add(5, "all_gather",
        std::string(R"(, "Process Group Name": "12")") + (is_declared ? "" : R"(, "Process Group Description": "dp")"),
        "[0, 2, 4, 6]", 4);
    KinetoOptions options;
    options.ranks = 32;
    options.group_sizes = {{"dp", 16}};
    const Workload workload = import(trace, options);
    const Communicator& dp = workload.communicators.at(op_named(workload.roles.at(0), "all_gather").communicator);
    expect_fills(dp, 32, 16);
    EXPECT_EQ(dp.group_of(RankId(0)), dp.group_of(RankId(30)));
    EXPECT_NE(dp.group_of(RankId(0)), dp.group_of(RankId(1)));
    expect_fills(workload.communicators.at(op_named(workload.roles.at(0), "allreduce").communicator), 32, 2);
    EXPECT_HAS(notes(workload), "of process groups recorded among 8 ranks, dp (4 ranks) became 16 ranks; tp (2 ranks) stays");
    EXPECT_HAS(notes(workload), "1 all-gather or gather of a group that grew keeps");

    options.group_sizes.clear();
    const Workload side_by_side = import(trace, options);
    expect_fills(side_by_side.communicators.at(op_named(side_by_side.roles.at(0), "all_gather").communicator), 32, 4);
    EXPECT_HAS(notes(side_by_side), "of process groups recorded among 8 ranks, tp (2 ranks), dp (4 ranks) stay");
    EXPECT_HAS(notes(side_by_side), "--scale-group=NAME=SIZE makes a group grow");
    options.group_sizes = {{"dq", 16}};
    EXPECT_HAS(errors(trace, options),
               "the trace has no process group \"dq\" [unknown-process-group]\n  help: did you mean \"dp\"?");
    options.as_recorded = true;
    EXPECT_HAS(errors(trace, options), "collectives take the time that was recorded, among however many ranks [unused-flag]");
    options.as_recorded = false;
    options.ranks.reset();
    EXPECT_HAS(errors(trace, options),
               "groups grow where the trace of one rank is replayed on more, and this set is not [unused-flag]");
  }
}

// The first of two stages 4 ranks apart, of dp = 4: with dp = 8 the other stage is 8 apart, and the
// pairs fill 16 ranks.
TEST_F(KinetoTest, PeersMoveApartWithTheGroupsBetweenThem) {
  for (const int number : {0, 4}) {
    TraceText trace(world(number, 8));
    trace.op(1, "a", 0, 10);
    trace.launched(
        1, 1, 1, 20, "sum", 10, 100,
        collective("allreduce", 10, "Float", in_group("dp", number == 0 ? "[0, 1, 2, 3]" : "[4, 5, 6, 7]", 4, "\"Rank\": 0")));
    trace.launched(1, 3, 1, 20, "there", 120, 100,
                   collective("send", 100, "Half", in_group("pp", "[0, 4]", 2, "\"Dst Rank\": " + std::to_string(4 - number))));
    KinetoOptions options;
    options.ranks = 16;
    options.group_sizes = {{"dp", 8}};
    const Workload workload = import(trace, options);
    const std::uint16_t low = number == 0 ? 0 : 1;
    for (std::uint32_t rank = 0; rank < 16; ++rank) EXPECT_EQ(workload.role_of[rank], rank < 8 ? low : 1 - low) << rank;
    EXPECT_EQ(op_named(workload.roles.at(0), "there").peer, 8);
  }
}

/// A rank with one all-reduce in the group "dp".
TraceText reducing_rank(int size, const std::string& group) {
  TraceText trace(world(0, size));
  trace.op(1, "a", 0, 10).launched(1, 1, 2, 20, "nccl", 10, 100, collective("allreduce", 10, "Float", group));
  return trace;
}

TEST_F(KinetoTest, ListsThatPyTorchCutShortGoOnAsTheyBegan) {
  // Lists of more than 30 ranks end in "...". They were dropped, so that the 64 even ranks of 128
  // became the 64 neighbours {0 .. 63}.
  std::string even;
  std::string halves;
  for (int i = 0; i < 30; ++i) {
    even += std::to_string(2 * i) + ", ";
    halves += std::to_string(i < 15 ? i : i + 49) + ", ";  // 0 .. 14, 64 .. 78
  }
  const std::string name = R"("Process Group Name": "dp", "Group size": 64, "Process Group Ranks": ")";
  const auto communicator = [](const Workload& workload) -> const Communicator& {
    return workload.communicators.at(op_named(workload.roles.at(0), "nccl").communicator);
  };
  const Workload continued = replayed(reducing_rank(128, name + "[" + even + "...]\""), 128);
  const Communicator& groups = communicator(continued);
  ASSERT_EQ(groups.group_count(), 2u);
  EXPECT_EQ(groups.group_of(RankId(0)), groups.group_of(RankId(126)));
  EXPECT_EQ(groups.group_of(RankId(1)), groups.group_of(RankId(127)));
  EXPECT_NE(groups.group_of(RankId(0)), groups.group_of(RankId(1)));
  EXPECT_HAS(notes(continued),
             "1 process group of the trace, of which only the first ranks are listed, goes on at the distance of these");
  EXPECT_EQ(notes(continued).find("not which"), std::string::npos);
  // The same from a start and a stride, also if no distributedInfo names a world.
  TraceText regular;
  regular.op(1, "a", 0, 10)
      .launched(
          1, 1, 2, 20, "nccl", 10, 100,
          collective("allreduce", 10, "Float", name + "[" + halves + R"(...]", "Global rank start": 0, "Global rank stride": 2)"));
  EXPECT_EQ(communicator(replayed(regular, 128)).group_of(RankId(126)), communicator(replayed(regular, 128)).group_of(RankId(0)));

  // Lists that do not go on evenly: unevenly spaced ranks, or a start for which PyTorch wrote no
  // stride, as there is none.
  for (const std::string& list : {halves + "...]\"", even + "...]\", \"Global rank start\": 0"}) {
    const Workload guessed = replayed(reducing_rank(128, name + "[" + list), 128);
    EXPECT_EQ(communicator(guessed).group_of(RankId(0)), communicator(guessed).group_of(RankId(63)));
    EXPECT_HAS(notes(guessed),
               "1 communication lists only the first ranks of the process group, which do not tell the others: "
               "taken are so many neighbours in order of ranks");
    EXPECT_EQ(notes(guessed).find("goes on"), std::string::npos);
  }
  // 64 ranks at a distance of 2 do not fit into a world of 100.
  EXPECT_HAS(notes(replayed(reducing_rank(100, name + "[" + even + "...]\""), 128)), "which do not tell the others");
}

TEST_F(KinetoTest, ElementsInAndOutMustFitTheGroup) {
  // Only "In msg nelems" was read; what contradicts it went by in silence. Of a group of two, 10
  // elements gather to 20, and 20 scatter to 10.
  struct Case {
    const char* name;
    int in;
    int out;
    bool fits;
  };
  for (const Case& c :
       {Case{"_allgather_base", 10, 20, true}, Case{"_allgather_base", 10, 30, false}, Case{"_allgather_base", 20, 10, false},
        Case{"gather", 10, 20, true}, Case{"gather", 20, 20, false}, Case{"scatter", 20, 10, true}, Case{"scatter", 10, 10, false},
        Case{"reduce_scatter", 20, 10, true}, Case{"reduce_scatter", 21, 10, false}, Case{"reduce_scatter", 10, 20, false},
        Case{"allreduce", 10, 30, true}, Case{"all_to_allv", 10, 30, true}}) {
    TraceText trace(world(0, 2));
    trace.op(1, "a", 0, 10)
        .launched(1, 1, 2, 20, "nccl", 10, 100,
                  collective(c.name, c.in, "Float", "\"Group size\": 2, \"Out msg nelems\": " + std::to_string(c.out)));
    const Workload workload = replayed(trace, 2);
    EXPECT_EQ(op_named(workload.roles.at(0), "nccl").bytes, Bytes::of(4 * c.in));
    const bool told = notes(workload).find(
                          "1 collective that gathers or scatters has an \"Out msg nelems\" that contradicts "
                          "\"In msg nelems\" and the size of the group; taken: \"In msg nelems\"") != std::string::npos;
    EXPECT_EQ(told, !c.fits) << c.name << " " << c.in << " " << c.out;
  }
}

TEST_F(KinetoTest, GroupsOfWhichOnlyTheSizeIsKnownAreNeighbours) {
  // Four of eight ranks, nobody says which: {0 .. 3} and {4 .. 7}. Three do not divide eight:
  // everyone.
  for (const auto& [size, groups] : {std::pair(4, 2u), std::pair(3, 1u)}) {
    TraceText trace(world(0, 8));
    trace.op(1, "a", 0, 10);
    trace.launched(1, 1, 2, 20, "nccl", 10, 100,
                   collective("allreduce", 10, "Float", "\"Process Group Name\": \"dp\", \"Group size\": " + std::to_string(size)));
    const Workload workload = replayed(trace, 8);
    EXPECT_EQ(workload.communicators.at(op_named(workload.roles.at(0), "nccl").communicator).group_count(), groups);
    EXPECT_HAS(notes(workload), size == 4 ? "1 communication says how many ranks the process group has, but not which"
                                          : "1 communication of another process group is taken to be among all ranks");
  }
}

/// A rank of a set with one communication kernel.
TraceText rank_trace(int rank, int size, const std::string& arguments, const std::string& groups = "") {
  TraceText trace(world(rank, size, groups));
  trace.op(1, "a", 0, 10).launched(1, 1, 2, 20, "ncclKernel", 10, 100 + rank, arguments);
  return trace;
}

TEST_F(KinetoTest, SetsAreNamedByAFolderOrThePrefixOfTheirFiles) {
  TemporaryFolder set;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string text = rank_trace(rank, 2, collective("allreduce", 1000, "Float", "\"Group size\": 2")).text();
    if (rank == 0) set.write("run_rank0.json", text);
    const gzFile file = gzopen(set.path("run_rank1.json.gz").c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }
  for (const std::string& path : {set.path("run_rank"), set.path("run_"), set.path("")}) {
    const Workload workload = import_kineto(path, {});
    EXPECT_EQ(workload.rank_count, 2u);
    // collectives lost their times, so the ranks are equal
    EXPECT_EQ(workload.role_of, (std::vector<std::uint16_t>{0, 0}));
    EXPECT_EQ(kineto_files(path).size(), 2u);
  }
  EXPECT_EQ(workload_files(set.path("run_rank0.json"), "kineto").size(), 1u);
  EXPECT_HAS(errors_of([&] { import_kineto(set.path("run_rank0.json"), {}); }),
             "the set has traces of 1 of 2 ranks; missing: 1 [missing-rank]");
  EXPECT_HAS(errors_of([&] { import_kineto(set.path("run_rnk"), {}); }), "[no-file]");
  EXPECT_HAS(errors_of([&] { import_kineto(set.path("run_rnk"), {}); }), "known: run_rank0.json, run_rank1.json.gz");
  KinetoOptions three;
  three.ranks = 3;
  EXPECT_HAS(errors_of([&] { import_kineto(set.path("run_"), three); }),
             "--ranks=3 contradicts the 2 files of the set [rank-conflict]");
  set.write("run_rank2.json", rank_trace(0, 2, collective("allreduce", 1000)).text());
  EXPECT_HAS(errors_of([&] { import_kineto(set.path("run_"), {}); }), "rank 0 has two traces [duplicate-rank]");
}

TEST_F(KinetoTest, RanksWithoutDistributedInfoAreNumberedByTheirFiles) {
  TemporaryFolder set;
  TraceText trace;
  trace.op(1, "a", 0, 10);
  TraceText longer;
  longer.op(1, "a", 0, 20);
  set.write("node7.10.json", longer.text());
  set.write("node7.9.json", trace.text());
  KinetoOptions options;
  options.as_recorded = true;
  const Workload workload = import_kineto(set.path("node7"), options);
  EXPECT_EQ(workload.role_names, (std::vector<std::string>{"as_rank_9", "as_rank_10"}));
  EXPECT_HAS(notes(workload), "2 of 11 ranks have a trace; nothing is simulated between ranks");
  set.write("nodes.json", trace.text());
  EXPECT_HAS(errors_of([&] { import_kineto(set.path(""), options); }), "[unknown-rank]");
}

class KinetoSet : public KinetoTest {
 protected:
  /// Imports ranks 0 .. N-1.
  Workload import_set(const std::vector<TraceText>& ranks, const KinetoOptions& options = {}) {
    for (std::size_t r = 0; r < ranks.size(); ++r) set_.write(fmt::format("set-{}.json", r), ranks[r].text());
    return import_kineto(set_.path("set-"), options);
  }
  std::string set_errors(const std::vector<TraceText>& ranks, const KinetoOptions& options = {}) {
    return errors_of([&] { import_set(ranks, options); });
  }
  TemporaryFolder set_;
};

TEST_F(KinetoSet, GroupsThatShareNoRankShareACommunicator) {
  std::vector<TraceText> ranks;
  for (int r = 0; r < 4; ++r) {
    const std::string name = r < 2 ? "1" : "2";
    ranks.push_back(rank_trace(r, 4, collective("allreduce", 1000, "Float", in_group(name, r < 2 ? "[0, 1]" : "[2, 3]", 2))));
  }
  const Workload workload = import_set(ranks);
  ASSERT_EQ(workload.communicators.size(), 2u);
  EXPECT_EQ(workload.communicators[1].group_count(), 2u);
}

TEST_F(KinetoSet, GroupsAreFoundInEveryPlaceThatNamesThem) {
  const std::string cut = in_group("5", "[0, 1, ..., 3]", 2);
  const auto pair = [&](const std::string& more, const std::string& config) {
    return std::vector<TraceText>{rank_trace(0, 3, collective("allreduce", 8, "Float", more), config),
                                  rank_trace(1, 3, collective("allreduce", 8, "Float", in_group("5", "[0, 2]", 2)), config),
                                  rank_trace(2, 3, collective("allreduce", 8, "Float", in_group("5", "[0, 2]", 2)), config)};
  };
  // Ranks 0 and 2 form the group; rank 1 uses it without being in it.
  EXPECT_HAS(
      set_errors(pair(cut, "")),
      "the trace lists only the first ranks of process group \"5\", and they do not tell the others [unknown-process-group]");
  EXPECT_HAS(set_errors(pair(cut, R"({"pg_name": "5", "ranks": [0, 2]})")), "[not-a-member]");
  const auto right = [&](const std::string& more, const std::string& config) {
    std::vector<TraceText> set = pair(more, config);
    TraceText idle(world(1, 3));
    idle.op(1, "a", 0, 10);
    set[1] = idle;
    return set;
  };
  const auto expect_group = [&](const Workload& workload) {
    ASSERT_EQ(workload.communicators.size(), 2u);
    EXPECT_EQ(workload.communicators[1].group_of(RankId(0)), workload.communicators[1].group_of(RankId(2)));
    EXPECT_TRUE(workload.communicators[1].group_of(RankId(1)).is_none());
  };
  expect_group(import_set(right(cut, R"({"pg_name": "5", "ranks": [0, 2]})")));
  expect_group(import_set(right(in_group("5", "[0, ..., 2]", 2, "\"Global rank start\": 0, \"Global rank stride\": 2"), "")));
  KinetoOptions options;
  options.process_groups_path = set_.write("groups", R"({"5": [0, 2]})");
  expect_group(import_set(right(cut, ""), options));
  options.process_groups_path = set_.write("groups", R"({"5": [0, 9]})");
  EXPECT_HAS(set_errors(right(cut, ""), options), "process group \"5\" holds rank 9, but the set has 3 ranks [bad-process-groups]");
}

TEST_F(KinetoSet, SendsAndReceivesFindTheirPeers) {
  const std::string send = collective("send", 100, "Half", in_group("pp", "[0, 1]", 2));
  const std::string receive = collective("recv", 100, "Half", in_group("pp", "[0, 1]", 2));
  const Workload workload = import_set({rank_trace(0, 2, send), rank_trace(1, 2, receive)});
  const Op sent = op_named(workload.dag_of(RankId(0)), "ncclKernel");
  EXPECT_EQ(sent.kind, OpKind::send);
  EXPECT_EQ(sent.peer, 1);
  EXPECT_EQ(sent.bytes, Bytes::of(200));
  EXPECT_EQ(op_named(workload.dag_of(RankId(1)), "ncclKernel").peer, 0);
  EXPECT_HAS(set_errors({rank_trace(0, 2, send), rank_trace(1, 2, send)}), "[unmatched-send]");

  // In the world, ranks and positions are the same.
  const std::string to_two = collective("send", 100, "Half", "\"Group size\": 3, \"Dst Rank\": 2");
  TraceText annotated(world(2, 3));
  annotated.annotation(1, "nccl:recv 2<-0", 0, 10, "\"Input Dims\": [[100]], \"Input type\": [\"c10::Half\"]");
  annotated.launched(1, 1, 2, 20, "ncclKernel", 10, 100);
  TraceText idle(world(1, 3));
  idle.op(1, "a", 0, 10);
  const Workload three = import_set({rank_trace(0, 3, to_two), idle, annotated});
  EXPECT_EQ(op_named(three.dag_of(RankId(0)), "ncclKernel").peer, 2);
  EXPECT_EQ(op_named(three.dag_of(RankId(2)), "ncclKernel").peer, 0);
  EXPECT_HAS(set_errors({rank_trace(0, 3, collective("send", 100, "Half", "\"Group size\": 3")), idle, annotated}),
             "the trace does not say to which rank a send goes [unknown-peer]");
}

TEST_F(KinetoSet, PeersInArgumentsAreRanksAndThoseInAnnotationsArePositions) {
  // PyTorch writes "Dst Rank" as a rank of the world (groupRanks[...]); it was read as a position
  // in the group, so that rank 1 of the group {1, 2, 3} which sent to rank 2 sent to rank 3.
  // "nccl:send 0->1" goes from and to positions: in this group ranks 1 and 2.
  const auto part = [](const std::string& verb, const std::string& more) {
    return collective(verb, 100, "Half", in_group("pp", "[1, 2, 3]", 3, more));
  };
  const auto annotated = [&](int rank, const std::string& title, const std::string& verb) {
    TraceText trace(world(rank, 4));
    trace.annotation(1, title, 0, 10).launched(1, 1, 2, 20, "ncclKernel", 10, 100, part(verb, ""));
    return trace;
  };
  TraceText first(world(0, 4));
  first.op(1, "a", 0, 10);
  TraceText last(world(3, 4));
  last.op(1, "a", 0, 10);
  const TraceText send = rank_trace(1, 4, part("send", "\"Dst Rank\": 2"));
  const TraceText receive = rank_trace(2, 4, part("recv", "\"Src Rank\": 1"));
  for (const auto& [sender, receiver] : {std::pair(send, receive), std::pair(annotated(1, "nccl:send 0->1", "send"), receive),
                                         std::pair(send, annotated(2, "nccl:recv 1<-0", "recv"))}) {
    const Workload workload = import_set({first, sender, receiver, last});
    EXPECT_EQ(op_named(workload.dag_of(RankId(1)), "ncclKernel").peer, 2);
    EXPECT_EQ(op_named(workload.dag_of(RankId(2)), "ncclKernel").peer, 1);
  }
  // The rank is enough: nobody needs to list its group.
  const auto unlisted = [](const std::string& verb, const std::string& more) {
    return collective(verb, 100, "Half", "\"Process Group Name\": \"pp\", \"Group size\": 3, " + more);
  };
  const Workload workload = import_set(
      {first, rank_trace(1, 4, unlisted("send", "\"Dst Rank\": 2")), rank_trace(2, 4, unlisted("recv", "\"Src Rank\": 1")), last});
  EXPECT_EQ(op_named(workload.dag_of(RankId(1)), "ncclKernel").peer, 2);

  EXPECT_HAS(set_errors({first, rank_trace(1, 4, part("send", "\"Dst Rank\": 0")), receive, last}),
             "a send goes to rank 0, which is not in process group \"pp\" [not-a-member]");
  EXPECT_HAS(set_errors({first, send, rank_trace(2, 4, part("recv", "\"Src Rank\": 4")), last}),
             "a receive comes from rank 4, but the world has 4 ranks [unknown-peer]");
  EXPECT_HAS(set_errors({first, annotated(1, "nccl:send 0->3", "send"), receive, last}),
             "a send goes to position 3 of a group of 3 ranks [unknown-peer]");
}

TEST_F(KinetoTest, AReplayedRankWithOnePeerStandsForOneOfEachPair) {
  // The first of four pipeline stages, two ranks apart: rank 0 sends to rank 2 and gets something
  // back. That every rank does so is impossible, as rank 2 would have to receive what it was never
  // sent; the other half of the ranks does the opposite.
  const auto exchange = [](int rank, int peer) {
    TraceText trace(world(rank, 8));
    trace.op(1, "a", 0, 10);
    trace.launched(1, 1, 1, 20, "there", 10, 100,
                   collective("send", 100, "Half", in_group("pp", "[0, 2, 4, 6]", 4, "\"Dst Rank\": " + std::to_string(peer))));
    trace.launched(1, 3, 1, 20, "back", 120, 100,
                   collective("recv", 30, "Half", in_group("pp", "[0, 2, 4, 6]", 4, "\"Src Rank\": " + std::to_string(peer))));
    return trace;
  };
  struct Case {
    int rank;
    int peer;
    std::vector<std::uint16_t> roles;  // 1 is the peer's
  };
  for (const Case& c :
       {Case{0, 2, {0, 0, 1, 1, 0, 0, 1, 1}}, Case{6, 4, {1, 1, 0, 0, 1, 1, 0, 0}}, Case{2, 4, {1, 1, 0, 0, 1, 1, 0, 0}}}) {
    SCOPED_TRACE(fmt::format("{} and {}", c.rank, c.peer));
    const Workload workload = replayed(exchange(c.rank, c.peer), 8);
    EXPECT_EQ(workload.role_of, c.roles);
    ASSERT_EQ(workload.roles.size(), 2u);
    const Op there = op_named(workload.roles[0], "there");
    const Op taken = op_named(workload.roles[1], "there");
    EXPECT_EQ(there.kind, OpKind::send);
    EXPECT_EQ((c.rank + there.peer) % 8, c.peer);
    EXPECT_EQ(taken.kind, OpKind::receive);
    EXPECT_EQ((c.peer + taken.peer) % 8, c.rank);
    EXPECT_EQ(taken.bytes, Bytes::of(200));
    EXPECT_EQ(op_named(workload.roles[1], "back").kind, OpKind::send);
    EXPECT_HAS(notes(workload), "2 sends and receives have one peer: ranks that are 2 apart are taken as pairs");
  }
  // Six ranks are no pairs of this distance.
  KinetoOptions six;
  six.ranks = 6;
  EXPECT_HAS(errors(exchange(0, 2), six), "[unmatched-");
}

/// A rank whose steps, numbered from `first`, last so long, each with its own call of the CPU and
/// one all-reduce of so many elements.
TraceText stepping_rank(int rank, const std::vector<double>& lengths, const std::vector<int>& elements, std::size_t first = 0) {
  TraceText trace(world(rank, 2));
  double begin = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::string number = std::to_string(first + i);
    trace.annotation(1, "ProfilerStep#" + number, begin, lengths[i]).op(1, "work" + number, begin + 1, 80);
    trace.launched(1, begin + 2, 3, 7, "nccl", begin + 12, 5, collective("allreduce", elements[i], "Float", "\"Group size\": 2"));
    begin += lengths[i];
  }
  return trace;
}

TEST_F(KinetoSet, AllRanksTakeTheSameIteration) {
  // Each rank took the iteration of median length by its own clock, here number 1 on rank 0 and
  // number 2 on rank 1, so that collectives of different iterations met. Longest over the ranks:
  // 100, 200 and 120 us, of which number 2 is the median.
  const std::vector<int> same = {10, 10, 10};
  const std::vector<TraceText> ranks = {stepping_rank(0, {100, 110, 120}, same), stepping_rank(1, {100, 200, 110}, same)};
  const Workload workload = import_set(ranks);
  for (const std::uint32_t rank : {0u, 1u}) {
    EXPECT_GT(starts_us(workload.dag_of(RankId(rank))).count("work2"), 0u) << rank;
  }
  EXPECT_HAS(notes(workload), "of 3 iterations (by ProfilerStep annotations), number 2 is taken");

  // Iterations that differ on one rank only are of different kinds: 0, 2 and 3 are alike, and last
  // 100, 110 and 105 us.
  const std::vector<TraceText> odd = {stepping_rank(0, {100, 101, 102, 103}, {10, 99, 10, 10}),
                                      stepping_rank(1, {100, 101, 110, 105}, {10, 99, 10, 10})};
  EXPECT_HAS(notes(import_set(odd)), "number 3 is taken");
  // The last iteration of rank 0 is missing on rank 1: of the others, 100, 110 and 105 us long, the
  // median is number 2.
  const std::vector<TraceText> shorter = {stepping_rank(0, {100, 100, 100, 107}, {10, 10, 10, 10}),
                                          stepping_rank(1, {100, 110, 105}, same)};
  EXPECT_HAS(notes(import_set(shorter)), "of 3 iterations that all ranks have (by ProfilerStep annotations), number 2 is taken");
}

TEST_F(KinetoSet, IterationsAreMatchedByTheirStepNumbers) {
  // They were matched by position in the file: #5 of rank 0 met #6 of rank 1, whose recording began
  // a step later.
  const std::vector<TraceText> ranks = {stepping_rank(0, {100, 110, 120}, {10, 20, 30}, 5),
                                        stepping_rank(1, {110, 120}, {20, 30}, 6)};
  const auto expect_step = [&](const Workload& workload, const std::string& step, std::uint32_t position, std::int64_t elements) {
    for (const std::uint32_t rank : {0u, 1u}) {
      EXPECT_GT(starts_us(workload.dag_of(RankId(rank))).count("work" + step), 0u) << rank;
      EXPECT_EQ(op_named(workload.dag_of(RankId(rank)), "nccl").bytes, Bytes::of(4 * elements)) << rank;
    }
    EXPECT_HAS(
        notes(workload),
        fmt::format("of 2 iterations that all ranks have (by ProfilerStep annotations), number {} is taken: ProfilerStep#{}\n",
                    position, step));
  };
  expect_step(import_set(ranks), "6", 0, 20);  // each is a kind of its own; the first of them
  KinetoOptions options;
  options.iteration = 1;
  expect_step(import_set(ranks, options), "7", 1, 30);
  options.iteration = 2;
  EXPECT_HAS(set_errors(ranks, options), "[no-such-iteration]");
  // Of #5, #6, #7 and #6, #7, #8 only two are shared, though each rank has three.
  options = {};
  options.iteration = 2;
  const std::vector<TraceText> shifted = {ranks[0], stepping_rank(1, {110, 120, 130}, {20, 30, 40}, 6)};
  EXPECT_HAS(set_errors(shifted, options), "--iteration=2, but all ranks have only 2 iterations in common [no-such-iteration]");
  options.iteration = 0;
  expect_step(import_set(shifted, options), "6", 0, 20);
}

TEST_F(KinetoSet, IterationsWithoutSharedNumbersAreMatchedByPosition) {
  // Rank 1 was recorded by a profiler of its own, which began to count elsewhere.
  const std::vector<int> same = {10, 10};
  const Workload workload = import_set({stepping_rank(0, {100, 110}, same, 5), stepping_rank(1, {100, 110}, same, 50)});
  EXPECT_GT(starts_us(workload.dag_of(RankId(0))).count("work5"), 0u);
  EXPECT_GT(starts_us(workload.dag_of(RankId(1))).count("work50"), 0u);
  EXPECT_HAS(notes(workload),
             "no number of a ProfilerStep annotation is on all ranks, so iterations are matched by their position");
}

TEST(KinetoAlignment, SharedIterationsOfRanks) {
  // Rank 2 has none and no say. 6 and 8 are on ranks 0 and 1.
  const std::vector<KinetoSteps> numbered = {{4, {5, 6, 7, 8}}, {3, {6, 8, 9}}, {0, {}}};
  const KinetoAlignment alignment = align_kineto_iterations(numbered);
  EXPECT_EQ(alignment.count, 2u);
  EXPECT_EQ(alignment.of_rank, (std::vector<std::vector<std::uint32_t>>{{1, 3}, {0, 1}, {}}));
  EXPECT_FALSE(alignment.is_plain);
  // One rank without numbers: by position.
  const std::vector<KinetoSteps> mixed = {{2, {5, 6}}, {2, {}}};
  EXPECT_EQ(align_kineto_iterations(mixed).of_rank, (std::vector<std::vector<std::uint32_t>>{{0, 1}, {0, 1}}));
  EXPECT_TRUE(align_kineto_iterations(mixed).is_plain);
  EXPECT_EQ(align_kineto_iterations({}).count, 0u);
}

TEST_F(KinetoSet, UnevenAllToAllsTakeTheMeanSize) {
  // 100 and 301 floats: (400 + 1204) / 2 = 802 bytes.
  const Workload workload = import_set({rank_trace(0, 2, collective("all_to_allv", 100, "Float", "\"Group size\": 2")),
                                        rank_trace(1, 2, collective("all_to_allv", 301, "Float", "\"Group size\": 2"))});
  EXPECT_EQ(op_named(workload.dag_of(RankId(0)), "ncclKernel").bytes, Bytes::of(802));
  EXPECT_EQ(op_named(workload.dag_of(RankId(1)), "ncclKernel").bytes, Bytes::of(802));
  EXPECT_HAS(notes(workload), "1 all-to-all of uneven sizes runs as an even one of the mean size");
  // Other collectives must agree.
  EXPECT_HAS(set_errors({rank_trace(0, 2, collective("allreduce", 100, "Float", "\"Group size\": 2")),
                         rank_trace(1, 2, collective("allreduce", 301, "Float", "\"Group size\": 2"))}),
             "[group-mismatch]");
}

/// Arguments of an all-to-all in a group of `size`.
std::string exchange(int size, int elements, const std::string& sent, int elements_out = -1, const std::string& received = "") {
  return collective(
      "all_to_allv", elements, "Float",
      fmt::format(
          "\"Group size\": {}, \"In split size\": \"{}\"{}", size, sent,
          received.empty() ? "" : fmt::format(", \"Out msg nelems\": {}, \"Out split size\": \"{}\"", elements_out, received)));
}

TEST_F(KinetoSet, SplitsOfAllRanksMakeATable) {
  // Uneven all-to-alls ran as even ones of the mean size. Tensors of 10 floats a row: 1 and 3 rows
  // from rank 0, 2 and 0 from rank 1.
  const std::vector<TraceText> traces = {rank_trace(0, 2, exchange(2, 40, "[1, 3]", 30, "[1, 2]")),
                                         rank_trace(1, 2, exchange(2, 20, "[2, 0]", 30, "[3, 0]"))};
  const Workload workload = import_set(traces);
  ASSERT_EQ(workload.splits.size(), 1u);
  const SplitTable& table = workload.splits[0];
  EXPECT_EQ(table, SplitTable("splits_0", 2, {Bytes::of(40), Bytes::of(120), Bytes::of(80), Bytes::of(0)}));
  for (const std::uint32_t rank : {0u, 1u}) {
    const Op op = op_named(workload.dag_of(RankId(rank)), "ncclKernel");
    EXPECT_EQ(op.collective, CollectiveType::all_to_all_v);
    EXPECT_EQ(op.splits, 0u);
    EXPECT_EQ(op.bytes, Bytes::of(160));  // rank 0: 40 + 120
  }
  EXPECT_EQ(notes(workload).find("all-to-all"), std::string::npos) << notes(workload);
}

TEST_F(KinetoSet, SplitsThatAreEvenNeedNoTable) {
  // "[]" of an all_to_allv divides evenly: 20 floats, 10 to each of two.
  const Workload workload = import_set({rank_trace(0, 2, exchange(2, 20, "[]")), rank_trace(1, 2, exchange(2, 20, "[5, 5]"))});
  EXPECT_TRUE(workload.splits.empty());
  EXPECT_EQ(op_named(workload.dag_of(RankId(0)), "ncclKernel").collective, CollectiveType::all_to_all);
  EXPECT_EQ(op_named(workload.dag_of(RankId(0)), "ncclKernel").bytes, Bytes::of(80));
}

TEST_F(KinetoSet, SplitsThatContradictEachOtherAreTold) {
  // Rank 1 says that it gets 2 rows from rank 0, which sends 3.
  const Workload workload = import_set(
      {rank_trace(0, 2, exchange(2, 40, "[1, 3]", 30, "[1, 2]")), rank_trace(1, 2, exchange(2, 20, "[2, 0]", 20, "[2, 0]"))});
  EXPECT_EQ(workload.splits.at(0).at(0, 1), Bytes::of(120));
  EXPECT_HAS(notes(workload), "1 all-to-all has an \"Out split size\" that contradicts the \"In split size\" of another rank");
}

TEST_F(KinetoSet, SplitsThatOneRankDoesNotSayRunEvenly) {
  // 40 and 20 floats: (160 + 80) / 2 = 120 bytes each. Three rows do not divide 20 floats.
  for (const char* list : {"[9, ...]", "[1]", "[2, 1]", "[a, b]"}) {
    const Workload workload = import_set({rank_trace(0, 2, exchange(2, 40, "[1, 3]")), rank_trace(1, 2, exchange(2, 20, list))});
    EXPECT_EQ(op_named(workload.dag_of(RankId(0)), "ncclKernel").collective, CollectiveType::all_to_all) << list;
    EXPECT_EQ(op_named(workload.dag_of(RankId(0)), "ncclKernel").bytes, Bytes::of(120));
    EXPECT_HAS(notes(workload), "1 all-to-all runs as an even one: its \"In split size\" does not divide its elements");
    EXPECT_HAS(notes(workload), "1 all-to-all of uneven sizes runs as an even one of the mean size");
  }
}

TEST_F(KinetoTest, ReplayedSplitsAreThoseOfEveryRank) {
  // The recorded rank sends 1, 3 rows of 10 floats to its group of two; on four ranks there are two
  // such groups, one table.
  TraceText trace(world(0, 4));
  const std::string group = R"(, "Process Group Name": "ep", "Process Group Ranks": "[0, 1]")";
  trace.op(1, "a", 0, 10).launched(1, 1, 2, 20, "ncclKernel", 10, 100, exchange(2, 40, "[1, 3]") + group);
  const Workload workload = replayed(trace, 4);
  ASSERT_EQ(workload.splits.size(), 1u);
  EXPECT_EQ(workload.splits[0], SplitTable("splits_0", 2, {Bytes::of(40), Bytes::of(120), Bytes::of(40), Bytes::of(120)}));
  EXPECT_EQ(workload.communicators.at(1).group_count(), 2u);
  EXPECT_HAS(notes(workload), "1 all-to-all of uneven sizes divides the input of every rank as that of the recorded one");
  // Recorded on two ranks, replayed on four: two sizes do not say what four ranks get.
  TraceText all(world(0, 2));
  all.op(1, "a", 0, 10).launched(1, 1, 2, 20, "ncclKernel", 10, 100, exchange(2, 40, "[1, 3]"));
  const Workload widened = replayed(all, 4);
  EXPECT_TRUE(widened.splits.empty());
  EXPECT_EQ(op_named(widened.roles.at(0), "ncclKernel").bytes, Bytes::of(160));
  EXPECT_HAS(notes(widened), "1 all-to-all runs as an even one: its \"In split size\" does not divide its elements");
}

TEST_F(KinetoTest, RootsArePositionsInTheGroup) {
  for (const auto& [name, type] : {std::pair("broadcast", CollectiveType::broadcast), std::pair("reduce", CollectiveType::reduce),
                                   std::pair("gather", CollectiveType::gather), std::pair("scatter", CollectiveType::scatter)}) {
    const Workload workload = replayed(rank_trace(0, 4, collective(name, 10, "Float", R"("Group size": 4, "Rank": 3)")), 4);
    EXPECT_EQ(op_named(workload.roles.at(0), "ncclKernel").collective, type);
    EXPECT_EQ(op_named(workload.roles.at(0), "ncclKernel").peer, 3);
    EXPECT_EQ(notes(workload).find("position 0"), std::string::npos) << notes(workload);
  }
  // Not named, or outside of the group.
  for (const char* more : {R"("Group size": 4)", R"("Group size": 4, "Rank": 4)"}) {
    const Workload reduced = replayed(rank_trace(0, 4, collective("reduce", 10, "Float", more)), 4);
    EXPECT_EQ(op_named(reduced.roles.at(0), "ncclKernel").peer, 0);
    EXPECT_HAS(notes(reduced), "1 reduce, gather or scatter has position 0 of the group as root");
    EXPECT_HAS(notes(replayed(rank_trace(0, 4, collective("broadcast", 10, "Float", more)), 4)),
               "1 broadcast starts at position 0 of the group");
  }
  // The rank of an all-reduce is the rank itself.
  EXPECT_EQ(
      op_named(replayed(rank_trace(0, 4, collective("allreduce", 10, "Float", R"("Group size": 4, "Rank": 3)")), 4).roles.at(0),
               "ncclKernel")
          .peer,
      0);
}

TEST_F(KinetoTest, BarriersNeedNoSize) {
  // They kept their recorded time, waiting included, where the trace gave no elements.
  const Workload workload = replayed(rank_trace(0, 2, R"("Collective name": "barrier", "Group size": 2)"), 2);
  const Op op = op_named(workload.roles.at(0), "ncclKernel");
  EXPECT_EQ(op.collective, CollectiveType::barrier);
  EXPECT_EQ(op.bytes, Bytes::zero());
}

// --- Wrong files ---

TEST_F(KinetoTest, DamagedFilesAreRefusedWithThePlace) {
  EXPECT_HAS(errors(" \n"), "[empty-file]");
  EXPECT_HAS(errors("\xff{}"), "[not-utf8]");
  EXPECT_HAS(errors("{}"), "this JSON file has no traceEvents [not-kineto]");
  EXPECT_HAS(errors("[1, 2]"), "this is JSON, but no object with traceEvents [not-kineto]");
  EXPECT_HAS(errors("{\"traceEvents\": 3}"), "traceEvents is no list [not-kineto]");
  EXPECT_HAS(errors("{\"traceEvents\": []}"), "[no-ops]");
  EXPECT_HAS(errors("{\"traceEvents\": [1]}"), "an entry of traceEvents is no object [bad-value]");
  EXPECT_HAS(errors("{\"traceEvents\": [\n{\"ph\" \"X\"}\n]}"), "trace.json:2:");
  EXPECT_HAS(errors("{\"traceEvents\": [\n{\"ph\" \"X\"}\n]}"), "[bad-json]");
  const std::string whole = three_steps("ProfilerStep#").text();
  for (const std::size_t length : {whole.size() - 3, whole.size() / 2, whole.size() / 3, std::size_t{12}}) {
    EXPECT_HAS(errors(whole.substr(0, length)), "[truncated-file]");
  }
}

TEST_F(KinetoTest, DamagedEventsAreReportedTogether) {
  TraceText trace(R"({"rank": -1, "world_size": "two"})");
  trace.raw(R"({"ph": "X", "cat": "cpu_op", "name": "no time", "pid": 1, "tid": 1, "dur": 1})")
      .raw(R"({"ph": "X", "cat": "cpu_op", "name": "no duration", "pid": 1, "tid": 1, "ts": 1})")
      .raw(R"({"ph": "X", "cat": "cpu_op", "name": "odd time", "pid": 1, "tid": 1, "ts": "soon", "dur": 1})")
      .raw(R"({"ph": "X", "cat": "cpu_op", "name": "negative", "pid": 1, "tid": 1, "ts": 1, "dur": -1})")
      .raw(R"({"ph": "X", "cat": "cpu_op", "name": "too long", "pid": 1, "tid": 1, "ts": 1, "dur": 99999999999999})")
      .raw(R"({"ph": "X", "cat": "kernel", "name": "odd", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"correlation": 1.5}})");
  const std::string text = errors(trace);
  EXPECT_HAS(text, "distributedInfo's rank is no number of ranks [bad-value]");
  EXPECT_HAS(text, "distributedInfo's world_size is no number of ranks [bad-value]");
  EXPECT_HAS(text, "event \"no time\" has no ts [missing-attribute]");
  EXPECT_HAS(text, "event \"no duration\" has no dur [missing-attribute]");
  EXPECT_HAS(text, "ts is no time in microseconds: \"soon\" [bad-value]");
  EXPECT_HAS(text, "event \"negative\" lasts less than nothing [negative-duration]");
  EXPECT_HAS(text, "event \"too long\" lasts more than a year [out-of-range]");
  EXPECT_HAS(text, "correlation is no number: 1.5 [bad-value]");
  EXPECT_HAS(text, "trace.json:8:");  // the fifth event
  TraceText far;
  far.op(1, "a", 0, 1).raw(R"({"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 99999999999999, "dur": 1})");
  EXPECT_HAS(errors(far), "first and last event lie more than a year apart [out-of-range]");
}

TEST_F(KinetoTest, WrongCommunicationIsRefusedWithThePlace) {
  KinetoOptions two;
  two.ranks = 2;
  const std::string unknown = errors(rank_trace(0, 2, collective("alreduce", 10)), two);
  EXPECT_HAS(unknown, "there is no collective \"alreduce\" [unknown-collective]");
  EXPECT_HAS(unknown, "did you mean \"allreduce\"?");
  EXPECT_HAS(unknown, "trace.json:6:");
  EXPECT_HAS(errors(rank_trace(0, 2, collective("allreduce", 10, "Flat")), two),
             "there is no element type \"Flat\" [unknown-type]");
  TraceText absurd(world(0, 2));
  absurd.op(1, "a", 0, 10)
      .launched(1, 1, 2, 20, "ncclKernel", 10, 100,
                "\"Collective name\": \"allreduce\", \"In msg nelems\": 9007199254740992, \"dtype\": \"Double\"");
  EXPECT_HAS(errors(absurd, two), "a communication moves more than 1 PiB [out-of-range]");
  two.ranks = 0;
  EXPECT_HAS(errors(rank_trace(0, 2, collective("allreduce", 10)), two), "[out-of-range]");
  // As recorded none of this matters.
  EXPECT_EQ(longest_path(recorded(rank_trace(0, 2, collective("alreduce", 10))).roles.at(0)), Duration::us(110));
}

TEST_F(KinetoTest, UnknownCategoriesAreTold) {
  TraceText trace;
  trace.op(1, "a", 0, 10).event("mtia_runtime", "x", "1", "1", 0, 5, "").event("python_function", "f", "1", "1", 0, 5, "");
  EXPECT_HAS(notes(recorded(trace)), "1 event is ignored: unknown category \"mtia_runtime\"");
}

TEST(KinetoRanks, AreReadOrRefused) {
  EXPECT_EQ(parse_kineto_ranks("[0, 1,12]"), (std::vector<std::uint32_t>{0, 1, 12}));
  EXPECT_EQ(parse_kineto_ranks("[]"), std::vector<std::uint32_t>());
  for (const char* text : {"", "[", "0, 1", "[0, 1, ..., 3]", "[0 1]", "[-1]", "[4294967296]", "[99999999]"}) {
    EXPECT_EQ(parse_kineto_ranks(text), std::nullopt) << text;
  }
}

TEST(KinetoRanks, CutShortAreContinuedIfTheyAreEven) {
  EXPECT_EQ(complete_kineto_ranks("[1, 4, 7, ...]", 5), (std::vector<std::uint32_t>{1, 4, 7, 10, 13}));
  for (const char* text : {"", ", ...]", "[0, ...]", "[0, 1, 3, ...]", "[2, 1, ...]", "[1, 1, ...]", "[0, x, ...]", "[0, 1, 2]",
                           "[0, 1, ..., 4]", "[0, 1, 2, 3, 4, ...]", "[0, 9000000, ...]"}) {
    EXPECT_EQ(complete_kineto_ranks(text, 5), std::nullopt) << text;
  }
  EXPECT_EQ(complete_kineto_ranks("[0, 1, ...]", -1), std::nullopt);
}

TEST(KinetoVerbs, AreKnownByTheirBeginning) {
  EXPECT_EQ(kineto_verb("allreduce_coalesced"), KinetoVerb::all_reduce);
  EXPECT_EQ(kineto_verb("_all_gather_base"), KinetoVerb::all_gather);
  EXPECT_EQ(kineto_verb("ALLTOALL_BASE"), KinetoVerb::all_to_all);
  EXPECT_EQ(kineto_verb("_reduce_oop"), KinetoVerb::reduce);
  EXPECT_EQ(kineto_verb("recv 1<-0"), KinetoVerb::receive);
  EXPECT_EQ(kineto_verb("gather"), KinetoVerb::gather);
  EXPECT_EQ(kineto_verb("scatter"), KinetoVerb::scatter);
  EXPECT_EQ(kineto_verb("all_reduce_barrier"), KinetoVerb::barrier);
  EXPECT_EQ(kineto_verb("wait"), std::nullopt);
}

TEST(KinetoSamples, NcclDataHoldsTheCollectivesOfOneDataParallelIteration) {
  const std::string path = data_path("workloads/kineto/nccl_data.json.gz");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "../shared/data is not there";
  KinetoOptions options;
  options.ranks = 2;
  const Workload workload = import_kineto(path, options);
  // Counted with Python: per step 2 broadcasts (53,120 floats and 53 longs) and 5 all-reduces.
  std::vector<std::int64_t> all_reduces;
  std::vector<std::int64_t> broadcasts;
  const RoleDag& dag = workload.roles.at(0);
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const Op op = dag.op(OpId(i));
    if (op.kind != OpKind::collective) continue;
    (op.collective == CollectiveType::all_reduce ? all_reduces : broadcasts).push_back(op.bytes.count());
  }
  EXPECT_EQ(broadcasts, (std::vector<std::int64_t>{4 * 53120, 8 * 53}));
  EXPECT_EQ(all_reduces, (std::vector<std::int64_t>{4 * 2049000, 4 * 7875584, 4 * 6563840, 4 * 6637568, 4 * 2431040}));
}

}  // namespace
}  // namespace weft::kineto_test
