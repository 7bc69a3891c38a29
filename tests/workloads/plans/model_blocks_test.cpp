// SPDX-License-Identifier: Apache-2.0
// Blocks of recommenders and U-Nets: parameters against the model's, operations against counts made
// sample by sample.
#include "workloads/plans/model_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/models/model_components.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/block_workload.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft::model_blocks_test {

namespace {

const SourcePlace place = SourcePlace::named("test");

ModelDescription model_of(const std::string& text) { return read_model(SourceText("test", text)); }

std::vector<ModelBlock> blocks_of(const ModelDescription& model, const ParallelPlan& plan) {
  if (const auto* recommender = std::get_if<RecommenderModel>(&model.what)) return model_blocks(*recommender, plan, place);
  return model_blocks(std::get<UNetModel>(model.what), plan, place);
}

ParallelPlan plan_for(std::uint64_t batch, std::uint32_t ranks = 1) {
  ParallelPlan plan;
  plan.data = ranks;
  plan.microbatch = batch;
  plan.global_batch = batch * ranks;
  plan.precision = precision_of(PrecisionKind::all_fp32);
  return plan;
}

std::uint64_t parameters_of(const std::vector<ModelBlock>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const ModelBlock& block) { return sum + block.parameters; });
}

double forward_operations(const std::vector<ModelBlock>& blocks) {
  double sum = 0.0;
  for (const ModelBlock& block : blocks) {
    for (const Operator& op : block.operators) sum += product_operations(op.shape, OperatorPass::forward);
  }
  return sum;
}

double backward_operations(const std::vector<ModelBlock>& blocks) {
  double sum = 0.0;
  for (const ModelBlock& block : blocks) {
    for (const TimedOperator& timed : backward_operators(block)) sum += product_operations(timed.op.shape, timed.pass);
  }
  return sum;
}

const ModelBlock& block_named(const std::vector<ModelBlock>& blocks, const std::string& name) {
  const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const ModelBlock& block) { return block.name == name; });
  EXPECT_NE(found, blocks.end()) << name;
  return *found;
}

/// Multiplications of a layer, one at a time.
std::uint64_t counted_layer(std::uint64_t inputs, std::uint64_t outputs) {
  std::uint64_t count = 0;
  for (std::uint64_t to = 0; to < outputs; ++to) {
    for (std::uint64_t from = 0; from < inputs; ++from) ++count;
  }
  return count;
}

/// Of a padded convolution, point by point of its output.
std::uint64_t counted_convolution(std::uint64_t edge, std::uint64_t from, std::uint64_t to, std::uint64_t kernel) {
  std::uint64_t count = 0;
  for (std::uint64_t y = 0; y < edge; ++y) {
    for (std::uint64_t x = 0; x < edge; ++x) count += kernel * kernel * counted_layer(from, to);
  }
  return count;
}

}  // namespace

TEST(ModelBlocks, HaveTheParametersOfTheModel) {
  const std::vector<ModelDescription> models = {
      load_model("dlrm_mlperf", place),
      load_model("dhen", place),
      load_model("unet", place),
      model_of("unet { image: 32 channels: 1 base_channels: 3 levels: 3 classes: 5 }"),
      model_of("recommender { table_rows: [ 7, 11 ] width: 6 pooled: 3 bottom: [ 4, 6 ] top: [ 1 ] }"),
      model_of("recommender { table_rows: [ 7, 11, 13 ] width: 6 bottom: [ 4, 5, 6 ] top: [ 9, 2 ]"
               " layer { outputs: 5 module: DOT_PRODUCT module: SELF_ATTENTION } layer { outputs: 5 module: CROSS }"
               " layer { outputs: 2 module: LINEAR module: CROSS module: SELF_ATTENTION } }"),
  };
  for (const ModelDescription& model : models) {
    for (const std::uint32_t ranks : {1U, 8U, 7U}) {
      const std::vector<ModelBlock> blocks = blocks_of(model, plan_for(4, ranks));
      std::uint64_t tables = 0;
      for (const ComponentCount& row : component_counts(model)) tables += row.name == "embedding tables" ? row.parameters : 0;
      EXPECT_EQ(parameters_of(blocks) + tables, parameter_count(model)) << model.name;
      if (tables == 0) continue;
      // Rows of all ranks are those of the tables, but for what rounds up.
      const auto& lookup = std::get<EmbeddingLookup>(block_named(blocks, "lookup").operators.front().shape);
      const std::uint64_t held = lookup.table_rows * lookup.width * ranks;
      EXPECT_GE(held, tables);
      EXPECT_LT(held, tables + lookup.width * ranks);
    }
  }
}

TEST(ModelBlocks, UNetHasTheOperationsOfANaiveCount) {
  const ModelDescription model = model_of("unet { image: 16 channels: 3 base_channels: 4 levels: 2 classes: 5 batch_norm: true }");
  // Multiplications of an image: two convolutions a level, 4, 8 and 16 channels on 16, 8 and 4
  // points along an edge.
  const std::uint64_t first = counted_convolution(16, 3, 4, 3);
  std::uint64_t count = first + counted_convolution(16, 4, 4, 3);
  count += counted_convolution(8, 4, 8, 3) + counted_convolution(8, 8, 8, 3);
  count += counted_convolution(4, 8, 16, 3) + counted_convolution(4, 16, 16, 3);
  // Up again: a point of the output reads one tap of a transposed convolution of 2 x 2.
  count += counted_convolution(8, 16, 8, 1) + counted_convolution(8, 16, 8, 3) + counted_convolution(8, 8, 8, 3);
  count += counted_convolution(16, 8, 4, 1) + counted_convolution(16, 8, 4, 3) + counted_convolution(16, 4, 4, 3);
  count += counted_convolution(16, 4, 5, 1);
  constexpr std::uint64_t batch = 6;
  const std::vector<ModelBlock> blocks = blocks_of(model, plan_for(batch));
  EXPECT_EQ(forward_operations(blocks), static_cast<double>(2 * batch * count));
  // A gradient for each factor of each product, but for the images.
  EXPECT_EQ(backward_operations(blocks), static_cast<double>(2 * batch * (2 * count - first)));
}

TEST(ModelBlocks, UNetReadsAcross) {
  const std::vector<ModelBlock> blocks = blocks_of(load_model("unet", place), plan_for(1));
  std::vector<std::string> names;
  for (const ModelBlock& block : blocks) names.push_back(block.name);
  EXPECT_EQ(names, (std::vector<std::string>{"encoder_0", "encoder_1", "encoder_2", "encoder_3", "encoder_4", "decoder_3",
                                             "decoder_2", "decoder_1", "decoder_0"}));
  EXPECT_EQ(blocks[5].after, (std::vector<std::uint32_t>{4, 3}));
  EXPECT_EQ(blocks[8].after, (std::vector<std::uint32_t>{7, 0}));
}

TEST(ModelBlocks, RecommenderHasTheOperationsOfANaiveCount) {
  const ModelDescription model =
      model_of("recommender { table_rows: [ 100, 200, 300 ] width: 6 pooled: 5 bottom: [ 4, 9, 6 ] top: [ 8, 1 ] }");
  // Four vectors: their products all with all, of which 6 and the dense vector's 6 go to the top.
  const std::uint64_t first = counted_layer(4, 9);
  const std::uint64_t pairs = 4 * counted_layer(6, 4);
  const std::uint64_t count = first + counted_layer(9, 6) + pairs + counted_layer(6 + 6, 8) + counted_layer(8, 1);
  constexpr std::uint64_t batch = 10;
  const std::vector<ModelBlock> blocks = blocks_of(model, plan_for(batch, 4));
  EXPECT_EQ(forward_operations(blocks), static_cast<double>(2 * batch * count));
  EXPECT_EQ(backward_operations(blocks), static_cast<double>(2 * batch * (2 * count - first)));
  // Each rank looks up as much as its samples ask for, in its quarter of 600 rows.
  EXPECT_EQ(std::get<EmbeddingLookup>(block_named(blocks, "lookup").operators.front().shape),
            (EmbeddingLookup{.rows = batch * 3, .width = 6, .table_rows = 150, .pooled = 5, .is_updated_in_place = true}));
  EXPECT_EQ(block_named(blocks, "indices").exchanged, Bytes::of(batch * 3 * 5 * 8));
  EXPECT_EQ(block_named(blocks, "embeddings").exchanged, Bytes::of(batch * 3 * 6 * 4));
}

TEST(ModelBlocks, DhenHasTheOperationsOfItsModules) {
  const auto operations = [](const std::string& modules, std::uint64_t outputs) {
    const ModelDescription model = model_of(
        "recommender { table_rows: [ 10, 20 ] width: 4 bottom: [ 5, 4 ] top: [ 1 ] layer { outputs: " + std::to_string(outputs) +
        " " + modules + " } }");
    const std::vector<ModelBlock> blocks = blocks_of(model, plan_for(1));
    double sum = 0.0;
    for (const Operator& op : block_named(blocks, "interaction_0").operators)
      sum += product_operations(op.shape, OperatorPass::forward);
    return static_cast<std::uint64_t>(sum);
  };
  // Of three vectors of 4; as many outputs need no shortcut.
  const std::uint64_t mix = 4 * counted_layer(3, 3);
  EXPECT_EQ(operations("module: LINEAR", 3), 2 * mix);
  EXPECT_EQ(operations("module: CROSS", 3), 2 * (3 * counted_layer(4, 4) + mix));
  EXPECT_EQ(operations("module: DOT_PRODUCT", 3), 2 * (3 * counted_layer(4, 3) + counted_layer(3, 3 * 4)));
  // Queries, keys, values, output and two layers of an MLP; scores and their products with values.
  EXPECT_EQ(operations("module: SELF_ATTENTION", 3), 2 * (3 * 6 * counted_layer(4, 4) + 2 * 3 * counted_layer(4, 3) + mix));
  EXPECT_EQ(operations("module: LINEAR module: CROSS", 3), 2 * (3 * counted_layer(4, 4) + 2 * mix));
  // Two outputs of three: the shortcut mixes, too.
  EXPECT_EQ(operations("module: LINEAR", 2), 2 * 2 * 4 * counted_layer(3, 2));
}

TEST(ModelBlocks, HaveTheTypesOfThePrecision) {
  ParallelPlan plan = plan_for(8, 2);
  plan.precision = precision_of(PrecisionKind::amp_bf16);
  const std::vector<ModelBlock> blocks = blocks_of(load_model("dlrm_mlperf", place), plan);
  // Tables and their gradients stay in FP32 under torch.amp, what is between operators does not.
  EXPECT_EQ(block_named(blocks, "lookup").operators.front().type.name, "FP32");
  EXPECT_EQ(block_named(blocks, "top_0").operators.front().type.name, "BF16");
  EXPECT_EQ(block_named(blocks, "embeddings").exchanged, Bytes::of(8 * 26 * 128 * 2));
  // The norms of DHEN's layers are cast up, batch norms are not.
  for (const char* name : {"dhen", "unet"}) {
    for (const ModelBlock& block : blocks_of(load_model(name, place), plan)) {
      for (const Operator& op : block.operators) {
        const auto* rows = std::get_if<RowWise>(&op.shape);
        const bool is_full = op.name == "loss" || op.name == "embedding_table" || op.name == "sum" || op.name == "residual" ||
                             (rows != nullptr && rows->what == RowOperator::layer_norm);
        EXPECT_EQ(op.type.name, is_full ? "FP32" : "BF16") << block.name << " " << op.name;
      }
    }
  }
}

TEST(ModelBlocks, RefuseSizesThatNoOperationHas) {
  const auto errors = [](const std::string& model, std::uint64_t batch) {
    return errors_of([&] { blocks_of(model_of(model), plan_for(batch, 2)); });
  };
  EXPECT_HAS(errors("recommender { table_rows: 5 width: 16777216 pooled: 16777216 bottom: [ 1, 16777216 ] top: [ 1 ] }", 1U << 20),
             "a tensor would have more than 2^62 elements [too-large]");
  EXPECT_HAS(errors("recommender { table_rows: 5 width: 16777216 bottom: [ 1, 16777216 ] top: [ 1 ] }", 1U << 30),
             "a collective would have more than 1024TiB [too-large]");
  EXPECT_HAS(errors("unet { image: 65536 base_channels: 16777216 levels: 16 classes: 2 }", 4), "[too-large]");
}

}  // namespace weft::model_blocks_test
