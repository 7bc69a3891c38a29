// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/search_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/weft/aligned_rows.hpp"

namespace weft {

namespace {

constexpr double gib = 1ULL << 30;

double in_gib(Bytes bytes) { return static_cast<double>(bytes.count()) / gib; }

std::string_view text_of(const Recompute& recompute) {
  switch (recompute.kind) {
    case RecomputeKind::keep:
      return "none";
    case RecomputeKind::selective:
      return "selective";
    case RecomputeKind::uniform:
      return "full";
    case RecomputeKind::block:
      return "block";
  }
  return "";
}

std::string pipeline_text(const ParallelPlan& plan) {
  return plan.chunks > 1 ? fmt::format("{} x {}", plan.pipeline, plan.chunks) : std::to_string(plan.pipeline);
}

bool has_experts(const SearchPage& page) {
  return std::ranges::any_of(page.result->plans,
                             [](const FoundPlan& one) { return one.plan.expert > 1 || one.plan.expert_tensor > 1; });
}

std::vector<std::string> head(const SearchPage& page) {
  std::vector<std::string> names = {"", "TP", "CP", "PP", "DP"};
  if (has_experts(page)) names.insert(names.end(), {"EP", "ETP"});
  names.insert(names.end(), {"ZeRO", "batch", "again", "GiB", "formula", "rank", "simulated", "tokens/s/GPU", "TFLOP/s/GPU"});
  return names;
}

std::vector<std::string> row(const SearchPage& page, std::size_t i) {
  const FoundPlan& found = page.result->plans[i];
  const ParallelPlan& plan = found.plan;
  std::vector<std::string> cells = {std::to_string(i + 1), std::to_string(plan.tensor), std::to_string(plan.context),
                                    pipeline_text(plan), std::to_string(plan.data)};
  if (has_experts(page)) cells.insert(cells.end(), {std::to_string(plan.expert), std::to_string(plan.expert_tensor)});
  const double seconds = found.iteration().in_s();
  const double gpus = static_cast<double>(page.gpus);
  const double tokens = static_cast<double>(plan.global_batch) * static_cast<double>(plan.sequence);
  const std::uint64_t before = page.result->estimated_rank[i];
  cells.insert(cells.end(),
               {std::to_string(plan.zero_stage), std::to_string(plan.microbatch), std::string(text_of(plan.recompute)),
                fmt::format("{:.1f}", in_gib(found.memory)), readable(found.estimate.iteration.in_s()),
                before == 0 ? "-" : std::to_string(before), found.simulated ? readable(found.simulated->in_s()) : "-",
                fmt::format("{:.0f}", tokens / seconds / gpus), fmt::format("{:.0f}", page.operations / seconds / gpus * 1e-12)});
  return cells;
}

std::string table(const SearchPage& page, const std::vector<std::size_t>& plans) {
  std::vector<std::vector<std::string>> rows = {head(page)};
  for (const std::size_t i : plans) rows.push_back(row(page, i));
  return aligned_rows(rows, "  ");
}

nlohmann::ordered_json plan_json(const SearchPage& page, std::size_t i) {
  const FoundPlan& found = page.result->plans[i];
  const ParallelPlan& plan = found.plan;
  nlohmann::ordered_json json = {{"tensor_parallel", plan.tensor},
                                 {"context_parallel", plan.context},
                                 {"pipeline_parallel", plan.pipeline},
                                 {"virtual_pipeline", plan.chunks},
                                 {"data_parallel", plan.data},
                                 {"expert_parallel", plan.expert},
                                 {"expert_tensor_parallel", plan.expert_tensor},
                                 {"zero_stage", plan.zero_stage},
                                 {"microbatch", plan.microbatch},
                                 {"global_batch", plan.global_batch},
                                 {"sequence", plan.sequence},
                                 {"recompute", text_of(plan.recompute)},
                                 {"schedule", plan.schedule},
                                 {"memory_bytes", found.memory.count()},
                                 {"estimated_s", found.estimate.iteration.in_s()}};
  if (found.simulated) {
    json["estimated_rank"] = page.result->estimated_rank[i];
    json["simulated_s"] = found.simulated->in_s();
  }
  json["operations_per_s_and_gpu"] = page.operations / found.iteration().in_s() / static_cast<double>(page.gpus);
  return json;
}

}  // namespace

std::string search_page(const SearchPage& page) {
  const SearchResult& result = *page.result;
  std::string text = fmt::format("{} on {} ({}); operator times: {}\n", page.model, counted(page.gpus, "GPU", "GPUs"), page.cluster,
                                 page.operators);
  text += fmt::format("{} fit into {:.1f} GiB; {} more do not, {} combinations break a rule or have no schedule\n",
                      counted(result.plans.size(), "plan", "plans"), in_gib(page.memory), result.out_of_memory,
                      result.refused + result.without_schedule);
  if (result.plans.empty() && result.least_too_large)
    text += fmt::format("the smallest needs {:.1f} GiB: more GPUs, or fewer sequences in a microbatch\n",
                        in_gib(*result.least_too_large));
  if (result.plans.empty()) return text;
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < std::min<std::size_t>(page.shown, result.plans.size()); ++i) first.push_back(i);
  if (!first.empty()) text += "\n" + table(page, first);
  if (result.correlation) {
    const auto simulated = std::ranges::count_if(result.plans, [](const FoundPlan& one) { return one.simulated.has_value(); });
    text += fmt::format("\n{} simulated; rank correlation of formula and simulation {:.3f}; the best was {} by formula\n",
                        counted(static_cast<std::uint64_t>(simulated), "plan", "plans"), *result.correlation,
                        result.estimated_rank.front());
    if (!page.whole)
      text += "where there are many rounds of rings or layers of ZeRO 3, fewer stand for them; --whole simulates all\n";
  }
  text += "\nmemory against time, no plan is better in both:\n" + table(page, result.pareto);
  return text;
}

nlohmann::ordered_json search_json(const SearchPage& page) {
  const SearchResult& result = *page.result;
  nlohmann::ordered_json json = {{"model", page.model},
                                 {"cluster", page.cluster},
                                 {"operator_times", page.operators},
                                 {"gpus", page.gpus},
                                 {"gpu_memory_bytes", page.memory.count()},
                                 {"operations", page.operations},
                                 {"plans_that_fit", result.plans.size()},
                                 {"out_of_memory", result.out_of_memory},
                                 {"refused", result.refused},
                                 {"without_schedule", result.without_schedule},
                                 {"whole", page.whole}};
  if (result.correlation) json["rank_correlation"] = *result.correlation;
  json["plans"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < result.plans.size(); ++i) json["plans"].push_back(plan_json(page, i));
  json["pareto"] = result.pareto;
  return json;
}

std::string search_progress_text(const SearchProgress& progress, double elapsed_s) {
  const double share = progress.total > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.total) : 0;
  std::string text = fmt::format("{:3.0f} % of {} {}", share * 100, progress.total, progress.what);
  if (share > 0 && share < 1) text += fmt::format("  {} left", readable(elapsed_s / share * (1 - share)));
  return text;
}

}  // namespace weft
