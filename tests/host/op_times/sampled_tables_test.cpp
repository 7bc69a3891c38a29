// SPDX-License-Identifier: Apache-2.0
// Sampled tables: names of files, rows, repeats; what is wrong is in tests/golden/cases/optimes_*.
#include "host/op_times/sampled_tables.hpp"

#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"
#include "host/op_times/regression_rows.hpp"
#include "host/op_times/tabled_times.hpp"

namespace weft::sampled_tables_test {
namespace {

constexpr ElementType half{"FP16", 16};

SampledTable table(const std::string& name, const std::string& text) {
  return read_sampled_table(SourceText(name, text), parse_sampled_name(name).value());
}

SampledFolder folder(std::vector<SampledTable> tables) { return {std::move(tables), {}, "A100"}; }

TEST(SampledTables, NamesSayGpuFunctionTypeAndPlaces) {
  const auto plain = parse_sampled_name("NVIDIAA100-SXM4-80GB_parallel_cross_entropy_128_fp16.csv");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->gpu, "NVIDIAA100-SXM4-80GB");
  EXPECT_EQ(plain->function, "parallel_cross_entropy_128");
  EXPECT_EQ(plain->type, half);
  EXPECT_EQ(plain->nodes, 0U);
  const auto collective = parse_sampled_name("GH200_allreduce_large_fp8_e4m3_2_1.csv.gz");
  ASSERT_TRUE(collective);
  EXPECT_EQ(collective->function, "allreduce_large");
  EXPECT_EQ(collective->type.name, "FP8_E4M3");
  EXPECT_EQ(collective->nodes, 2U);
  EXPECT_EQ(collective->gpus_per_node, 1U);
  for (const char* name : {"NVIDIAA100-SXM4-80GB.csv", "A100_fp16.csv", "_gelu_fp16.csv", "A100_gelu_fp17.csv",
                           "A100_gelu_fp16.txt", "A100_gelu_fp16_2.csv", "A100_gelu_fp16_0_1.csv", ".csv", ""}) {
    EXPECT_FALSE(parse_sampled_name(name)) << name;
  }
}

TEST(SampledTables, ColumnsMayStandInAnyOrder) {
  const SampledTable read = table("A100_linear1_fp16.csv", "B_dur(us),dim,F_dur(us), b ,l,mp\n30,4096.0,10.5,4,4096,2\n");
  EXPECT_EQ(read.columns, (std::vector<std::string>{"dim", "b", "l", "mp"}));
  ASSERT_EQ(read.rows.size(), 1U);
  EXPECT_EQ(read.rows[0].sizes, (std::vector<double>{4096, 4, 4096, 2}));
  EXPECT_EQ(read.rows[0].forward_us, 10.5);
  EXPECT_EQ(read.rows[0].backward_us, 30);
  EXPECT_TRUE(read.has_backward);
}

// 4 x 4096 and 8 x 2048 tokens are the same kernel; of three times the median counts. An operator
// of that size gets it in BF16, too; its gradients get half of backward's each.
TEST(SampledTables, LookUpsGoByKernel) {
  const TabledTimes times(folder({table("A100_linear1_fp16.csv",
                                        "mp,b,l,dim,F_dur(us),B_dur(us)\n2,4,4096,4096,10,20\n2,8,2048,4096,12,24\n"
                                        "2,4,4096,4096,30,28\n2,4,1024,4096,3,6\n")}));
  const Operator op{"qkv", Matmul{16384, 6144, 4096, 1}, {"BF16", 16}};
  EXPECT_EQ(times.time_of(op, OperatorPass::forward), Duration::us(12));
  EXPECT_EQ(times.time_of(op, OperatorPass::backward), Duration::us(24));
  EXPECT_EQ(times.time_of(op, OperatorPass::backward_input), Duration::us(12));
  EXPECT_EQ(times.origin(), "measured: A100");
  EXPECT_FALSE(times.time_of({"qkv", Matmul{16384, 6144, 4097, 1}, half}, OperatorPass::forward));
  EXPECT_FALSE(times.time_of({"qkv", Matmul{16384, 6144, 4096, 1}, {"FP32", 32}}, OperatorPass::forward));
  EXPECT_FALSE(times.time_of({"norm", RowWise{RowOperator::rms_norm, 16384, 4096}, half}, OperatorPass::forward));
}

// Losses are asked in FP32 and sampled in tables of 16 bits; gradients of experts get half each.
TEST(SampledTables, LookUpsOfWhatTheSamplerWrites) {
  const TabledTimes times(folder(
      {table("A100_cross_entropy_bf16.csv", "b,l,vocab,F_dur(us),B_dur(us)\n2,1024,32000,50,20\n"),
       table("A100_grouped_gemm_bf16.csv", "rows,skew,columns,inner,groups,F_dur(us),B_dur(us)\n4096,1,1408,2048,8,70,140\n"),
       table("A100_moe_router_bf16.csv",
             "b,l,experts,topk,F_dur(us),B_dur(us)\n1,4096,64,2,10,9\n1,4096,64,6,12,9\n1,4096,64,8,14,9\n")}));
  const Operator loss{"loss", RowWise{RowOperator::cross_entropy, 2048, 32000}, {"FP32", 32}};
  EXPECT_EQ(times.time_of(loss, OperatorPass::forward), Duration::us(50));
  const Operator experts{"experts_up", GroupedMatmul{4096, 512, 1408, 2048, 8}, half};
  EXPECT_EQ(times.time_of(experts, OperatorPass::backward_weight), Duration::us(70));
  const Operator router{"top_k", RowWise{RowOperator::router, 4096, 64}, half};
  EXPECT_EQ(times.time_of(router, OperatorPass::forward), Duration::us(12));
}

// The table of all nodes repeats those of each: a row counts once. Repeats within a file count.
TEST(SampledTables, RowsOfTwoFilesCountOnce) {
  const std::string row = "shape,nodes,GPUsPerNode,dur(us)\n1000,1,2,5\n";
  const std::vector<RegressionRows> rows = regression_rows(folder({
      table("A100_allreduce_fp16.csv", row + "1000,2,1,9\n1000,1,2,5\n"),
      table("A100_allreduce_fp16_1_2.csv", row),
  }));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].of.text(), "allreduce fp16 on 1 x 2");
  EXPECT_EQ(rows[0].rows.size(), 2U);
  EXPECT_EQ(rows[1].of.text(), "allreduce fp16 on 2 x 1");
  EXPECT_EQ(rows[1].rows[0].sizes, std::vector<double>{2000});
}

// Three rows of a kernel, 10, 10 and 20 us: each 10 is off the median of the others, 15, by half;
// 20 is off 10 by half. A kernel that stands alone tells nothing.
TEST(SampledTables, RepeatErrorIsThatOfOtherRows) {
  const std::vector<RegressionRows> rows =
      regression_rows(folder({table("A100_gelu_fp16.csv",
                                    "mp,b,l,dim,F_dur(us),B_dur(us)\n1,2,1024,4096,10,1\n1,1,2048,4096,10,1\n"
                                    "1,4,512,4096,20,1\n1,4,1024,4096,7,1\n")}));
  const RepeatError error = repeat_error(rows.front());
  EXPECT_EQ(error.rows, 3U);
  EXPECT_DOUBLE_EQ(error.mape, 0.5);
}

// Messages of 1, 2 and 4: the middle one, 3 us, lies on the geometric mean of 2 and 8, 4 us, but
// for a third.
TEST(SampledTables, RepeatErrorOfMessagesIsThatOfNeighbours) {
  const std::vector<RegressionRows> rows =
      regression_rows(folder({table("A100_p2p_fp16_1_2.csv", "shape,nodes,GPUsPerNode,dur(us)\n1,1,2,2\n4,1,2,8\n2,1,2,3\n")}));
  const RepeatError error = repeat_error(rows.front());
  EXPECT_EQ(error.rows, 1U);
  EXPECT_NEAR(error.mape, 1.0 / 3, 1e-12);
}

}  // namespace
}  // namespace weft::sampled_tables_test
