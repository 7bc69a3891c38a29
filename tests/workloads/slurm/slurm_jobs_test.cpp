// SPDX-License-Identifier: Apache-2.0
// Jobs and nodes as Slurm's commands list them: the same under each version's notation.
#include "workloads/slurm/slurm_jobs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "workloads/job_traces/slurm_trace.hpp"
#include "workloads/slurm/slurm_nodes.hpp"

namespace weft::slurm_jobs_test {
namespace {

using State = SlurmJob::State;

SlurmJobs squeue(const std::string& jobs) {
  Diagnostics diagnostics;
  DirtyRows dirty(true, diagnostics);
  SlurmJobs read = read_squeue_jobs(SourceText("queue.json", "{\"meta\": {}, \"jobs\": [" + jobs + "]}"), dirty);
  diagnostics.throw_if_errors();
  return read;
}

/// `fields`: of one job beside these.
std::string job(const std::string& fields) {
  return R"({"submit_time": 1000, "account": "lab", "job_state": "PENDING", "tres_req_str": "gres/gpu=2", )" + fields + "}";
}

TEST(SlurmJobs, AreTheSameInOldAndNewNotation) {
  const SlurmJobs plain = squeue(job(R"("job_id": 7, "time_limit": 60, "priority": 4294901759)"));
  const SlurmJobs structured = squeue(
      R"({"submit_time": {"set": true, "infinite": false, "number": 1000}, "account": "lab", "job_state": ["PENDING"],
          "tres_req_str": "gres/gpu=2", "job_id": 7, "time_limit": {"set": true, "infinite": false, "number": 60},
          "priority": {"set": true, "infinite": false, "number": 4294901759}, "array_job_id": {"set": true, "infinite": false, "number": 0}})");
  for (const SlurmJobs* const read : {&plain, &structured}) {
    ASSERT_EQ(read->jobs.size(), 1U);
    EXPECT_EQ(read->jobs[0].id, "7");
    EXPECT_EQ(read->jobs[0].gpus, 2U);
    EXPECT_EQ(read->jobs[0].time_limit, Duration::s(3600));
    EXPECT_EQ(read->jobs[0].priority, 4294901759U);
    EXPECT_EQ(read->jobs[0].state, State::waits);
  }
}

TEST(SlurmJobs, HaveNoLimitWhereItIsInfinite) {
  const SlurmJobs read = squeue(job(R"("job_id": 7, "time_limit": {"set": true, "infinite": true, "number": 0})"));
  EXPECT_FALSE(read.jobs.at(0).time_limit);
}

TEST(SlurmJobs, OfArraysAndHeterogeneousJobs) {
  const SlurmJobs read = squeue(job(R"("job_id": 4, "array_job_id": 4, "array_task_string": "3-5%2")") + "," +
                                job(R"("job_id": 12, "array_job_id": 4, "array_task_id": 1)") + "," +
                                job(R"("job_id": 20, "het_job_id": 20, "het_job_offset": 0)") + "," +
                                job(R"("job_id": 21, "het_job_id": 20, "het_job_offset": 1)"));
  std::string ids;
  for (const SlurmJob& one : read.jobs) ids += fmt::format("{}:{} ", one.id, one.gpus);
  EXPECT_EQ(ids, "4_3:2 4_4:2 4_5:2 4_1:2 20:4 ");
  EXPECT_EQ(read.array_tasks, 3U);
  EXPECT_EQ(read.merged_parts, 1U);
}

TEST(SlurmJobs, CountGpusOfARequestByNodeAndTask) {
  const auto gpus = [](const std::string& fields) {
    return squeue(R"({"job_id": 1, "submit_time": 5, "job_state": "PENDING", )" + fields + "}").jobs.at(0).gpus;
  };
  EXPECT_EQ(gpus(R"("tres_per_node": "gres:gpu:h100:8", "node_count": 3)"), 24U);
  EXPECT_EQ(gpus(R"("tres_per_task": "gres/gpu=2", "tasks": {"set": true, "number": 5})"), 10U);
  EXPECT_EQ(gpus(R"("tres_per_job": "gres:gpu:6", "tres_per_node": "gres:gpu:8")"), 6U);
}

TEST(SlurmJobs, HoldAllTheirGpusOnTheirOnlyHostWhereItsDetailTellsNone) {
  for (const char* const detail : {R"x([""])x", R"x(["(null)"])x", R"x([])x", R"x(["gpu:2(IDX:0-1)"])x"}) {
    const SlurmJobs read =
        squeue(std::string(R"({"submit_time": 1000, "start_time": 1100, "job_state": "RUNNING", "nodes": "gpu001", )") +
               R"("tres_alloc_str": "gres/gpu=2", "job_id": 7, "gres_detail": )" + detail + "}");
    ASSERT_EQ(read.jobs.at(0).shares.size(), 1U) << detail;
    EXPECT_EQ(read.jobs[0].shares[0].gpus, 2U) << detail;
  }
}

TEST(SlurmJobs, KnowStates) {
  const auto state = [](const std::string& states, const std::string& reason) {
    return squeue(job(fmt::format(R"("job_id": 1, "job_state": {}, "state_reason": "{}", "start_time": 1001, "nodes": "n1")",
                                  states, reason)))
        .jobs.at(0)
        .state;
  };
  EXPECT_EQ(state(R"("PENDING")", "Priority"), State::waits);
  EXPECT_EQ(state(R"("PENDING")", "Dependency"), State::held);
  EXPECT_EQ(state(R"("PENDING")", "JobHeldUser"), State::held);
  EXPECT_EQ(state(R"(["REQUEUE_HOLD"])", "None"), State::held);
  EXPECT_EQ(state(R"(["RUNNING", "CONFIGURING"])", "None"), State::runs);
  EXPECT_EQ(state(R"("SUSPENDED")", "None"), State::runs);
  EXPECT_EQ(state(R"(["FAILED", "COMPLETING"])", "None"), State::ended);
  EXPECT_THROW(state(R"("SLEEPING")", "None"), InputError);
}

TEST(SlurmJobs, RunForAShareOfTheirLimit) {
  SlurmJob one;
  one.state = State::runs;
  one.start = Timestamp{1000, {}};
  one.time_limit = Duration::s(100);
  const auto run_s = [&](std::int64_t now) { return assumed_run(one, 0.6, Timestamp{now, {}})->in_s(); };
  EXPECT_EQ(run_s(1030), 60);        // 0.6 x 100 s, of which 30 s have passed
  EXPECT_EQ(run_s(1080), 100);       // past the share: the limit
  EXPECT_EQ(run_s(1200), 200 + 60);  // past the limit: a minute more
  one.time_limit.reset();
  EXPECT_FALSE(assumed_run(one, 0.6, Timestamp{1030, {}}));
}

SlurmJobs sacct(const std::string& header, const std::string& row) {
  Diagnostics diagnostics;
  DirtyRows dirty(true, diagnostics);
  SlurmJobs read = read_sacct_jobs(SourceText("jobs.txt", header + "\n" + row + "\n"), TimeZone::utc(), dirty);
  diagnostics.throw_if_errors();
  return read;
}

TEST(SlurmJobs, TakeLimitsAsTimesAndAsMinutes) {
  const auto limit = [](const std::string& columns, const std::string& values) {
    return sacct("JobID|State|Submit|Start|End|ReqTRES|" + columns,
                 "1|PENDING|2026-11-28T12:00:00|Unknown|Unknown|gres/gpu=1|" + values)
        .jobs.at(0)
        .time_limit;
  };
  EXPECT_EQ(limit("Timelimit", "1-00:30:00"), Duration::s(86400 + 1800));
  EXPECT_EQ(limit("Timelimit", "90"), Duration::s(90 * 60));
  EXPECT_EQ(limit("TimelimitRaw", "90"), Duration::s(90 * 60));
  EXPECT_EQ(limit("TimelimitRaw|Timelimit", "90|02:00:00"), Duration::s(7200));
  EXPECT_EQ(limit("TimelimitRaw|Timelimit", "90|"), Duration::s(90 * 60));
  for (const char* none : {"UNLIMITED", "Partition_Limit", "", "4294967294", "900-00:00:00"}) {
    EXPECT_FALSE(limit("Timelimit", none)) << none;
    EXPECT_FALSE(limit("TimelimitRaw", none)) << none;
  }
  for (const char* broken : {"long", "12:", "::", "-", "1-2-3"}) EXPECT_THROW(limit("Timelimit", broken), InputError) << broken;
  EXPECT_THROW(limit("TimelimitRaw", "-5x"), InputError);
}

TEST(SlurmJobs, RunUntilTheirStartAndWhatHasElapsed) {
  const std::string row = "1|RUNNING|1970-01-01T00:00:10|1970-01-01T00:00:20|Unknown|gres/gpu=1|n1|";
  const std::string header = "JobID|State|Submit|Start|End|AllocTRES|NodeList|";
  EXPECT_EQ(sacct(header + "Elapsed", row + "00:01:40").now, (Timestamp{20 + 100, {}}));
  EXPECT_EQ(sacct(header + "ElapsedRaw", row + "100").now, (Timestamp{20 + 100, {}}));
}

TEST(SlurmNodes, AreInOrOutOfService) {
  const auto is_out = [](const std::string& state) {
    return read_slurm_nodes(
               SourceText("nodes.txt", fmt::format("NodeName=n1 Arch=x86\n   Gres=gpu:8\n   State={} Weight=1\n", state)))
        .at(0)
        .is_out;
  };
  for (const char* state : {"IDLE", "ALLOCATED", "MIXED", "MIXED+PLANNED", "IDLE+CLOUD+POWERED_DOWN", "MIXED+COMPLETING", "idle~"})
    EXPECT_FALSE(is_out(state)) << state;
  for (const char* state :
       {"DOWN*", "IDLE*", "MIXED+DRAIN", "IDLE+MAINT+RESERVED", "IDLE+DRAIN+INVALID_REG", "UNKNOWN+NOT_RESPONDING", "FUTURE"})
    EXPECT_TRUE(is_out(state)) << state;
}

TEST(SlurmNodes, CountGpusByGresOrElseByTres) {
  const std::vector<SlurmNode> nodes = read_slurm_nodes(
      SourceText("nodes.txt",
                 "NodeName=a State=IDLE\n   Gres=gpu:h100:4(S:0),gpu:a100:2\n\nNodeName=b State=IDLE\n   Gres=(null)\n   "
                 "CfgTRES=cpu=4,gres/gpu=3\n\nNodeName=c State=IDLE\n   Reason=a fan, State=DOWN soon\n"));
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].gpus, 6U);
  EXPECT_EQ(nodes[1].gpus, 3U);
  EXPECT_EQ(nodes[2].gpus, 0U);
  EXPECT_EQ(nodes[2].reason, "a fan, State=DOWN soon");
}

// `scontrol -o show node`: one line a node. What OS says holds blanks.
TEST(SlurmNodes, MayStandOnALineEach) {
  const std::vector<SlurmNode> nodes = read_slurm_nodes(SourceText(
      "nodes.txt",
      "NodeName=a Gres=gpu:8 OS=Linux 6.1.0 #1 SMP Mon Apr 15 UTC 2026  RealMemory=1 State=IDLE+DRAIN Reason=a fan [root@2026]\n"
      "NodeName=b Gres=gpu:4 OS=Linux 6.1.0 #1 SMP Mon Apr 15 UTC 2026  RealMemory=1 State=MIXED AllocTRES=gres/gpu=3\n"));
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_TRUE(nodes[0].is_out);
  EXPECT_EQ(nodes[0].reason, "a fan [root@2026]");
  EXPECT_FALSE(nodes[1].is_out);
  EXPECT_EQ(nodes[1].gpus_used, 3U);
}

TEST(SlurmJobs, AsATableOfSqueueAreRefusedWithWhatToType) {
  Diagnostics diagnostics;
  DirtyRows dirty(true, diagnostics);
  try {
    read_squeue_jobs(SourceText("queue.txt", "  JOBID PARTITION\n      1     batch\n"), dirty);
    FAIL() << "a table is no JSON";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "bad-json");
    EXPECT_EQ(error.diagnostics().front().help, "take what `squeue --json` prints");
  }
}

// As text with and without -d, and as JSON of versions that fill one field or the other.
TEST(SlurmNodes, TellWhatIsInUse) {
  const std::vector<SlurmNode> text = read_slurm_nodes(
      SourceText("nodes.txt",
                 "NodeName=a State=MIXED\n   Gres=gpu:h100:8(S:0-1)\n   AllocTRES=cpu=4,gres/gpu=5,gres/gpu:h100=5\n\n"
                 "NodeName=b State=MIXED\n   Gres=gpu:h100:8(S:0-1)\n   GresDrain=N/A\n   GresUsed=gpu:h100:3(IDX:1,4-5)\n   "
                 "AllocTRES=cpu=4\n\n"
                 "NodeName=c State=IDLE\n   Gres=gpu:h100:8\n   GresUsed=gpu:h100:0(IDX:N/A)\n   AllocTRES=\n\n"
                 "NodeName=d State=MIXED+COMPLETING\n   Gres=gpu:8\n   AllocTRES=gres/gpu=8\n"));
  std::string told;
  for (const SlurmNode& node : text) told += fmt::format("{}:{}{} ", node.name, node.gpus_used, node.is_completing ? "!" : "");
  EXPECT_EQ(told, "a:5 b:3 c:0 d:8! ");
  EXPECT_EQ(text[1].used_indices, (std::vector<std::uint32_t>{1, 4, 5}));
  EXPECT_TRUE(text[0].used_indices.empty());
  const std::vector<SlurmNode> json = read_slurm_nodes(SourceText("nodes.json", R"json({"nodes": [
      {"name": "a", "state": ["MIXED"], "gres": "gpu:8(S:0-1)", "gres_used": "gpu:h100:2(IDX:0-1)", "tres_used": "gres/gpu=2"},
      {"name": "b", "state": "mixed", "gres": "gpu:h100:8", "gres_used": "gpu:h100:0(IDX:N/A)", "tres_used": "gres/gpu=6"},
      {"name": "c", "state": "idle", "gres": "gpu:h100:8", "tres_used": null}]})json"));
  ASSERT_EQ(json.size(), 3U);
  EXPECT_EQ(json[0].gpus_used, 2U);
  EXPECT_EQ(json[0].used_indices, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(json[1].gpus_used, 6U);
  EXPECT_EQ(json[2].gpus_used, 0U);
}

}  // namespace
}  // namespace weft::slurm_jobs_test
