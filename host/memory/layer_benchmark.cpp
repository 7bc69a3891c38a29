// SPDX-License-Identifier: Apache-2.0
#include "host/memory/layer_benchmark.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/textproto.hpp"
#include "host/benchmark.pb.h"

namespace weft {

namespace {

namespace pb = benchmark_file;

constexpr std::uint32_t benchmark_version = 1;
constexpr std::uint64_t benchmark_size_max = 1ULL << 32;
constexpr std::uint64_t benchmark_bytes_max = 1ULL << 50;
constexpr double benchmark_us_max = 1e12;
constexpr double us_per_s = 1e6;

class BenchmarkFiller {
 public:
  BenchmarkFiller(const pb::Benchmark& file, FieldPlaces places, Diagnostics& diagnostics)
      : file_(file), places_(places), diagnostics_(diagnostics) {}

  LayerBenchmark fill() {
    if (file_.version() != benchmark_version) {
      diagnostics_.error("unknown-version", fmt::format("version {} is not {}", file_.version(), benchmark_version),
                         places_.of(file_, "version"), "measure again with the sampler of this version");
    }
    LayerBenchmark benchmark;
    benchmark.model = file_.model();
    benchmark.gpu = file_.gpu();
    benchmark.framework = file_.framework();
    benchmark.world_size = static_cast<std::uint32_t>(at_least_one(file_, places_, "world_size", file_.world_size()));
    fill_shape(benchmark);
    fill_plan(benchmark);
    for (int i = 0; i < file_.layer_size(); ++i) fill_layer(i, benchmark);
    if (file_.layer_size() == 0) missing(file_, places_, "layer");
    benchmark.peak_allocated = bytes(file_, places_, "peak_allocated_bytes", file_.peak_allocated_bytes());
    benchmark.peak_reserved = bytes(file_, places_, "peak_reserved_bytes", file_.peak_reserved_bytes());
    if (file_.peak_allocated_bytes() == 0) missing(file_, places_, "peak_allocated_bytes");
    if (file_.peak_reserved_bytes() < file_.peak_allocated_bytes()) {
      diagnostics_.error("out-of-range", "peak_reserved_bytes is less than peak_allocated_bytes",
                         places_.of(file_, "peak_reserved_bytes"), "what is allocated is part of what is reserved");
    }
    return benchmark;
  }

 private:
  void missing(const google::protobuf::Message& message, const FieldPlaces& places, const char* field) {
    diagnostics_.error("missing-field", fmt::format("{} is missing", field), places.of(message, field), "");
  }
  std::uint64_t within(const google::protobuf::Message& message, const FieldPlaces& places, const char* field,
                       std::uint64_t value) {
    if (value <= benchmark_size_max) return value;
    diagnostics_.error("out-of-range", fmt::format("{} = {} is more than {}", field, value, benchmark_size_max),
                       places.of(message, field), "");
    return 1;
  }
  std::uint64_t at_least_one(const google::protobuf::Message& message, const FieldPlaces& places, const char* field,
                             std::uint64_t value) {
    if (value == 0) missing(message, places, field);
    return within(message, places, field, value);
  }
  Bytes bytes(const google::protobuf::Message& message, const FieldPlaces& places, const char* field, std::uint64_t value) {
    if (value > benchmark_bytes_max) {
      diagnostics_.error("out-of-range", fmt::format("{} = {} is more than {}", field, value, benchmark_bytes_max),
                         places.of(message, field), "");
      return Bytes::zero();
    }
    return Bytes::of(static_cast<std::int64_t>(value));
  }
  Duration time(const pb::Layer& layer, const FieldPlaces& places, const char* field, double us) {
    if (us >= 0.0 && us <= benchmark_us_max) return Duration::from_seconds(us / us_per_s);
    diagnostics_.error("out-of-range", fmt::format("{} = {} is not from 0 to {}", field, us, benchmark_us_max),
                       places.of(layer, field), "");
    return Duration::zero();
  }

  void fill_shape(LayerBenchmark& benchmark) {
    const pb::Shape& shape = file_.shape();
    const FieldPlaces places = places_.inside(file_, "shape");
    benchmark.hidden = at_least_one(shape, places, "hidden", shape.hidden());
    benchmark.heads = at_least_one(shape, places, "heads", shape.heads());
    benchmark.key_value_heads = at_least_one(shape, places, "key_value_heads", shape.key_value_heads());
    benchmark.head_width = at_least_one(shape, places, "head_width", shape.head_width());
    benchmark.mlp_width = within(shape, places, "mlp_width", shape.mlp_width());
    benchmark.is_gated = shape.gated();
    benchmark.experts_of_rank = within(shape, places, "experts_of_rank", shape.experts_of_rank());
    benchmark.top_k = within(shape, places, "top_k", shape.top_k());
    benchmark.expert_width = within(shape, places, "expert_width", shape.expert_width());
    benchmark.vocabulary = within(shape, places, "vocabulary", shape.vocabulary());
  }

  void fill_plan(LayerBenchmark& benchmark) {
    const pb::BenchmarkPlan& plan = file_.plan();
    const FieldPlaces places = places_.inside(file_, "plan");
    const auto ways = [](std::uint32_t given) { return std::max(given, 1U); };
    benchmark.tensor = ways(plan.tensor_parallel());
    benchmark.context = ways(plan.context_parallel());
    benchmark.expert = ways(plan.expert_parallel());
    benchmark.microbatch = at_least_one(plan, places, "microbatch", plan.microbatch());
    benchmark.sequence = at_least_one(plan, places, "sequence", plan.sequence());
    benchmark.precision = plan.precision();
    benchmark.fused_attention = plan.fused_attention();
  }

  void fill_layer(int index, LayerBenchmark& benchmark) {
    const pb::Layer& layer = file_.layer(index);
    const FieldPlaces places = places_.inside(file_, "layer", index);
    if (layer.kind() == pb::LAYER_KIND_UNSPECIFIED) return missing(layer, places, "kind");
    std::optional<MeasuredLayer>& measured = benchmark.layers[static_cast<std::size_t>(layer.kind() - 1)];
    if (measured) {
      diagnostics_.error("duplicate-name", "this kind of layer stands twice", places.of(layer, "kind"), "keep one of the two");
      return;
    }
    measured = MeasuredLayer{
        .layers = static_cast<std::uint32_t>(at_least_one(layer, places, "layers", layer.layers())),
        .forward = time(layer, places, "forward_us", layer.forward_us()),
        .backward = time(layer, places, "backward_us", layer.backward_us()),
        .activations = bytes(layer, places, "activation_bytes", layer.activation_bytes()),
    };
  }

  const pb::Benchmark& file_;
  FieldPlaces places_;
  Diagnostics& diagnostics_;
};

/// Compares what a benchmark has with what it should have.
class BenchmarkRules {
 public:
  BenchmarkRules(const LayerBenchmark& found, const SourcePlace& place) : found_(found), place_(place) {}

  void same(const char* code, const char* what, std::uint64_t found, std::uint64_t wanted) {
    if (found == wanted) return;
    error(code, fmt::format("the benchmark has {} = {}, {} {}", what, found, whose(code), wanted));
  }
  void same(const char* code, const char* what, const std::string& found, const std::string& wanted) {
    if (found == wanted) return;
    error(code, fmt::format("the benchmark has {} {}, {} {}", what, found, whose(code), wanted));
  }
  /// Another model has another plan, too: rules of plans are told of the same model alone.
  void error(const char* code, std::string text) {
    const bool is_of_model = code == std::string_view("other-model");
    if (!is_of_model && is_other_model_) return;
    std::string help;
    if (!diagnostics_.has_errors()) {
      help = fmt::format("a benchmark is of one model and plan; this one was made of {}",
                         found_.model.empty() ? "another" : in_quotes(found_.model));
    }
    is_other_model_ = is_other_model_ || is_of_model;
    diagnostics_.error(code, std::move(text), place_, std::move(help));
  }
  void throw_if_broken() const { diagnostics_.throw_if_errors(); }

 private:
  static std::string_view whose(std::string_view code) { return code == "other-model" ? "the model" : "the plan"; }

  const LayerBenchmark& found_;
  const SourcePlace& place_;
  Diagnostics diagnostics_;
  bool is_other_model_ = false;
};

}  // namespace

std::string_view to_text(BenchmarkLayer layer) {
  constexpr std::array<std::string_view, benchmark_layer_kinds> names = {"dense", "expert", "embedding", "output"};
  return names[static_cast<std::size_t>(layer)];
}

LayerBenchmark read_layer_benchmark(const SourceText& source) {
  Diagnostics diagnostics;
  pb::Benchmark file;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  LayerBenchmark benchmark = BenchmarkFiller(file, document.places(), diagnostics).fill();
  diagnostics.throw_if_errors();
  return benchmark;
}

LayerBenchmark planned_benchmark(const std::string& model_name, const ReducedPlan& reduced) {
  const TransformerModel& model = reduced.model;
  const ParallelPlan& plan = reduced.plan;
  LayerBenchmark benchmark;
  benchmark.model = model_name;
  benchmark.world_size = static_cast<std::uint32_t>(plan.ranks());
  benchmark.hidden = model.hidden;
  benchmark.heads = model.attention.heads();
  benchmark.key_value_heads = model.attention.key_value_heads();
  benchmark.head_width = model.attention.key_width();
  benchmark.mlp_width = model.dense_layers() > 0 ? model.mlp.width : 0;
  benchmark.is_gated = model.mlp.is_gated();
  if (model.experts) {
    benchmark.experts_of_rank = model.experts->count / plan.expert;
    benchmark.top_k = model.experts->top_k;
    benchmark.expert_width = model.experts->width;
  }
  benchmark.vocabulary = model.vocabulary;
  benchmark.tensor = plan.tensor;
  benchmark.context = plan.context;
  benchmark.expert = plan.expert;
  benchmark.microbatch = plan.microbatch;
  benchmark.sequence = plan.sequence;
  benchmark.precision = to_text(plan.precision.kind);
  benchmark.fused_attention = plan.fused_attention;
  const auto has = [&](BenchmarkLayer layer, std::uint64_t layers) {
    if (layers > 0) benchmark.layers[static_cast<std::size_t>(layer)] = MeasuredLayer{.layers = static_cast<std::uint32_t>(layers)};
  };
  has(BenchmarkLayer::dense, model.dense_layers());
  has(BenchmarkLayer::expert, model.layers - model.dense_layers());
  has(BenchmarkLayer::embedding, 1);
  has(BenchmarkLayer::output, 1);
  return benchmark;
}

ReducedPlan plan_of_benchmark(const LayerBenchmark& benchmark, const TransformerModel& model, const ParallelPlan& plan,
                              const SourcePlace& place) {
  const auto layers = [&](BenchmarkLayer layer) -> std::uint64_t { return benchmark.of(layer) ? benchmark.of(layer)->layers : 0; };
  BenchmarkRules rules(benchmark, place);
  if (model.dense_layers() > 0 && layers(BenchmarkLayer::dense) == 0)
    rules.error("other-model", "the benchmark has no layer without experts, the model has");
  if (model.experts && layers(BenchmarkLayer::expert) == 0)
    rules.error("other-model", "the benchmark has no layer with experts, the model has");
  auto reduced = reduced_plan(model, plan,
                              {.gpus = benchmark.world_size,
                               .dense_layers = layers(BenchmarkLayer::dense),
                               .expert_layers = layers(BenchmarkLayer::expert)});
  if (const auto* broken = std::get_if<BrokenPlanRule>(&reduced)) {
    rules.error("other-plan", fmt::format("the plan cannot be reduced to {} GPUs: {}", benchmark.world_size, broken->rule));
    rules.throw_if_broken();
  }
  ReducedPlan& found = std::get<ReducedPlan>(reduced);
  const LayerBenchmark wanted = planned_benchmark("", found);
  rules.same("other-model", "hidden", benchmark.hidden, wanted.hidden);
  rules.same("other-model", "heads", benchmark.heads, wanted.heads);
  rules.same("other-model", "key_value_heads", benchmark.key_value_heads, wanted.key_value_heads);
  rules.same("other-model", "head_width", benchmark.head_width, wanted.head_width);
  rules.same("other-model", "mlp_width", benchmark.mlp_width, wanted.mlp_width);
  rules.same("other-model", "gated", benchmark.is_gated ? 1 : 0, wanted.is_gated ? 1 : 0);
  rules.same("other-model", "experts_of_rank", benchmark.experts_of_rank, wanted.experts_of_rank);
  rules.same("other-model", "top_k", benchmark.top_k, wanted.top_k);
  rules.same("other-model", "expert_width", benchmark.expert_width, wanted.expert_width);
  rules.same("other-model", "vocabulary", benchmark.vocabulary, wanted.vocabulary);
  rules.same("other-plan", "tensor_parallel", benchmark.tensor, wanted.tensor);
  rules.same("other-plan", "context_parallel", benchmark.context, wanted.context);
  rules.same("other-plan", "expert_parallel", benchmark.expert, wanted.expert);
  rules.same("other-plan", "microbatch", benchmark.microbatch, wanted.microbatch);
  rules.same("other-plan", "sequence", benchmark.sequence, wanted.sequence);
  rules.same("other-plan", "precision", benchmark.precision, wanted.precision);
  rules.same("other-plan", "fused_attention", benchmark.fused_attention ? 1 : 0, wanted.fused_attention ? 1 : 0);
  rules.throw_if_broken();
  return std::move(found);
}

}  // namespace weft
