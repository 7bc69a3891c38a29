// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/summary.hpp"

#include <gtest/gtest.h>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/dag/dag_reader.hpp"
#include "workloads/formats/workload_reader.hpp"

namespace weft::summary_test {
namespace {

std::string example(const std::string& name) { return WEFT_SOURCE_DIR "/workloads/examples/" + name + ".textproto"; }

TEST(Summary, CountsTheDataParallelExample) {
  const WorkloadSummary summary = summarise(load_workload(example("data_parallel_128"), "weft"));
  EXPECT_EQ(summary.ranks, 128U);
  EXPECT_EQ(summary.ops, 128U * 10);
  ASSERT_EQ(summary.roles.size(), 1U);
  const RoleSummary& role = summary.roles[0];
  EXPECT_EQ(role.ops_by_kind[0], 6U);
  EXPECT_EQ(role.ops_by_kind[1], 4U);
  EXPECT_EQ(role.streams, 2U);
  EXPECT_EQ(role.compute_total, Duration::ms(40 + 4 * 20 + 5));
  EXPECT_EQ(role.critical_path, Duration::ms(125));
  ASSERT_EQ(summary.communication.size(), 1U);
  EXPECT_EQ(summary.communication[0].type, "all_reduce");
  EXPECT_EQ(summary.communication[0].group_size_max, 128U);
  EXPECT_EQ(summary.communication[0].ops, 4U * 128);
  EXPECT_EQ(summary.communication[0].bytes, Bytes::of(4LL * 128 * 25'000'000));
}

TEST(Summary, SaysItInText) {
  const std::string text = to_text(summarise(load_workload(example("expert_parallel_16"), "weft")));
  EXPECT_HAS(text, "workload  expert parallel, 16 ranks\n");
  EXPECT_HAS(text, "ranks     16 in 1 role, 160 ops in total");
  EXPECT_HAS(text, "role      all: 16 ranks, 4 compute, 6 collectives, 0 sends, 0 receives");
  EXPECT_HAS(text, "critical path without communication 4ms");
  EXPECT_HAS(text, "traffic   all_to_all in ep (groups of 8): 64 ops, 2.147GB of input over all ranks\n");
}

// Priorities stand apart, and are said where there are any.
TEST(Summary, PrioritiesHaveLinesOfTheirOwn) {
  const WorkloadSummary summary = summarise(
      parse_workload_text(SourceText("w.textproto",
                                     "ranks: 2 role { op { collective { type: ALL_REDUCE size: \"1B\" } } op { collective { type: "
                                     "ALL_REDUCE size: \"1B\" priority: 2 } } }")));
  ASSERT_EQ(summary.communication.size(), 2U);
  EXPECT_EQ(summary.communication[0].priority, 0U);
  EXPECT_EQ(summary.communication[1].priority, 2U);
  EXPECT_HAS(to_text(summary), "traffic   all_reduce in world (groups of 2): 2 ops");
  EXPECT_HAS(to_text(summary), "traffic   all_reduce in world (groups of 2) at priority 2: 2 ops");
}

TEST(Summary, TablesCountWhatEachRankSends) {
  // Positions 0 and 1 send 4 and 2 MB, in each of two groups.
  const Workload workload = parse_workload_text(SourceText("w.textproto", R"(
ranks: 4
communicator { name: "ep" size: 2 }
splits { name: "skew" row { size: "1MB" size: "3MB" } row { size: "2MB" size: "0B" } }
role { op { collective { type: ALL_TO_ALL_V communicator: "ep" splits: "skew" } } }
)"));
  EXPECT_HAS(to_text(summarise(workload)), "traffic   all_to_all_v in ep (groups of 2): 4 ops, 12MB of input over all ranks\n");
}

TEST(WorkloadReader, KnowsItsFormats) {
  EXPECT_EQ(workload_formats()[0].name, "weft");
  const std::string errors = errors_of([] { load_workload("x", "chakre"); });
  EXPECT_HAS(errors, "there is no workload format \"chakre\" [unknown-format]");
  EXPECT_HAS(errors, "did you mean \"chakra\"?");
}

TEST(WorkloadReader, RanksMustAgreeWithTheFile) {
  WorkloadOptions options;
  options.ranks = 64;
  EXPECT_HAS(errors_of([&] { load_workload(example("data_parallel_128"), "weft", options); }), "[rank-conflict]");
}

}  // namespace
}  // namespace weft::summary_test
