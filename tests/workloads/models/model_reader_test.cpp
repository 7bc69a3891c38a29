// SPDX-License-Identifier: Apache-2.0
// Models from files: what is read, and which mistakes are told.
#include "workloads/models/model_reader.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/text/diagnostics.hpp"

namespace weft::model_reader_test {

namespace {

ModelDescription model_of(const std::string& text) { return read_model(SourceText("test.textproto", text)); }

/// Codes and messages of a text, "code: message" each.
std::set<std::string> mistakes(const std::string& text) {
  std::set<std::string> all;
  try {
    model_of(text);
  } catch (const InputError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) all.insert(diagnostic.code + ": " + diagnostic.message);
  }
  return all;
}

constexpr const char* dense = R"(transformer { layers: 2 hidden: 8 vocabulary: 100 sequence: 16
  attention { heads: 4 } mlp { width: 24 activation: GELU } norm: LAYER_NORM positions { kind: LEARNED } })";

}  // namespace

TEST(ModelReader, FillsDefaults) {
  const ModelDescription model = model_of(dense);
  const auto& attention = std::get<GroupedQueryAttention>(model.transformer()->attention.kind);
  EXPECT_EQ(attention.key_value_heads, 4U);
  EXPECT_EQ(attention.head_width, 2U);
  EXPECT_EQ(model.transformer()->learned_positions, 16U);
  EXPECT_EQ(model.name, "test.textproto");
}

TEST(ModelReader, ReadsEveryPresetAndItsOrigin) {
  std::set<std::string_view> names;
  for (const PresetText& preset : model_presets()) {
    const ModelDescription model = load_model(std::string(preset.name), SourcePlace::named("test"));
    EXPECT_FALSE(model.origin.empty()) << preset.name;
    EXPECT_TRUE(names.insert(preset.name).second);
  }
  EXPECT_EQ(model_summaries().size(), names.size());
}

TEST(ModelReader, NormalisesLoads) {
  const ModelDescription model = model_of(R"(transformer { layers: 2 hidden: 8 vocabulary: 100 sequence: 16
    attention { heads: 4 } mlp { activation: SWIGLU } norm: RMS_NORM positions { kind: ROTARY }
    experts { count: 4 top_k: 2 width: 16 load { share: [ 1, 1, 1, 5 ] } } })");
  EXPECT_EQ(model.transformer()->experts->load_shares, (std::vector<double>{0.125, 0.125, 0.125, 0.625}));
}

TEST(ModelReader, NamesEveryMistakeOfATransformer) {
  EXPECT_EQ(mistakes("transformer { layers: 2 hidden: 9 vocabulary: 100 attention { heads: 4 key_value_heads: 3 } "
                     "experts { count: 4 top_k: 5 width: 16 first_dense_layers: 3 load { gini: 0.8 } } }"),
            (std::set<std::string>{
                "missing-field: sequence is missing", "missing-field: mlp is missing", "missing-field: norm is missing",
                "missing-field: positions is missing", "bad-model: hidden = 9 is no multiple of 4 heads",
                "bad-model: 4 heads are no multiple of 3 heads of keys and values", "bad-model: top_k = 5 of 4 experts",
                "bad-model: first_dense_layers = 3 of 2 layers", "out-of-range: gini = 0.8 is not from 0 to 0.75"}));
}

TEST(ModelReader, NamesMistakesOfOtherModels) {
  EXPECT_EQ(mistakes("name: \"x\""), (std::set<std::string>{"missing-field: the file describes no model"}));
  EXPECT_EQ(mistakes("unet { image: 100 base_channels: 64 levels: 4 classes: 2 }"),
            (std::set<std::string>{"bad-model: an image of 100 cannot be halved 4 times"}));
  EXPECT_EQ(mistakes("recommender { table_rows: 10 width: 4 bottom: [ 5, 3 ] }"),
            (std::set<std::string>{"bad-model: bottom ends with 3, embeddings have 4", "missing-field: top is missing"}));
  EXPECT_EQ(mistakes("transformer { layers: 2 hidden: 8 attention { heads: 2 } mlp { width: 8 activation: GELU } norm: LAYER_NORM "
                     "positions { kind: LEARNED } images { size: 100 patch: 16 classes: 10 } vocabulary: 5 }"),
            (std::set<std::string>{"bad-model: images of 100 pixels are no multiple of patches of 16",
                                   "bad-model: images have no vocabulary"}));
}

TEST(ModelReader, SuggestsPresets) {
  try {
    load_model("lama3_8b", SourcePlace::named("MODEL"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"llama3_8b\"?"), std::string::npos) << error.what();
  }
}

}  // namespace weft::model_reader_test
