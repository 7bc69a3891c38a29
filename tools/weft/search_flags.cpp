// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/search_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text/diagnostics.hpp"
#include "host/projections/model_operations.hpp"
#include "tools/projections/projected_cluster.hpp"
#include "tools/weft/plan_flags.hpp"
#include "workloads/models/model_reader.hpp"

namespace weft {

namespace {

constexpr double tokens_of_iteration = 8'388'608;  // 1,024 sequences of 8,192 tokens

/// Tokens in a sequence as the settings say; none if they do not, or not with a number.
std::optional<std::uint64_t> sequence_of(const std::vector<std::string>& settings) {
  constexpr std::string_view name = "sequence=";
  std::optional<std::uint64_t> sequence;
  for (const std::string& setting : settings) {
    if (!setting.starts_with(name)) continue;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(setting.data() + name.size(), setting.data() + setting.size(), value);
    if (error == std::errc() && value > 0) sequence = value;
  }
  return sequence;
}

}  // namespace

SearchedPlans searched_plans(SearchFlags flags, std::function<void(const SearchProgress&)> progress,
                             const std::atomic<bool>* interrupt) {
  flags.operators.settings = take_operator_settings(flags.settings);
  ClusterRequest cluster_request{.name = flags.cluster, .gpus = flags.gpus, .settings = take_module_settings(flags.settings)};
  const SourcePlace model_place = SourcePlace::named(fmt::format("MODEL {}", flags.model));
  const ModelDescription description = load_model(flags.model, model_place);
  const TransformerModel& model = transformer_of(description, model_place);
  const SourcePlace cluster_place = SourcePlace::named(fmt::format("CLUSTER {}", flags.cluster));
  const Scenario cluster = load_cluster(cluster_request, cluster_place);
  const FlaggedTimes operators = flagged_times(flags.operators, *cluster.topology, flags.cluster, cluster_place);

  SearchRequest request;
  request.space.base = flags.base;
  request.space.gpus = flags.gpus;
  request.space.gpus_per_host = static_cast<std::uint32_t>(cluster.topology->endpoints_of(HostId(0)).size());
  const bool says_batch = std::ranges::any_of(flags.settings, [](const auto& text) { return text.starts_with("global_batch="); });
  if (says_batch && flags.global_batch > 0) {
    fail("unused-flag", "the global batch is given twice", SourcePlace::named("--global-batch"), "drop it, or --set=global_batch");
  }
  if (flags.global_batch > 0) flags.settings.push_back(fmt::format("global_batch={}", flags.global_batch));
  if (flags.global_batch == 0 && !says_batch && flags.base.empty()) {
    const double sequences = tokens_of_iteration / static_cast<double>(sequence_of(flags.settings).value_or(model.sequence));
    flags.settings.push_back(fmt::format("global_batch={:.0f}", std::max(1.0, std::floor(sequences))));
  }
  request.space.settings = flags.settings;
  request.simulated = flags.simulated;
  request.memory = operators.gpu.memory;
  request.margin = flags.margin;
  request.with_neighbours = !cluster.jobs.empty();
  request.whole = flags.whole;
  request.threads = flags.threads;
  request.progress = std::move(progress);
  request.interrupt = interrupt;

  SearchedPlans found;
  found.result = search_plans(model, cluster, *operators.times, request, SourcePlace::named("weft project search"));
  found.model = description.name;
  found.operators = operators.times->origin();
  found.memory = operators.gpu.memory;
  if (!found.result.plans.empty()) found.operations = model_operations(model, found.result.plans.front().plan);
  return found;
}

}  // namespace weft
