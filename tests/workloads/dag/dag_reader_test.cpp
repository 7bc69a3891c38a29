// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/dag_reader.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/dag/dag_writer.hpp"
#include "workloads/dag/element_type.hpp"
#include "workloads/dag/rank_list.hpp"
#include "workloads/workload.pb.h"

namespace weft::dag_reader_test {
namespace {

Workload parse(const std::string& text) { return parse_workload_text(SourceText("w.textproto", text)); }
std::string errors(const std::string& text) {
  return errors_of([&] { parse(text); });
}

/// A workload of two ranks with the given ops.
std::string with_ops(const std::string& ops) { return "ranks: 2\nrole {\n  name: \"all\"\n" + ops + "\n}\n"; }

std::string binary_of(const Workload& workload) {
  std::string bytes;
  write_workload_binary(workload, [&bytes](std::string_view part) { bytes += part; });
  return bytes;
}

void expect_same(const Workload& a, const Workload& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.rank_count, b.rank_count);
  EXPECT_EQ(a.role_of, b.role_of);
  EXPECT_EQ(a.role_names, b.role_names);
  ASSERT_EQ(a.communicators.size(), b.communicators.size());
  for (std::size_t c = 0; c < a.communicators.size(); ++c) {
    EXPECT_EQ(a.communicators[c].name(), b.communicators[c].name());
    for (std::uint32_t rank = 0; rank < a.rank_count; ++rank) {
      EXPECT_EQ(a.communicators[c].group_of(RankId(rank)), b.communicators[c].group_of(RankId(rank)));
      EXPECT_EQ(a.communicators[c].position_of(RankId(rank)), b.communicators[c].position_of(RankId(rank)));
    }
  }
  EXPECT_EQ(a.splits, b.splits);
  ASSERT_EQ(a.roles.size(), b.roles.size());
  for (std::size_t r = 0; r < a.roles.size(); ++r) EXPECT_TRUE(a.roles[r] == b.roles[r]) << "role " << r;
}

TEST(DagReader, ReadsOpsStreamsAndGroups) {
  const Workload workload = parse(R"(
name: "w"
ranks: 8
communicator { name: "tp" size: 2 }
communicator { name: "dp" size: 4 stride: 2 }
communicator { name: "odd" group { ranks: "7,1" } group { ranks: "3-5:2" } }
role {
  name: "r"
  op { name: "a" compute { duration: "1.5ms" } stream: 1 }
  op { name: "b" collective { type: ALL_GATHER communicator: "dp" size: "25MB" } deps: "a" stream: 2 }
  op { name: "c" collective { type: BROADCAST elements: 3 dtype: FP4 root: 7 } deps: ["a", "b"] }
  op { name: "d" send { peer_offset: 1 tag: 9 size: "1KiB" communicator: "tp" } }
  op { receive { peer_offset: 1 tag: 9 size: "1KiB" communicator: "tp" } stream: 1 }
}
)");
  EXPECT_EQ(workload.name, "w");
  ASSERT_EQ(workload.communicators.size(), 4U);
  // size 2 stride 1: {0,1} {2,3} ...; size 4 stride 2: {0,2,4,6} {1,3,5,7}.
  EXPECT_EQ(workload.communicators[1].group_of(RankId(5)), GroupId(2));
  EXPECT_EQ(workload.communicators[2].group_of(RankId(5)), GroupId(1));
  EXPECT_EQ(workload.communicators[2].position_of(RankId(5)), 2U);
  EXPECT_EQ(workload.communicators[3].position_of(RankId(7)), 0U);
  EXPECT_TRUE(workload.communicators[3].group_of(RankId(0)).is_none());
  const RoleDag& dag = workload.dag_of(RankId(7));
  ASSERT_EQ(dag.size(), 5U);
  EXPECT_EQ(dag.op(OpId(0)).duration, Duration::us(1500));
  EXPECT_EQ(dag.op(OpId(1)).collective, CollectiveType::all_gather);
  EXPECT_EQ(dag.op(OpId(1)).bytes, Bytes::of(25'000'000));
  EXPECT_EQ(dag.op(OpId(1)).communicator, 2);
  EXPECT_EQ(dag.op(OpId(2)).bytes, Bytes::of(2));  // 3 x 4 bits, rounded up
  EXPECT_EQ(dag.op(OpId(2)).peer, 7);
  EXPECT_EQ(dag.op(OpId(3)).addressing, PeerAddressing::relative);
  EXPECT_EQ(dag.op(OpId(3)).tag, 9U);
  // a->b, a->c, b->c and, on stream 1, a->receive.
  EXPECT_EQ(dag.edge_count(), 4U);
}

TEST(DagReader, ReadsCollectivesWithRootsAndSplits) {
  const Workload workload = parse(R"(
ranks: 4
communicator { name: "ep" size: 2 stride: 2 }
splits { name: "even" row { size: "1MB" size: "1MB" } row { size: "1MB" size: "1MB" } }
splits { name: "skew" row { size: "1MB" size: "3MB" } row { size: "2MB" size: "0B" } }
role {
  op { collective { type: REDUCE size: "1MB" root: 3 } }
  op { collective { type: GATHER size: "2MB" root: 2 } }
  op { collective { type: SCATTER elements: 4 dtype: FP32 root: 1 } }
  op { collective { type: BARRIER } }
  op { collective { type: ALL_TO_ALL_V communicator: "ep" splits: "skew" } }
}
)");
  const RoleDag& dag = workload.dag_of(RankId(0));
  const auto expect = [&dag](std::uint32_t i, CollectiveType type, std::int64_t bytes, std::int32_t root) {
    EXPECT_EQ(dag.op(OpId(i)).collective, type);
    EXPECT_EQ(dag.op(OpId(i)).bytes, Bytes::of(bytes));
    EXPECT_EQ(dag.op(OpId(i)).peer, root);
  };
  expect(0, CollectiveType::reduce, 1'000'000, 3);
  expect(1, CollectiveType::gather, 2'000'000, 2);
  expect(2, CollectiveType::scatter, 16, 1);
  expect(3, CollectiveType::barrier, 0, 0);
  // The rows hold 1 + 3 and 2 + 0 MB, the columns 1 + 2 and 3 + 0.
  expect(4, CollectiveType::all_to_all_v, 4'000'000, 0);
  EXPECT_EQ(dag.op(OpId(4)).splits, 1U);
  const SplitTable& skew = workload.splits.at(1);
  EXPECT_EQ(skew.name(), "skew");
  EXPECT_EQ(skew.at(0, 1), Bytes::of(3'000'000));
  EXPECT_EQ(skew.at(1, 0), Bytes::of(2'000'000));
  EXPECT_EQ(skew.row_sum(1), Bytes::of(2'000'000));
  EXPECT_EQ(skew.column_sum(0), Bytes::of(3'000'000));
}

TEST(DagReader, AnOpHasItsOwnPriorityOrItsCommunicators) {
  const Workload workload = parse(R"(ranks: 2 communicator { name: "fast" size: 2 priority: 5 }
role { name: "all"
  op { collective { type: ALL_REDUCE size: "1B" } }
  op { collective { type: ALL_REDUCE size: "1B" priority: 1 } }
  op { collective { type: ALL_REDUCE size: "1B" communicator: "fast" } }
  op { collective { type: ALL_REDUCE size: "1B" communicator: "fast" priority: 0 } }
  op { send { communicator: "fast" peer_offset: 1 size: "1B" } }
  op { send { communicator: "fast" peer_offset: 1 size: "1B" tag: 1 priority: 7 } }
  op { receive { communicator: "fast" peer_offset: 1 size: "1B" } }
  op { receive { communicator: "fast" peer_offset: 1 size: "1B" tag: 1 } }
})");
  std::vector<int> priorities;
  for (std::uint32_t i = 0; i < workload.roles[0].size(); ++i) priorities.push_back(workload.roles[0].op(OpId(i)).priority);
  EXPECT_EQ(priorities, (std::vector<int>{0, 1, 5, 0, 5, 7, 0, 0}));
}

TEST(DagReader, UnknownDependencySuggestsAndTellsTheLine) {
  const std::string text = errors(
      "ranks: 2\n"
      "role {\n"
      "  name: \"all\"\n"
      "  op { name: \"bwd_6\" compute { duration: \"1us\" } }\n"
      "  op {\n"
      "    name: \"ar_7\"\n"
      "    collective { type: ALL_REDUCE size: \"1MB\" }\n"
      "    deps: \"bwd_06\"\n"
      "  }\n"
      "}\n");
  EXPECT_EQ(text,
            "w.textproto:8:11: error: op \"ar_7\" depends on unknown op \"bwd_06\" [unknown-op]\n"
            "    8 |     deps: \"bwd_06\"\n"
            "      |           ^~~~~~~~\n"
            "  help: did you mean \"bwd_6\"? it is defined at line 4\n");
}

TEST(DagReader, CyclesNameTheirOps) {
  const std::string text = errors(with_ops(R"(  op { name: "a" compute { duration: "1us" } deps: "c" }
  op { name: "b" compute { duration: "1us" } deps: "a" }
  op { name: "c" compute { duration: "1us" } deps: "b" })"));
  EXPECT_HAS(text, "ops wait for each other: \"a\" -> \"b\" -> \"c\" -> \"a\" [cycle]");
  EXPECT_HAS(text, "w.textproto:4:");
}

TEST(DagReader, StreamsAgainstDependenciesAreACycle) {
  const std::string text = errors(with_ops(R"(  op { name: "a" compute { duration: "1us" } deps: "b" stream: 1 }
  op { name: "b" compute { duration: "1us" } stream: 1 })"));
  EXPECT_HAS(text, "the order of a stream contradicts dependencies: \"a\" -> \"b\" -> \"a\" [cycle]");
}

struct Fault {
  const char* title;
  std::string text;
  const char* expected;  ///< message and code
  const char* place;
};

class DagReaderFault : public testing::TestWithParam<Fault> {};

TEST_P(DagReaderFault, IsReportedAtItsPlace) {
  const std::string text = errors(GetParam().text);
  EXPECT_HAS(text, GetParam().expected);
  EXPECT_HAS(text, GetParam().place);
}

const std::string kOk = R"(  op { name: "ok" compute { duration: "1us" } })";

const std::string kSkew = R"(splits { name: "skew" row { size: "1MB" size: "3MB" } row { size: "2MB" size: "0B" } })"
                          "\n";

INSTANTIATE_TEST_SUITE_P(
    Faults, DagReaderFault,
    testing::Values(
        Fault{"duplicate", with_ops(kOk + "\n" + kOk), "op \"ok\" is defined twice in role \"all\" [duplicate-op]",
              "w.textproto:5:"},
        Fault{"negative", with_ops(R"(  op { compute { duration: "-1us" } })"), "negative", "w.textproto:4:"},
        Fault{"unitless", with_ops(R"(  op { compute { duration: "15" } })"), "[bad-value]", "w.textproto:4:28:"},
        Fault{"wrong_unit", with_ops(R"(  op { compute { duration: "15MB" } })"), "[bad-value]", "w.textproto:4:28:"},
        Fault{"no_duration", with_ops(R"(  op { name: "x" compute { } })"), "op \"x\" has no duration [missing-field]",
              "w.textproto:4:"},
        Fault{"year", with_ops(R"(  op { compute { duration: "366d" } })"), "[out-of-range]", "w.textproto:4:"},
        Fault{"huge", with_ops(R"(  op { compute { duration: "1e40s" } })"), "error:", "w.textproto:4:"},
        Fault{"priority", with_ops(R"(  op { name: "x" collective { type: ALL_REDUCE size: "1B" priority: 8 } })"),
              "priority 8 of op \"x\" is above 7 [out-of-range]", "w.textproto:4:"},
        Fault{"priority_of_communicator", "ranks: 2 communicator { name: \"c\" size: 2 priority: 9 }\n" + with_ops(kOk).substr(9),
              "priority 9 of communicator \"c\" is above 7 [out-of-range]", "w.textproto:1:"},
        Fault{"priority_of_receive", with_ops(R"(  op { name: "x" receive { peer_offset: 1 size: "1B" priority: 1 } })"),
              "op \"x\" receives and has a priority [conflicting-fields]", "w.textproto:4:"},
        Fault{"no_what", with_ops(R"(  op { name: "x" })"), "op \"x\" does not say what it does [missing-field]", "w.textproto:4:"},
        Fault{"no_type", with_ops(R"(  op { collective { size: "1MB" } })"), "does not say which collective it is",
              "w.textproto:4:"},
        Fault{"bad_type", with_ops(R"(  op { collective { type: ALL_REDUCED size: "1MB" } })"), "[unknown-value]",
              "w.textproto:4:"},
        Fault{"no_size", with_ops(R"(  op { collective { type: ALL_REDUCE } })"), "has no size [missing-field]", "w.textproto:4:"},
        Fault{"size_twice", with_ops(R"(  op { collective { type: ALL_REDUCE size: "1B" elements: 1 dtype: FP32 } })"),
              "[conflicting-fields]", "w.textproto:4:"},
        Fault{"no_dtype", with_ops(R"(  op { collective { type: ALL_REDUCE elements: 1 } })"), "no type of element",
              "w.textproto:4:"},
        Fault{"size_overflow", with_ops(R"(  op { collective { type: ALL_REDUCE elements: 18446744073709551615 dtype: FP64 } })"),
              "too large [out-of-range]", "w.textproto:4:"},
        Fault{"negative_size", with_ops(R"(  op { collective { type: ALL_REDUCE size: "-1MB" } })"), "error: size of op number 0",
              "w.textproto:4:"},
        Fault{"communicator", with_ops(R"(  op { collective { type: ALL_REDUCE communicator: "wrld" size: "1B" } })"),
              "uses unknown communicator \"wrld\" [unknown-communicator]", "help: did you mean \"world\"?"},
        Fault{"root", with_ops(R"(  op { collective { type: BROADCAST size: "1B" root: 2 } })"),
              "root 2 of op number 0 is outside its group of 2", "w.textproto:4:"},
        Fault{"root_of_all_reduce", with_ops(R"(  op { collective { type: ALL_REDUCE size: "1B" root: 1 } })"),
              "has a root, but ALL_REDUCE has none [conflicting-fields]", "w.textproto:4:55:"},
        Fault{"root_of_barrier", with_ops(R"(  op { collective { type: BARRIER root: 1 } })"), "has a root, but BARRIER has none",
              "w.textproto:4:41:"},
        Fault{"root_of_scatter", with_ops(R"(  op { collective { type: SCATTER size: "1B" root: 2 } })"),
              "root 2 of op number 0 is outside its group of 2", "w.textproto:4:"},
        Fault{"no_size_of_gather", with_ops(R"(  op { collective { type: GATHER root: 1 } })"), "has no size [missing-field]",
              "w.textproto:4:"},
        Fault{"size_of_barrier", with_ops(R"(  op { collective { type: BARRIER size: "0B" } })"),
              "is a BARRIER and has size [conflicting-fields]", "w.textproto:4:41:"},
        Fault{"dtype_of_barrier", with_ops(R"(  op { collective { type: BARRIER dtype: FP32 } })"),
              "is a BARRIER and has dtype [conflicting-fields]", "w.textproto:4:42:"},
        Fault{"no_splits", with_ops(R"(  op { collective { type: ALL_TO_ALL_V } })"), "does not say what it moves [missing-field]",
              "w.textproto:4:"},
        Fault{"size_and_splits", kSkew + with_ops(R"(  op { collective { type: ALL_TO_ALL_V splits: "skew" size: "1MB" } })"),
              "is an ALL_TO_ALL_V and has size [conflicting-fields]", "w.textproto:5:61:"},
        Fault{"elements_and_splits", kSkew + with_ops(R"(  op { collective { type: ALL_TO_ALL_V splits: "skew" elements: 4 } })"),
              "is an ALL_TO_ALL_V and has elements [conflicting-fields]", "w.textproto:5:"},
        Fault{"splits_elsewhere", kSkew + with_ops(R"(  op { collective { type: ALL_TO_ALL splits: "skew" size: "1MB" } })"),
              "has splits, but is no ALL_TO_ALL_V [conflicting-fields]", "w.textproto:5:46:"},
        Fault{"unknown_splits", kSkew + with_ops(R"(  op { collective { type: ALL_TO_ALL_V splits: "skwe" } })"),
              "uses unknown splits \"skwe\" [unknown-splits]", "help: did you mean \"skew\"?"},
        Fault{"no_splits_at_all", with_ops(R"(  op { collective { type: ALL_TO_ALL_V splits: "skew" } })"),
              "uses unknown splits \"skew\" [unknown-splits]", "there are none"},
        Fault{"splits_of_another_size",
              "splits { name: \"one\" row { size: \"1MB\" } }\n" +
                  with_ops(R"(  op { collective { type: ALL_TO_ALL_V splits: "one" } })"),
              "are for a group of 1, but a group in communicator \"world\" has 2 ranks [splits-mismatch]", "w.textproto:5:48:"},
        Fault{"not_square", "splits { name: \"s\" row { size: \"1B\" size: \"1B\" }\n row { size: \"1B\" } }\n" + with_ops(kOk),
              "row 1 of splits \"s\" has 1 size, but there are 2 rows [not-square]", "w.textproto:2:6:"},
        Fault{"splits_twice", kSkew + kSkew + with_ops(kOk), "splits \"skew\" are defined twice [duplicate-splits]",
              "w.textproto:2:16:"},
        Fault{"splits_without_name", "splits { row { size: \"1B\" } }\n" + with_ops(kOk),
              "these splits have no name [missing-field]", "w.textproto:1:"},
        Fault{"splits_without_rows", "splits { name: \"s\" }\n" + with_ops(kOk), "splits \"s\" have no rows [missing-field]",
              "w.textproto:1:"},
        Fault{"split_without_unit", "splits { name: \"s\" row { size: \"1\" } }\n" + with_ops(kOk),
              "size 0 in row 0 of splits \"s\": \"1\" has no unit [bad-value]", "w.textproto:1:32:"},
        Fault{"split_negative", "splits { name: \"s\" row { size: \"-1B\" } }\n" + with_ops(kOk), "size 0 in row 0 of splits",
              "w.textproto:1:32:"},
        Fault{"split_too_large", "splits { name: \"s\" row { size: \"1025TiB\" } }\n" + with_ops(kOk),
              "is too large [out-of-range]", "w.textproto:1:32:"},
        Fault{"row_too_large",
              R"(splits { name: "s" row { size: "1000TiB" size: "1000TiB" } row { size: "0B" size: "0B" } })"
              "\n" +
                  with_ops(kOk),
              "row 0 of splits \"s\" adds up to", "w.textproto:1:"},
        Fault{"column_too_large",
              R"(splits { name: "s" row { size: "1000TiB" size: "0B" } row { size: "1000TiB" size: "0B" } })"
              "\n" +
                  with_ops(kOk),
              "column 0 of splits \"s\" adds up to", "w.textproto:1:"},
        Fault{"peer", with_ops(R"(  op { send { peer: 5 size: "1B" } })"), "peer 5 of op number 0 is outside its group of 2",
              "w.textproto:4:"},
        Fault{"no_peer", with_ops(R"(  op { send { size: "1B" } })"), "does not say who the other side is", "w.textproto:4:"},
        Fault{"two_peers", with_ops(R"(  op { send { peer: 1 peer_offset: 1 size: "1B" } })"), "has both peer and peer_offset",
              "w.textproto:4:"},
        Fault{"unmatched", with_ops(R"(  op { send { peer_offset: 1 size: "1B" } })"), "[unmatched-send]", "w.textproto: error"},
        Fault{"stream", with_ops(R"(  op { compute { duration: "1us" } stream: 65536 })"), "is above 65535 [out-of-range]",
              "w.textproto:4:"},
        Fault{"field", with_ops(R"(  op { compute { durations: "1us" } })"), "there is no field \"durations\"", "w.textproto:4:"},
        Fault{"no_ops", "ranks: 2\nrole { name: \"all\" }\n", "role \"all\" has no ops [no-ops]", "w.textproto:2:"},
        Fault{"no_roles", "ranks: 2\n", "[no-roles]", "w.textproto: error"},
        Fault{"no_ranks", "role { " + kOk + " }", "does not say how many ranks", "w.textproto: error"},
        Fault{"too_many_ranks", "ranks: 4000000000\nrole { " + kOk + " }", "[out-of-range]", "w.textproto:1:"},
        Fault{"rank_outside", "ranks: 2\nrole {\n ranks: \"0-2\"\n" + kOk + "}", "rank 2 is outside 0-1 [bad-ranks]",
              "w.textproto:3:10:"},
        Fault{"rank_missing", "ranks: 3\nrole {\n ranks: \"0,1\"\n" + kOk + "}", "no role is played by rank 2 [missing-rank]",
              "w.textproto: error"},
        Fault{"rank_twice", "ranks: 2\nrole {\n name: \"a\" ranks: \"0-1\"\n" + kOk + "}\nrole {\n ranks: \"1\"\n" + kOk + "}",
              "rank 1 plays role \"a\" already [duplicate-rank]", "w.textproto:6:"},
        Fault{"ranks_nonsense", "ranks: 2\nrole {\n ranks: \"0-\"\n" + kOk + "}", "this range has no end [bad-ranks]",
              "w.textproto:3:"},
        Fault{"groups_do_not_fit", "ranks: 6\ncommunicator { name: \"tp\" size: 4 }\nrole { " + kOk + " }",
              "6 ranks cannot be divided into groups of 4 [bad-groups]", "w.textproto:2:"},
        Fault{"groups_overlap",
              "ranks: 4\ncommunicator { name: \"tp\" group { ranks: \"0-1\" }\n group { ranks: \"1-2\" } }\nrole { " + kOk + " }",
              "rank 1 stands twice in communicator \"tp\" [duplicate-rank]", "w.textproto:3:"},
        Fault{"reserved", "ranks: 2\ncommunicator { name: \"world\" size: 2 }\nrole { " + kOk + " }", "[reserved-name]",
              "w.textproto:2:"},
        Fault{"communicator_twice",
              "ranks: 2\ncommunicator { name: \"a\" size: 2 }\ncommunicator { name: \"a\" size: 1 }\nrole { " + kOk + " }",
              "[duplicate-communicator]", "w.textproto:3:"},
        Fault{"outside_group",
              "ranks: 2\ncommunicator { name: \"a\" group { ranks: \"0\" } }\nrole {\n op { collective { type: ALL_REDUCE size: "
              "\"1B\" "
              "communicator: \"a\" } }\n}",
              "rank 1 runs op number 0 but is in no group of communicator \"a\" [no-group]", "w.textproto:4:"},
        Fault{"packed_in_text", with_ops(kOk) + "packed_ops { role: 0 }", "[binary-only]", "w.textproto:6:"}),
    [](const testing::TestParamInfo<Fault>& fault) { return fault.param.title; });

TEST(DagReader, ReportsAllErrorsTogether) {
  const std::string text = errors(with_ops(R"(  op { compute { duration: "1" } deps: "x" }
  op { compute { duration: "2" } })"));
  EXPECT_HAS(text, "w.textproto:4:28:");
  EXPECT_HAS(text, "[unknown-op]");
  EXPECT_HAS(text, "w.textproto:5:28:");
}

TEST(DagReader, ReadsEveryExample) {
  for (const char* name : {"data_parallel_128", "pipeline_4", "expert_parallel_16"}) {
    const Workload workload = read_workload(std::string(WEFT_SOURCE_DIR "/workloads/examples/") + name + ".textproto");
    EXPECT_FALSE(workload.roles.empty()) << name;
    const Workload again = parse_workload_text(SourceText("again", to_workload_text(workload)));
    EXPECT_EQ(again.roles.size(), workload.roles.size());
  }
}

TEST(DagReader, DataParallelExampleHasItsCriticalPath) {
  const Workload workload = read_workload(WEFT_SOURCE_DIR "/workloads/examples/data_parallel_128.textproto");
  // 40 ms forward + 4 x 20 ms backward + 5 ms optimizer.
  EXPECT_EQ(longest_path(workload.roles[0]), Duration::ms(125));
  // 12.5 M elements of 2 bytes
  EXPECT_EQ(workload.roles[0].op(OpId(2)).bytes, Bytes::of(25'000'000));
}

Workload random_workload(std::mt19937_64& random, bool unique_names) {
  Workload workload;
  workload.name = "random";
  workload.rank_count = 6;
  workload.communicators.push_back(Communicator::world(6));
  workload.communicators.emplace_back(
      "pairs", 6, std::vector<std::vector<RankId>>{{RankId(0), RankId(3)}, {RankId(4), RankId(1)}, {RankId(2), RankId(5)}});
  workload.splits.emplace_back("skew", 2, std::vector<Bytes>{Bytes::of(1), Bytes::of(20'000), Bytes::of(0), Bytes::of(7)});
  workload.splits.emplace_back("odd", 2, std::vector<Bytes>(4, Bytes::of(static_cast<std::int64_t>(random() % 1'000'000))));
  workload.role_of = {0, 0, 1, 1, 0, 1};
  for (int r = 0; r < 2; ++r) {
    RoleBuilder builder;
    const std::uint32_t count = 1 + static_cast<std::uint32_t>(random() % 40);
    for (std::uint32_t i = 0; i < count; ++i) {
      Op op;
      op.stream = static_cast<std::uint16_t>(random() % 4);
      op.processor = random() % 3 == 0 ? Processor::cpu : Processor::gpu;
      op.duration = Duration::ticks(static_cast<std::int64_t>(random() % 1'000'000'000'000));
      builder.add(op, unique_names ? "op" + std::to_string(i) : (random() % 2 == 0 ? "same" : ""));
      for (std::uint32_t k = 0; i > 0 && k < random() % 4; ++k) builder.depend(i, static_cast<std::uint32_t>(random() % i));
    }
    // Both roles end alike so that ranks agree.
    for (const std::int64_t bytes : {1LL, 1'000'000LL, 12'345'678LL}) {
      Op op;
      op.kind = OpKind::collective;
      op.collective = CollectiveType::broadcast;
      op.peer = 1;
      op.communicator = 1;
      op.bytes = Bytes::of(bytes);
      op.priority = static_cast<std::uint8_t>(bytes % 8);
      builder.add(op, unique_names ? "bcast" + std::to_string(bytes) : "same");
      Op send;
      send.kind = OpKind::send;
      send.addressing = PeerAddressing::relative;
      send.peer = -1;
      send.tag = 7;
      send.bytes = Bytes::of(bytes);
      send.priority = static_cast<std::uint8_t>(random() % 8);
      builder.add(send, unique_names ? "send" + std::to_string(bytes) : "");
      send.kind = OpKind::receive;
      send.priority = 0;
      send.peer = 1;
      builder.add(send, unique_names ? "receive" + std::to_string(bytes) : "");
      for (const CollectiveType type : {CollectiveType::reduce, CollectiveType::gather, CollectiveType::scatter}) {
        op.collective = type;
        builder.add(op, unique_names ? std::string(to_text(type)) + std::to_string(bytes) : "");
      }
      Op barrier;
      barrier.kind = OpKind::collective;
      barrier.collective = CollectiveType::barrier;
      builder.add(barrier, unique_names ? "barrier" + std::to_string(bytes) : "");
      Op exchange = barrier;
      exchange.collective = CollectiveType::all_to_all_v;
      exchange.communicator = 1;
      exchange.splits = bytes == 1 ? 0 : 1;
      exchange.bytes = workload.splits[exchange.splits].row_sum_max();
      builder.add(exchange, unique_names ? "exchange" + std::to_string(bytes) : "");
    }
    workload.roles.push_back(std::move(builder).finish().dag);
    workload.role_names.push_back("role" + std::to_string(r));
  }
  return workload;
}

TEST(DagWriter, TextIsReadBackToTheSameWorkload) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    const Workload workload = random_workload(random, true);
    expect_same(parse(to_workload_text(workload)), workload);
  }
}

TEST(DagWriter, TextMakesNamesUnique) {
  std::mt19937_64 random(4);
  const Workload workload = random_workload(random, false);
  const Workload again = parse(to_workload_text(workload));
  ASSERT_EQ(again.roles[0].size(), workload.roles[0].size());
  EXPECT_EQ(again.roles[0].edge_count(), workload.roles[0].edge_count());
}

TEST(DagWriter, BinaryIsReadBackToTheSameWorkload) {
  const TemporaryFolder folder;
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    const Workload workload = random_workload(random, round % 2 == 0);
    expect_same(read_workload(folder.write("w.pb", binary_of(workload))), workload);
  }
}

TEST(DagWriter, LargeRolesSpanSeveralPieces) {
  Workload workload;
  workload.rank_count = 1;
  workload.communicators.push_back(Communicator::world(1));
  workload.role_of = {0};
  workload.role_names = {"chain"};
  RoleBuilder builder;
  constexpr std::uint32_t kOps = 200'000;  // more than three pieces of 65,536
  for (std::uint32_t i = 0; i < kOps; ++i) {
    Op op;
    op.duration = Duration::ns(i);
    builder.add(op);
    if (i > 0) builder.depend(i, i - 1);
    if (i > 70'000) builder.depend(i, i - 70'000);
  }
  workload.roles.push_back(std::move(builder).finish().dag);
  const TemporaryFolder folder;
  expect_same(read_workload(folder.write("w.pb", binary_of(workload))), workload);
}

/// A binary file whose only role has one op.
std::string binary_with(const std::function<void(workload_file::PackedOps&)>& change) {
  workload_file::Workload file;
  file.set_ranks(2);
  auto& table = *file.add_splits();
  table.set_name("skew");
  for (const char* size : {"1B", "2B"}) {
    auto& row = *table.add_row();
    row.add_size(size);
    row.add_size(size);
  }
  auto& role = *file.add_role();
  role.set_name("all");
  role.set_packed_op_count(1);
  const std::string frame = file.SerializeAsString();
  workload_file::Workload pieces;
  workload_file::PackedOps& piece = *pieces.add_packed_ops();
  piece.set_op_count(1);
  piece.add_kind(1);
  piece.add_collective(workload_file::ALL_TO_ALL_V);
  piece.add_amount(4);  // the larger row: 2 + 2
  change(piece);
  return frame + pieces.SerializeAsString();
}

TEST(DagReader, BinaryCollectivesHaveTheSizeOfTheirType) {
  const TemporaryFolder folder;
  const auto errors_with = [&](const std::function<void(workload_file::PackedOps&)>& change) {
    const std::string path = folder.write("w.pb", binary_with(change));
    return errors_of([&] { read_workload(path); });
  };
  EXPECT_EQ(errors_with([](workload_file::PackedOps&) {}), "");
  EXPECT_HAS(errors_with([](workload_file::PackedOps& piece) { piece.set_amount(0, 5); }), "contradict its type");
  EXPECT_HAS(errors_with([](workload_file::PackedOps& piece) { piece.add_splits(1); }), "contradict its type");
  EXPECT_HAS(errors_with([](workload_file::PackedOps& piece) { piece.set_collective(0, workload_file::BARRIER); }),
             "contradict its type");
  EXPECT_HAS(errors_with([](workload_file::PackedOps& piece) {
               piece.set_collective(0, workload_file::ALL_TO_ALL);
               piece.add_splits(1);
             }),
             "contradict its type");
}

TEST(DagReader, BinaryPrioritiesBelongToWhatSends) {
  const TemporaryFolder folder;
  const auto errors_with = [&](const std::function<void(workload_file::PackedOps&)>& change) {
    const std::string path = folder.write("w.pb", binary_with(change));
    return errors_of([&] { read_workload(path); });
  };
  EXPECT_EQ(errors_with([](workload_file::PackedOps& piece) { piece.add_priority(7); }), "");
  EXPECT_HAS(errors_with([](workload_file::PackedOps& piece) { piece.add_priority(8); }), "[bad-piece]");
  for (const std::uint32_t kind : {0U, 3U}) {
    EXPECT_HAS(errors_with([kind](workload_file::PackedOps& piece) {
                 piece.set_kind(0, kind);
                 piece.add_priority(1);
               }),
               "not that of a collective or a send");
  }
  // Packed ops have their own: a priority of the communicator would be lost.
  workload_file::Workload header;
  header.set_ranks(2);
  header.add_communicator()->set_name("both");
  header.mutable_communicator(0)->set_size(2);
  header.mutable_communicator(0)->set_priority(1);
  header.add_role()->set_packed_op_count(1);
  const std::string path = folder.write("w.pb", header.SerializeAsString());
  EXPECT_HAS(errors_of([&] { read_workload(path); }), "communicator \"both\" of this binary file has a priority");
}

// An array shorter than the others was read beyond its end.
TEST(DagReader, BinaryArraysOfAnotherLengthAreRefused) {
  const TemporaryFolder folder;
  const auto errors_with = [&](const std::function<void(workload_file::PackedOps&)>& change) {
    const std::string path = folder.write("w.pb", binary_with(change));
    return errors_of([&] { read_workload(path); });
  };
  const auto two = [](auto* array) {
    array->Add(0);
    array->Add(0);
  };
  EXPECT_HAS(errors_with([&](workload_file::PackedOps& piece) { two(piece.mutable_cpu()); }), "arrays of different lengths");
  EXPECT_HAS(errors_with([&](workload_file::PackedOps& piece) { two(piece.mutable_splits()); }), "arrays of different lengths");
}

TEST(DagReader, BinaryFilesCutOffAnywhereAreRefused) {
  const TemporaryFolder folder;
  std::mt19937_64 random(6);
  const std::string bytes = binary_of(random_workload(random, true));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string path = folder.write("w.pb", bytes.substr(0, length));
    EXPECT_NE(errors_of([&] { read_workload(path); }), "") << "length " << length;
  }
}

TEST(DagReader, DamagedBinaryFilesAreReadOrRefused) {
  const TemporaryFolder folder;
  std::mt19937_64 random(8);
  const std::string bytes = binary_of(random_workload(random, true));
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (std::uint64_t k = 0; k < 1 + random() % 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    const std::string path = folder.write("w.pb", damaged);
    if (!errors_of([&] { read_workload(path); }).empty()) ++refused;
  }
  EXPECT_EQ(refused, 2221) << "of 3000";
}

TEST(DagReader, DamagedTextIsReadOrRefused) {
  std::mt19937_64 random(9);
  const std::string text = with_ops(R"(  op { name: "a" compute { duration: "1us" } stream: 1 }
  op { name: "b" send { peer_offset: 1 size: "4KiB" tag: 1 } deps: "a" }
  op { receive { peer_offset: -1 size: "4KiB" tag: 1 } }
  op { collective { type: BROADCAST elements: 100 dtype: BF16 root: 1 } deps: ["a", "b"] })");
  ASSERT_EQ(errors(text), "");
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(' ' + random() % 95);
    if (!errors(damaged).empty()) ++refused;
  }
  EXPECT_EQ(refused, 1926) << "of 2000";
}

TEST(RankList, ReadsAndPrints) {
  const auto round_trip = [](const std::string& text) {
    const ParsedRankList list = parse_rank_list(text, 100);
    return list.error.empty() ? to_text(std::span<const RankId>(list.ranks)) : "error: " + list.error;
  };
  EXPECT_EQ(round_trip("0-7,16"), "0-7,16");
  EXPECT_EQ(round_trip("0,1,2,3"), "0-3");
  EXPECT_EQ(round_trip("0, 8, 16, 24"), "0-24:8");
  EXPECT_EQ(round_trip("5,3"), "5,3");
  EXPECT_EQ(round_trip("0-9:4"), "0-8:4");
  EXPECT_EQ(round_trip("100"), "error: rank 100 is outside 0-99");
  EXPECT_EQ(round_trip("7-3"), "error: this range runs backwards");
  EXPECT_EQ(round_trip("1,,2"), "error: this is no rank");
  EXPECT_EQ(round_trip("1;2"), "error: a comma is expected here");
  EXPECT_EQ(round_trip(""), "error: a rank is missing here");
  EXPECT_EQ(round_trip("0-99,0-99"), "error: the list names more ranks than there are");
}

TEST(ElementType, SizesRoundUpAndDoNotOverflow) {
  EXPECT_EQ(*tensor_size(3, *element_type_named("BF16")), Bytes::of(6));
  EXPECT_EQ(*tensor_size(3, *element_type_named("FP4")), Bytes::of(2));
  EXPECT_FALSE(element_type_named("BF17"));
  EXPECT_FALSE(tensor_size(UINT64_MAX, *element_type_named("FP64")));
}

}  // namespace
}  // namespace weft::dag_reader_test
