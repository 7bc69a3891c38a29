// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/plan_reader.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <google/protobuf/message.h>

#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"
#include "core/text/source_text.hpp"
#include "core/text/textproto.hpp"
#include "core/text/textproto_override.hpp"
#include "workloads/plan.pb.h"
#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

namespace {

namespace pb = plan_file;

constexpr std::uint32_t ways_max = 1U << 20;
constexpr std::uint64_t size_max = 1ULL << 32;
constexpr const char* smaller_number = "give a smaller number";

SourcePlace place_of_override(const PlanRequest& request, std::size_t i) {
  return request.override_places.empty() ? SourcePlace::named(fmt::format("--set={}", request.overrides[i]))
                                         : request.override_places[i];
}

/// Fills a plan from its file and the model, and adds what is wrong to the diagnostics.
class PlanFiller {
 public:
  PlanFiller(const pb::Plan& file, FieldPlaces places, const PlanRequest& request, Diagnostics& diagnostics)
      : file_(file), places_(places), request_(request), diagnostics_(diagnostics) {}

  ParallelPlan fill(const TransformerModel& model) {
    fill_fields();
    plan_.sequence = size("sequence", file_.sequence(), model.sequence);
    fill_data();
    plan_.gradient_bucket = size("gradient_bucket", file_.gradient_bucket(), default_gradient_bucket(plan_.replicas()));
    fill_layout(model);
    if (!diagnostics_.has_errors()) add_broken(broken_rules(plan_, model));
    return std::move(plan_);
  }

  ParallelPlan fill(const RecommenderModel& /*model*/) {
    return fill_replicas("a recommender has data-parallel layers and tables that all ranks share");
  }
  ParallelPlan fill(const UNetModel& /*model*/) { return fill_replicas("a U-Net is trained with data parallelism only"); }

  /// Looks at every field that needs no model.
  void check_fields() {
    fill_fields();
    ways("data_parallel", file_.data_parallel());
    size("sequence", file_.sequence(), 1);
    size("gradient_bucket", file_.gradient_bucket(), 1);
  }

 private:
  void fill_fields() {
    plan_.name = file_.name();
    plan_.origin = file_.origin();
    plan_.tensor = ways("tensor_parallel", file_.tensor_parallel());
    plan_.context = ways("context_parallel", file_.context_parallel());
    plan_.pipeline = ways("pipeline_parallel", file_.pipeline_parallel());
    plan_.expert = ways("expert_parallel", file_.expert_parallel());
    plan_.expert_tensor = ways("expert_tensor_parallel", file_.expert_tensor_parallel());
    plan_.microbatch = size("microbatch", file_.microbatch(), 1);
    plan_.global_batch = size("global_batch", file_.global_batch(), 0);
    if (file_.global_batch() == 0)
      error("missing-field", "global_batch is missing", "global_batch", "sequences in an iteration, of all replicas");
    plan_.sequence_parallel = file_.has_sequence_parallel() ? file_.sequence_parallel() : plan_.tensor > 1;
    plan_.zero_stage = file_.has_zero_stage() ? file_.zero_stage() : 1;
    constexpr std::uint32_t zero_stage_max = 3;
    if (plan_.zero_stage > zero_stage_max)
      error("out-of-range", fmt::format("zero_stage = {}", plan_.zero_stage), "zero_stage", "stages are 0 to 3");
    fill_schedule();
    fill_recompute();
    fill_precision();
    plan_.overlap_gradients = !file_.has_overlap_gradients() || file_.overlap_gradients();
    plan_.overlap_parameters = !file_.has_overlap_parameters() || file_.overlap_parameters();
    plan_.overlap_pipeline = file_.has_overlap_pipeline() ? file_.overlap_pipeline() : plan_.chunks > 1;
    plan_.scatter_between_stages = file_.scatter_between_stages();
    if (file_.context_exchange() != pb::CONTEXT_EXCHANGE_UNSPECIFIED) {
      plan_.context_exchange = static_cast<ContextExchange>(file_.context_exchange() - 1);
    }
    plan_.fused_attention = !file_.has_fused_attention() || file_.fused_attention();
    constexpr std::uint32_t megatron_multiple = 128;
    plan_.vocabulary_multiple =
        file_.vocabulary_multiple() == 0 ? megatron_multiple : ways("vocabulary_multiple", file_.vocabulary_multiple());
  }

  /// Of models whose ranks all do the same.
  ParallelPlan fill_replicas(const char* rule) {
    refuse_other_fields(rule);
    if (diagnostics_.has_errors()) return std::move(plan_);
    default_precision_ = PrecisionKind::all_fp32;
    fill_fields();
    if (!file_.has_zero_stage()) plan_.zero_stage = 0;
    constexpr std::uint32_t zero_stage_max = 2;
    if (plan_.zero_stage > zero_stage_max && !diagnostics_.has_errors()) {
      error("bad-plan",
            fmt::format("zero_stage = {} gathers parameters layer by layer, which is for transformers", plan_.zero_stage),
            "zero_stage", "0 to 2");
    }
    fill_data();
    plan_.gradient_bucket = size("gradient_bucket", file_.gradient_bucket(), ddp_gradient_bucket);
    if (diagnostics_.has_errors()) return std::move(plan_);
    if (file_.microbatch() == 0 && plan_.global_batch % plan_.data != 0) {
      error("bad-plan", fmt::format("data_parallel = {} does not divide global_batch = {}", plan_.data, plan_.global_batch),
            "global_batch", "replicas have equally many samples");
    } else {
      if (file_.microbatch() == 0) plan_.microbatch = plan_.global_batch / plan_.data;
      add_broken(broken_batch_rules(plan_));
    }
    return std::move(plan_);
  }

  /// Fields that say more than their default does, and are not for such a model.
  void refuse_other_fields(const char* rule) {
    constexpr std::array known = {"name",       "origin",    "data_parallel",     "microbatch",         "global_batch",
                                  "zero_stage", "precision", "overlap_gradients", "overlap_parameters", "gradient_bucket"};
    const google::protobuf::Reflection& fields = *file_.GetReflection();
    for (int i = 0; i < file_.GetDescriptor()->field_count(); ++i) {
      const google::protobuf::FieldDescriptor& field = *file_.GetDescriptor()->field(i);
      if (std::ranges::find(known, field.name()) != known.end() || !fields.HasField(file_, &field)) continue;
      const std::string value = value_beyond_default(fields, field);
      if (value.empty()) continue;
      error("bad-plan", fmt::format("{}: {} is {}", rule, field.name(), value), field.name().c_str(), "leave it out");
    }
  }

  /// "" where the value changes nothing: one rank of an axis, no, nothing computed again.
  std::string value_beyond_default(const google::protobuf::Reflection& fields,
                                   const google::protobuf::FieldDescriptor& field) const {
    using Type = google::protobuf::FieldDescriptor::CppType;
    const bool is_ways = field.name().ends_with("_parallel") || field.name() == "virtual_pipeline";
    const bool is_on_by_default = field.name() == "fused_attention";
    const auto number = [&](std::uint64_t value) { return value == 1 && is_ways ? std::string() : fmt::format("{}", value); };
    switch (field.cpp_type()) {
      case Type::CPPTYPE_UINT32:
        return number(fields.GetUInt32(file_, &field));
      case Type::CPPTYPE_UINT64:
        return number(fields.GetUInt64(file_, &field));
      case Type::CPPTYPE_BOOL:
        return fields.GetBool(file_, &field) == is_on_by_default ? "" : fmt::format("{}", !is_on_by_default);
      case Type::CPPTYPE_ENUM:
        return std::string(fields.GetEnum(file_, &field)->name());
      case Type::CPPTYPE_MESSAGE:
        return file_.recompute().kind() <= pb::KEEP ? "" : pb::RecomputeKind_Name(file_.recompute().kind());
      default:
        return in_quotes(fields.GetString(file_, &field));
    }
  }

  void add_broken(std::vector<BrokenPlanRule> rules) {
    for (BrokenPlanRule& broken : rules) error("bad-plan", std::move(broken.rule), broken.field.c_str(), std::move(broken.help));
  }

  void error(const char* code, std::string text, const char* field, std::string help = "") {
    diagnostics_.error(code, std::move(text), place_of_field(field), std::move(help));
  }

  /// The last override of the field or of something in it, else where it stands in the file.
  SourcePlace place_of_field(const std::string& field) const {
    for (std::size_t i = request_.overrides.size(); i-- > 0;) {
      const std::string& setting = request_.overrides[i];
      if (setting.substr(0, setting.find_first_of(".=")) == field) return place_of_override(request_, i);
    }
    return places_.of(file_, field);
  }

  std::uint32_t ways(const char* field, std::uint32_t value) {
    if (value == 0) return 1;
    if (value <= ways_max) return value;
    error("out-of-range", fmt::format("{} = {} is more than {}", field, value, ways_max), field, smaller_number);
    return 1;
  }

  std::uint64_t size(const char* field, std::uint64_t value, std::uint64_t without) {
    if (value == 0) return without;
    if (value <= size_max) return value;
    error("out-of-range", fmt::format("{} = {} is more than {}", field, value, size_max), field, smaller_number);
    return 1;
  }

  void fill_data() {
    const std::optional<std::uint64_t>& gpus = request_.gpus;
    const std::uint64_t replica = std::uint64_t{plan_.tensor} * plan_.context * plan_.pipeline;
    if (file_.data_parallel() > 0) {
      plan_.data = ways("data_parallel", file_.data_parallel());
      if (!gpus || plan_.ranks() == *gpus) return;
      return error(
          "bad-plan", fmt::format("the plan has {} GPUs, not {}", plan_.ranks(), *gpus), "data_parallel",
          "tensor_parallel x context_parallel x pipeline_parallel x data_parallel are the GPUs; leave data_parallel out to "
          "have it follow");
    }
    if (!gpus) {
      plan_.data = static_cast<std::uint32_t>(std::min<std::uint64_t>(ranks_min(plan_) / replica, ways_max));
      return;
    }
    if (*gpus % replica != 0 || *gpus == 0 || *gpus / replica > ways_max) {
      return error(
          "bad-plan",
          fmt::format("tensor_parallel x context_parallel x pipeline_parallel = {} does not divide {} GPUs", replica, *gpus),
          "data_parallel");
    }
    plan_.data = static_cast<std::uint32_t>(*gpus / replica);
  }

  void fill_schedule() {
    plan_.schedule = file_.schedule();
    if (plan_.schedule.empty()) plan_.schedule = file_.virtual_pipeline() > 1 ? "interleaved_1f1b" : "1f1b";
    std::uint32_t chunks = 1;
    try {
      const PipelineScheduleMaker& maker = find_module(pipeline_schedules(), plan_.schedule, place_of_field("schedule")).make;
      chunks = maker.chunks;
      plan_.placement = maker.placement;
    } catch (const InputError& unknown) {
      for (const Diagnostic& diagnostic : unknown.diagnostics()) diagnostics_.add(diagnostic);
    }
    plan_.chunks = file_.virtual_pipeline() == 0 ? chunks : ways("virtual_pipeline", file_.virtual_pipeline());
    if (plan_.pipeline == 1) {
      // One stage does its passes one after the other, whatever the schedule.
      if (file_.virtual_pipeline() > 1)
        error("bad-plan", "virtual_pipeline shares the layers of stages, and there is one stage", "virtual_pipeline",
              "leave it out");
      plan_.chunks = 1;
      plan_.placement = ChunkPlacement::loop;
    }
  }

  void fill_recompute() {
    const pb::Recompute& given = file_.recompute();
    if (given.kind() != pb::RECOMPUTE_KIND_UNSPECIFIED) plan_.recompute.kind = static_cast<RecomputeKind>(given.kind() - 1);
    const bool counts_layers = plan_.recompute.kind == RecomputeKind::uniform || plan_.recompute.kind == RecomputeKind::block;
    if (given.layers() > 0 && !counts_layers)
      error("bad-plan", "recompute.layers is of UNIFORM and BLOCK", "recompute", "name the kind, or leave layers out");
    if (plan_.recompute.kind == RecomputeKind::block && given.layers() == 0) {
      error("missing-field", "recompute.layers is missing", "recompute", "BLOCK computes so many layers of each chunk again");
    }
    plan_.recompute.layers = size("recompute", given.layers(), 1);
  }

  void fill_precision() {
    const pb::Precision& given = file_.precision();
    const auto kind =
        given.kind() == pb::PRECISION_KIND_UNSPECIFIED ? default_precision_ : static_cast<PrecisionKind>(given.kind() - 1);
    plan_.precision = precision_of(kind);
    set_type("parameters", given.parameters(), plan_.precision.parameters);
    set_type("gradients", given.gradients(), plan_.precision.gradients);
    if (!given.gradients().empty()) plan_.precision.reduced_gradients = plan_.precision.gradients;
    set_type("reduced_gradients", given.reduced_gradients(), plan_.precision.reduced_gradients);
    set_type("moments", given.moments(), plan_.precision.moments);
  }

  SourcePlace place_of_type(const char* field) const {
    const SourcePlace overridden = place_of_field("precision");
    return overridden.line > 0 ? places_.inside(file_, "precision").of(file_.precision(), field) : overridden;
  }

  void set_type(const char* field, const std::string& name, ElementType& type) {
    if (name.empty()) return;
    if (const std::optional<ElementType> found = element_type_named(name)) {
      type = *found;
      return;
    }
    std::vector<std::string> names;
    for (const ElementType& known : element_types()) names.emplace_back(known.name);
    diagnostics_.error("unknown-dtype", fmt::format("there is no type {}", in_quotes(name)), place_of_type(field),
                       suggestion(name, names, "type"));
  }

  void fill_layout(const TransformerModel& model) {
    const bool has_text = !file_.layout().empty();
    if (has_text &&
        (file_.first_stage_layers() > 0 || file_.last_stage_layers() > 0 || file_.count_embedding() || file_.count_output())) {
      error("bad-plan", "layout says all; first_stage_layers, last_stage_layers, count_embedding and count_output are left out",
            "layout");
    }
    std::variant<PipelineLayout, std::string> layout = pipeline_layout({.layers = model.layers,
                                                                        .stages = plan_.pipeline,
                                                                        .chunks = plan_.chunks,
                                                                        .first_stage_layers = file_.first_stage_layers(),
                                                                        .last_stage_layers = file_.last_stage_layers(),
                                                                        .count_embedding = file_.count_embedding(),
                                                                        .count_output = file_.count_output(),
                                                                        .text = file_.layout()});
    if (const std::string* rule = std::get_if<std::string>(&layout)) {
      return error("bad-plan", *rule,
                   has_text                         ? "layout"
                   : file_.first_stage_layers() > 0 ? "first_stage_layers"
                   : file_.last_stage_layers() > 0  ? "last_stage_layers"
                                                    : "pipeline_parallel",
                   has_text ? "" : "lower pipeline_parallel or virtual_pipeline, or share layers otherwise");
    }
    plan_.layout = std::get<PipelineLayout>(std::move(layout));
  }

  const pb::Plan& file_;
  FieldPlaces places_;
  const PlanRequest& request_;
  Diagnostics& diagnostics_;
  PrecisionKind default_precision_ = PrecisionKind::megatron_bf16;
  ParallelPlan plan_;
};

constexpr std::string_view plan_kind = "plan";

template <class Model>
ParallelPlan plan_for(const PlanRequest& request, const Model& model, const SourcePlace& place) {
  const SourceText source = request.name.empty() ? SourceText("plan", "tensor_parallel: 1")
                                                 : file_or_preset(request.name, plan_presets(), plan_kind, place);
  source.require_utf8_text("plan");
  Diagnostics diagnostics;
  pb::Plan file;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  for (std::size_t i = 0; i < request.overrides.size(); ++i)
    override_field(file, request.overrides[i], place_of_override(request, i));
  ParallelPlan plan = PlanFiller(file, document.places(), request, diagnostics).fill(model);
  diagnostics.throw_if_errors();
  if (plan.name.empty()) plan.name = source.name();
  return plan;
}

}  // namespace

ParallelPlan load_plan(const PlanRequest& request, const TransformerModel& model, const SourcePlace& place) {
  return plan_for(request, model, place);
}

ParallelPlan load_plan(const PlanRequest& request, const RecommenderModel& model, const SourcePlace& place) {
  return plan_for(request, model, place);
}

ParallelPlan load_plan(const PlanRequest& request, const UNetModel& model, const SourcePlace& place) {
  return plan_for(request, model, place);
}

ParallelPlan load_plan(const PlanRequest& request, const ModelDescription& model, const SourcePlace& place) {
  return std::visit([&](const auto& what) { return plan_for(request, what, place); }, model.what);
}

void check_plan_fields(const SourceText& source) {
  source.require_utf8_text("plan");
  Diagnostics diagnostics;
  pb::Plan file;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  const PlanRequest request;
  PlanFiller(file, document.places(), request, diagnostics).check_fields();
  diagnostics.throw_if_errors();
}

std::vector<std::string> plan_summaries() {
  std::vector<std::string> summaries;
  for (const PresetText& preset : plan_presets()) {
    const SourceText source = source_of(preset, plan_kind);
    Diagnostics diagnostics;
    pb::Plan file;
    const TextprotoDocument document(source, file, diagnostics);
    diagnostics.throw_if_errors();
    summaries.push_back(fmt::format("{}. Origin: {}.", file.name(), file.origin()));
  }
  return summaries;
}

}  // namespace weft
