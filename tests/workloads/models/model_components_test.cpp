// SPDX-License-Identifier: Apache-2.0
// Parameters of models against published totals, and of parts by hand.
#include "workloads/models/model_components.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/text/diagnostics.hpp"
#include "workloads/models/model_reader.hpp"

namespace weft::model_components_test {

namespace {

ModelDescription preset(const std::string& name) { return load_model(name, SourcePlace::named("test")); }

std::uint64_t total(const std::string& name) { return parameter_count(preset(name)); }

ModelDescription model_of(const std::string& text) { return read_model(SourceText("test.textproto", text)); }

}  // namespace

TEST(ModelComponents, AgreeWithPublishedTotals) {
  // Weights as published with each model.
  EXPECT_EQ(total("llama3_8b"), 8'030'261'248U);
  EXPECT_EQ(total("llama3_70b"), 70'553'706'496U);
  EXPECT_EQ(total("llama3_405b"), 405'853'388'800U);
  EXPECT_EQ(total("gpt3_175b"), 174'604'259'328U);
  EXPECT_EQ(total("mixtral_8x7b"), 46'702'792'704U);
  EXPECT_EQ(total("mixtral_8x22b"), 140'620'634'112U);
  EXPECT_EQ(total("deepseek_v3"), 671'026'419'200U);
  EXPECT_EQ(total("llama2_70b"), 68'976'648'192U);
  EXPECT_EQ(total("gpt2_xl"), 1'557'611'200U);
  // As timm and torchvision count them.
  EXPECT_EQ(total("vit_b16"), 86'567'656U);
  EXPECT_EQ(total("vit_l16"), 304'326'632U);
  EXPECT_EQ(total("vit_h14"), 632'045'800U);
  // A widespread implementation with two classes.
  EXPECT_EQ(total("unet"), 31'037'698U);
}

TEST(ModelComponents, CountWhatATokenMeets) {
  EXPECT_EQ(active_parameter_count(preset("mixtral_8x7b")), 12'879'925'248U);
  // DeepSeek-V3's report says 37 billion.
  EXPECT_NEAR(static_cast<double>(active_parameter_count(preset("deepseek_v3"))), 37.5e9, 0.1e9);
  EXPECT_EQ(active_parameter_count(preset("llama3_8b")), total("llama3_8b"));
}

TEST(ModelComponents, CountTablesAndLayersOfRecommenders) {
  // MLPerf's tables have 187,767,399 rows of 128. Bottom 13-512-256-128; the top's first layer sees
  // 27 * 26 / 2 products and 128 features.
  std::map<std::string_view, std::uint64_t> counts;
  for (const ComponentCount& row : component_counts(preset("dlrm_mlperf"))) counts[row.name] = row.parameters;
  EXPECT_EQ(counts["embedding tables"], 187'767'399ULL * 128);
  EXPECT_EQ(counts["bottom layers"], 13U * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128);
  EXPECT_EQ(counts["top layers"], (351U + 128) * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 256 + 1);
  EXPECT_EQ(counts["interactions"], 0U);
}

TEST(ModelComponents, CountInteractionsOfDhen) {
  const ModelDescription model = model_of(R"(recommender { table_rows: [ 10, 20 ] width: 4 bottom: [ 5, 4 ] top: [ 1 ]
    layer { outputs: 2 module: DOT_PRODUCT module: LINEAR }
    layer { outputs: 2 module: CROSS module: SELF_ATTENTION } })");
  // Three embeddings of 4 to two: 3 products to 8 values with biases; 3 x 2; a shortcut 3 x 2; a
  // norm of 4. Then cross: 4 x 4 + 4 and 2 x 2; attention: four layers 4 x 4 + 4, two norms, an MLP
  // of two such layers, 2 x 2; a norm, no shortcut.
  const std::uint64_t first = (3 * 8 + 8) + 6 + 6 + 8;
  const std::uint64_t second = (20 + 4) + (4 * 20 + 16 + 2 * 20 + 4) + 8;
  // Its top sees 2 x 4 values.
  EXPECT_EQ(parameter_count(model), 30U * 4 + (5 * 4 + 4) + first + second + (8 + 1));
}

TEST(ModelComponents, TellHowTensorParallelismDivides) {
  const ModelDescription model = model_of(R"(transformer { layers: 2 hidden: 8 vocabulary: 100 sequence: 16
    attention { heads: 4 key_value_heads: 2 query_key_value_bias: true output_bias: true }
    mlp { width: 24 activation: GELU bias: true } norm: LAYER_NORM positions { kind: ROTARY } })");
  std::uint64_t divided = 0;
  std::uint64_t copied = 0;
  std::uint64_t by_key_value_heads = 0;
  for (const ModelComponent& row : layer_components(*model.transformer(), false)) {
    (row.division == Division::tensor ? divided : copied) += row.parameters;
    if (row.parts_max == 2) by_key_value_heads += row.parameters;
  }
  // Keys and values: 2 heads of 2 each, from 8 and a bias.
  EXPECT_EQ(by_key_value_heads, 9U * 2 * 4);
  EXPECT_EQ(divided, 9U * 8 + 9 * 8 + 8 * 8 + 2 * 8 * 24 + 24);
  EXPECT_EQ(copied, 2U * 16 + 8 + 8);
}

}  // namespace weft::model_components_test
