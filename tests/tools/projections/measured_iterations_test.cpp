// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/measured_iterations.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/text/diagnostics.hpp"

namespace weft::measured_iterations_test {

namespace {

constexpr const char* vtrain_header =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,"
    "pipeline parallelism,iteration time (ms)\n";
constexpr const char* published_header =
    "table,status,model,params_b,layers,hidden,ffn,heads,kv,vocab,seq,gbs,mbs,tp,pp,vp,dp,cp,ep,gpus,gpu,precision,recompute,"
    "step_s,tok_s,tflops_gpu,mfu_pct,system\n";

std::vector<MeasuredIteration> vtrain(const std::string& rows) {
  return read_vtrain_iterations(SourceText("vtrain.csv", vtrain_header + rows));
}
std::vector<MeasuredIteration> published(const std::string& rows) {
  return read_published_iterations(SourceText("published.csv", published_header + rows));
}

}  // namespace

TEST(MeasuredIterations, OfVtrainAreGptModelsOfTheirRows) {
  const std::vector<MeasuredIteration> rows = vtrain("8,32,4,1024,16,24,1024,2,2,2,219.5\n4,16,4,2048,16,24,1024,1,2,2,410.25\n");
  ASSERT_EQ(rows.size(), 2U);
  const MeasuredIteration& row = rows.front();
  EXPECT_EQ(row.table, "vTrain");
  EXPECT_EQ(row.gpu, "a100_sxm_80gb");
  EXPECT_DOUBLE_EQ(row.measured_s, 0.2195);
  EXPECT_EQ(row.model.hidden, 1024U);
  EXPECT_EQ(row.model.layers, 24U);
  EXPECT_EQ(row.model.mlp.width, 4096U);
  EXPECT_EQ(row.model.vocabulary, 50257U);
  EXPECT_EQ(row.plan.tensor, 2U);
  EXPECT_EQ(row.plan.data, 2U);
  EXPECT_EQ(row.plan.pipeline, 2U);
  EXPECT_EQ(row.plan.microbatches(), 4U);  // 32 / (4 x 2)
  EXPECT_EQ(row.plan.recompute.kind, RecomputeKind::uniform);
  EXPECT_EQ(row.plan.zero_stage, 0U);
  EXPECT_FALSE(row.plan.overlap_gradients);
  // To a multiple of 128 x 2: 197 x 256. At TP 1 as it is.
  EXPECT_EQ(padded_vocabulary(row.model, row.plan), 50432U);
  EXPECT_EQ(padded_vocabulary(rows[1].model, rows[1].plan), 50257U);
}

TEST(MeasuredIterations, OfVtrainNeedAllNumbers) {
  EXPECT_THROW(vtrain("8,32,4,1024,16,24,1024,2,2,2,fast\n"), InputError);
  EXPECT_THROW(vtrain("8,32,4,1024,16,24,1024,2,2,0,219.5\n"), InputError);
  EXPECT_THROW(vtrain("8,32,4,1024,16,24,1024,2,2,4,219.5\n"), InputError) << "16 GPUs are not 8";
}

// SC'21's microbatches and chunks are those of its script; the row has none.
TEST(MeasuredIterations, OfSc21HaveThePlansOfItsScript) {
  const std::vector<MeasuredIteration> rows = published(
      "SC21-T1,usable,GPT,145.6,80,12288,49152,96,,51200,2048,2304,,8,8,,24,,,1536,A100-80G,fp16,full,24.817,190133,148,47,M\n"
      "SC21-T1,unsure,GPT,39.1,48,8192,32768,64,,51200,2048,1536,,8,2,,32,,,512,A100-80G,fp16,full,14.453,217645,138,44,M\n"
      "Elsewhere,usable,GPT,39.1,48,8192,32768,64,,51200,2048,1536,,8,2,,32,,,512,A100-80G,fp16,full,14.453,217645,138,44,M\n");
  ASSERT_EQ(rows.size(), 1U) << "one is not usable, one of a table without rules";
  const MeasuredIteration& row = rows.front();
  EXPECT_EQ(row.plan.microbatch, 2U);
  EXPECT_EQ(row.plan.chunks, 2U);
  EXPECT_EQ(row.plan.data, 24U);
  EXPECT_TRUE(row.plan.scatter_between_stages);
  EXPECT_FALSE(row.plan.overlap_pipeline);
  EXPECT_DOUBLE_EQ(row.measured_s, 24.817);
  EXPECT_TRUE(row.alternatives.empty());
}

TEST(MeasuredIterations, OfKorthikantiDifferInWhatIsKept) {
  const std::vector<MeasuredIteration> rows = published(
      "Korthikanti-T5,usable,GPT,175,96,12288,49152,96,,51200,2048,64,1,8,8,3,1,,,64,A100-80G,fp16,full,18.13,,,,M\n"
      "Korthikanti-T5,usable,GPT,175,96,12288,49152,96,,51200,2048,64,1,8,8,3,1,,,64,A100-80G,fp16,seqpar+selective,13.75,,,,M\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].plan.recompute.kind, RecomputeKind::uniform);
  EXPECT_FALSE(rows[0].plan.sequence_parallel);
  EXPECT_TRUE(rows[0].plan.scatter_between_stages);
  EXPECT_EQ(rows[1].plan.recompute.kind, RecomputeKind::selective);
  EXPECT_TRUE(rows[1].plan.sequence_parallel);
  EXPECT_FALSE(rows[1].plan.scatter_between_stages);
  EXPECT_EQ(rows[0].plan.chunks, 3U);
  EXPECT_NE(rows[0].what, rows[1].what);
}

// 400 TFLOP/s per GPU: 72 x 192 x 4096 tokens x 24 layers x 2048^2 (1 + 4096 / (6 x 2048) + 131072
// / (12 x 2048 x 24)) = 72 x 786432 x 24 x 4194304 x (1 + 1/3 + 2/9) = 8.866e15 operations over 48
// x 400e12.
TEST(MeasuredIterations, OfMegatronCoreAreRatesAndLeavePlansOpen) {
  const std::vector<MeasuredIteration> rows = published(
      "MCore-H100-weak,usable (read from image),GPT,1.7,24,2048,,16,,131072,4096,192,,1,1,,48,,,48,H100,bf16,,,,400,41,MC\n"
      "MCore-H100-weak,usable (read from image),GPT,119,92,10240,,80,,131072,4096,768,,8,4,,48,,,1536,H100,bf16,,,,420.5,43,MC\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NEAR(rows[0].measured_s, 72.0 * 786432 * 24 * 4194304 * (14.0 / 9.0) / (48 * 400e12), 1e-9);
  EXPECT_FALSE(rows[0].model.tied_embeddings);
  // 4 sequences per replica: microbatches of 1, which is the plan, 2 and 4.
  EXPECT_EQ(rows[0].alternatives.size(), 2U);
  // 16 sequences and 23 layers per stage: 1, 2, 4, 8 by 1 and 23 chunks. With 8, two microbatches
  // do not make up a group of 4 stages.
  std::set<std::pair<std::uint64_t, std::uint32_t>> plans = {{rows[1].plan.microbatch, rows[1].plan.chunks}};
  for (const ParallelPlan& plan : rows[1].alternatives) plans.emplace(plan.microbatch, plan.chunks);
  const std::set<std::pair<std::uint64_t, std::uint32_t>> expected = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {1, 23}, {2, 23}, {4, 23}};
  EXPECT_EQ(plans, expected);
}

TEST(MeasuredIterations, OfNvidiaAreLlamaAndNemotron) {
  const std::vector<MeasuredIteration> rows = published(
      "dgxc-v25.04,usable,70B,70,80,8192,28672,64,8,128256,8192,128,1,4,8,5,2,1,,64,H100,fp8,,9.86,106346,,,NeMo\n"
      "dgxc-v25.01,usable,N15B,15,32,6144,24576,48,8,256000,4096,64,4,4,1,,4,1,,16,H100,bf16,,2.83,92630,,,NeMo\n"
      "dgxc-v25.01,usable,L2-70B,70,80,8192,28672,64,8,32000,4096,128,2,1,1,,64,1,,64,H100,bf16,,6.999,74909,,,MaxText-FSDP\n");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].plan.precision.kind, PrecisionKind::megatron_fp8);
  EXPECT_EQ(rows[0].plan.chunks, 5U);
  EXPECT_TRUE(rows[0].model.mlp.is_gated());
  EXPECT_EQ(rows[0].model.attention.key_value_heads(), 8U);
  EXPECT_EQ(rows[1].model.mlp.activation, Activation::relu);
  EXPECT_EQ(rows[1].plan.microbatch, 4U);
  EXPECT_EQ(rows[2].plan.zero_stage, 3U);
  EXPECT_EQ(rows[2].plan.recompute.kind, RecomputeKind::uniform);
  EXPECT_EQ(rows[2].plan.data, 64U);
}

TEST(MeasuredIterations, TablesSayWhatIsAssumed) {
  for (const MeasuredTable& table : measured_tables()) EXPECT_FALSE(table.assumed.empty()) << table.name;
}

TEST(MeasuredIterations, PublishedOnesNeedATime) {
  EXPECT_THROW(published("SC21-T1,usable,GPT,1.7,24,2304,9216,24,,51200,2048,512,,1,1,,32,,,32,A100-80G,fp16,full,-3,,,,M\n"),
               InputError);
  EXPECT_THROW(published("SC21-T1,usable,GPT,1.7,24,2304,9216,24,,51200,2048,512,,1,1,,32,,,32,A100-80G,fp16,full,,,none,,M\n"),
               InputError);
}

}  // namespace weft::measured_iterations_test
