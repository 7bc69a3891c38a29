// SPDX-License-Identifier: Apache-2.0
// Component times: the published example to the last digit, small tables, and what is refused.
#include "host/projections/component_times.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/text/diagnostics.hpp"

namespace weft::component_times_test {
namespace {

const std::string kSmall =
    "module,parameter,prediction(us)\n"
    "embedding_fwd,[1],1\nembedding_bwd,[1],2\n"
    "layernorm_fwd,[1],1\nlayernorm_bwd,[1],2\n"
    "linear1_fwd,[1],1\nlinear1_bwd,[1],2\n"
    "linear_final_fwd,[1],1\nlinear_final_bwd,[1],2\n"
    "parallel_cross_entropy_128_fwd,[1],1\nparallel_cross_entropy_128_bwd,[1],2\n"
    "pp_p2p,[1],0.5\nmp_allreduce,[1],0.5\n"
    "dp_allreduce,[1],\"[1, 2, 3]\"\ndp_allgather,[1],[1 2 3]\noptimizer,[1],\"[1,2,3]\"\n";

ComponentTable read(const std::string& text) { return read_component_times(SourceText("times.csv", text)); }

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    std::string all;
    for (const Diagnostic& one : error.diagnostics()) all += one.to_text();
    return all;
  }
  return "accepted";
}

// A layer has two norms and a linear layer, 3 forward and 6 backward, and two all-reduces of 0.5.
TEST(ComponentTimes, RowsBecomeComponents) {
  const ComponentTable table = read(kSmall);
  EXPECT_EQ(table.times.encoder.size(), 3U);
  EXPECT_DOUBLE_EQ(encoder_of(table.times).forward_us, 4);
  EXPECT_DOUBLE_EQ(encoder_of(table.times).backward_us, 6 + 1 + 4);
  EXPECT_DOUBLE_EQ(table.times.transfer_us, 0.5);
  EXPECT_DOUBLE_EQ(table.times.middle_update.sum_us(), 6);
  EXPECT_DOUBLE_EQ(table.times.last_update.optimizer_us, 3);
  EXPECT_FALSE(table.layers);
  EXPECT_FALSE(table.step);
  EXPECT_TRUE(table.layers_by_stage().empty());
}

// Forward of stages: 1 + 0.5 + 2 x 4, 3 x 4, 4 + 3.
TEST(ComponentTimes, StagesTellTheirLayers) {
  const std::string stages = kSmall + "encoder_fwd,x,4\nencoder_bwd,x,11\nstage_fwd,x,[9.5 12 7]\nstage_bwd,x,[24 33 17]\n";
  const ComponentTable table = read(stages + "all_F_all_B_max_optimizer,[4 2 2 4 32 4096 4096 8 4],100\n");
  EXPECT_EQ(table.layers_by_stage(), (std::vector<std::uint64_t>{2, 3, 3, 1}));
  EXPECT_EQ(table.step->microbatches, 8U);
  EXPECT_DOUBLE_EQ(table.step->step_us, 100);
  EXPECT_TRUE(read(stages).layers_by_stage().empty());
  EXPECT_NE(refusal(kSmall + "stage_fwd,x,[9.5 13 7]\n").find("stage_fwd is 13 us, 3 whole layers make 12 us [contradicting-rows]"),
            std::string::npos);
  EXPECT_NE(refusal(kSmall + "encoder_bwd,x,12\n").find("[contradicting-rows]"), std::string::npos);
  EXPECT_NE(refusal(kSmall + "update,x,[2 4 7]\n").find("update is 7 us"), std::string::npos);
}

TEST(ComponentTimes, RefusesWhatItCannotCompose) {
  const auto expect = [](const std::string& text, const std::string& part) {
    const std::string all = refusal(text);
    EXPECT_NE(all.find(part), std::string::npos) << all;
  };
  const std::string header = kSmall.substr(0, kSmall.find('\n') + 1);
  expect(header, "the table has no norm [missing-component]");
  expect(header, "no row \"pp_p2p\"");
  expect(kSmall + "linear9_fwd,x,1\n", "there is no component \"linear9_fwd\" [unknown-component]");
  expect(kSmall + "linear9_fwd,x,1\n", "did you mean");
  expect(kSmall + "linear2_fwd,x,1\n", "no row \"linear2_bwd\" [missing-component]");
  expect(kSmall + "pp_p2p,x,1\n", "\"pp_p2p\" stands twice [duplicate-component]");
  expect(kSmall + "RMSlayernorm_fwd,x,1\nRMSlayernorm_bwd,x,1\n", "two kinds of norms");
  expect(kSmall + "linear2_fwd,x,[1 2]\n", "2 numbers stand here, not 1 [wrong-count]");
  expect(kSmall + "update,x,1\n", "1 numbers stand here, not 3 [wrong-count]");
  expect(kSmall + "linear2_fwd,x,nan\n", "[bad-value]");
  expect(kSmall + "linear2_fwd,x,fast\n", "\"fast\" is no number [bad-value]");
  expect(kSmall + "linear2_fwd,x,-1\n", "[out-of-range]");
  expect(kSmall + "all_F_all_B_max_optimizer,[4 2],1\n", "2 numbers stand here, not 9");
  expect(kSmall + "all_F_all_B_max_optimizer,[0 2 2 4 32 4096 4096 8 4],1\n", "[out-of-range]");
  expect(kSmall + "all_F_all_B_max_optimizer,[1000 2 2 4 32 4096 4096 501 4],1\n", "is not from 1 to 500000 [out-of-range]");
  expect("module,parameter,time\n", "[missing-column]");
}

// Llemma-7B on 16 A100, PP 4, MP 2, DP 2: the program's own result to the last digit it prints of
// doubles, and what the same stages take by their dependencies.
TEST(ComponentTimes, PublishedExample) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/../shared/data/kernels/estimate_train_time/llemma_7b_4_2_2_P.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const ComponentTable table = read_component_times(SourceText::read(path));
  EXPECT_NEAR(encoder_of(table.times).forward_us, 22006.0969166, 1e-7);
  EXPECT_NEAR(encoder_of(table.times).backward_us, 67770.0475463, 1e-7);
  ASSERT_TRUE(table.step);
  const std::vector<std::uint64_t> layers = table.layers_by_stage();
  EXPECT_EQ(layers, (std::vector<std::uint64_t>{8, 9, 9, 6}));
  EXPECT_EQ(layers, std::get<0>(split_layers(LayerSplit::of_program, 32, 4)));
  const StepEstimates steps = estimate_steps(compose_stages(table.times, layers), table.step->microbatches);
  EXPECT_NEAR(steps.afab_us, 9465235.01346, 1e-5);
  EXPECT_NEAR(steps.afab_us, table.step->step_us, 1e-8);
  EXPECT_NEAR(steps.afab_exact_us, 8785782.4, 0.05);
  EXPECT_NEAR(steps.one_f_one_b_exact_us, 8748398.8, 0.05);
}

}  // namespace
}  // namespace weft::component_times_test
