// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/model_reader.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/textproto.hpp"
#include "workloads/model.pb.h"
#include "workloads/models/model_components.hpp"

namespace weft {

namespace {

namespace pb = model_file;

/// So that products of three sizes and a batch fit 63 bits.
constexpr std::uint64_t size_max = 1ULL << 24;

/// Reads one message; all that is wrong goes to the diagnostics.
template <class Message>
class FieldsOf {
 public:
  FieldsOf(const Message& message, FieldPlaces places, SourcePlace whole, Diagnostics& diagnostics)
      : message_(message), places_(places), whole_(std::move(whole)), diagnostics_(diagnostics) {}

  /// A number that has to be there.
  std::uint64_t required(const char* field, std::uint64_t value) const {
    if (value == 0) {
      error("missing-field", fmt::format("{} is missing", field), field, "", true);
      return 1;
    }
    return within(field, value);
  }
  std::uint64_t or_default(const char* field, std::uint64_t value, std::uint64_t without) const {
    return value == 0 ? without : within(field, value);
  }
  std::uint64_t within(const char* field, std::uint64_t value) const {
    if (value <= size_max) return value;
    error("out-of-range", fmt::format("{} = {} is more than {}", field, value, size_max), field);
    return 1;
  }
  double fraction(const char* field, double value, double maximum) const {
    if (value >= 0.0 && value <= maximum) return value;
    error("out-of-range", fmt::format("{} = {} is not from 0 to {}", field, value, maximum), field);
    return 0.0;
  }
  void error(const char* code, std::string text, const char* field, std::string help = "", bool is_absent = false) const {
    diagnostics_.error(code, std::move(text), is_absent ? whole_ : places_.of(message_, field), std::move(help));
  }
  /// Fields of a message in it.
  template <class Inner>
  FieldsOf<Inner> inside(const char* field, const Inner& inner, int index = 0) const {
    return {inner, places_.inside(message_, field, index), places_.of(message_, field, index), diagnostics_};
  }

 private:
  const Message& message_;
  FieldPlaces places_;
  SourcePlace whole_;  ///< of the message
  Diagnostics& diagnostics_;
};

GroupedQueryAttention read_grouped(const pb::Attention& given, const FieldsOf<pb::Attention>& fields, std::uint64_t hidden) {
  GroupedQueryAttention attention;
  attention.heads = fields.required("heads", given.heads());
  attention.key_value_heads = fields.or_default("key_value_heads", given.key_value_heads(), attention.heads);
  attention.head_width = fields.or_default("head_width", given.head_width(), hidden / attention.heads);
  if (attention.heads % attention.key_value_heads != 0) {
    fields.error("bad-model",
                 fmt::format("{} heads are no multiple of {} heads of keys and values", attention.heads, attention.key_value_heads),
                 "key_value_heads", "query heads share keys and values in groups of one size");
  }
  if (given.head_width() == 0 && hidden % attention.heads != 0) {
    fields.error("bad-model", fmt::format("hidden = {} is no multiple of {} heads", hidden, attention.heads), "heads",
                 "give head_width, or heads that divide hidden");
  }
  return attention;
}

LatentAttention read_latent(const pb::Attention& given, const FieldsOf<pb::Attention>& fields) {
  const pb::LatentAttention& latent = given.latent();
  const FieldsOf<pb::LatentAttention> inner = fields.inside("latent", latent);
  if (given.key_value_heads() != 0)
    fields.error("bad-model", "latent attention has no key_value_heads", "key_value_heads", "leave it out");
  if (given.head_width() != 0)
    fields.error("bad-model", "latent attention has no head_width", "head_width", "leave it out: latent gives the widths");
  if (given.query_key_value_bias()) {
    fields.error("bad-model", "latent attention has no query_key_value_bias", "query_key_value_bias", "leave it out");
  }
  if (given.query_key_norm())
    fields.error("bad-model", "latent attention has no query_key_norm", "query_key_norm",
                 "leave it out: what is compressed has norms");
  return {.heads = fields.required("heads", given.heads()),
          .query_rank = inner.within("query_rank", latent.query_rank()),
          .key_value_rank = inner.required("key_value_rank", latent.key_value_rank()),
          .key_width = inner.required("key_width", latent.key_width()),
          .rotary_width = inner.within("rotary_width", latent.rotary_width()),
          .value_width = inner.required("value_width", latent.value_width())};
}

std::vector<double> read_loads(const pb::ExpertLoad& given, const FieldsOf<pb::ExpertLoad>& fields, std::uint64_t experts) {
  if (given.share_size() == 0) {
    const double most = 1.0 - 1.0 / static_cast<double>(experts);
    const double gini = fields.fraction("gini", given.gini(), most);
    return gini > 0.0 ? loads_with_gini(experts, gini) : std::vector<double>();
  }
  if (given.gini() != 0.0) fields.error("bad-model", "loads are given and a Gini coefficient, too", "gini", "keep one of the two");
  if (static_cast<std::uint64_t>(given.share_size()) != experts) {
    fields.error("bad-model", fmt::format("{} loads of {} experts", given.share_size(), experts), "share", "give one per expert");
    return {};
  }
  double sum = 0.0;
  for (const double share : given.share()) {
    if (!(share >= 0.0) || !std::isfinite(share)) {
      fields.error("out-of-range", fmt::format("a load of {}", share), "share", "loads are 0 or more");
      return {};
    }
    sum += share;
  }
  if (sum <= 0.0) {
    fields.error("bad-model", "no expert has a load", "share", "loads are shares of the tokens in any unit");
    return {};
  }
  std::vector<double> loads;
  for (const double share : given.share()) loads.push_back(share / sum);
  return loads;
}

ExpertBlock read_experts(const pb::Experts& given, const FieldsOf<pb::Experts>& fields, std::uint64_t layers) {
  ExpertBlock experts;
  experts.count = fields.required("count", given.count());
  experts.top_k = fields.required("top_k", given.top_k());
  experts.width = fields.required("width", given.width());
  experts.shared_width = fields.within("shared_width", given.shared_width());
  experts.first_dense_layers = given.first_dense_layers();
  experts.router_bias = given.router_bias();
  experts.capacity_factor = fields.fraction("capacity_factor", given.capacity_factor(), static_cast<double>(experts.count));
  if (experts.top_k > experts.count) {
    fields.error("bad-model", fmt::format("top_k = {} of {} experts", experts.top_k, experts.count), "top_k",
                 "a token goes to different experts");
  }
  if (experts.first_dense_layers > layers) {
    fields.error("bad-model", fmt::format("first_dense_layers = {} of {} layers", experts.first_dense_layers, layers),
                 "first_dense_layers");
  }
  if (given.has_load()) experts.load_shares = read_loads(given.load(), fields.inside("load", given.load()), experts.count);
  return experts;
}

ImageInput read_images(const pb::Images& given, const FieldsOf<pb::Images>& fields) {
  ImageInput images;
  images.size = fields.required("size", given.size());
  images.patch = fields.required("patch", given.patch());
  images.channels = fields.or_default("channels", given.channels(), images.channels);
  images.classes = fields.required("classes", given.classes());
  if (images.size % images.patch != 0) {
    fields.error("bad-model", fmt::format("images of {} pixels are no multiple of patches of {}", images.size, images.patch),
                 "patch");
  }
  return images;
}

/// The enumerator of the same number less one, as 0 is unspecified; the first one where nothing is
/// written and `is_required`.
template <class Enum, class Message>
Enum read_choice(const FieldsOf<Message>& fields, const char* field, int value, bool is_required = true) {
  if (value != 0) return static_cast<Enum>(value - 1);
  if (is_required) fields.error("missing-field", fmt::format("{} is missing", field), field, "", true);
  return Enum{};
}

TransformerModel read_transformer(const pb::Transformer& given, const FieldsOf<pb::Transformer>& fields) {
  TransformerModel model;
  model.layers = fields.required("layers", given.layers());
  model.hidden = fields.required("hidden", given.hidden());
  const FieldsOf<pb::Attention> attention = fields.inside("attention", given.attention());
  if (!given.has_attention())
    fields.error("missing-field", "attention is missing", "attention", "write attention { heads: ... }", true);
  if (given.has_attention()) {
    if (given.attention().has_latent()) {
      model.attention.kind = read_latent(given.attention(), attention);
    } else {
      model.attention.kind = read_grouped(given.attention(), attention, model.hidden);
    }
  }
  model.attention.query_key_value_bias = given.attention().query_key_value_bias();
  model.attention.output_bias = given.attention().output_bias();
  model.attention.query_key_norm = given.attention().query_key_norm();
  if (given.has_experts()) model.experts = read_experts(given.experts(), fields.inside("experts", given.experts()), model.layers);
  const FieldsOf<pb::Mlp> mlp = fields.inside("mlp", given.mlp());
  if (!given.has_mlp()) {
    fields.error("missing-field", "mlp is missing", "mlp", "write mlp { width: ... activation: ... }; experts have its activation",
                 true);
  } else {
    model.mlp.width =
        model.dense_layers() > 0 ? mlp.required("width", given.mlp().width()) : mlp.within("width", given.mlp().width());
    model.mlp.activation = read_choice<Activation>(mlp, "activation", given.mlp().activation());
    model.mlp.bias = given.mlp().bias();
  }
  model.norm = read_choice<Norm>(fields, "norm", given.norm());
  if (given.has_images()) model.images = read_images(given.images(), fields.inside("images", given.images()));
  if (model.images) {
    if (given.vocabulary() != 0)
      fields.error("bad-model", "images have no vocabulary", "vocabulary", "leave it out: images { classes: ... }");
    if (given.sequence() != 0)
      fields.error("bad-model", "images give the length of the sequence", "sequence",
                   "leave it out: it is the patches and the class");
    if (given.tied_embeddings()) fields.error("bad-model", "images have no tied embeddings", "tied_embeddings", "leave it out");
    model.sequence = model.images->patches() + 1;
  } else {
    model.vocabulary = fields.required("vocabulary", given.vocabulary());
    model.sequence = fields.required("sequence", given.sequence());
  }
  const FieldsOf<pb::Positions> positions = fields.inside("positions", given.positions());
  if (!given.has_positions())
    fields.error("missing-field", "positions is missing", "positions", "write positions { kind: ROTARY }", true);
  if (given.has_positions()) model.positions = read_choice<Positions>(positions, "kind", given.positions().kind());
  if (model.positions == Positions::learned) {
    model.learned_positions = positions.or_default("learned", given.positions().learned(), model.sequence);
  } else if (given.positions().learned() != 0) {
    positions.error("bad-model", "only LEARNED positions have a table", "learned", "leave it out, or write kind: LEARNED");
  }
  model.tied_embeddings = given.tied_embeddings();
  model.dropout = fields.fraction("dropout", given.dropout(), 1.0);
  return model;
}

RecommenderModel read_recommender(const pb::Recommender& given, const FieldsOf<pb::Recommender>& fields) {
  RecommenderModel model;
  constexpr std::uint64_t rows_max = 1ULL << 40;
  for (const std::uint64_t rows : given.table_rows()) {
    if (rows == 0 || rows > rows_max)
      fields.error("out-of-range", fmt::format("a table of {} rows", rows), "table_rows",
                   fmt::format("rows are from 1 to {}", rows_max));
    model.table_rows.push_back(rows);
  }
  if (model.table_rows.empty())
    fields.error("missing-field", "table_rows is missing", "table_rows", "write one number per table", true);
  model.width = fields.required("width", given.width());
  model.pooled = fields.or_default("pooled", given.pooled(), 1);
  for (const std::uint32_t width : given.bottom()) model.bottom.push_back(fields.required("bottom", width));
  for (const std::uint32_t width : given.top()) model.top.push_back(fields.required("top", width));
  if (model.bottom.size() < 2) {
    fields.error("missing-field", "bottom has fewer than two widths", "bottom", "dense features first, width last",
                 model.bottom.empty());
  } else if (model.bottom.back() != model.width) {
    fields.error("bad-model", fmt::format("bottom ends with {}, embeddings have {}", model.bottom.back(), model.width), "bottom",
                 "the last width is that of embeddings");
  }
  if (model.top.empty())
    fields.error("missing-field", "top is missing", "top", "widths behind the input, the last is the number of outputs", true);
  for (int i = 0; i < given.layer_size(); ++i) {
    const pb::InteractionLayer& layer = given.layer(i);
    const FieldsOf<pb::InteractionLayer> inner = fields.inside("layer", layer, i);
    InteractionLayer read{.outputs = inner.required("outputs", layer.outputs()), .modules = {}};
    for (const int module : layer.module()) read.modules.push_back(read_choice<InteractionModule>(inner, "module", module));
    if (read.modules.empty()) inner.error("missing-field", "the layer has no module", "module", "write module: LINEAR", true);
    model.layers.push_back(std::move(read));
  }
  return model;
}

UNetModel read_unet(const pb::UNet& given, const FieldsOf<pb::UNet>& fields) {
  UNetModel model;
  model.image = fields.required("image", given.image());
  model.channels = fields.or_default("channels", given.channels(), model.channels);
  model.base_channels = fields.required("base_channels", given.base_channels());
  model.levels = fields.required("levels", given.levels());
  model.classes = fields.required("classes", given.classes());
  model.batch_norm = given.batch_norm();
  constexpr std::uint64_t levels_max = 16;
  if (model.levels > levels_max) {
    fields.error("out-of-range", fmt::format("{} levels", model.levels), "levels", fmt::format("at most {}", levels_max));
  } else if (model.image % (1ULL << model.levels) != 0) {
    fields.error("bad-model", fmt::format("an image of {} cannot be halved {} times", model.image, model.levels), "image");
  }
  return model;
}

constexpr std::string_view model_kind = "model";

}  // namespace

ModelDescription read_model(const SourceText& source) {
  source.require_utf8_text("model");
  Diagnostics diagnostics;
  pb::Model file;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  const FieldsOf<pb::Model> fields(file, document.places(), source.whole_file(), diagnostics);
  ModelDescription model;
  model.name = file.name().empty() ? source.name() : file.name();
  model.origin = file.origin();
  switch (file.what_case()) {
    case pb::Model::kTransformer:
      model.what = read_transformer(file.transformer(), fields.inside("transformer", file.transformer()));
      break;
    case pb::Model::kRecommender:
      model.what = read_recommender(file.recommender(), fields.inside("recommender", file.recommender()));
      break;
    case pb::Model::kUnet:
      model.what = read_unet(file.unet(), fields.inside("unet", file.unet()));
      break;
    case pb::Model::WHAT_NOT_SET:
      fields.error("missing-field", "the file describes no model", "transformer",
                   "write transformer { ... }, recommender { ... } or unet { ... }", true);
      break;
  }
  diagnostics.throw_if_errors();
  return model;
}

ModelDescription load_model(const std::string& name, const SourcePlace& place) {
  return read_model(file_or_preset(name, model_presets(), model_kind, place));
}

std::vector<std::string> model_summaries() {
  std::vector<std::string> summaries;
  for (const PresetText& preset : model_presets()) {
    const ModelDescription model = read_model(source_of(preset, model_kind));
    const std::uint64_t parameters = parameter_count(model);
    const std::uint64_t active = active_parameter_count(model);
    const std::string count = active == parameters ? fmt::format("{} parameters", parameters)
                                                   : fmt::format("{} parameters, {} active", parameters, active);
    summaries.push_back(fmt::format("{}: {}. Origin: {}.", model.name, count, model.origin));
  }
  return summaries;
}

}  // namespace weft
