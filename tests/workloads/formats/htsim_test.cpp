// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/htsim/htsim_cm.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/formats/workload_reader.hpp"

namespace weft::htsim_test {
namespace {

class MatrixFile {
 public:
  Workload import(const std::string& text) const {
    Workload workload = import_htsim(folder_.write("m.cm", text), std::nullopt);
    Diagnostics diagnostics;
    check_workload(workload, SourcePlace::named("m.cm"), diagnostics);
    diagnostics.throw_if_errors();
    return workload;
  }
  std::string errors(const std::string& text) const {
    return errors_of([&] { import(text); });
  }

 private:
  TemporaryFolder folder_;
};

bool has_assumption(const Workload& workload, const std::string& part) {
  return std::any_of(workload.assumptions.begin(), workload.assumptions.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

std::uint32_t count(const RoleDag& dag, OpKind kind) {
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < dag.size(); ++i) found += dag.kind(OpId(i)) == kind ? 1 : 0;
  return found;
}

// 1,234,567 ps are 123,456.7 ticks of 10 ps.
TEST(ImportHtsim, ConnectionsStartAtTheirTime) {
  const Workload workload = MatrixFile().import(
      "# a comment\nNodes 4\nConnections 3\n\n0->1 start 0 size 2000000\n0->2 id 7 start 1234567 size 64 prio 3\n3->0 size 1 start "
      "1.5e6\n");
  EXPECT_EQ(workload.rank_count, 4U);
  const RoleDag& first = workload.dag_of(RankId(0));
  ASSERT_EQ(count(first, OpKind::send), 2U);
  EXPECT_EQ(count(first, OpKind::receive), 1U);
  for (std::uint32_t i = 0; i < first.size(); ++i) {
    const Op op = first.op(OpId(i));
    if (op.kind == OpKind::compute) {
      EXPECT_EQ(op.duration, Duration::ticks(123'457));
      EXPECT_EQ(op.processor, Processor::cpu);
    }
    if (op.kind == OpKind::send) {
      EXPECT_EQ(first.predecessor_count(OpId(i)), op.bytes == Bytes::of(64) ? 1U : 0U);
    }
  }
  EXPECT_EQ(workload.dag_of(RankId(3)).op(OpId(0)).duration + workload.dag_of(RankId(3)).op(OpId(1)).duration, Duration::ns(1500));
  EXPECT_TRUE(has_assumption(workload, "1 connection gives a prio"));
}

// The smallest number goes first, and no number is 0; the last of the file is priority 0.
TEST(ImportHtsim, SmallerPriosGoFirst) {
  const Workload workload = MatrixFile().import(
      "Nodes 2\nConnections 4\n0->1 start 0 size 1\n0->1 start 0 size 2 prio 2\n0->1 start 0 size 3 prio 9\n0->1 start 0 size 4 "
      "prio 0\n");
  const RoleDag& sender = workload.dag_of(RankId(0));
  std::map<std::int64_t, int> priority_by_size;
  for (std::uint32_t i = 0; i < sender.size(); ++i)
    priority_by_size[sender.op(OpId(i)).bytes.count()] = sender.op(OpId(i)).priority;
  EXPECT_EQ(priority_by_size, (std::map<std::int64_t, int>{{1, 7}, {2, 5}, {3, 0}, {4, 7}}));
  EXPECT_TRUE(has_assumption(workload, "3 connections give a prio; smaller numbers go first on every link"));
  EXPECT_TRUE(has_assumption(workload, "1 connection gives a prio above 7, which counts as 7"));
  // Two files of one prio each are alike: what matters is the order.
  const Workload flat = MatrixFile().import("Nodes 2\nConnections 1\n0->1 start 0 size 1 prio 4\n");
  EXPECT_EQ(flat.dag_of(RankId(0)).op(OpId(0)).priority, 0);
}

TEST(ImportHtsim, TriggersAtTheSameNodeAreEdges) {
  // 0 -> 1, and when 1 has it, 1 -> 2; when 1 has sent, 1 -> 3.
  const Workload workload = MatrixFile().import(
      "Nodes 4\nConnections 3\nTriggers 2\n0->1 id 1 start 0 size 10 recv_done_trigger 5\n"
      "1->2 id 2 trigger 5 size 20 send_done_trigger 6\n1->3 id 3 trigger 6 size 30\ntrigger id 5 oneshot\ntrigger id 6 oneshot\n");
  const RoleDag& dag = workload.dag_of(RankId(1));
  ASSERT_EQ(dag.size(), 3U);
  EXPECT_EQ(dag.op(OpId(0)).kind, OpKind::receive);
  ASSERT_EQ(dag.successors(OpId(0)).size(), 1U);
  EXPECT_EQ(dag.successors(OpId(0))[0], OpId(1));
  EXPECT_EQ(dag.op(OpId(1)).bytes, Bytes::of(20));
  EXPECT_EQ(dag.successors(OpId(1))[0], OpId(2));
  EXPECT_EQ(workload.assumptions.size(), 1U);
  EXPECT_TRUE(has_assumption(workload, "starts of connections count from the start of the ranks"));
}

TEST(ImportHtsim, TriggersAtAnotherNodeSendAnEmptyMessage) {
  // The ring of csg-htsim's gen_allreduce.py: 1 -> 2 starts when 0 has sent to 1, which 0 must tell
  // 1.
  const Workload workload = MatrixFile().import(
      "Nodes 3\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 10 send_done_trigger 5\n1->2 id 2 trigger 5 size 20\ntrigger id "
      "5 oneshot\n");
  EXPECT_EQ(count(workload.dag_of(RankId(0)), OpKind::send), 2U);
  EXPECT_EQ(count(workload.dag_of(RankId(1)), OpKind::receive), 2U);
  EXPECT_EQ(workload.dag_of(RankId(1)).edge_count(), 1U);
  EXPECT_TRUE(has_assumption(workload, "1 empty message tells"));
}

TEST(ImportHtsim, BarriersWaitForAll) {
  // Node 0 hears from 1 and 2 and starts its own connection and node 3's.
  const std::string text =
      "Nodes 4\nConnections 4\nTriggers 1\n1->0 id 1 start 0 size 10 send_done_trigger 5\n2->0 id 2 start 0 size 10 "
      "send_done_trigger 5\n"
      "0->1 id 3 trigger 5 size 20\n3->1 id 4 trigger 5 size 20\ntrigger id 5 barrier count 2\n";
  const Workload workload = MatrixFile().import(text);
  EXPECT_TRUE(has_assumption(workload, "3 empty messages"));
  const RoleDag& centre = workload.dag_of(RankId(0));
  EXPECT_EQ(count(centre, OpKind::receive), 4U);
  EXPECT_EQ(count(centre, OpKind::send), 2U);
  EXPECT_HAS(MatrixFile().errors(std::string(text).replace(text.find("count 2"), 7, "count 3")),
             "this connection never starts: trigger 5 is activated 2 times of 3 [never-starts]");
  EXPECT_HAS(MatrixFile().errors(std::string(text).replace(text.find("count 2"), 7, "count 1")),
             "trigger 5 is activated 2 times, but its count is 1 [trigger-count]");
  EXPECT_TRUE(
      has_assumption(MatrixFile().import(std::string(text).replace(text.find("count 2"), 7, "")), "1 barrier gives no count"));
}

// Two connections of node 0 are under way at a time: the first two start the next two as they end.
TEST(ImportHtsim, MultishotKeepsConnectionsUnderWay) {
  const Workload workload = MatrixFile().import(
      "Nodes 5\nConnections 4\nTriggers 1\n0->1 id 1 start 0 size 10 send_done_trigger 5\n0->2 id 2 start 0 size 20 "
      "send_done_trigger 5\n"
      "0->3 id 3 trigger 5 size 30 send_done_trigger 5\n0->4 id 4 trigger 5 size 40 send_done_trigger 5\ntrigger id 5 multishot\n");
  const RoleDag& dag = workload.dag_of(RankId(0));
  ASSERT_EQ(dag.size(), 4U);
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_EQ(dag.successors(OpId(i)).size(), 1U);
    EXPECT_EQ(dag.op(dag.successors(OpId(i))[0]).bytes, dag.op(OpId(i)).bytes + Bytes::of(20));
  }
  EXPECT_TRUE(has_assumption(workload, "1 multishot trigger starts"));
}

TEST(ImportHtsim, MultishotFollowsTheSizesOfConnections) {
  // Activations were put in order by the starts of connections only, so 1 MB ended before 1 kB. At
  // 100 Gb/s 1 kB takes 80 ns, 1 MB 80 us and the 100 kB that start after 10 us end at 18 us: the
  // order is 1 kB, 100 kB, 1 MB.
  const Workload workload = MatrixFile().import(
      "Nodes 8\nConnections 6\nTriggers 1\n0->1 id 1 start 0 size 1000000 send_done_trigger 1\n0->2 id 2 start 0 size 1000 "
      "send_done_trigger 1\n0->3 id 3 start 10000000 size 100000 send_done_trigger 1\n0->4 id 4 trigger 1 size 40\n"
      "0->5 id 5 trigger 1 size 50\n0->6 id 6 trigger 1 size 60\ntrigger id 1 multishot\n");
  const RoleDag& dag = workload.dag_of(RankId(0));
  std::map<std::int64_t, std::int64_t> bytes_after;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const bool is_first = dag.kind(OpId(i)) == OpKind::send && !dag.successors(OpId(i)).empty();
    if (is_first) bytes_after[dag.op(OpId(i)).bytes.count()] = dag.op(dag.successors(OpId(i))[0]).bytes.count();
  }
  const std::map<std::int64_t, std::int64_t> wanted = {{1'000, 40}, {100'000, 50}, {1'000'000, 60}};
  EXPECT_EQ(bytes_after, wanted);
  EXPECT_TRUE(has_assumption(workload, "in the order in which those before would end at 100Gbps each"));
}

TEST(ImportHtsim, NodesThatDoTheSameShareARole) {
  std::string text = "Nodes 1000\nConnections 100\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("{}->{} start 0 size 5\n", i, (i + 1) % 100);
  const Workload workload = MatrixFile().import(text);
  // 1 .. 98, those two at the ends of the hundred, and all that are idle.
  EXPECT_EQ(workload.roles.size(), 4U);
}

struct MatrixFault {
  std::string title;
  std::string text;
  std::string wanted;
};

class MatrixFaults : public testing::TestWithParam<MatrixFault> {};

TEST_P(MatrixFaults, AreReported) { EXPECT_HAS(MatrixFile().errors(GetParam().text), GetParam().wanted); }

const std::string kHead = "Nodes 4\nConnections 1\n";

INSTANTIATE_TEST_SUITE_P(
    ImportHtsim, MatrixFaults,
    testing::Values(
        MatrixFault{"empty", "", "[empty-file]"}, MatrixFault{"no_connections", "Nodes 4\nConnections 0\n", "[empty-file]"},
        MatrixFault{"other_text", "hello world\n",
                    "m.cm:1:1: error: \"hello\" begins no line of a connection matrix [unknown-keyword]"},
        MatrixFault{"misspelt_header", "Nodes 4\nConections 1\n0->1 start 0 size 5\n", "did you mean \"Connections\"?"},
        MatrixFault{"no_nodes", "Connections 1\n0->1 start 0 size 5\n", "Nodes is missing before the first connection"},
        MatrixFault{"only_counts", "Connections 0\n", "[missing-field]"},
        MatrixFault{"nodes_twice", "Nodes 4\nNodes 5\n", "m.cm:2:1: error: Nodes is given twice"},
        MatrixFault{"no_value", "Nodes\n", "\"Nodes\" has no value"},
        MatrixFault{"cut_off", "Nodes 4\nConnections 3\n0->1 start 0 size 5\n",
                    "m.cm:2: error: Connections announces 3, but there are 1 [count-mismatch]"},
        MatrixFault{"uncounted_triggers", kHead + "0->1 start 0 size 5\ntrigger id 1 oneshot\n",
                    "no line Triggers [count-mismatch]"},
        MatrixFault{"node_outside", kHead + "0->4 start 0 size 5\n",
                    "m.cm:3:4: error: the destination is node 4, but the matrix has 4 nodes"},
        MatrixFault{"to_itself", kHead + "1->1 start 0 size 5\n", "[self-flow]"},
        MatrixFault{"no_source", kHead + "->1 start 0 size 5\n", "the source is missing"},
        MatrixFault{"no_size", kHead + "0->1 start 0\n", "this connection has no size [missing-field]"},
        MatrixFault{"endless", kHead + "0->1 start 0 size 0\n", "a flow without end, which Weft does not simulate [endless-flow]"},
        MatrixFault{"no_start", kHead + "0->1 size 5\n", "nothing starts this connection [start-conflict]"},
        MatrixFault{"two_starts", kHead + "0->1 id 1 start 0 trigger 1 size 5\ntrigger id 1 oneshot\n",
                    "has a start and a trigger"},
        MatrixFault{"negative_start", kHead + "0->1 start -1 size 5\n", "the start is negative"},
        MatrixFault{"bad_start", kHead + "0->1 start 5us size 5\n",
                    "m.cm:3:12: error: the start is no number of picoseconds: \"5us\""},
        MatrixFault{"late_start", kHead + "0->1 start 1e30 size 5\n", "starts after more than a year"},
        MatrixFault{"trigger_needs_id", kHead + "Triggers 1\n0->1 trigger 1 size 5\ntrigger id 1 oneshot\n", "needs an id"},
        MatrixFault{"misspelt_word", kHead + "0->1 start 0 siez 5\n", "did you mean \"size\"?"},
        MatrixFault{"word_twice", kHead + "0->1 start 0 size 5 size 6\n", "m.cm:3:21: error: \"size\" is given twice"},
        MatrixFault{"unknown_trigger", kHead + "0->1 id 1 start 0 size 5 send_done_trigger 9\n",
                    "m.cm:3:44: error: there is no trigger 9 [unknown-trigger]"},
        MatrixFault{"never_activated", kHead + "Triggers 1\n0->1 id 1 trigger 3 size 5\ntrigger id 3 oneshot\n",
                    "m.cm:4: error: this connection never starts: nothing activates trigger 3 [never-starts]"},
        MatrixFault{"cycle", kHead + "Triggers 1\n0->1 id 1 trigger 3 size 5 send_done_trigger 3\ntrigger id 3 oneshot\n",
                    "what would activate it waits for it"},
        MatrixFault{
            "fires_twice",
            "Nodes 4\nConnections 3\nTriggers 1\n0->1 start 0 size 5 send_done_trigger 3\n0->2 start 0 size 5 send_done_trigger 3\n"
            "0->3 id 1 trigger 3 size 5\ntrigger id 3 oneshot\n",
            "m.cm:7: error: trigger 3 is activated 2 times, but oneshot allows one [fires-twice]"},
        MatrixFault{"flow_id_twice", "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 5\n0->1 id 1 start 0 size 5\n",
                    "[duplicate-id]"},
        MatrixFault{"trigger_twice", kHead + "Triggers 2\n0->1 start 0 size 5\ntrigger id 1 oneshot\ntrigger id 1 barrier\n",
                    "[duplicate-id]"},
        MatrixFault{"trigger_without_kind", kHead + "Triggers 1\n0->1 start 0 size 5\ntrigger id 1\n", "this trigger has no kind"},
        MatrixFault{"misspelt_kind", kHead + "Triggers 1\n0->1 start 0 size 5\ntrigger id 1 onehsot\n",
                    "did you mean \"oneshot\"?"},
        // The fuzzer's: a faulty trigger whose id comes again.
        MatrixFault{"faulty_trigger_twice", kHead + "Triggers 2\n0->1 start 0 size 5\ntrigger id 7 onesho\ntrigger id 7 oneshot\n",
                    "trigger 7 stands at line 5 already"},
        MatrixFault{"bad_switch", kHead + "Failures 1\n0->1 start 0 size 5\nfailure switch_type TORR switch_id 0 link_id 1\n",
                    "there is no switch type \"TORR\""}),
    [](const testing::TestParamInfo<MatrixFault>& fault) { return fault.param.title; });

TEST(ImportHtsim, IsListedAsAFormat) {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "m.cm", "Nodes 2\nConnections 1\nFailures 1\n0->1 start 0 size 9\nfailure switch_type TOR switch_id 0 link_id 1\n");
  EXPECT_TRUE(has_assumption(load_workload(path, "htsim"), "1 failure is ignored"));
  WorkloadOptions options;
  options.ranks = 3;
  EXPECT_HAS(errors_of([&] { load_workload(path, "htsim", options); }), "[rank-conflict]");
}

TEST(ImportHtsim, DamagedFilesAreReadOrRefused) {
  std::mt19937_64 random(5);
  const std::string whole =
      "Nodes 5\nConnections 4\nTriggers 2\n0->1 id 1 start 0 size 10 send_done_trigger 5\n0->2 id 2 start 1.5 size 20 "
      "recv_done_trigger 5\n"
      "0->3 id 3 trigger 5 size 30 send_done_trigger 6\n2->4 id 4 trigger 6 size 40 prio 1\ntrigger id 5 barrier count 2\ntrigger "
      "id 6 multishot\n";
  const MatrixFile file;
  ASSERT_EQ(file.errors(whole), "");
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (std::uint64_t k = 0; k < 1 + random() % 3; ++k) damaged[random() % damaged.size()] = "0123456 \n->tid."[random() % 15];
    if (!file.errors(damaged.substr(0, random() % 4 == 0 ? random() % damaged.size() : damaged.size())).empty()) ++refused;
  }
  EXPECT_EQ(refused, 1970) << "of 2000";
}

}  // namespace
}  // namespace weft::htsim_test
