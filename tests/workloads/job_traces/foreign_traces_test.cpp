// SPDX-License-Identifier: Apache-2.0
// The job logs of real clusters: what becomes a job, what is left out and why, and what --strict
// makes of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/job_traces/acme.hpp"
#include "workloads/job_traces/gavel.hpp"
#include "workloads/job_traces/helios.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"
#include "workloads/job_traces/muri.hpp"
#include "workloads/job_traces/muri_result.hpp"
#include "workloads/job_traces/openb.hpp"
#include "workloads/job_traces/philly.hpp"

namespace weft::foreign_traces_test {
namespace {

SourceText text(const std::string& content) { return SourceText("jobs.csv", content); }

/// "code:line,line code:line": what a trace left out.
std::string left_out(const JobTrace& trace) {
  std::string result;
  for (const LeftOutRows& reason : trace.left_out) {
    result += (result.empty() ? "" : " ") + reason.first.code + ":";
    for (std::size_t i = 0; i < reason.lines.size(); ++i) result += (i == 0 ? "" : ",") + std::to_string(reason.lines[i]);
  }
  return result;
}

const std::string helios_header = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n";

std::string helios_row(const std::string& id, const std::string& gpus, const std::string& state, const std::string& rest) {
  return id + ",u1,vcA," + gpus + ",4,1," + state + "," + rest + "\n";
}

TEST(Helios, ReadsJobs) {
  const JobTrace trace = read_helios(
      text(helios_header + helios_row("12", "4", "FAILED", "2020-04-01 00:01:11,2020-04-01 00:02:11,2020-04-01 00:02:41,30,60") +
           helios_row("11", "8", "COMPLETED", "2020-04-01 00:00:11,2020-04-01 00:00:31,2020-04-01 01:00:31,3600,20")));
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.origin_of_time, "2020-03-31 16:00:11 UTC");  // Shanghai is 8 h ahead
  EXPECT_EQ(trace.jobs[0].name, "11");
  EXPECT_EQ(trace.jobs[0].group, "vcA");
  EXPECT_EQ(trace.jobs[0].gpus, 8U);
  EXPECT_EQ(trace.jobs[0].run, Duration::s(3600));
  EXPECT_EQ(trace.jobs[0].real->wait, Duration::s(20));
  EXPECT_EQ(trace.jobs[0].real->completion, Duration::s(3620));
  EXPECT_EQ(trace.jobs[1].submit, Duration::s(60));
  EXPECT_EQ(trace.jobs[1].run, Duration::s(30));
  EXPECT_EQ(trace.notes(), std::vector<std::string>{"6 dates name no time zone and are taken as Asia/Shanghai"});
}

TEST(Helios, TakesTheTimeZoneThatIsNamed) {
  JobTraceOptions options;
  options.time_zone = "UTC";
  const SourceText source = text(helios_header + helios_row("1", "1", "FAILED", "2020-04-01 00:00:11,,,30,0"));
  EXPECT_EQ(read_helios(source, options).origin_of_time, "2020-04-01 00:00:11 UTC");
  options.time_zone = "Asia/Shangai";
  EXPECT_HAS(errors_of([&] { read_helios(source, options); }), "--time-zone=Asia/Shangai: error: there is no time zone");
}

// Line 1 is the header, line 2 a job; what is wrong with lines 3 to 17 is in the expectation below.
const std::string dirty_helios =
    helios_header + helios_row("1", "8", "COMPLETED", "2020-04-01 00:00:00,2020-04-01 00:00:01,2020-04-01 00:00:02,1,1") +
    helios_row("2", "0", "COMPLETED", "2020-04-01 00:00:00,2020-04-01 00:00:01,2020-04-01 00:00:02,1,1") +
    helios_row("3", "1", "RUNNING", "2020-04-01 00:00:00,2020-04-01 00:00:01,,,1") +
    helios_row("4", "1", "PENDING", "2020-04-01 00:00:00,,,,") +
    helios_row("5", "1", "FAILED", "2020-04-01 00:00:00,2020-04-01 00:00:09,2020-04-01 00:00:08,,9") +
    helios_row("6", "1", "FAILED", "2020-04-01 00:00:05,2020-04-01 00:00:04,2020-04-01 00:00:08,,9") +
    helios_row("7", "x", "FAILED", "2020-04-01 00:00:05,2020-04-01 00:00:06,2020-04-01 00:00:08,,9") +
    helios_row("8", "1", "FAILED", "soon,2020-04-01 00:00:06,2020-04-01 00:00:08,,9") +
    helios_row("9", "1", "FAILED", "2020-04-01 00:00:05,,,,0") + helios_row("10", "1", "FAILED", "2020-04-01 00:00:05,,,-1,0") +
    helios_row("11", "1", "FAILED", "2020-04-01 00:00:05,,,nan,0") + "12,u1\n" +
    helios_row("1", "1", "FAILED", "2020-04-01 00:00:05,,,5,0") +
    helios_row("13", "1", "FAILED", "2020-04-01 00:00:00,2020-04-01 00:00:06,2022-04-01 00:00:08,,9") +
    helios_row("14", "-1", "FAILED", "2020-04-01 00:00:00,2020-04-01 00:00:06,2022-04-01 00:00:08,,9") +
    helios_row("", "1", "FAILED", "2020-04-01 00:00:05,,,5,0");

TEST(Helios, LeavesDirtyRowsOut) {
  const JobTrace trace = read_helios(text(dirty_helios));
  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.left_out_rows, 15U);
  EXPECT_EQ(left_out(trace),
            "no-gpus:3 still-running:4 never-started:5 end-before-start:6 start-before-submit:7 bad-value:8,16 bad-value:9 "
            "no-duration:10,12 "
            "negative-duration:11 wrong-field-count:13 out-of-range:15 bad-value:17 duplicate-job:14");
  EXPECT_EQ(trace.notes().front(), "1 row left out [no-gpus], line 3: this job has no GPU");
  EXPECT_EQ(trace.left_out[5].to_text(), "2 rows left out [bad-value], lines 8, 16, first: gpu_num is no whole number: \"x\"");
}

// Jobs cancelled in the queue have neither a start nor a duration; they became jobs of 0 s. Job 3
// started, for 0 s; of job 4 it is known how long it ran.
TEST(Helios, JobsCancelledInTheQueueNeverStarted) {
  const JobTrace trace =
      read_helios(text(helios_header + helios_row("1", "4", "CANCELLED", "2020-04-01 00:00:00,,2020-04-01 01:00:00,0,3600") +
                       helios_row("2", "4", "CANCELLED", "2020-04-01 00:00:00,None,2020-04-01 01:00:00,0.0,3600") +
                       helios_row("3", "4", "COMPLETED", "2020-04-01 00:00:00,2020-04-01 00:00:05,2020-04-01 00:00:05,0,5") +
                       helios_row("4", "4", "COMPLETED", "2020-04-01 00:00:00,,,50,5")));
  EXPECT_EQ(left_out(trace), "never-started:2,3");
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[1].run, Duration::s(50));
}

// One row with a clock that was not set, 1970 in local time, made an error of every good row.
TEST(Helios, AnOutlierCostsNoOtherRow) {
  std::string table = helios_header + helios_row("x", "4", "FAILED", "1970-01-01 08:00:00,,,50,5");
  for (int i = 0; i < 5; ++i) table += helios_row("j" + std::to_string(i), "4", "FAILED", "2020-04-01 00:00:00,,,50,5");
  const JobTrace trace = read_helios(text(table));
  EXPECT_EQ(trace.jobs.size(), 5U);
  EXPECT_EQ(trace.origin_of_time, "2020-03-31 16:00:00 UTC");
  EXPECT_EQ(trace.notes().front(),
            "1 row left out [out-of-range], line 2: this job was submitted more than a year from the median job");
  JobTraceOptions options;
  options.strict = true;
  EXPECT_HAS(errors_of([&] { read_helios(text(table), options); }), "jobs.csv:2: error: this job was submitted more than a year");
}

// Nobody was told that node_num is not used: 8 GPUs on 8 nodes became 8 GPUs on one.
TEST(Helios, CountsJobsOnMoreNodesThanTheyNeed) {
  const std::string times = "FAILED,2020-04-01 00:00:00+08:00,,,50,5\n";
  const auto notes = [&](const std::string& rows) { return read_helios(text(helios_header + rows)).notes(); };
  EXPECT_EQ(notes("1,u,v,8,4,8," + times + "2,u,v,9,4,2," + times),  // 9 GPUs need two nodes of 8
            std::vector<std::string>{
                "1 job was on more nodes (node_num) than its GPUs need at 8 a node; the placement of the run decides"});
  EXPECT_TRUE(notes("1,u,v,8,4,1," + times + "2,u,v,9,4,," + times).empty());
}

// Counts of tables that were written as floats were no numbers.
TEST(Helios, ReadsCountsWithAFractionOfZeros) {
  const JobTrace trace = read_helios(text(helios_header + helios_row("1", "16.0", "FAILED", "2020-04-01 00:00:00,NaT,NaN,50,5") +
                                          helios_row("2", "16.5", "FAILED", "2020-04-01 00:00:00,,,50,5")));
  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].gpus, 16U);
  EXPECT_EQ(left_out(trace), "bad-value:3");
}

TEST(Helios, StrictReportsEveryDirtyRow) {
  JobTraceOptions options;
  options.strict = true;
  const std::string errors = errors_of([&] { read_helios(text(dirty_helios), options); });
  for (int line = 3; line <= 17; ++line) EXPECT_HAS(errors, fmt::format("jobs.csv:{}:", line));
  EXPECT_HAS(errors, "jobs.csv:3:10: error: this job has no GPU [no-gpus]");
}

TEST(Helios, AFileOfDirtyRowsOnlyIsAnError) {
  const std::string errors = errors_of([&] {
    read_helios(text(helios_header + helios_row("2", "0", "COMPLETED", "2020-04-01 00:00:00,,,1,1") +
                     helios_row("3", "0", "COMPLETED", "2020-04-01 00:00:00,,,1,1") + "4,u\n"));
  });
  EXPECT_HAS(errors, "jobs.csv:2:10: error: this job has no GPU [no-gpus]");
  EXPECT_HAS(errors, "jobs.csv:4: error: this row has 2 fields, the header 12 [wrong-field-count]");
  EXPECT_HAS(errors, "jobs.csv: error: none of the 3 rows is a job that can be simulated [no-usable-rows]");
}

TEST(Helios, AWrongHeaderIsAnError) {
  EXPECT_HAS(errors_of([] { read_helios(text("job_id,user,vc,gpus,submit_time,duration\n1,u,v,1,x,1\n")); }),
             "jobs.csv:1: error: the table has no column \"gpu_num\" [missing-column]");
}

TEST(Helios, CountsLinesBeyondThoseItNames) {
  std::string table = helios_header + helios_row("1", "1", "COMPLETED", "2020-04-01 00:00:00,,,1,1");
  for (int i = 0; i < 7; ++i) table += helios_row("c" + std::to_string(i), "0", "COMPLETED", "2020-04-01 00:00:00,,,1,1");
  EXPECT_EQ(read_helios(text(table)).notes().front(),
            "7 rows left out [no-gpus], lines 3, 4, 5, 6, 7, ..., first: this job has no GPU");
}

// In the published examples of Kalos the duration counts the queueing too: 18 s = 10 s in the queue
// + 8 s from start to end.
TEST(Acme, TakesTimesWhereTheDurationSaysOtherwise) {
  const JobTrace trace = read_acme(text(
      "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time,fail_time,"
      "stop_time,duration,queue,gpu_time\n"
      "a,u1,8,64,960,1000,100.0,Pretrain,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,2023-05-17 "
      "11:01:16+00:00,,,18,10.0,1152.0\n"));
  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].run, Duration::s(8));
  EXPECT_EQ(trace.jobs[0].group, "u1");
  EXPECT_EQ(trace.jobs[0].model, "Pretrain");
  EXPECT_EQ(trace.origin_of_time, "2023-05-17 11:00:58 UTC");
  ASSERT_EQ(trace.assumptions.size(), 1U);
  EXPECT_EQ(trace.assumptions[0], "1 job has a duration that is not end_time - start_time: the times are taken");
}

TEST(Acme, OffsetsMakeOneClock) {
  const JobTrace trace =
      read_acme(text("job_id,user,gpu_num,submit_time,duration\n"
                     "a,u,1,2023-03-01 08:00:30+08:00,5\n"  // 00:00:30 UTC
                     "b,u,1,2023-03-01 00:00:00+00:00,5\n"  // 00:00:00 UTC
                     "c,u,1,2023-03-01 08:00:10,5\n"));     // of Shanghai: 00:00:10 UTC
  ASSERT_EQ(trace.jobs.size(), 3U);
  EXPECT_EQ(trace.jobs[0].name + trace.jobs[1].name + trace.jobs[2].name, "bca");
  EXPECT_EQ(trace.jobs[2].submit, Duration::s(30));
}

const std::string openb_header =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";

TEST(Openb, SharesBecomeWholeGpus) {
  // p0: a quarter of a GPU for 3600 s.
  const JobTrace trace = read_openb(text(openb_header + "p0,1000,1,1,250,,LS,Succeeded,100,3710,110\n"
                                                        "p1,1000,1,8,1000,V100M16|V100M32,BE,Failed,50,60,55\n"));
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].name, "p1");
  EXPECT_EQ(trace.jobs[0].gpus, 8U);
  EXPECT_EQ(trace.jobs[0].run, Duration::s(5));
  EXPECT_EQ(trace.jobs[1].submit, Duration::s(50));
  EXPECT_EQ(trace.jobs[1].run, Duration::s(3600));
  EXPECT_EQ(trace.jobs[1].group, "LS");
  EXPECT_EQ(trace.jobs[1].real->wait, Duration::s(10));
  ASSERT_EQ(trace.assumptions.size(), 2U);
  EXPECT_EQ(trace.assumptions[0],
            "1 pod asks for a share of a GPU (gpu_milli below 1000) and holds a whole one (1 GPU-h instead of 0.25)");
  EXPECT_EQ(trace.assumptions[1], "1 pod names a GPU type (gpu_spec); any GPU is taken");
  EXPECT_EQ(trace.origin_of_time, "50s on the clock of the trace");
}

TEST(Openb, LeavesOutPodsThatNeverRan) {
  // Lines 2 to 9; those of p0 and p7 are cut off at the end.
  const JobTrace trace = read_openb(text(openb_header + "p0,1,1,1,1000,,LS,Running,0,900,0\n"
                                                        "p1,1,1,0,0,,LS,Running,0,900,0\n"
                                                        "p2,1,1,1,1000,,BE,Pending,10,20,\n"
                                                        "p3,1,1,1,1000,,BE,Running,10,,11\n"
                                                        "p4,1,1,1,1000,,BE,Failed,10,11,12\n"
                                                        "p5,1,1,1,1000,,BE,Failed,10,12,9\n"
                                                        "p6,1,1,1,1001,,BE,Failed,10,12,11\n"
                                                        "p7,1,1,2,1000,,LS,Running,5,900,6\n"));
  EXPECT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(left_out(trace), "no-gpus:3 never-started:4 still-running:5 end-before-start:6 start-before-submit:7 out-of-range:8");
  ASSERT_EQ(trace.assumptions.size(), 1U);
  EXPECT_HAS(trace.assumptions[0], "2 pods in phase Running end together at the last deletion_time");
}

TEST(MuriResult, KeepsWhatReallyHappened) {
  const JobTrace trace = read_muri_result(
      text("time,job_id,num_gpu,submit_time,start_time,end_time,executed_time,real_executed_time,JCT,duration,pending_time\n"
           "9,7,8,10.0,12.5,112.123456789012345,99,80.25,102.123456789012345,70,20\n"
           "9,8,8,10.0,12.5,110,99,80.25,90,70,20\n"));  // 110 - 10 is not 90
  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].run, Duration::ms(80'250));
  EXPECT_EQ(trace.jobs[0].real->wait, Duration::ms(2500));
  // 15 digits after the point are more than ticks of 10 ps: rounded to the nearest.
  EXPECT_EQ(trace.jobs[0].real->completion, Duration::s(102) + Duration::ticks(12'345'678'901));
  EXPECT_EQ(left_out(trace), "contradiction:3");
}

TEST(DirtyRows, PhillyAndMuriFollowTheSameRule) {
  const JobTrace philly =
      read_philly(text("timestamp,duration,num_gpus\n2017-10-09 07:01:55,5,1\n2017-10-09 07:01:55,,1\n2017-10-09 07:01:55,5,0\n"));
  EXPECT_EQ(philly.jobs.size(), 1U);
  EXPECT_EQ(left_out(philly), "bad-value:3 no-gpus:4");
  const JobTrace muri = read_muri(text("job_id,num_gpu,submit_time,iterations,duration\n1,1,0,5,10\n2,1,0,5,-10\n1,1,0,5,10\n"));
  EXPECT_EQ(muri.jobs.size(), 1U);
  EXPECT_EQ(left_out(muri), "negative-duration:3 duplicate-job:4");
}

// The product of two columns stood in a third, and nobody looked.
TEST(DirtyRows, PhillysGpuTimeIsAProduct) {
  const JobTrace trace =
      read_philly(text("timestamp,duration,num_gpus,gpu_time\n"
                       "2017-10-09 07:01:55,66.0,1,66.0\n"
                       "2017-10-09 07:01:55,66.0,1,660.0\n"  // ten times as much
                       "2017-10-09 07:01:55,66.4,4,264\n"    // 265.6: seconds were rounded
                       "2017-10-09 07:01:55,66.4,4,\n"
                       "2017-10-09 07:01:55,66.4,4,much\n"));
  EXPECT_EQ(trace.jobs.size(), 3U);
  EXPECT_EQ(left_out(trace), "contradiction:3,6");
  EXPECT_EQ(trace.left_out[0].first.message, "gpu_time is 660.0 but duration x num_gpus 66");
}

TEST(DirtyRows, DatesOfAmbiguousHoursAreCounted) {
  const JobTrace trace = read_philly(text("timestamp,duration,num_gpus\n2017-11-05 01:30:00,5,1\n2017-11-05 02:30:00,5,1\n"));
  EXPECT_EQ(trace.notes(), (std::vector<std::string>{
                               "2 dates name no time zone and are taken as America/Los_Angeles",
                               "1 date falls into an hour that passes twice in America/Los_Angeles: taken as its first pass"}));
  // From 1:30 of daylight saving time to 2:30 of standard time: two hours.
  EXPECT_EQ(trace.jobs[1].submit, Duration::s(7200));
}

TEST(DirtyRows, DatesOfRowsLeftOutAreNotCounted) {
  // They were: the run said that four dates were taken so, and two of the ambiguous hour, of which
  // only one had become a job. Left out are a row without GPUs, a job of the same name, and one
  // years away.
  const std::string header = "job_id,gpu_num,submit_time,duration\n";
  JobTraceOptions options;
  options.time_zone = "America/Los_Angeles";
  const JobTrace trace = read_helios(text(header +                          //
                                          "a,1,2017-11-05 01:30:00,5\n"     //
                                          "b,1,2017-11-05 01:40:00,none\n"  //
                                          "a,1,2017-11-05 01:50:00,5\n"     //
                                          "c,1,2017-11-05 03:00:00,5\n"     //
                                          "d,1,2007-11-04 01:50:00,5\n"),
                                     options);
  EXPECT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.notes().back(), "1 date falls into an hour that passes twice in America/Los_Angeles: taken as its first pass");
}

TEST(Helios, JobsRunIntoTheSecondPassOfAnHour) {
  // The end was taken as the first pass whatever the start, and the job left out as
  // [end-before-start]. Clocks in Los Angeles showed 1:00 to 2:00 twice: job a runs for 11 s, b
  // waits for 21 s and runs for 10 s.
  JobTraceOptions options;
  options.time_zone = "America/Los_Angeles";
  const JobTrace trace = read_helios(
      text(helios_header + helios_row("a", "1", "COMPLETED", "2017-11-05 01:59:50,2017-11-05 01:59:59,2017-11-05 01:00:10,11,9") +
           helios_row("b", "1", "COMPLETED", "2017-11-05 01:59:55,2017-11-05 01:00:16,2017-11-05 01:00:26,10,21")),
      options);
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].run, Duration::s(11));
  EXPECT_EQ(trace.jobs[1].run, Duration::s(10));
  EXPECT_EQ(trace.jobs[1].real->wait, Duration::s(21));
  EXPECT_EQ(
      trace.notes(),
      (std::vector<std::string>{
          "3 dates fall into an hour that passes twice in America/Los_Angeles: taken as its first pass",
          "3 dates fall into an hour that passes twice in America/Los_Angeles: taken as its second pass, since the first lies "
          "before what it follows"}));
}

std::string gavel_line(const std::string& type, const std::string& steps, const std::string& scale, const std::string& arrival) {
  return type + "\tpython3 main.py %s\timage\t--steps\t1\t" + steps + "\t" + scale + "\t1\t-1.000000\t" + arrival + "\n";
}

class Gavel : public testing::Test {
 protected:
  JobTraceOptions with_table(const std::string& gpu_type) const {
    JobTraceOptions options;
    options.throughputs_path = folder_.write(
        "t.json",
        R"json({"v100": {"('LM (batch size 5)', 1)": {"null": 4.0, "('X', 1)": [1, 2]}, "('LM (batch size 5)', 2)": {"null": 5},
                         "('A3C', 1)": {"null": 0.0}}})json");
    options.gpu_type = gpu_type;
    return options;
  }
  TemporaryFolder folder_;
};

TEST_F(Gavel, RunTimesAreStepsOverThroughput) {
  const JobTrace trace =
      read_gavel(text(gavel_line("LM (batch size 5)", "1000", "1", "536.5") + gavel_line("LM (batch size 5)", "1000", "2", "0")),
                 with_table("v100"));
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_TRUE(trace.has_run_times);
  EXPECT_EQ(trace.jobs[0].name, "job2");
  EXPECT_EQ(trace.jobs[0].gpus, 2U);
  EXPECT_EQ(trace.jobs[0].run, Duration::s(200));  // 1000 / 5
  EXPECT_EQ(trace.jobs[0].iterations, 1000U);
  EXPECT_EQ(trace.jobs[0].model, "LM (batch size 5)");
  EXPECT_EQ(trace.jobs[1].submit, Duration::ms(536'500));
  EXPECT_EQ(trace.jobs[1].run, Duration::s(250));  // 1000 / 4
}

// Such jobs always took the throughput of GPUs on one host, while a rule on the same table went by
// the placement.
TEST_F(Gavel, RunTimesFollowThePlacement) {
  JobTraceOptions options = with_table("v100");
  options.throughputs_path = folder_.write("spread.json", R"json({"v100": {"('LM', 2)": {"null": 5}, "('LM', 4)": {"null": 10},
      "('A3C', 2)": {"null": 5}}, "v100_unconsolidated": {"('LM', 2)": {"null": 2}, "('A3C', 2)": {"null": 0}}})json");
  const JobTrace trace = read_gavel(
      text(gavel_line("LM", "1000", "2", "0") + gavel_line("LM", "1000", "4", "1") + gavel_line("A3C", "1000", "2", "2")), options);
  ASSERT_EQ(trace.jobs.size(), 2U);
  // The steps were underlined, though the job type is at fault: the three letters at the beginning
  // of the line.
  ASSERT_EQ(trace.left_out.size(), 1U);
  EXPECT_EQ(trace.left_out[0].first.place.column, 1);
  EXPECT_EQ(trace.left_out[0].first.place.length, 3);
  const std::vector<std::uint32_t> one_host = {2};
  const std::vector<std::uint32_t> two_hosts = {1, 1};
  EXPECT_EQ(trace.jobs[0].run, Duration::s(200));  // 1000 / 5
  EXPECT_EQ(trace.jobs[0].iteration_times->of(one_host), Duration::ms(200));
  EXPECT_EQ(trace.jobs[0].iteration_times->of(two_hosts), Duration::ms(500));
  EXPECT_EQ(
      trace.notes(),
      (std::vector<std::string>{
          "1 row left out [does-not-run], line 3: \"A3C\" does not run on v100 with its GPUs on several hosts: its throughput is 0",
          "run times are steps over the throughput measured on v100, the GPUs to themselves and, until a run places them, on one "
          "host",
          "1 job of several GPUs: a run that places it on several hosts takes the throughput of v100_unconsolidated",
          "1 job of several GPUs: not measured on several hosts, where it takes as long as on one"}));
}

TEST_F(Gavel, ReadsLinesWithoutDirectory) {
  const JobTrace trace = read_gavel(text("A3C\tpython3 main.py\t--steps\t0\t77\t4\t1\t-1\t3\n"));
  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].iterations, 77U);
  EXPECT_EQ(trace.jobs[0].gpus, 4U);
  EXPECT_FALSE(trace.has_run_times);
}

TEST_F(Gavel, LeavesOutWhatDoesNotRun) {
  const JobTrace trace =
      read_gavel(text(gavel_line("LM (batch size 5)", "8", "1", "0") + gavel_line("A3C", "8", "1", "0") +
                      gavel_line("LM (batch size 5)", "8", "0", "0") + gavel_line("LM (batch size 5)", "0", "1", "0") +
                      gavel_line("LM (batch size 5)", "8", "1", "x") + "cut\toff\n"),
                 with_table("v100"));
  EXPECT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(left_out(trace), "does-not-run:2 no-gpus:3 bad-value:4 bad-value:5 wrong-field-count:6");
}

// A job type that the table lacks ended the reading, one with a throughput of 0 did not.
TEST_F(Gavel, LeavesOutWhatTheTableLacks) {
  const JobTrace trace = read_gavel(text(gavel_line("LM (batch size 5)", "8", "1", "0") + gavel_line("Foo", "8", "1", "0") +
                                         gavel_line("LM (batch size 5)", "8.0", "4", "1700000000")),
                                    with_table("v100"));
  EXPECT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(left_out(trace), "unknown-job-type:2 unknown-job-type:3");
}

TEST_F(Gavel, UnknownTypesHaveASuggestion) {
  const std::string errors = errors_of([&] {
    read_gavel(text(gavel_line("LM (batch size 50)", "8", "1", "0") + gavel_line("LM (batch size 5)", "8", "4", "0")),
               with_table("v100"));
  });
  EXPECT_HAS(errors, "jobs.csv:1:1: error: ");
  EXPECT_HAS(errors, "has no job type \"LM (batch size 50)\" on v100 [unknown-job-type]");
  EXPECT_HAS(errors, "did you mean \"LM (batch size 5)\"?");
  EXPECT_HAS(errors, "\"LM (batch size 5)\" not with a scale factor of 4 on v100 [unknown-job-type]");
  EXPECT_HAS(errors, "it was measured with 1, 2");
  const std::string gpu = errors_of([&] { read_gavel(text(gavel_line("A3C", "8", "1", "0")), with_table("v10")); });
  EXPECT_HAS(gpu, "has no GPU type \"v10\" [unknown-gpu-type]");
  EXPECT_HAS(gpu, "did you mean \"v100\"?");
}

TEST_F(Gavel, DamagedTablesAreErrors) {
  const auto table_errors = [&](const std::string& content) {
    JobTraceOptions options = with_table("v100");
    options.throughputs_path = folder_.write("damaged.json", content);
    return errors_of([&] { read_gavel(text(gavel_line("A3C", "8", "1", "0")), options); });
  };
  EXPECT_HAS(table_errors("{\"v100\": {"), "damaged.json:1:10: error: this is no JSON [bad-json]");
  EXPECT_HAS(table_errors("[]"), "the table of throughputs is no object of GPU types [bad-value]");
  EXPECT_HAS(table_errors("{\"v100\": 5}"), "damaged.json:1:2: error: GPU type \"v100\" is no object of job types [bad-value]");
  EXPECT_HAS(table_errors("{\"v100\": {\"A3C\": {\"null\": 5}}}"), "\"A3C\" is no job type with its number of GPUs [bad-value]");
  EXPECT_HAS(table_errors("{\"v100\": {\"('A3C', 1)\": {\"null\": -5}}}"),
             "\"('A3C', 1)\" has no throughput of its own [bad-value]");
  EXPECT_HAS(table_errors("{\"v100\": {\"('A3C', 1)\": {}}}"), "has no throughput of its own [bad-value]");
}

TEST(JobTraceOptions, OnlyFormatsThatReadThem) {
  const TemporaryFolder folder;
  const std::string path = folder.write("j.csv", "job,submit_s,gpus,run_s\na,0,1,1\n");
  JobTraceOptions options;
  options.time_zone = "UTC";
  EXPECT_HAS(errors_of([&] { load_job_trace(path, "weft", options); }),
             "j.csv: error: --time-zone says nothing about a job trace of format weft [unused-flag]");
  EXPECT_HAS(errors_of([&] { load_job_trace(path, "weft", options); }), "formats that read it: philly, helios, acme");
  options = {};
  options.gpu_type = "v100";
  EXPECT_HAS(errors_of([&] { load_job_trace(path, "gavel", options); }), "add --throughputs=FILE");
}

TEST(ForeignTraces, DamagedTablesAreReadOrRefused) {
  std::mt19937_64 random(5);
  const std::string acme =
      "job_id,user,gpu_num,type,state,submit_time,start_time,end_time,duration\n"
      "a,u,1,T,FAILED,2023-03-01 08:00:30+08:00,2023-03-01 08:00:31+08:00,2023-03-01 08:00:32+08:00,1\n";
  const std::string openb = openb_header + "p0,1000,1,1,250,,LS,Succeeded,100,3710,110\n";
  const std::string gavel = gavel_line("A3C", "8", "1", "0.5");
  using Read = JobTrace (*)(const SourceText&, const JobTraceOptions&);
  int refused = 0;
  int refused_if_strict = 0;
  for (int round = 0; round < 3000; ++round) {
    for (const std::pair<std::string, Read>& trace :
         {std::pair<std::string, Read>(dirty_helios, read_helios), std::pair<std::string, Read>(acme, read_acme),
          std::pair<std::string, Read>(openb, read_openb), std::pair<std::string, Read>(gavel, read_gavel)}) {
      std::string damaged = trace.first;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      JobTraceOptions options;
      options.strict = round % 2 == 0;
      if (!errors_of([&] { trace.second(text(damaged), options); }).empty()) ++(options.strict ? refused_if_strict : refused);
    }
  }
  EXPECT_EQ(refused, 4137) << "of 6000";
  EXPECT_EQ(refused_if_strict, 4924) << "of 6000, of which dirty_helios is refused always";
}

class RealTraces : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_path("traces"))) GTEST_SKIP() << "the folder of real data is not there";
  }
};

// Figures of the data's description: mean JCT 249,140.2 s (SRTF) and 336,533.2 s (Tiresias),
// makespan 4,156,633 s and 3,959,797 s.
TEST_F(RealTraces, MuriResultsAddUp) {
  struct Expected {
    const char* file;
    double mean_jct_s;
    double makespan_s;
  };
  for (const Expected& expected : {Expected{"SRTF", 249'140.2, 4'156'633}, Expected{"tiresias", 336'533.2, 3'959'797}}) {
    const JobTrace trace =
        load_job_trace(data_path("traces/muri/result_" + std::string(expected.file) + "_job.csv"), "muri-result");
    ASSERT_EQ(trace.jobs.size(), 400U);
    EXPECT_EQ(trace.left_out_rows, 0U);
    double jct_s = 0;
    double end_s = 0;
    for (const TraceJob& job : trace.jobs) {
      jct_s += job.real->completion.in_s();
      end_s = std::max(end_s, (job.submit + job.real->completion).in_s());
    }
    EXPECT_NEAR(jct_s / 400, expected.mean_jct_s, 0.05);
    EXPECT_NEAR(end_s, expected.makespan_s, 0.5);
  }
}

// Every list is read whole; on K80, whose table says 0 for ResNet-50 with batch size 128, those
// jobs are left out.
TEST_F(RealTraces, GavelListsAreRead) {
  struct Expected {
    const char* file;
    std::size_t jobs;
    std::uint64_t left_out_on_k80;
  };
  for (const Expected& expected :
       {Expected{"artifact_evaluation", 15, 0}, Expected{"highmem_test", 8, 1}, Expected{"max_min_fairness", 96, 8},
        Expected{"medium_test", 20, 1}, Expected{"minimize_makespan", 100, 3}, Expected{"small_test", 20, 0}}) {
    const std::string path = data_path("traces/gavel/" + std::string(expected.file) + ".trace");
    JobTraceOptions options;
    options.throughputs_path = data_path("traces/gavel/physical_cluster_throughputs.json.gz");
    for (const char* gpu_type : {"v100", "p100", "k80"}) {
      options.gpu_type = gpu_type;
      const JobTrace trace = load_job_trace(path, "gavel", options);
      const std::uint64_t left_out_rows = options.gpu_type == "k80" ? expected.left_out_on_k80 : 0;
      EXPECT_EQ(trace.left_out_rows, left_out_rows) << path << " on " << gpu_type;
      EXPECT_EQ(trace.jobs.size() + left_out_rows, expected.jobs) << path;
    }
  }
  // The first line of artifact_evaluation: 2,931 steps of ResNet-50 (batch size 64) at 4.525762
  // steps/s.
  JobTraceOptions options;
  options.throughputs_path = data_path("traces/gavel/physical_cluster_throughputs.json.gz");
  options.gpu_type = "v100";
  EXPECT_NEAR(load_job_trace(data_path("traces/gavel/artifact_evaluation.trace"), "gavel", options).jobs[0].run.in_s(),
              2931 / 4.525762, 1e-3);
}

}  // namespace
}  // namespace weft::foreign_traces_test
