// SPDX-License-Identifier: Apache-2.0
// Reports: what stands in a folder is what the page says of it, reduced and with nothing invented.
#include "tools/report/report_page.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/text/diagnostics.hpp"
#include "tests/error_code.hpp"
#include "tests/tools/weft/weft_process.hpp"

namespace weft::report_page_test {
namespace {

using Json = nlohmann::json;

const std::string attempts_header = "job,attempt,start_s,end_s,reason,gpus,hosts\n";
const std::string cluster_header =
    "time_s,running_jobs,waiting_jobs,waiting_gpus,busy_gpus,free_gpus,stranded_gpus,fragmented_gpus,gpus_out,draining_gpus\n";
const std::string flows_header =
    "flow_id,job,src,dst,size_bytes,start_ns,end_ns,fct_ns,ideal_fct_ns,slowdown,multiplicity,collective,"
    "fct_p50_ns,fct_p90_ns,fct_p99_ns,fct_max_ns\n";
const std::string links_header = "link,src,dst,rate_bps,bytes,mean_utilization,peak_queue_bytes,ecn_marks,pause_ns,drops,tier\n";

class Reports : public testing::Test {
 protected:
  Reports() {
    std::filesystem::create_directory(folder_ / "run");
    write("summary.json", R"({"name": "a run", "mode": "flow", "jobs_total": 2, "jobs_finished": 1, "gpus": 16, "makespan_s": 4,
      "gpu_utilization": 0.5, "gpu_time_s": 32, "mean_jct_s": 3, "notes": ["slots held sends up"], "fingerprint": "f00d"})");
    write("manifest.json",
          R"({"seed": 7, "assumptions": ["GPUs were not named"], "inputs": [{"role": "scenario", "path": "a.textproto",
      "size_bytes": 10, "sha256": "abc"}], "parameters": {"flow": {"mtu": {"value": "1500B", "default": "4096B", "origin": "IEEE"},
      "allocation": {"value": "max_min", "default": "max_min", "origin": "paper"}}}})");
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / "run" / name) << text; }
  std::filesystem::path run() const { return folder_ / "run"; }
  Json data() const { return Json::parse(report_data(run())); }

  static Json part(const Json& list, const std::string& id) {
    for (const Json& one : list) {
      if (one["id"] == id) return one;
    }
    return nullptr;
  }
  /// Null if the report has none of this name.
  static Json chart(const Json& report, const std::string& id) {
    for (const Json& section : report["sections"]) {
      if (const Json found = part(section["charts"], id); !found.is_null()) return found;
    }
    return nullptr;
  }
  static Json table(const Json& report, const std::string& id) {
    for (const Json& section : report["sections"]) {
      if (const Json found = part(section["tables"], id); !found.is_null()) return found;
    }
    return nullptr;
  }
  static std::string code_of(const std::filesystem::path& folder) {
    return error_code_of([&] { report_data(folder); });
  }

  TestFolder folder_;
};

TEST_F(Reports, SayWhatARunNotedAndWhatWentIn) {
  const Json report = data();
  EXPECT_EQ(report["title"], "a run");
  EXPECT_EQ(part(report["sections"], "notes")["notes"], (Json{"GPUs were not named", "slots held sends up"}));
  EXPECT_EQ(table(report, "inputs-table")["rows"], (Json{{"scenario", "a.textproto", 10.0, "abc"}}));
  EXPECT_EQ(table(report, "changed-table")["rows"], (Json{{"flow.mtu", "1500B", "4096B", "IEEE"}}));
  EXPECT_EQ(table(report, "parameters-table")["rows"].size(), 1U);
}

TEST_F(Reports, LeaveOutWhatARunHasNot) {
  const Json report = data();
  for (const char* id : {"gantt", "gpu_use", "breakdown", "fct", "topology", "queue"})
    EXPECT_TRUE(chart(report, id).is_null()) << id;
}

TEST_F(Reports, DrawAttemptsByJobAndHowTheyEnded) {
  write("attempts.csv", attempts_header + "b,0,1,2,failed,8,host1\na,0,0,4,ended,8,host0\nb,1,3,4,ended,8,host1\n");
  const Json gantt = chart(data(), "gantt");
  // By first start.
  EXPECT_EQ(gantt["rows"], (Json{"a", "b"}));
  EXPECT_EQ(gantt["states"], (Json{"ended", "failed"}));
  EXPECT_EQ(gantt["bars"], (Json{{0, 0.0, 4.0, 0}, {1, 1.0, 2.0, 1}, {1, 3.0, 4.0, 0}}));
  EXPECT_FALSE(gantt.contains("note"));
}

TEST_F(Reports, DrawEveryKthOfManyJobsAndSaySo) {
  std::string rows;
  for (int i = 0; i < 1000; ++i)
    rows += "job" + std::to_string(i) + ",0," + std::to_string(i) + "," + std::to_string(i + 1) + ",ended,1,h\n";
  write("attempts.csv", attempts_header + rows);
  const Json gantt = chart(data(), "gantt");
  EXPECT_EQ(gantt["rows"].size(), 200U);
  EXPECT_EQ(gantt["rows"][1], "job5");
  EXPECT_EQ(gantt["note"], "200 of 1000 jobs are drawn, every 5th by first start. ");
}

TEST_F(Reports, WeighTheClusterByTime) {
  write("attempts.csv", attempts_header + "a,0,0,4,ended,8,host0\n");
  // 8 of 16 GPUs for a second, 16 for three: 14 on average. 8 stranded for a second of four.
  write("cluster.csv", cluster_header + "0,1,1,16,8,8,8,0,0,0\n1,2,0,0,16,0,0,0,0,0\n");
  const Json report = data();
  EXPECT_EQ(chart(report, "gpu_use")["caption"],
            "Jobs held 14 of 16 GPUs on average. 2 on average were stranded: free while jobs waited.");
  EXPECT_EQ(chart(report, "gpu_use")["series"][0]["values"], (Json{{0.0, 8.0}, {1.0, 16.0}, {4.0, 16.0}}));
  EXPECT_EQ(chart(report, "queue")["caption"], "Up to 1 job waited at a time, 0.25 on average.");
}

TEST_F(Reports, SplitIterationsByCommunicator) {
  write("iterations.csv", "job,iteration,start_s,end_s,duration_s,exposed_comm_s\na,0,0,10,10,4\na,1,10,22,12,4\n");
  // Exposed 4 s of 11 on average; the communicators' 3 + 5 s overlap and share them 3:5.
  write("communicators.csv",
        "job,communicator,groups,group_size_min,group_size_max,exposed_s,exposed_share\na,tp,1,8,8,3,0.3\na,dp,1,8,8,5,0.5\n");
  const Json breakdown = chart(data(), "breakdown");
  EXPECT_EQ(breakdown["series"][0]["values"], Json{7.0});
  EXPECT_EQ(breakdown["series"][1]["name"], "exposed: dp");
  EXPECT_EQ(breakdown["series"][1]["values"], Json{2.5});
  EXPECT_EQ(breakdown["series"][2]["values"], Json{1.5});
  EXPECT_EQ(breakdown["note"], "Where several communicators are exposed at a time, their time is shared out in proportion.");
}

TEST_F(Reports, TakePercentilesOfAllTransfers) {
  std::string rows;
  for (int i = 1; i <= 5000; ++i)
    rows += std::to_string(i) + ",,h0,h1," + std::to_string(1000 * i) + ",0,0," + std::to_string(1000 * i) + ",500,2,1,,,,,\n";
  write("flows.csv", flows_header + rows);
  const Json report = data();
  // 1 us, 2 us, ... 5 ms: half within 2.5 ms.
  EXPECT_EQ(chart(report, "fct")["caption"],
            "Of 5000 transfers half end within 2.5 ms, 90 % within 4.5 ms, 99 % within 4.95 ms; the longest takes 5 ms.");
  EXPECT_LE(chart(report, "fct")["series"][0]["values"].size(), 205U);
  // 1000 .. 5,000,000 bytes lie between 2^9 and 2^23.
  EXPECT_EQ(chart(report, "slowdown")["x"]["categories"].size(), 14U);
  const Json cloud = chart(report, "cloud");
  EXPECT_LE(cloud["series"][0]["values"].size(), 2000U);
  EXPECT_EQ(cloud["note"], "Sampled: every 3th of 5000 rows of flows.csv is drawn, 1667 points.");
}

TEST_F(Reports, TakeClassesByTheirPercentiles) {
  write("flows.csv", flows_header + "0,a,,,1000,0,0,2000,500,4,100,all_reduce,1000,3000,5000,9000\n");
  const Json fct = chart(data(), "fct");
  EXPECT_EQ(fct["caption"], "Of 100 transfers half end within 1 us, 90 % within 3 us, 99 % within 5 us; the longest takes 9 us.");
  EXPECT_NE(fct["note"].get<std::string>().find("classes"), std::string::npos);
}

TEST_F(Reports, DrawBothDirectionsOfACableAsItsBusierOne) {
  write("links.csv", links_header + "host0/nic0->leaf0,host0/nic0,leaf0,1000,5,0.25,0,0,0,0,host->leaf\n" +
                         "leaf0->host0/nic1,leaf0,host0/nic1,1000,5,0.75,0,0,0,0,leaf->host\n" +
                         "host0/gpu0->host0/sw,host0/gpu0,host0/sw,1000,5,0.9,0,0,0,0,host\n");
  const Json topology = chart(data(), "topology");
  EXPECT_EQ(topology["nodes"], Json::parse(R"([["host0", 0], ["leaf0", 1]])"));
  EXPECT_EQ(topology["links"], (Json{{0, 1, 0.75, "leaf0->host0/nic1"}}));
  EXPECT_EQ(table(data(), "links-table")["rows"].size(), 2U);
}

TEST_F(Reports, OfAStudyHaveMeansWithIntervals) {
  const std::filesystem::path study = folder_ / "study";
  std::filesystem::create_directory(study);
  std::ofstream(study / "study.json") << R"({"name": "s", "question": "Which?", "settings": ["m.x", "m.y", "m.moves_with_x"],
    "sampling": "GRID", "axes": [["m.x", "m.moves_with_x"], ["m.y"]],
    "metrics": [{"name": "time_s", "unit": ""}, {"name": "fct_ns", "unit": "ns"}]})";
  std::ofstream(study / "study.csv") << "run,point,replicate,seed,m.x,m.y,m.moves_with_x,time_s,fct_ns,fingerprint,error\n"
                                     << "0,0,0,1,1,a,10,2,1000,f,\n1,0,1,2,1,a,10,4,1000,f,\n"
                                     << "2,1,0,1,2,a,20,5,500,f,\n3,1,1,2,2,a,20,5,500,f,\n"
                                     << "4,2,0,1,1,b,10,7,2000,f,\n5,3,0,1,2,b,20,,,,it broke\n";
  std::filesystem::create_directory(study / "points");
  std::ofstream(study / "points" / "000000.json") << R"({"values": [2], "notes": ["of all", "of one"]})";
  std::ofstream(study / "points" / "000001.json") << R"({"values": [4], "notes": ["of all"]})";
  // A run that the stopping rule did not need.
  std::ofstream(study / "points" / "000006.json") << R"({"values": [9], "notes": ["of none"]})";
  const Json report = Json::parse(report_data(study));
  EXPECT_EQ(report["title"], "Which?");
  const auto notes = std::ranges::find_if(report["sections"], [](const Json& section) { return section["id"] == "notes"; });
  ASSERT_NE(notes, report["sections"].end());
  EXPECT_EQ((*notes)["notes"], (Json{"of all", "of one (in 1 of 2 runs)"}));
  EXPECT_EQ(table(report, "facts-table")["rows"], Json::parse(R"([["name", "s"], ["question", "Which?"], ["sampling", "GRID"]])"));
  EXPECT_EQ(report["warnings"], Json{"1 of 6 runs failed and count in no mean."});
  const Json line = chart(report, "line-0");
  ASSERT_EQ(line["series"].size(), 2U);
  // What moves with x is no axis of its own.
  EXPECT_EQ(line["series"][0]["name"], "m.y a");
  EXPECT_EQ(line["series"][0]["values"], (Json{{1.0, 3.0}, {2.0, 5.0}}));
  // 2 and 4: mean 3, deviation sqrt(2), over sqrt(2) is 1; Student's t of one degree is 12.706.
  EXPECT_NEAR(line["series"][0]["intervals"][0][1].get<double>(), 3 + 12.706, 1e-3);
  EXPECT_TRUE(line["series"][1]["intervals"][0].is_null());
  EXPECT_EQ(chart(report, "heat-0")["cells"], (Json{{0, 0, 3.0}, {0, 1, 7.0}, {1, 0, 5.0}}));
  const Json pareto = chart(report, "pareto");
  // (3 s, 1000 ns) and (5 s, 500 ns) beat nobody in both, and (7 s, 2000 ns) is beaten by both.
  EXPECT_EQ(pareto["series"][0]["values"].size(), 2U);
  EXPECT_EQ(pareto["series"][1]["values"].size(), 1U);
  EXPECT_EQ(pareto["y"]["unit"], "s");
  EXPECT_DOUBLE_EQ(pareto["series"][0]["values"][0][1].get<double>(), 1e-6);
  EXPECT_EQ(table(report, "failures-table")["rows"], Json::parse(R"([["5", "it broke"]])"));
}

// Three axes: the first and the third across, the second down; 10 comes after 9.
TEST_F(Reports, OfAStudyOfManyAxesHaveAMapOfAllPoints) {
  const std::filesystem::path study = folder_ / "study";
  std::filesystem::create_directory(study);
  std::ofstream(study / "study.json") << R"({"name": "s", "settings": ["m.x", "m.y", "m.z"], "sampling": "GRID",
    "axes": [["m.x"], ["m.y"], ["m.z"]],
    "metrics": [{"name": "days", "unit": "d"}, {"name": "winner", "unit": "", "numbering": "0 this, 1 that"}]})";
  std::ofstream table(study / "study.csv");
  table << "run,point,replicate,seed,m.x,m.y,m.z,days,winner,fingerprint,error\n";
  int run = 0;
  for (const int x : {10, 9}) {
    for (const char* y : {"a", "b"}) {
      for (const int z : {1, 2}) {
        table << run << ',' << run << ",0,1," << x << ',' << y << ',' << z << ',' << (run == 3 ? "" : std::to_string(run))
              << ",1,f,\n";
        ++run;
      }
    }
  }
  table.close();
  const Json report = Json::parse(report_data(study));
  const Json map = chart(report, "map-0");
  EXPECT_EQ(map["x"]["name"], "x / z");
  EXPECT_EQ(map["x"]["categories"], (Json{"9 / 1", "9 / 2", "10 / 1", "10 / 2"}));
  EXPECT_EQ(map["y"]["name"], "y");
  EXPECT_EQ(map["y"]["categories"], (Json{"a", "b"}));
  EXPECT_TRUE(chart(report, "map-1")["caption"].get<std::string>().ends_with("0 this, 1 that."));
  // Two modes have no mean over other axes.
  EXPECT_EQ(report.dump().find("\"heat-1\""), std::string::npos);
  EXPECT_NE(report.dump().find("\"heat-0\""), std::string::npos);
  // The fourth point has no value.
  EXPECT_EQ(map["cells"], (Json{{2, 0, 0.0}, {3, 0, 1.0}, {2, 1, 2.0}, {0, 0, 4.0}, {1, 0, 5.0}, {0, 1, 6.0}, {1, 1, 7.0}}));
}

TEST_F(Reports, OfAComparisonHaveItsChanges) {
  const std::filesystem::path folder = folder_ / "compared";
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "comparison.json") << R"({"a": "x", "b": "y", "seeds": 2, "figures_compared": 9, "past_threshold": true,
    "inputs": [{"what": "parameter p", "a": "1", "b": "2"}], "figures": [
    {"name": "small", "a": {"mean": 1}, "b": {"mean": 1.1}, "change": 0.1, "p_value": 0.01, "significant": true},
    {"name": "chance", "a": {"mean": 1}, "b": {"mean": 9}, "change": 8, "p_value": 0.4, "significant": false},
    {"name": "large", "a": {"mean": 2}, "b": {"mean": 1}, "change": -0.5, "p_value": 0.01, "significant": true}]})";
  const Json report = Json::parse(report_data(folder));
  EXPECT_EQ(chart(report, "changes")["categories"], (Json{"large", "small"}));
  EXPECT_EQ(table(report, "figures-table")["rows"][1][5], "may be chance");
  EXPECT_EQ(table(report, "inputs-table")["rows"], (Json{{"parameter p", "1", "2"}}));
}

TEST_F(Reports, RefuseWhatHasNoResultsOrIsUnfinished) {
  EXPECT_EQ(code_of(folder_ / "nowhere"), "no-file");
  EXPECT_EQ(code_of(run() / "summary.json"), "no-results");
  EXPECT_EQ(code_of(folder_.path()), "no-results");
  std::filesystem::remove(run() / "summary.json");
  EXPECT_EQ(code_of(run()), "unfinished-run");
  std::filesystem::rename(run() / "manifest.json", run() / "manifest.json.partial");
  EXPECT_EQ(code_of(run()), "unfinished-run");
  write("study.json", "{}");
  EXPECT_EQ(code_of(run()), "unfinished-run");
  write("study.csv", "run\n");
  write("study.json", "[]");
  EXPECT_EQ(code_of(run()), "bad-results");
}

TEST_F(Reports, TakeAnyTextThatATableHolds) {
  write("attempts.csv", attempts_header + "\"</script><b>,\"\"x\",0,0,1,ended,8,host0\n");
  const Json gantt = chart(data(), "gantt");
  EXPECT_EQ(gantt["rows"], Json{"</script><b>,\"x"});
  if (!has_report_page()) GTEST_SKIP() << "built without the page of reports";
  const std::string page = page_with(report_data(run()));
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cb>"), std::string::npos);
}

TEST_F(Reports, TakeThePlaceOfReportsOnly) {
  if (!has_report_page()) GTEST_SKIP() << "built without the page of reports";
  const std::filesystem::path path = write_report(run());
  EXPECT_TRUE(is_report(path));
  EXPECT_LT(std::filesystem::file_size(path), 5'000'000U);
  EXPECT_NO_THROW(write_report(run()));
  std::ofstream(path) << "mine";
  EXPECT_THROW(write_report(run()), InputError);
  EXPECT_EQ(content(path), "mine");
}

TEST_F(Reports, GoWithTheResultsTheyAreOf) {
  if (!has_report_page()) GTEST_SKIP() << "built without the page of reports";
  folder_.write("net.txt", "4 1 3\n3\n0 3 100Gbps 0.001ms 0\n1 3 100Gbps 0.001ms 0\n2 3 100Gbps 0.001ms 0\n");
  folder_.write("flow.txt", "2\n0 2 3 100 200000 0.0\n1 2 3 100 100000 0.000001\n");
  const std::vector<std::string> words = {"run", "--topology=net.txt:hpcc", "--flows=flow.txt:hpcc", "--out=out", "--quiet"};
  std::vector<std::string> with_report = words;
  with_report.emplace_back("--report");
  const WeftAnswer first = run_weft({.folder = folder_.path()}, with_report);
  EXPECT_EQ(first.status, 0) << first.errors;
  EXPECT_TRUE(is_report(folder_ / "out" / "report.html"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "tier_samples.csv"));
  // Of other results than those that are there now, it would be wrong.
  EXPECT_EQ(run_weft({.folder = folder_.path()}, words).status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "report.html"));
  std::ofstream(folder_ / "out" / "report.html") << "mine";
  EXPECT_EQ(run_weft({.folder = folder_.path()}, words).status, 0);
  EXPECT_EQ(content(folder_ / "out" / "report.html"), "mine");
  EXPECT_EQ(run_weft({.folder = folder_.path()}, with_report).status, 2);
}

// --- Explanations, calibrations, projections ---

const std::string explanation_of_run = R"({"run_fingerprint": "f00d", "raise": 1.1, "jobs": [{"job": "a", "seconds": 3,
  "critical_path": {"iteration": 2, "seconds": 2, "by_kind": [
    {"kind": "compute", "seconds": 1.5, "contention_s": 0, "pieces": 1},
    {"kind": "all_reduce", "seconds": 0.5, "contention_s": 0.2, "pieces": 1}],
    "path": [{"kind": "compute", "op": "forward", "where": "rank 1", "begin_s": 1, "end_s": 2.5, "contention_s": 0},
      {"kind": "all_reduce", "op": "sum", "where": "rank 1 -> rank 2", "begin_s": 2.5, "end_s": 3, "contention_s": 0.2}]},
  "tiers": [{"what": "leaf->spine", "links": 4, "gain_s": 0.04, "tried_gain_s": 0.03}], "links": []}],
  "waiting": {"alone_s": 1, "lost_s": 0.2, "blame": [{"job": "a", "link": "x->y", "blamed_job": "b", "lost_s": 0.2}]},
  "what_if": [{"kind": "job", "what": "b", "gain_s": {"a": 0.2}}, {"kind": "ops", "what": "compute", "gain_s": {"a": 1.5}}]})";

TEST_F(Reports, ShowWhyARunTookSoLong) {
  write("explanation.json", explanation_of_run);
  const Json report = data();
  const Json path = chart(report, "path-0");
  EXPECT_EQ(path["rows"], (Json{"compute", "all_reduce"}));
  // From the begin of the iteration at 1 s; the second piece lost time to others.
  EXPECT_EQ(path["bars"], (Json{{0, 0.0, 1.5, 0}, {1, 1.5, 2.0, 1}}));
  EXPECT_EQ(chart(report, "what-if-0")["categories"], (Json{"ops: compute", "job: b"}));
  EXPECT_EQ(table(report, "raise-table")["rows"], (Json{{"a", "all", "leaf->spine", 4.0, 0.04, 0.03}}));
  EXPECT_EQ(table(report, "blame-table")["rows"], (Json{{"a", "x->y", "b", 0.2}}));
}

TEST_F(Reports, TakeNoExplanationOfAnotherRun) {
  std::string other = explanation_of_run;
  other.replace(other.find("f00d"), 4, "beef");
  write("explanation.json", other);
  const Json report = data();
  EXPECT_TRUE(chart(report, "path-0").is_null());
  EXPECT_NE(part(report["sections"], "why")["text"][0].get<std::string>().find("of another run"), std::string::npos);
}

class OtherReports : public Reports {
 protected:
  OtherReports() {
    std::filesystem::remove(run() / "summary.json");
    std::filesystem::remove(run() / "manifest.json");
  }
};

const std::string times_header = "case,file,line,what,size_bytes,ranks,measured_s,before_s,fitted_s,aligned_s,part,outlier\n";

TEST_F(OtherReports, HoldSimulatedAgainstMeasuredTimes) {
  write("calibration.json", R"({"name": "c", "search": "s", "parameters": [{"name": "flow.wqe_latency", "before": "1us",
    "fitted": "2us", "low": "1500ns", "high": "2.5us", "knowledge": "identified"}], "before": {"count": 2, "mape": 0.5},
    "training": {"count": 2, "mape": 0.125}, "trail": [{"doing": "searching", "candidates": 1, "mape": 0.5},
    {"doing": "searching", "candidates": 9, "mape": 0.125}]})");
  write("times.csv", times_header + "c,m.csv,2,small,1024,,1,0.5,0.75,,training,0\nc,m.csv,3,large,1048576,,4,2,4,,held_out,0\n");
  const Json report = data();
  EXPECT_EQ(report["kind"], "calibration");
  const Json values = chart(report, "parameters")["series"][0];
  EXPECT_EQ(values["values"], (Json{{0.0, 2.0}}));
  EXPECT_NEAR(values["intervals"][0][0].get<double>(), 1.5, 1e-9);
  EXPECT_NEAR(values["intervals"][0][1].get<double>(), 2.5, 1e-9);
  const Json times = chart(report, "times");
  EXPECT_EQ(times["series"][0]["values"], (Json{{1.0, 0.75}}));
  EXPECT_EQ(times["series"][1]["values"], (Json{{4.0, 4.0}}));  // held out
  // Both were off by half; now one by a quarter.
  EXPECT_EQ(chart(report, "errors_by_size")["series"][0]["values"], (Json{{1024.0, 0.5}, {1048576.0, 0.5}}));
  EXPECT_EQ(chart(report, "errors_by_size")["series"][1]["values"], (Json{{1024.0, 0.25}, {1048576.0, 0.0}}));
  EXPECT_EQ(chart(report, "search")["series"][0]["values"], (Json{{1.0, 0.5}, {9.0, 0.125}}));
}

TEST_F(OtherReports, GoThroughNights) {
  write("nights.csv",
        "date,status,alarm,rows,matched,outliers,uncalibrated_mape,reference_mape,published_mape,hold_out_mape_before,"
        "hold_out_mape_after,drift,drift_median,reference,reasons\n"
        "2026-01-30,published,0,100,90,1,0.2,,0.05,,0.04,,,,\n2026-01-31,refused,1,10,9,0,,,,,,,,2026-01-30,too few rows\n");
  write("parameters.csv",
        "date,status,parameter,value,low,high,knowledge\n2026-01-30,published,flow.wqe_latency,2us,1us,3us,identified\n");
  std::filesystem::create_directory(run() / "2026-01-31");
  const Json report = data();
  EXPECT_EQ(chart(report, "nights_errors")["series"][0]["values"], (Json{{0.0, 0.05}, {1.0, nullptr}}));
  EXPECT_EQ(chart(report, "nights_values")["series"][0]["intervals"], (Json{{0.5, 1.5}}));
  EXPECT_EQ(report["warnings"].size(), 2U);
  EXPECT_EQ(table(report, "nights-table")["rows"][0][0], "2026-01-31");
}

TEST_F(OtherReports, BreakAnIterationAndItsMemoryDown) {
  write("projection.json", R"({"projections": [{"model": "m", "plan": "PP 2", "cluster": "k", "isolated_parts_s": {"compute": 6,
    "communication in passes": 2}, "isolated_communication": [], "projections": [{"name": "isolated", "iteration_s": 10,
    "exposed_s": 4, "exposed_by_axis_s": {"pp": 3, "tp": 1}}], "notes": []}], "memory": [{"gpu": "g", "gpu_memory_bytes": 100,
    "simulate": {"stages": [{"stage": 0, "parameters_bytes": 40, "activations_bytes": 20, "total_bytes": 60}]}}]})");
  const Json report = data();
  const Json bars = chart(report, "breakdown")["series"];
  EXPECT_EQ(bars[0], (Json{{"name", "computation"}, {"values", {6.0}}}));
  EXPECT_EQ(bars[1], (Json{{"name", "pp: bubble and messages"}, {"values", {3.0}}}));
  EXPECT_EQ(bars[2], (Json{{"name", "exposed: tp"}, {"values", {1.0}}}));
  EXPECT_EQ(chart(report, "memory-0")["series"].size(), 2U);
}

TEST_F(OtherReports, DrawPlansThatNoneBeats) {
  write("plan_search.json", R"({"model": "m", "gpus": 8, "gpu_memory_bytes": 100, "plans_that_fit": 3, "out_of_memory": 1,
    "plans": [{"tensor_parallel": 1, "memory_bytes": 90, "estimated_s": 1, "recompute": "none"},
      {"tensor_parallel": 2, "memory_bytes": 95, "estimated_s": 2, "recompute": "none"},
      {"tensor_parallel": 4, "memory_bytes": 50, "estimated_s": 3, "simulated_s": 4, "recompute": "none"}], "pareto": [2, 0]})");
  const Json pareto = chart(data(), "pareto");
  EXPECT_EQ(pareto["series"][0]["values"], (Json{{50.0, 4.0}, {90.0, 1.0}}));
  EXPECT_EQ(pareto["series"][1]["values"], (Json{{95.0, 2.0}}));
}

// Expectation: samples are points by each axis, in the order of their size; none is taken to follow
// another, as each has its own values.
TEST_F(OtherReports, DrawSamplesOfAStudyByEachAxis) {
  write("study.json",
        R"({"question": "q", "settings": ["a.time", "b.size"], "sampling": "LATIN_HYPERCUBE", "axes": [["a.time"], ["b.size"]],
            "metrics": [{"name": "mean_iteration_s", "unit": "s"}]})");
  write("study.csv",
        "run,point,replicate,seed,a.time,b.size,mean_iteration_s,fingerprint,error\n0,0,0,1,13.9us,1MB,1,f,\n"
        "1,1,0,1,900ns,400kB,2,f,\n2,2,0,1,4us,8MB,3,f,\n");
  const Json report = data();
  const Json by_time = chart(report, "scatter-0-0");
  EXPECT_EQ(by_time["x"]["unit"], "s");
  EXPECT_EQ(by_time["series"][0]["labels"][0], "a.time 13.9us, b.size 1MB");
  EXPECT_DOUBLE_EQ(by_time["series"][0]["values"][1][0].get<double>(), 900e-9);
  const Json by_size = chart(report, "scatter-0-1");
  EXPECT_EQ(by_size["x"]["unit"], "bytes");
  EXPECT_EQ(by_size["series"][0]["values"], (Json{{1e6, 1.0}, {4e5, 2.0}, {8e6, 3.0}}));
}

TEST_F(OtherReports, NameFilesOfAStudyWithoutTheirFolder) {
  write("study.json",
        R"({"question": "q", "settings": ["workload", "rate"], "metrics": [{"name": "mean_iteration_s", "unit": "s"}]})");
  write("study.csv",
        "run,point,replicate,seed,workload,rate,mean_iteration_s,fingerprint,error\n0,0,0,1,/a/b/even.textproto,1/2,1,f,\n"
        "1,1,0,1,/a/bc/odd.textproto,1/4,2,f,\n");
  const Json report = data();
  EXPECT_EQ(chart(report, "line-0")["x"]["categories"], (Json{"b/even.textproto", "bc/odd.textproto"}));
  EXPECT_NE(report.dump().find("1/2"), std::string::npos);  // no file
}

}  // namespace
}  // namespace weft::report_page_test
