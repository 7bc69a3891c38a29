// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/formats/hpcc/hpcc_flows.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"
#include "workloads/job_traces/muri.hpp"
#include "workloads/job_traces/philly.hpp"
#include "workloads/job_traces/weft_csv.hpp"

namespace weft::job_trace_test {
namespace {

SourceText text(const std::string& content) { return SourceText("jobs.csv", content); }
std::string weft_errors(const std::string& content) {
  return errors_of([&] { read_weft_csv(text(content)); });
}

double gpu_hours(const JobTrace& trace) {
  double total = 0;
  for (const TraceJob& job : trace.jobs) total += job.run.in_s() * job.gpus / 3600;
  return total;
}

TEST(WeftCsv, ReadsColumnsInAnyOrder) {
  const JobTrace trace =
      read_weft_csv(text("gpus,job,run_s,submit_s,priority,group\r\n8,b,1.5,20,-1,g\r\n\r\n16,a,7200,10,2,\r\n"));
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.name, "jobs.csv");
  EXPECT_EQ(trace.jobs[0].name, "a");  // submitted first
  EXPECT_EQ(trace.jobs[0].submit, Duration::zero());
  EXPECT_EQ(trace.jobs[0].line, 4);
  EXPECT_EQ(trace.jobs[0].iterations, 0U);
  EXPECT_EQ(trace.jobs[1].submit, Duration::s(10));
  EXPECT_EQ(trace.jobs[1].run, Duration::ms(1500));
  EXPECT_EQ(trace.jobs[1].group, "g");
  EXPECT_EQ(trace.jobs[1].priority, -1);
  EXPECT_EQ(trace.origin_of_time, "10s on the clock of the trace");
}

TEST(WeftCsv, KeepsLineOrderAmongEqualSubmissions) {
  const JobTrace trace = read_weft_csv(text("job,submit_s,gpus,run_s\nz,0,1,1\ny,0,1,1\nx,0,1,1\n"));
  EXPECT_EQ(trace.jobs[0].name, "z");
  EXPECT_EQ(trace.jobs[2].name, "x");
}

TEST(WeftCsv, FaultsHaveTheirPlace) {
  EXPECT_HAS(weft_errors(""), "[empty-file]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\n"), "[no-jobs]");
  const std::string missing = weft_errors("job,submit,gpus,run_s\na,1,1,1\n");
  EXPECT_HAS(missing, "jobs.csv:1: error: the table has no column \"submit_s\" [missing-column]");
  EXPECT_HAS(missing, "help: is it the one called \"submit\"?");
  EXPECT_HAS(missing, "jobs.csv:1:5: error: there is no column \"submit\" [unknown-column]");
  EXPECT_HAS(weft_errors("job,job,submit_s,gpus,run_s\n"), "jobs.csv:1:5: error: column \"job\" stands twice [duplicate-column]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,1,1\n"),
             "jobs.csv:2: error: this row has 3 fields, the header 4 [wrong-field-count]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,-1,1,1\n"), "jobs.csv:2:3: error: submit_s is negative [negative-duration]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,1,1,5us\n"),
             "jobs.csv:2:7: error: run_s is no number of s: \"5us\" [bad-value]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,1,0,5\n"), "jobs.csv:2:5: error: gpus is 0 [out-of-range]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,1,1.5,5\n"), "gpus is no whole number: \"1.5\" [bad-value]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,1,99999999999999999999,5\n"), "[out-of-range]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,1,1,1e300\n"), "run_s");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,1,1,40000000\n"), "run_s is more than a year [out-of-range]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,,1,1\n"), "submit_s is no number of s: \"\" [bad-value]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,nan,1,1\n"), "[bad-value]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,1,1,1\na,1,1,1\n"), "it is defined at line 2 already");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\n,1,1,1\n"), "this job has no name");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s,priority\na,1,1,1,high\n"), "priority is no integer: \"high\"");
  EXPECT_HAS(weft_errors("job,submit_s\xFF\n"), "[not-utf8]");
}

// A column "submit_s" of epoch times was "no number of s": they are beyond a Duration, which only
// differences have to fit.
TEST(WeftCsv, SubmissionsMayBeEpochTimes) {
  const JobTrace trace = read_weft_csv(text("job,submit_s,gpus,run_s\na,1700000060.5,1,5\nb,1700000000,1,5\nc,1700000030,1.0,5\n"));
  ASSERT_EQ(trace.jobs.size(), 3U);
  EXPECT_EQ(trace.jobs[0].name, "b");
  EXPECT_EQ(trace.jobs[1].submit, Duration::s(30));
  EXPECT_EQ(trace.jobs[2].submit, Duration::ms(60'500));
  EXPECT_EQ(trace.origin_of_time, "1700000000s on the clock of the trace");
  EXPECT_EQ(read_weft_csv(text("job,submit_s,gpus,run_s\na,40000000,1,5\nb,40000060,1,5\n")).jobs[1].submit, Duration::s(60));
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,100000000,1,5\nb,1,1,5\n"),
             "jobs.csv:2: error: this job was submitted more than a year after the first [out-of-range]");
}

// Every row beyond the year was an error of its own, 20 of them shown: what was wrong with the file
// as a whole had to be guessed.
TEST(WeftCsv, RowsBeyondAYearAreOneError) {
  std::string table = "job,submit_s,gpus,run_s\n";
  for (int day = 0; day < 400; ++day) table += fmt::format("j{},{},1,5\n", day, day * 86400);
  const std::string late = weft_errors(table);
  // Days 0 to 365 are within a year of the first; day d stands at line d + 2.
  EXPECT_EQ(
      late,
      "jobs.csv:368: error: 34 of 400 jobs were submitted more than a year after the first: the first at line 368, the last at "
      "line 401 [out-of-range]\n"
      "  368 | j366,31622400,1,5\n"
      "  help: cut the trace into parts of a year at most, each a file of its own\n");
  table = "job,submit_s,gpus,run_s\n";
  for (int job = 0; job < 9; ++job) table += fmt::format("j{},{},1,5\n", job, job % 4 == 1 ? 0 : 1'700'000'000);
  EXPECT_HAS(weft_errors(table),
             "jobs.csv:3: error: 2 of 9 jobs were submitted more than a year from the median job: the first at line 3, the last at "
             "line 7 [out-of-range]");
}

TEST(WeftCsv, OptionalFieldsMayBeEmpty) {
  const JobTrace trace = read_weft_csv(text("job,submit_s,gpus,run_s,iterations,priority\na,0,1,5,,\nb,0,1,5,7.0,-1\n"));
  EXPECT_EQ(trace.jobs[0].iterations, 0U);
  EXPECT_EQ(trace.jobs[0].priority, 0);
  EXPECT_EQ(trace.jobs[1].iterations, 7U);
}

// Fields were cut at every comma, whatever stood around it.
TEST(Csv, FieldsMayBeQuoted) {
  const JobTrace trace =
      read_weft_csv(text("\"job\",\"submit_s\",gpus,run_s,group\r\n\"a,b\",0, \"2\" ,5,\"say "
                         "\"\"hi\"\"\"\r\n\"two\r\nlines\",1,1,5,\"\"\r\nc,2,1,5,g\r\n"));
  ASSERT_EQ(trace.jobs.size(), 3U);
  EXPECT_EQ(trace.jobs[0].name, "a,b");
  EXPECT_EQ(trace.jobs[0].gpus, 2U);
  EXPECT_EQ(trace.jobs[0].group, "say \"hi\"");
  EXPECT_EQ(trace.jobs[1].name, "two\r\nlines");
  EXPECT_EQ(trace.jobs[1].line, 3);
  EXPECT_EQ(trace.jobs[2].line, 5);
}

TEST(Csv, WrongQuotesCostOneRow) {
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\n\"a,0,1,5\nb,0,1,5\n"),
             "jobs.csv:2:1: error: this quote is not closed [bad-quotes]");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\n\"a\"x,0,1,5\n"),
             "jobs.csv:2:1: error: something follows this quoted field [bad-quotes]");
  EXPECT_HAS(weft_errors("job,\"submit_s,gpus,run_s\n"), "jobs.csv:1:5: error: this quote is not closed [bad-quotes]");
  // The place of a quoted field has its quotes; of one that begins on a later line it is the row.
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\na,0,\"x\",5\n"), "    2 | a,0,\"x\",5\n      |     ^~~");
  EXPECT_HAS(weft_errors("job,submit_s,gpus,run_s\n\"a\nb\",0,x,5\n"), "jobs.csv:2: error: gpus is no whole number");
  // Two stray quotes, three rows apart, took the rows between them along.
  const JobTrace trace = read_philly(text(
      "timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,5,1,a\n2017-10-09 07:01:55,5,1,\"b\n2017-10-09 07:01:55,5,1,c\n"
      "2017-10-09 07:01:55,5,1,\"d\n2017-10-09 07:01:55,5,1,e\n"));
  EXPECT_EQ(trace.jobs.size(), 3U);
  EXPECT_EQ(trace.left_out_rows, 2U);
}

TEST(WeftCsv, ReportsManyErrorsTogether) {
  const std::string errors = weft_errors("job,submit_s,gpus,run_s\na,x,y,z\nb,1,2\n");
  for (const char* part : {"jobs.csv:2:3:", "jobs.csv:2:5:", "jobs.csv:2:7:", "jobs.csv:3:"}) EXPECT_HAS(errors, part);
}

TEST(WeftCsv, DamagedTablesAreReadOrRefused) {
  std::mt19937_64 random(5);
  const std::string table = "job,submit_s,gpus,run_s,iterations,group,priority\na,1,2,3.5,4,g,5\nb,2,3,4.5,5,,-6\n";
  ASSERT_EQ(weft_errors(table), "");
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = table;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (!weft_errors(damaged).empty()) ++refused;
  }
  // Most changes hit the header, or set a byte that is no UTF-8 or no digit.
  EXPECT_EQ(refused, 2911) << "of 3000";
}

TEST(Philly, SortsLocalTimestamps) {
  const JobTrace trace = read_philly(
      text("timestamp,duration,num_gpus,gpu_time,cluster\n2016-03-01 00:00:01,2.5,4,10,v1\n2016-02-28 23:59:59,1,1,1,v2\n"));
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].name, "job2");
  EXPECT_EQ(trace.jobs[0].group, "v2");
  // 2016 is a leap year: one second to midnight, the 29th of February, and one second.
  EXPECT_EQ(trace.jobs[1].submit, Duration::s(1 + 86'400 + 1));
  EXPECT_EQ(trace.jobs[1].run, Duration::ms(2500));
  // Pacific standard time is 8 h behind UTC.
  EXPECT_EQ(trace.origin_of_time, "2016-02-29 07:59:59 UTC");
}

TEST(Philly, RefusesImpossibleDates) {
  for (const char* date :
       {"2017-02-29 00:00:00", "2017-13-01 00:00:00", "2017-01-01 24:00:00", "2017-01-01T00:00:0", "yesterday", ""}) {
    const std::string errors =
        errors_of([&] { read_philly(text(std::string("timestamp,duration,num_gpus\n") + date + ",1,1\n")); });
    EXPECT_HAS(errors, "jobs.csv:2:1: error: timestamp is no date and time");
  }
  EXPECT_HAS(
      errors_of([] { read_philly(text("timestamp,duration,num_gpus\n2015-01-01 00:00:00,1,1\n2017-01-01 00:00:00,1,1\n")); }),
      "jobs.csv:3: error: this job was submitted more than a year after the first");
}

TEST(Muri, ReadsMilliseconds) {
  const JobTrace trace =
      read_muri(text("job_id,num_gpu,submit_time,iterations,model_name,duration,priority\n7,8,1534000,1463,vgg16,281500,1\n"));
  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].run, Duration::ms(281'500));
  EXPECT_EQ(trace.jobs[0].iterations, 1463U);
  EXPECT_EQ(trace.jobs[0].priority, 1);
  EXPECT_EQ(trace.origin_of_time, "1534s on the clock of the trace");
}

TEST(Muri, GoesByMeasuredIterationsWhereTheyAreGiven) {
  const std::string header = "job_id,num_gpu,submit_time,iterations,duration,iteration_time\n";
  const JobTrace trace = read_muri(text(header + "0,8,0,10956,5095000,437\n1,1,0,0,7000,437\n2,1,0,5,7000,\n"));
  ASSERT_EQ(trace.jobs.size(), 3U);
  EXPECT_EQ(trace.jobs[0].run, Duration::ms(10'956 * 437));
  EXPECT_EQ(trace.jobs[1].run, Duration::s(7)) << "no iterations";
  EXPECT_EQ(trace.jobs[2].run, Duration::s(7)) << "no time";
  EXPECT_EQ(trace.assumptions,
            std::vector<std::string>{"run times are iterations x iteration_time, not duration, of jobs that have both"});
  // A year is 31,536,000 s.
  EXPECT_EQ(read_muri(text(header + "0,8,0,31536000,1,1000\n")).jobs[0].run, Duration::s(31'536'000));
  JobTraceOptions strict;
  strict.strict = true;
  EXPECT_HAS(errors_of([&] { read_muri(text(header + "0,8,0,31536001,1,1000\n"), strict); }),
             "jobs.csv:2:18: error: this job runs for more than a year [out-of-range]");
}

TEST(JobTraceReader, KnowsItsFormats) {
  EXPECT_EQ(job_trace_formats().size(), 11U);
  const TemporaryFolder folder;
  const std::string path = folder.write("j.csv", "job,submit_s,gpus,run_s\na,0,1,1\n");
  EXPECT_EQ(load_job_trace(path, "").jobs.size(), 1U);
  EXPECT_HAS(errors_of([&] { load_job_trace(path, "philli"); }), "there is no job-trace format \"philli\" [unknown-format]");
  EXPECT_HAS(errors_of([&] { load_job_trace(path, "philli"); }), "did you mean \"philly\"?");
}

class RealJobs : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_path("traces"))) GTEST_SKIP() << "the folder of real data is not there";
  }
};

// Figures of the data's description: 82,247 jobs, first submission 2017-09-04 10:30:41, last
// 2017-12-22 08:02:11, mean duration 13,135.93 s, mean GPUs 1.3038, 978,078.47 GPU-h.
TEST_F(RealJobs, PhillyAddsUp) {
  const JobTrace trace = load_job_trace(data_path("traces/philly/philly_82247jobs.csv.gz"), "philly");
  ASSERT_EQ(trace.jobs.size(), 82'247U);
  EXPECT_EQ(trace.origin_of_time, "2017-09-04 17:30:41 UTC");  // 10:30:41 of Pacific daylight time
  // 4 September 10:30:41 to 22 December 08:02:11: 109 days less 2 h 28 min 30 s, and the hour that
  // passed twice on 5 November.
  EXPECT_EQ(trace.jobs.back().submit, Duration::s(109 * 86'400 - (2 * 3600 + 28 * 60 + 30) + 3600));
  double seconds = 0;
  double gpus = 0;
  for (const TraceJob& job : trace.jobs) {
    seconds += job.run.in_s();
    gpus += job.gpus;
  }
  EXPECT_NEAR(seconds / 82'247, 13'135.93, 0.005);
  EXPECT_NEAR(gpus / 82'247, 1.3038, 0.00005);
  EXPECT_NEAR(gpu_hours(trace), 978'078.47, 0.01);
}

TEST_F(RealJobs, MuriAddsUp) {
  const JobTrace trace = load_job_trace(data_path("traces/muri/cluster_trace.csv"), "muri");
  EXPECT_EQ(trace.jobs.size(), 400U);
  // By the column of durations 61,343.6; the jobs took their iterations.
  EXPECT_NEAR(gpu_hours(trace), 65'986.13, 0.005);
  EXPECT_EQ(load_job_trace(data_path("traces/muri/trace1.csv.gz"), "muri").jobs.size(), 1494U);
  EXPECT_EQ(load_job_trace(data_path("traces/muri/trace2.csv.gz"), "muri").jobs.size(), 5755U);
  EXPECT_EQ(load_job_trace(data_path("traces/muri/trace4.csv.gz"), "muri").jobs.size(), 2638U);
}

SourceText flows(const std::string& content) { return SourceText("flow.txt", content); }
std::string flow_errors(const std::string& content) {
  return errors_of([&] { import_hpcc_flows(flows(content)); });
}

TEST(HpccFlows, ReadsFlows) {
  const FlowList list = import_hpcc_flows(flows("2\n0 1 3 100 1000000 2.0\n\n12\t7 3 101 5 2.000001\r\n"));
  ASSERT_EQ(list.flows.size(), 2U);
  EXPECT_EQ(list.flows[0].size, Bytes::of(1'000'000));
  EXPECT_EQ(list.flows[0].start, Duration::s(2));
  EXPECT_EQ(list.flows[1].source, 12U);
  EXPECT_EQ(list.flows[1].destination, 7U);
  EXPECT_EQ(list.flows[1].priority, 0U);
  EXPECT_EQ(list.flows[1].destination_port, 101U);
  EXPECT_EQ(list.flows[1].start, Duration::s(2) + Duration::us(1));
  EXPECT_EQ(list.flows[1].line, 4);
}

// Group 0 of a port goes before the others, which take turns.
TEST(HpccFlows, GroupZeroGoesFirst) {
  const FlowList list = import_hpcc_flows(flows("3\n0 1 0 100 5 2.0\n0 1 1 100 5 2.0\n0 1 7 100 5 2.0\n"));
  EXPECT_EQ(list.flows[0].priority, 1U);
  EXPECT_EQ(list.flows[1].priority, 0U);
  EXPECT_EQ(list.flows[2].priority, 0U);
  EXPECT_HAS(flow_errors("1\n0 1 8 100 5 2.0\n"), "flow.txt:2:5: error: the priority is 8 [out-of-range]");
}

TEST(HpccFlows, FaultsHaveTheirPlace) {
  EXPECT_HAS(flow_errors("536870913\n"), "the number of flows is 536870913 [out-of-range]");
  EXPECT_HAS(flow_errors(""), "[empty-file]");
  EXPECT_HAS(flow_errors("0 1 3 100 5 2.0\n"), "the first line is not the number of flows [bad-count]");
  EXPECT_HAS(flow_errors("many\n"), "[bad-value]");
  EXPECT_HAS(flow_errors("2\n0 1 3 100 5 2.0\n"), "2 flows are announced, 1 is listed [count-mismatch]");
  EXPECT_HAS(flow_errors("1\n0 1 3 100 5 2.0\n0 1 3 100 5 2.0\n"), "1 flow is announced, 2 are listed [count-mismatch]");
  EXPECT_HAS(flow_errors("1\n0 1 3 5 2.0\n"), "flow.txt:2: error: this flow has 5 fields, 6 are needed [wrong-field-count]");
  EXPECT_HAS(flow_errors("1\n0 x 3 100 5 2.0\n"), "flow.txt:2:3: error: the destination is no whole number: \"x\" [bad-value]");
  EXPECT_HAS(flow_errors("1\n0 1 3 100 -5 2.0\n"), "flow.txt:2:11: error: the size is no whole number");
  EXPECT_HAS(flow_errors("1\n0 1 3 100 99999999999999999999 2.0\n"), "[out-of-range]");
  EXPECT_HAS(flow_errors("1\n0 1 3 100 5 -2.0\n"), "flow.txt:2:13: error: the start of this flow is negative [negative-duration]");
  EXPECT_HAS(flow_errors("1\n0 1 3 100 5 2.0s\n"), "the start is no number of seconds");
  EXPECT_HAS(flow_errors("1\n4 4 3 100 5 2.0\n"), "this flow goes from node 4 to itself [self-flow]");
}

}  // namespace
}  // namespace weft::job_trace_test
