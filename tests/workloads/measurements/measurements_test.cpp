// SPDX-License-Identifier: Apache-2.0
// Tables of measurements: what they give for a placement, and what is wrong with damaged ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/measurements/cluster_summary.hpp"
#include "workloads/measurements/gavel_throughputs.hpp"
#include "workloads/measurements/measurement_tables.hpp"
#include "workloads/measurements/placement_times.hpp"
#include "workloads/measurements/pollux_placements.hpp"
#include "workloads/measurements/virtual_clusters.hpp"

namespace weft::measurements_test {
namespace {

using Hosts = std::vector<std::uint32_t>;

SourceText text(const std::string& content) { return SourceText("table", content); }

TEST(PlacementTimes, OrderOfHostsSaysNothing) {
  PlacementTimes times;
  times.add(Hosts{1, 2}, Duration::ms(10));
  times.add(Hosts{2, 1}, Duration::ms(20));
  EXPECT_EQ(times.of(Hosts{2, 1}), Duration::ms(15));  // the mean of both
  EXPECT_EQ(times.of(Hosts{1, 2}), Duration::ms(15));
  EXPECT_EQ(times.placement_count(), 1U);
}

TEST(PlacementTimes, FallsBackToPlacementsAlike) {
  PlacementTimes times;
  times.add(Hosts{6}, Duration::ms(1));
  times.add(Hosts{3, 3}, Duration::ms(10));
  times.add(Hosts{4, 2}, Duration::ms(20));
  times.add(Hosts{2, 2, 2}, Duration::ms(60));
  EXPECT_EQ(times.of(Hosts{6}), Duration::ms(1));
  EXPECT_EQ(times.of(Hosts{5, 1}), Duration::ms(15));           // two hosts: (10 + 20) / 2
  EXPECT_EQ(times.of(Hosts{1, 1, 1, 1, 2}), Duration::ms(30));  // several hosts: (10 + 20 + 60) / 3
  EXPECT_EQ(times.packed(6), Duration::ms(1));
  EXPECT_EQ(times.longest(6), Duration::ms(60));
  EXPECT_TRUE(times.knows(6));
  EXPECT_FALSE(times.knows(5));
  times.add_spread(6, Duration::ms(90));
  EXPECT_EQ(times.of(Hosts{5, 1}), Duration::ms(90));
  EXPECT_EQ(times.of(Hosts{3, 3}), Duration::ms(10));
  EXPECT_EQ(times.longest(6), Duration::ms(90));
}

TEST(PlacementTimes, OneHostWhereOnlySeveralWereMeasured) {
  PlacementTimes times;
  times.add(Hosts{2, 2}, Duration::ms(10));
  EXPECT_EQ(times.of(Hosts{4}), Duration::ms(10));
  EXPECT_EQ(times.packed(4), Duration::ms(10));
  times.add_spread(3, Duration::ms(7));
  EXPECT_EQ(times.packed(3), Duration::ms(7));
  EXPECT_EQ(times.of(Hosts{3}), Duration::ms(7));
  EXPECT_EQ(times.gpu_counts(), (std::vector<std::uint32_t>{3, 4}));
}

TEST(PlacementTimes, SayWhatTheyWereMeasuredFor) {
  using Basis = PlacementTimes::Basis;
  PlacementTimes times;
  times.add(Hosts{4, 4}, Duration::ms(10));
  times.add(Hosts{3, 3, 2}, Duration::ms(20));
  EXPECT_EQ(times.find(Hosts{4, 4}).basis, Basis::same_placement);
  EXPECT_EQ(times.find(Hosts{5, 3}).basis, Basis::as_many_hosts);
  const PlacementTimes::Found one_host = times.find(Hosts{8});
  EXPECT_EQ(one_host.basis, Basis::other_hosts);
  EXPECT_EQ(one_host.time, Duration::ms(15));  // the mean of both
  EXPECT_EQ(one_host.hosts_min, 2U);
  EXPECT_EQ(one_host.hosts_max, 3U);
  times.add_spread(8, Duration::ms(30));
  EXPECT_EQ(times.find(Hosts{5, 3}).basis, Basis::any_spread);
  EXPECT_FALSE(times.covers_all(8));  // not on one host
  times.add(Hosts{8}, Duration::ms(5));
  EXPECT_TRUE(times.covers_all(8));
}

TEST(Pollux, ReadsPlacements) {
  const PolluxPlacements table =
      PolluxPlacements::read(text("placement,local_bsz,step_time,sync_time\n44,8,1.5,0.5\n8,8,1,0\n44,16,2.5,0.5\n"));
  EXPECT_EQ(table.batch_sizes(), (std::vector<std::uint32_t>{8, 16}));
  EXPECT_EQ(table.of_batch_size(8).of(Hosts{4, 4}), Duration::ms(1500));
  EXPECT_EQ(table.of_batch_size(8).of(Hosts{8}), Duration::s(1));
  EXPECT_EQ(table.of_batch_size(16).of(Hosts{4, 4}), Duration::ms(2500));
  EXPECT_HAS(table.to_text(), "on 2 hosts: 2 measurements, mean step 2 s, of which 0.5 s synchronisation");
}

TEST(Pollux, FaultsHaveTheirPlace) {
  const auto errors = [](const std::string& rows) {
    return errors_of([&] { PolluxPlacements::read(text("placement,local_bsz,step_time,sync_time\n" + rows)); });
  };
  EXPECT_HAS(errors("40,8,1,0\n"), "table:2:1: error: this is no placement: \"40\" [bad-value]");
  EXPECT_HAS(errors(",8,1,0\n"), "this is no placement: \"\" [bad-value]");
  EXPECT_HAS(errors("44,0,1,0\n"), "local_bsz is 0 [out-of-range]");
  EXPECT_HAS(errors("44,8,1,1.5\n"), "table:2:8: error: synchronisation takes longer than the step [out-of-range]");
  EXPECT_HAS(errors("44,8,-1,0\n"), "[negative-duration]");
  EXPECT_HAS(errors("44,8,1\n"), "[wrong-field-count]");
  EXPECT_HAS(errors(""), "the table has no measurements [no-rows]");
  EXPECT_HAS(errors_of([] { PolluxPlacements::read(text("placement,step_time\n")); }), "[missing-column]");
}

const std::string summary_header =
    "id,gpu_num,job_num,cpu_job_num,gpu_job_num,avg_run_time_gpu,avg_que_time_gpu,avg_gpu_num,complete_rate_gpu,cancel_rate_gpu,"
    "fail_rate_gpu,complete_gpu_time,cancel_gpu_time,fail_gpu_time\n";

TEST(ClusterSummary, ReadsClusters) {
  const auto clusters =
      read_cluster_summaries(text(summary_header + "A,64,100,40,60,1000.5,20.0,2.5,0.5,0.3,0.2,3000.0,2000.0,1000.0\n"
                                                   "B,,10,0,5,1,2,3,,,,,,\n"));
  ASSERT_EQ(clusters.size(), 2U);
  EXPECT_EQ(clusters[0].gpus, 64U);
  EXPECT_DOUBLE_EQ(*clusters[0].gpu_time_s, 6000);
  EXPECT_FALSE(clusters[1].gpu_time_s);
}

TEST(ClusterSummary, FindsContradictions) {
  const auto errors = [](const std::string& rows) {
    return errors_of([&] { read_cluster_summaries(text(summary_header + rows)); });
  };
  EXPECT_HAS(errors("A,64,100,40,61,1,2,3,0.5,0.3,0.2,1,2,3\n"),
             "table:2:6: error: there are more jobs of CPUs and GPUs than jobs [contradiction]");
  EXPECT_HAS(errors("A,64,100,40,60,1,2,3,0.5,0.3,0.3,1,2,3\n"), "do not add up to 1 [contradiction]");
  EXPECT_HAS(errors("A,64,100,40,60,1,2,3,0.5,0.3,0.2,1,2,3\ntotal,64,101,40,60,1,2,3,0.5,0.3,0.2,1,2,3\n"),
             "table:3: error: the total has 101 jobs, its rows have 100 [contradiction]");
  EXPECT_HAS(errors("A,64,100,40,60,-1,2,3,0.5,0.3,0.2,1,2,3\n"), "avg_run_time_gpu is no number of 0 or more: \"-1\" [bad-value]");
  EXPECT_HAS(errors("A,64,100,40,60,inf,2,3,0.5,0.3,0.2,1,2,3\n"), "[bad-value]");
  EXPECT_HAS(errors(""), "the table has no clusters [no-rows]");
}

TEST(VirtualClusters, ReadsNodes) {
  EXPECT_EQ(describe_virtual_clusters(text(",num\nvcB,9\nvcA,5\n")), "2 virtual clusters, 14 nodes: vcA 5, vcB 9\n");
  EXPECT_HAS(errors_of([] { read_virtual_clusters(text(",num\nvcA,9\nvcA,5\n")); }),
             "table:3:1: error: virtual cluster \"vcA\" stands in the table twice [duplicate-cluster]");
  EXPECT_HAS(errors_of([] { read_virtual_clusters(text("vc,num\nvcA,9\n")); }), "[unknown-column]");
}

TEST(GavelThroughputs, AskForAGpuTypeHoweverManyThereAre) {
  // A table of one GPU type was said to have several, and to hold "1 job types, 1 throughputs".
  const GavelThroughputs one = GavelThroughputs::read(text(R"x({"v100": {"('A3C', 1)": {"null": 0}}})x"));
  const std::string errors = errors_of([&] { one.require_gpu_type("", SourcePlace::named("--gpu-type")); });
  EXPECT_HAS(errors, "--gpu-type: error: table lists throughputs by GPU type, and none is named [unknown-gpu-type]");
  EXPECT_HAS(errors, "v100");
  EXPECT_EQ(one.to_text(), "v100: 1 job type, 1 throughput, of which 1 is 0 (does not run)\n");
}

TEST(MeasurementTables, KnowsItsFormats) {
  EXPECT_HAS(errors_of([] { describe_measurements("x.csv", "polux"); }), "did you mean \"pollux\"?");
}

class RealTables : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_path("traces"))) GTEST_SKIP() << "the folder of real data is not there";
  }
};

TEST_F(RealTables, EveryOneIsRead) {
  const std::string traces = data_path("traces/");
  for (const char* model : {"bert", "imagenet", "yolov3"}) {
    const std::string content = describe_measurements(traces + "pollux_placements/" + model + "_placements.csv", "pollux");
    EXPECT_HAS(content, "69 placements of 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 GPUs");
  }
  EXPECT_HAS(describe_measurements(traces + "gavel/physical_cluster_throughputs.json.gz", "gavel-throughputs"),
             "k80: 26 job types, 83 throughputs, of which 4 are 0 (does not run)");
  // 5,713,038,873 + 4,793,853,520 + 932,310,362 GPU-s of Earth are 3,177,556 GPU-h.
  EXPECT_HAS(describe_measurements(traces + "helios_acme/helios_cluster_summary.csv", "helios-summary"), "3177556");
  EXPECT_HAS(describe_measurements(traces + "helios_acme/acme_cluster_summary.csv", "acme-summary"),
             "note: PAI: 223835 of 1260920 jobs are neither of CPUs nor of GPUs");
  EXPECT_HAS(describe_measurements(traces + "helios_acme/venus_vc_config.csv", "helios-vc"), "15 virtual clusters, 135 nodes");
}

// BERT on 4 + 4 GPUs against 8 on two hosts in other ways: the table has the row itself.
TEST_F(RealTables, PolluxGivesTheMeasuredRow) {
  const PolluxPlacements table =
      PolluxPlacements::read(SourceText::read(data_path("traces/pollux_placements/bert_placements.csv")));
  // "4444,8,1.7573948949575424" in the file; a step of 10 ps ticks is the nearest.
  EXPECT_NEAR(table.of_batch_size(8).of(Hosts{4, 4, 4, 4}).in_s(), 1.7573948949575424, 1e-11);
}

}  // namespace
}  // namespace weft::measurements_test
