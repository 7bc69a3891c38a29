// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/layer_text/layer_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/dag/summary.hpp"
#include "workloads/formats/workload_reader.hpp"

namespace weft::layer_text_test {
namespace {

Workload read(const std::string& text, LayerDialect dialect, std::optional<std::uint32_t> ranks = {}) {
  const SourceText source("layers.txt", text);
  LayerTextOptions options;
  options.ranks = ranks;
  return import_layer_text(source, dialect, options);
}
Workload simai(const std::string& text) { return read(text, LayerDialect::simai); }
Workload astra(const std::string& text, std::uint32_t ranks = 16) { return read(text, LayerDialect::astra_sim, ranks); }

std::string errors_in(const std::string& text, LayerDialect dialect = LayerDialect::simai,
                      std::optional<std::uint32_t> ranks = {}) {
  return errors_of([&] { read(text, dialect, ranks); });
}

/// Ops by name with the names of those they wait for, sorted, streams included.
std::map<std::string, std::vector<std::string>> waits(const Workload& workload) {
  const RoleDag& dag = workload.roles[0];
  std::map<std::string, std::vector<std::string>> result;
  for (std::uint32_t i = 0; i < dag.size(); ++i) result[std::string(dag.name(OpId(i)))];
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    for (const OpId next : dag.successors(OpId(i))) result[std::string(dag.name(next))].emplace_back(dag.name(OpId(i)));
  }
  return result;
}
using Names = std::vector<std::string>;

Op op_named(const Workload& workload, std::string_view name) {
  const RoleDag& dag = workload.roles[0];
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (dag.name(OpId(i)) == name) return dag.op(OpId(i));
  }
  ADD_FAILURE() << "no op " << name;
  return {};
}

std::string communicator_of(const Workload& workload, std::string_view op) {
  return workload.communicators[op_named(workload, op).communicator].name();
}

std::vector<std::uint32_t> group_of(const Workload& workload, const std::string& name, std::uint32_t rank) {
  for (const Communicator& communicator : workload.communicators) {
    if (communicator.name() != name) continue;
    std::vector<std::uint32_t> ranks;
    for (const RankId member : communicator.ranks(communicator.group_of(RankId(rank)))) ranks.push_back(member.index());
    return ranks;
  }
  return {};
}

bool assumes(const Workload& workload, std::string_view part) {
  for (const std::string& assumption : workload.assumptions) {
    if (assumption.find(part) != std::string::npos) return true;
  }
  return false;
}

constexpr const char* kTwoRows =
    "a -1 10 ALLGATHER 400 20 REDUCESCATTER 800 30 ALLREDUCE 1200 5\n"
    "b -1 11 NONE 0 21 ALLREDUCE 801 31 ALLREDUCE 1201 0\n";

TEST(LayerText, RunsATransformerAsAstraSimDoes) {
  const Workload workload = simai(std::string("HYBRID_TRANSFORMER model_parallel_NPU_group: 4 all_gpus: 8\n2\n") + kTwoRows);
  EXPECT_EQ(workload.rank_count, 8U);
  EXPECT_EQ(workload.name, "layers.txt");
  // Forward a, its gather and update block b; then b backwards with its input gradient exchanged
  // before its weight gradient; b's weight exchange runs beside a's backward, and a's follows it on
  // the stream of "dp".
  const std::map<std::string, Names> expected = {
      {"a.0.fwd", {}},
      {"a.0.fwd_comm", {"a.0.fwd"}},
      {"a.0.fwd_update", {"a.0.fwd_comm"}},
      {"b.1.fwd", {"a.0.fwd_update"}},
      {"b.1.igrad", {"b.1.fwd"}},
      {"b.1.igrad_comm", {"a.0.fwd_comm", "b.1.igrad"}},
      {"b.1.wgrad", {"b.1.igrad_comm"}},
      {"b.1.wgrad_comm", {"b.1.wgrad"}},
      {"a.0.igrad", {"b.1.wgrad"}},
      {"a.0.igrad_comm", {"b.1.igrad_comm", "a.0.igrad"}},
      {"a.0.igrad_update", {"a.0.igrad_comm"}},
      {"a.0.wgrad", {"a.0.igrad_update"}},
      {"a.0.wgrad_comm", {"b.1.wgrad_comm", "a.0.wgrad"}},
      {"a.0.wgrad_update", {"a.0.wgrad_comm"}},
  };
  EXPECT_EQ(waits(workload), expected);
  // Compute 10 + 11 + 21 + 31 + 20 + 30 ns and a's three updates of 5 ns, all on one path.
  EXPECT_EQ(longest_path(workload.roles[0]), Duration::ns(123 + 15));
  EXPECT_EQ(communicator_of(workload, "a.0.fwd_comm"), "tp");
  EXPECT_EQ(communicator_of(workload, "a.0.igrad_comm"), "tp");
  EXPECT_EQ(communicator_of(workload, "a.0.wgrad_comm"), "dp");
  // SimAI's all-gather of 400 bytes among 4 ranks: 100 of each. A reduce-scatter's input is the
  // whole buffer.
  EXPECT_EQ(op_named(workload, "a.0.fwd_comm").bytes, Bytes::of(100));
  EXPECT_EQ(op_named(workload, "a.0.igrad_comm").bytes, Bytes::of(800));
  EXPECT_EQ(op_named(workload, "a.0.wgrad_comm").bytes, Bytes::of(1200));
  EXPECT_TRUE(assumes(workload, "times are taken to be ns"));
  EXPECT_TRUE(assumes(workload, "1 ALLGATHER size is what the group holds afterwards"));
}

TEST(LayerText, AstraSimsAllGatherGivesTheOwnPart) {
  const Workload workload = astra(std::string("HYBRID_TRANSFORMER model_parallel_NPU_group: 4\n2\n") + kTwoRows);
  EXPECT_EQ(op_named(workload, "a.0.fwd_comm").bytes, Bytes::of(400));
  EXPECT_TRUE(assumes(workload, "cycles of ASTRA-sim's clock"));
}

TEST(LayerText, TakesTheTimeUnit) {
  const SourceText source("layers.txt", std::string("MODEL\n2\n") + kTwoRows);
  LayerTextOptions options;
  options.ranks = 4;
  options.time_unit = "us";
  const Workload workload = import_layer_text(source, LayerDialect::astra_sim, options);
  EXPECT_EQ(op_named(workload, "a.0.fwd").duration, Duration::us(10));
  EXPECT_FALSE(assumes(workload, "times are"));
}

TEST(LayerText, DividesRanksAsMegatronDoes) {
  // 32 ranks: tp 2, two stages of 16, so dp 8; ep 4, dp_ep 2.
  const Workload workload = simai(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 2 vpp: 1 ga: 1 all_gpus: 32 checkpoints: 0 "
      "checkpoint_initiates: 0 pp_comm 1000\n"
      "2\n"
      "embedding_layer -1 1 ALLREDUCE 8 1 ALLTOALL_EP 8 1 ALLREDUCE_DP_EP 8 0\n"
      "last -1 1 ALLGATHER_DP 8 1 ALLREDUCE_TP 8 1 REDUCESCATTER 8 0\n");
  EXPECT_EQ(group_of(workload, "tp", 21), (std::vector<std::uint32_t>{20, 21}));
  EXPECT_EQ(group_of(workload, "dp", 21), (std::vector<std::uint32_t>{17, 19, 21, 23, 25, 27, 29, 31}));
  EXPECT_EQ(group_of(workload, "ep", 21), (std::vector<std::uint32_t>{17, 19, 21, 23}));
  EXPECT_EQ(group_of(workload, "dp_ep", 21), (std::vector<std::uint32_t>{21, 29}));
  EXPECT_EQ(group_of(workload, "pp", 21), (std::vector<std::uint32_t>{5, 21}));
  EXPECT_EQ(communicator_of(workload, "last.1.fwd_comm"), "dp");
  EXPECT_EQ(communicator_of(workload, "last.1.igrad_comm"), "tp");
  EXPECT_EQ(communicator_of(workload, "last.1.wgrad_comm"), "dp");
  // The one micro-batch ends with the forward of the last row; its gradients leave after the first
  // row's input gradient.
  EXPECT_EQ(waits(workload).at("pp.0.0.fwd_send"), (Names{"last.1.fwd_comm"}));
  EXPECT_EQ(waits(workload).at("last.1.igrad"), (Names{"pp.0.0.fwd_send", "pp.0.0.fwd_recv"}));
  EXPECT_EQ(waits(workload).at("embedding_layer.0.wgrad"), (Names{"pp.0.0.bwd_send", "pp.0.0.bwd_recv"}));
  EXPECT_EQ(op_named(workload, "pp.0.0.fwd_send").bytes, Bytes::of(1000));
  EXPECT_TRUE(assumes(workload, "pipeline bubbles are not modelled"));
}

TEST(LayerText, RecomputesFromTheCheckpoint) {
  const Workload workload = astra(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 2 0 2 checkpoint_initiates: 2 3 1\n4\n"
      "a -1 1 NONE 0 10 NONE 0 100 NONE 0 1\n"
      "b -1 2 NONE 0 20 NONE 0 200 NONE 0 1\n"
      "c -1 3 ALLREDUCE 64 30 NONE 0 300 NONE 0 1\n"
      "d -1 4 NONE 0 40 NONE 0 400 NONE 0 1\n");
  // Before the backward of d, row 2 (c) runs again with its collective; before that of b, row 0
  // (a).
  const auto all = waits(workload);
  EXPECT_EQ(all.at("c.2.fwd.again"), (Names{"d.3.fwd"}));
  EXPECT_EQ(all.at("c.2.fwd_comm.again"), (Names{"c.2.fwd_comm", "c.2.fwd.again"}));
  EXPECT_EQ(all.at("d.3.igrad"), (Names{"c.2.fwd_update.again"}));
  EXPECT_EQ(all.at("a.0.fwd.again"), (Names{"c.2.wgrad"}));
  EXPECT_EQ(all.at("b.1.igrad"), (Names{"a.0.fwd.again"}));
  // 10 forward + 100 input + 1000 weight gradients, 3 + 1 again, two updates of 1.
  EXPECT_EQ(longest_path(workload.roles[0]), Duration::ns(10 + 100 + 1000 + 4 + 2));
}

TEST(LayerText, DataParallelCommunicatesGradientsOnly) {
  const Workload workload = astra(std::string("DATA\n2\n") + kTwoRows);
  const std::map<std::string, Names> expected = {
      {"a.0.fwd", {}},
      {"b.1.fwd", {"a.0.fwd"}},
      {"b.1.wgrad", {"b.1.fwd"}},
      {"b.1.wgrad_comm", {"b.1.wgrad"}},
      {"b.1.igrad", {"b.1.wgrad"}},
      {"a.0.wgrad", {"b.1.igrad"}},
      {"a.0.wgrad_comm", {"b.1.wgrad_comm", "a.0.wgrad"}},
      {"a.0.wgrad_update", {"a.0.wgrad_comm"}},
  };
  EXPECT_EQ(waits(workload), expected);
  EXPECT_EQ(communicator_of(workload, "a.0.wgrad_comm"), "world");
  // ALLGATHER and REDUCESCATTER of a, ALLREDUCE of b in the first two columns.
  EXPECT_TRUE(assumes(workload, "3 collectives of the rows are not part of a pass under DATA"));
}

TEST(LayerText, HybridsOverlapTheInputGradient) {
  const Workload workload = astra(std::string("HYBRID_DATA_MODEL\n2\n") + kTwoRows);
  const auto all = waits(workload);
  EXPECT_EQ(all.at("b.1.wgrad"), (Names{"b.1.igrad"}));
  EXPECT_EQ(all.at("b.1.wgrad_comm"), (Names{"b.1.wgrad"}));
  // a waits for b's input gradient; its own is not exchanged.
  EXPECT_EQ(all.at("a.0.igrad"), (Names{"b.1.igrad_comm", "b.1.wgrad"}));
  EXPECT_EQ(all.count("a.0.igrad_comm"), 0U);
  EXPECT_EQ(group_of(workload, "tp", 9), (std::vector<std::uint32_t>{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(group_of(workload, "dp", 9), (std::vector<std::uint32_t>{1, 9}));
  EXPECT_TRUE(assumes(workload, "gives no model_parallel_NPU_group: model-parallel groups are taken to be 8 neighbouring ranks"));

  const Workload turned = astra(std::string("HYBRID_MODEL_DATA\n2\n") + kTwoRows);
  EXPECT_EQ(group_of(turned, "dp_inner", 9), (std::vector<std::uint32_t>{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(group_of(turned, "tp_outer", 9), (std::vector<std::uint32_t>{1, 9}));
}

TEST(LayerText, CustomizedRowsChooseForThemselves) {
  const Workload workload = astra(
      "HYBRID_CUSTOMIZED model_parallel_NPU_group: 4\n4\n"
      "a -1 1 ALLGATHER 8 1 NONE 0 1 ALLREDUCE 8 0 HYBRID_DATA_MODEL\n"
      "b -1 1 ALLGATHER 8 1 NONE 0 1 ALLREDUCE 8 0 HYBRID_MODEL_DATA\n"
      "c -1 1 ALLGATHER 8 1 NONE 0 1 ALLREDUCE 8 0 DATA\n"
      "d -1 1 ALLGATHER 8 1 NONE 0 1 ALLREDUCE 8 0 MODEL\n");
  EXPECT_EQ(communicator_of(workload, "a.0.fwd_comm"), "tp");
  EXPECT_EQ(communicator_of(workload, "a.0.wgrad_comm"), "dp");
  EXPECT_EQ(communicator_of(workload, "b.1.fwd_comm"), "tp_outer");
  EXPECT_EQ(communicator_of(workload, "b.1.wgrad_comm"), "dp_inner");
  EXPECT_EQ(communicator_of(workload, "c.2.wgrad_comm"), "world");
  EXPECT_EQ(communicator_of(workload, "d.3.fwd_comm"), "world");
  EXPECT_TRUE(assumes(workload, "2 collectives of the rows are not part of a pass"));
}

TEST(LayerText, DlrmExchangesEmbeddingsBesideTheBottomLayers) {
  const Workload workload = astra(
      "HYBRID_DLRM 1\n3\n"
      "emb -1 1 ALLTOALL 8 1 ALLTOALL 8 1 NONE 0 0\n"
      "bottom -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0\n"
      "top -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0\n");
  const std::map<std::string, Names> expected = {
      {"emb.0.fwd", {}},
      {"emb.0.fwd_comm", {"emb.0.fwd"}},
      {"bottom.1.fwd", {"emb.0.fwd"}},
      {"top.2.fwd", {"emb.0.fwd_comm", "bottom.1.fwd"}},
      {"top.2.wgrad", {"top.2.fwd"}},
      {"top.2.wgrad_comm", {"emb.0.fwd_comm", "top.2.wgrad"}},
      {"top.2.igrad", {"top.2.wgrad"}},
      {"emb.0.igrad_comm", {"top.2.wgrad_comm", "top.2.igrad"}},
      {"bottom.1.wgrad", {"top.2.igrad"}},
      {"bottom.1.wgrad_comm", {"emb.0.igrad_comm", "bottom.1.wgrad"}},
      {"bottom.1.igrad", {"bottom.1.wgrad"}},
      {"emb.0.wgrad", {"bottom.1.igrad"}},
  };
  EXPECT_EQ(waits(workload), expected);
  const Workload of_simai = simai(
      "HYBRID_DLRM_ENHANCED all_gpus: 4 DLRM_LAST_BOTTOM_LAYER: 0\n2\n"
      "emb -1 1 ALLTOALL 8 1 ALLTOALL 8 1 NONE 0 0\n"
      "top -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0\n");
  EXPECT_EQ(of_simai.rank_count, 4U);
}

TEST(LayerText, InferenceRunsForwardsAndMicroRunsTheCollectives) {
  const Workload inference = astra(std::string("DISTRIBUTED_INFERENCE\n2\n") + kTwoRows);
  EXPECT_EQ(waits(inference).size(), 4U);  // a.fwd, its gather and update, b.fwd
  const Workload micro = astra(std::string("MICRO\n2\n") + kTwoRows);
  // Both weight-gradient collectives and a's update; nothing waits for them but the stream.
  EXPECT_EQ(waits(micro),
            (std::map<std::string, Names>{
                {"a.0.wgrad_comm", {}}, {"a.0.wgrad_update", {"a.0.wgrad_comm"}}, {"b.1.wgrad_comm", {"a.0.wgrad_comm"}}}));
  EXPECT_TRUE(assumes(micro, "2 rows give compute times, which MICRO does not run"));
}

TEST(LayerText, RanksAgreeUnderEveryPolicy) {
  for (const char* policy :
       {"DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        "HYBRID_DLRM 0", "HYBRID_DLRM_ENHANCED 0", "DISTRIBUTED_INFERENCE", "MICRO"}) {
    const Workload workload = astra(std::string(policy) + "\n2\n" + kTwoRows);
    Diagnostics diagnostics;
    check_workload(workload, SourcePlace::named(policy), diagnostics);
    EXPECT_FALSE(diagnostics.has_errors()) << policy;
    EXPECT_GT(workload.roles[0].size(), 0U) << policy;
  }
}

TEST(LayerText, LeavesOutWhatTakesNoTime) {
  const Workload workload = simai(
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 all_gpus: 2\n1\n"
      "a 7 0 ALLREDUCE 8 0 NONE 0 0 ALLREDUCE 0 9\n");
  EXPECT_EQ(workload.roles[0].size(), 0U);
  EXPECT_TRUE(assumes(workload, "1 collective in a group of one rank"));
  EXPECT_TRUE(assumes(workload, "1 collective of 0 bytes"));
  EXPECT_TRUE(assumes(workload, "1 row has a value in the reserved second column"));
}

TEST(LayerText, SaysWhenMicroBatchesDoNotShow) {
  const Workload workload = simai(
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 pp: 2 ga: 2 all_gpus: 2 pp_comm: 5\n1\nx -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n");
  EXPECT_TRUE(assumes(workload, "do not show the 2 micro-batches"));
}

TEST(LayerText, RefusesWhatTheFirstLineGetsWrong) {
  const std::string rows = std::string("\n2\n") + kTwoRows;
  EXPECT_HAS(errors_in("HYBRID_TRANSFORMR all_gpus: 8" + rows), "did you mean \"HYBRID_TRANSFORMER\"?");
  EXPECT_HAS(errors_in("DATA all_gpu: 8" + rows), "layers.txt:1:6: error: the first line has no key \"all_gpu\" [unknown-key]");
  EXPECT_HAS(errors_in("DATA all_gpus: 8 all_gpus: 8" + rows), "[duplicate-key]");
  EXPECT_HAS(errors_in("DATA all_gpus:" + rows), "[missing-value]");
  EXPECT_HAS(errors_in("DATA all_gpus 8" + rows), "[missing-colon]");
  EXPECT_HAS(errors_in("DATA all_gpus: -8" + rows), "layers.txt:1:16: error: all_gpus is negative [negative-number]");
  EXPECT_HAS(errors_in("DATA all_gpus: 0" + rows), "[out-of-range]");
  EXPECT_HAS(errors_in("DATA all_gpus: 99999999999999999999" + rows), "[out-of-range]");
  EXPECT_HAS(errors_in("DATA all_gpus: eight" + rows), "[bad-value]");
  EXPECT_HAS(errors_in("DATA" + rows), "[ranks-needed]");
  EXPECT_HAS(errors_in("DATA all_gpus: 8" + rows, LayerDialect::simai, 4), "[rank-conflict]");
  EXPECT_HAS(errors_in("DATA all_gpus: 8" + rows, LayerDialect::astra_sim, 8), "name the file FILE:simai");
  EXPECT_HAS(errors_in("HYBRID_TRANSFORMER model_parallel_NPU_group: 3 all_gpus: 8" + rows),
             "8 ranks cannot be divided into groups of 3");
  EXPECT_HAS(errors_in("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 pp: 3 all_gpus: 8" + rows),
             "3 stages of groups of 2 [bad-groups]");
  EXPECT_HAS(errors_in("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 3 all_gpus: 8" + rows),
             "expert groups of 3 [bad-groups]");
  EXPECT_HAS(errors_in("HYBRID_DLRM" + rows, LayerDialect::astra_sim, 4), "[missing-key]");
  EXPECT_HAS(errors_in("HYBRID_DLRM 1" + rows, LayerDialect::astra_sim, 4), "[out-of-range]");
}

TEST(LayerText, RefusesWrongCheckpoints) {
  const std::string head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 2 ";
  const std::string rows = std::string("\n2\n") + kTwoRows;
  EXPECT_HAS(errors_in(head + "checkpoints: 2 0" + rows), "announces 2 rows, 1 follows [missing-value]");
  EXPECT_HAS(errors_in(head + "checkpoints: 1 2" + rows), "row 2 does not exist [out-of-range]");
  EXPECT_HAS(errors_in(head + "checkpoints: 0 checkpoint_initiates: 1 1" + rows), "no checkpoint comes before it [bad-checkpoint]");
  EXPECT_HAS(errors_in(head + "checkpoints: 1 0 checkpoint_initiates: 2 1 1" + rows), "twice [bad-checkpoint]");
  const std::string three = "\n3\n" + std::string(kTwoRows) + "c -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n";
  EXPECT_HAS(errors_in(head + "checkpoints: 1 0 checkpoint_initiates: 2 1 2" + three), "row 1 initiates recomputing too");
}

TEST(LayerText, RefusesWhatRowsGetWrong) {
  const std::string head = "DATA all_gpus: 8\n";
  const auto row = [&](const std::string& text) { return errors_in(head + "1\n" + text + "\n"); };
  EXPECT_HAS(errors_in("DATA all_gpus: 8\n"), "[bad-count]");
  EXPECT_HAS(errors_in(head + "1 2\n"), "[bad-count]");
  EXPECT_HAS(errors_in(head + "3\n" + kTwoRows), "layers.txt:2:1: error: 3 rows are announced, 2 follow [count-mismatch]");
  EXPECT_HAS(errors_in(head + "1\n" + kTwoRows), "correct this number");
  EXPECT_HAS(row("a -1 1 NONE 0 1 NONE 0 1 NONE 0"), "this row has 11 fields, 12 are needed [wrong-field-count]");
  EXPECT_HAS(row("a -1 -4 NONE 0 1 NONE 0 1 NONE 0 0"), "layers.txt:3:6: error: the forward time is negative [negative-number]");
  EXPECT_HAS(row("a -1 1.5 NONE 0 1 NONE 0 1 NONE 0 0"), "[bad-value]");
  EXPECT_HAS(row("a -1 99999999999999999 NONE 0 1 NONE 0 1 NONE 0 0"), "[out-of-range]");
  EXPECT_HAS(row("a -1 1 ALREDUCE 8 1 NONE 0 1 NONE 0 0"), "did you mean \"ALLREDUCE\"?");
  EXPECT_HAS(row("a -1 1 ALLREDUCEALLTOALL 8 1 NONE 0 1 NONE 0 0"), "[unsupported-collective]");
  EXPECT_HAS(row("a -1 1 ALLREDUCE_XP 8 1 NONE 0 1 NONE 0 0"), "[unknown-group]");
  EXPECT_HAS(row("a x 1 NONE 0 1 NONE 0 1 NONE 0 0"), "[bad-value]");
  EXPECT_HAS(errors_in("DATA\n1\na -1 1 ALLREDUCE_EP 8 1 NONE 0 1 NONE 0 0\n", LayerDialect::astra_sim, 4), "[unknown-group]");
  // Two mistakes are reported together.
  const std::string both = row("a -1 -1 NONE 0 1 NONE 0 1 ALLREDUCE -8 0");
  EXPECT_HAS(both, "layers.txt:3:6");
  EXPECT_HAS(both, "layers.txt:3:37");
  EXPECT_HAS(errors_in("HYBRID_CUSTOMIZED all_gpus: 8\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0 MICRO\n"), "of a row [unknown-policy]");
}

TEST(LayerText, ReadsTheMicroAllReduceSample) {
  const std::string path = data_path("workloads/simai/microAllReduce.txt");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Workload workload = load_workload(path, "simai");
  EXPECT_EQ(workload.rank_count, 8U);
  // Per row three computes (556,000 + 1 + 1 ns), an all-reduce and an update of 1 ns, which blocks.
  const WorkloadSummary summary = summarise(workload);
  EXPECT_EQ(summary.roles[0].ops_by_kind[0], 2U * 4);
  EXPECT_EQ(summary.roles[0].ops_by_kind[1], 2U);
  EXPECT_EQ(summary.roles[0].critical_path, Duration::ns(2 * 556'003));
  EXPECT_EQ(summary.communication[0].bytes, Bytes::of(8 * (16'777'216 + 67'108'864)));
}

TEST(LayerText, ReadsTheLargeSample) {
  const std::string path = data_path("workloads/simai/workload_analytical.txt");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Workload workload = load_workload(path, "simai");
  EXPECT_EQ(workload.rank_count, 9216U);
  EXPECT_EQ(workload.roles.size(), 1U);
  const WorkloadSummary summary = summarise(workload);
  std::map<std::string, std::uint64_t> ops;
  std::map<std::string, std::uint32_t> sizes;
  for (const CommunicationSummary& row : summary.communication) {
    ops[row.communicator] += row.ops / 9216;
    sizes[row.communicator] = row.group_size_max;
  }
  // Group sizes: 9216 / (2 x 12) = 384 data-parallel ranks, 384 / 16 = 24 replicas of an expert.
  EXPECT_EQ(sizes["tp"], 2U);
  EXPECT_EQ(sizes["dp"], 384U);
  EXPECT_EQ(sizes["ep"], 16U);
  EXPECT_EQ(sizes["dp_ep"], 24U);
  EXPECT_EQ(sizes["pp"], 12U);
  // By the table's rows: 192 layers x (7 mlp + attention column and row), of whose 384 ALLTOALL_EP
  // rows both sides are in ep; a REDUCESCATTER of 0 bytes in the input gradient of 192 + 24 rows is
  // left out.
  EXPECT_EQ(ops["ep"], 2U * 384);
  EXPECT_EQ(ops["dp"], 2U);
  EXPECT_EQ(ops["dp_ep"], 2U);
  // embedding_grads; 24 embeddings; attention_column and final_column forward only; row, 5 other
  // mlp rows both ways; 3 + 4 all-reduces.
  EXPECT_EQ(ops["tp"], 1U + 24 + 192 + 24 + 2 * 192 * (1 + 5) + 3 + 4);
  // 24 micro-batches x 8 messages, forward and backward.
  EXPECT_EQ(ops["pp"], 2U * 24 * 8);
  EXPECT_TRUE(assumes(workload, "216 collectives of 0 bytes"));
}

TEST(LayerText, SizesBesideNoneAreCounted) {
  // They vanished without a word.
  const std::string head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4\n1\n";
  const auto has_note = [](const Workload& workload) {
    return std::find(workload.assumptions.begin(), workload.assumptions.end(), "2 sizes stand beside NONE: nothing is sent") !=
           workload.assumptions.end();
  };
  EXPECT_TRUE(has_note(simai(head + "y -1 1 NONE 5 1 NONE 0 1 NONE 7 1\n")));
  EXPECT_FALSE(has_note(simai(head + "y -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 7 1\n")));
}

}  // namespace
}  // namespace weft::layer_text_test
