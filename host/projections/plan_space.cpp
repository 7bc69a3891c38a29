// SPDX-License-Identifier: Apache-2.0
#include "host/projections/plan_space.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft {

namespace {

constexpr std::uint64_t context_max = 8;
constexpr std::uint64_t chunks_max = 12;
constexpr std::array<std::uint64_t, 4> microbatches = {1, 2, 4, 8};

std::vector<std::uint64_t> powers_of_two(std::uint64_t up_to) {
  std::vector<std::uint64_t> powers;
  for (std::uint64_t power = 1; power <= up_to; power *= 2) powers.push_back(power);
  return powers;
}

std::vector<std::uint64_t> divisors_up_to(std::uint64_t of, std::uint64_t up_to) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t divisor = 1; divisor <= std::min(of, up_to); ++divisor) {
    if (of % divisor == 0) found.push_back(divisor);
  }
  return found;
}

class PlanEnumerator {
 public:
  PlanEnumerator(const PlanSpace& space, const TransformerModel& model, SourcePlace place)
      : space_(space), model_(model), place_(std::move(place)) {}

  PlanCandidates all() {
    check_settings();
    for (const std::uint64_t tensor : choices("tensor_parallel", powers_of_two(space_.gpus_per_host))) {
      if (model_.attention.heads() % tensor != 0) continue;
      for (const std::uint64_t context : choices("context_parallel", powers_of_two(context_max))) {
        if (space_.gpus % tensor != 0 || space_.gpus / tensor % context != 0) continue;
        const std::uint64_t rest = space_.gpus / (tensor * context);
        for (const std::uint64_t pipeline : choices("pipeline_parallel", divisors_up_to(rest, model_.layers))) {
          if (rest % pipeline == 0) add_pipelines(tensor, context, pipeline);
        }
      }
    }
    return std::move(candidates_);
  }

 private:
  std::optional<std::string> set_by_user(std::string_view field) const {
    // As overrides, the last one counts.
    for (auto at = space_.settings.rbegin(); at != space_.settings.rend(); ++at) {
      const std::string& setting = *at;
      if (setting.starts_with(field) && setting.substr(field.size(), 1) == "=") return setting.substr(field.size() + 1);
    }
    return std::nullopt;
  }

  /// What the user set, if it is a number; what is none, load_plan() refuses.
  std::vector<std::uint64_t> choices(std::string_view field, std::vector<std::uint64_t> otherwise) const {
    const std::optional<std::string> text = set_by_user(field);
    if (!text) return otherwise;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    return {error == std::errc() && end == text->data() + text->size() && value > 0 ? value : 1};
  }

  /// Sizes that the user set and that no combination could have.
  void check_settings() const {
    const std::uint64_t heads = model_.attention.heads();
    const std::uint64_t tensor = choices("tensor_parallel", {1}).front();
    if (heads % tensor != 0) refuse(fmt::format("tensor_parallel = {} does not divide heads = {}", tensor, heads));
    std::uint64_t ranks = 1;
    std::string product;
    for (const char* field : {"tensor_parallel", "context_parallel", "pipeline_parallel", "data_parallel"}) {
      if (!set_by_user(field)) continue;
      const std::uint64_t value = choices(field, {}).front();
      product += fmt::format("{}{}", product.empty() ? "" : " x ", field);
      if (value > space_.gpus / ranks) refuse(fmt::format("{} is more than {} GPUs", product, space_.gpus));
      ranks *= value;
      if (space_.gpus % ranks != 0) refuse(fmt::format("{} = {} does not divide {} GPUs", product, ranks, space_.gpus));
    }
    const std::uint64_t stages = choices("pipeline_parallel", {1}).front();
    if (stages > model_.layers) refuse(fmt::format("pipeline_parallel = {} is more than {} layers", stages, model_.layers));
  }
  [[noreturn]] void refuse(const std::string& rule) const { fail("bad-plan", rule, SourcePlace::named("--set"), "no plan has it"); }

  void add_pipelines(std::uint64_t tensor, std::uint64_t context, std::uint64_t pipeline) {
    const std::uint64_t data = space_.gpus / (tensor * context * pipeline);
    const std::uint64_t layers = (model_.layers + pipeline - 1) / pipeline;
    const std::uint64_t most = pipeline == 1 ? 1 : chunks_max;
    for (const std::uint64_t chunks : choices("virtual_pipeline", divisors_up_to(layers, most))) {
      for (const auto& [expert, expert_tensor] : expert_choices(tensor)) {
        for (const std::uint64_t microbatch : choices("microbatch", {microbatches.begin(), microbatches.end()})) {
          const std::vector<std::string> sizes = {
              fmt::format("tensor_parallel={}", tensor),     fmt::format("context_parallel={}", context),
              fmt::format("pipeline_parallel={}", pipeline), fmt::format("virtual_pipeline={}", chunks),
              fmt::format("data_parallel={}", data),         fmt::format("expert_parallel={}", expert),
              fmt::format("microbatch={}", microbatch),      fmt::format("expert_tensor_parallel={}", expert_tensor)};
          add_states(sizes, pipeline);
        }
      }
    }
  }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> expert_choices(std::uint64_t tensor) const {
    if (!model_.experts) return {{1, 1}};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> both;
    std::vector<std::uint64_t> shared = {1};
    if (tensor > 1) shared.push_back(tensor);
    for (const std::uint64_t expert : choices("expert_parallel", powers_of_two(model_.experts->count))) {
      for (const std::uint64_t expert_tensor : choices("expert_tensor_parallel", shared)) both.emplace_back(expert, expert_tensor);
    }
    return both;
  }

  void add_states(const std::vector<std::string>& sizes, std::uint64_t pipeline) {
    std::vector<std::string> recomputes = {"KEEP", "SELECTIVE", "UNIFORM"};
    if (set_by_user("recompute.kind")) recomputes = {""};
    std::vector<std::string> stages = {"zero_stage=1"};
    if (pipeline == 1) stages.emplace_back("zero_stage=3");
    if (set_by_user("zero_stage")) stages = {""};
    bool keeps_scores = false;
    for (const std::string& recompute : recomputes) {
      if (recompute == "SELECTIVE" && !keeps_scores) continue;
      for (const std::string& stage : stages) {
        PlanRequest request{.name = space_.base, .overrides = sizes, .gpus = space_.gpus};
        if (!recompute.empty()) {
          // What the base says of layers belongs to its own kind.
          request.overrides.push_back(fmt::format("recompute.kind={}", recompute));
          request.overrides.emplace_back("recompute.layers=0");
        }
        if (!stage.empty()) request.overrides.push_back(stage);
        request.overrides.insert(request.overrides.end(), space_.settings.begin(), space_.settings.end());
        const bool is_valid = add(request);
        keeps_scores = keeps_scores || (is_valid && !candidates_.plans.back().fused_attention);
      }
    }
  }

  /// Whether it breaks no rule.
  bool add(const PlanRequest& request) {
    try {
      candidates_.plans.push_back(load_plan(request, model_, place_));
      return true;
    } catch (const InputError& error) {
      const bool is_rule = std::ranges::all_of(error.diagnostics(), [](const Diagnostic& one) { return one.code == "bad-plan"; });
      if (!is_rule) throw;
      ++candidates_.refused;
      return false;
    }
  }

  const PlanSpace& space_;
  const TransformerModel& model_;
  SourcePlace place_;
  PlanCandidates candidates_;
};

}  // namespace

PlanCandidates plans_in(const PlanSpace& space, const TransformerModel& model, const SourcePlace& place) {
  return PlanEnumerator(space, model, place).all();
}

}  // namespace weft
