// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/nodes_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/weft/aligned_rows.hpp"

namespace weft {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string text_of(Duration time) { return readable(time.in_s()); }

// --- From a node to a cluster ---

const CommunicationRow* row_named(const NodeProjection& projection, const std::string& name) {
  const auto found = std::ranges::find_if(projection.communication, [&](const CommunicationRow& row) { return row.name == name; });
  return found == projection.communication.end() ? nullptr : &*found;
}

/// Names of both, in their order.
std::vector<std::string> names_of(const NodesComparison& nodes) {
  std::vector<std::string> names;
  for (const NodeProjection* one : {&nodes.published, &nodes.right}) {
    for (const CommunicationRow& row : one->communication) {
      if (std::ranges::find(names, row.name) == names.end()) names.push_back(row.name);
    }
  }
  return names;
}

/// What the published output adds up.
Duration sum_of_listed(const NodeProjection& projection) {
  Duration sum;
  for (const CommunicationRow& row : projection.communication) {
    if (row.is_listed) sum += row.total();
  }
  return sum;
}

std::string role_of(const CommunicationRow& row) {
  if (row.added == Duration::zero()) return "in layers or hidden";
  return row.added == row.total() ? "added" : fmt::format("{} added", text_of(row.added));
}

/// The all-reduce that is fastest, between nodes where there are several.
std::string formula_of(const CommunicationRow& row) {
  if (!row.formula) return "";
  return fmt::format("{}{}", to_text(*row.formula), row.nodes > 1 ? fmt::format(", {} nodes", row.nodes) : "");
}

Rows communication_rows(const NodesComparison& nodes) {
  Rows rows = {{"communication", "whose", "message", "count", "each", "total", "in the step", "fastest"}};
  for (const std::string& name : names_of(nodes)) {
    const auto add = [&](const char* whose, const NodeProjection& projection) {
      const CommunicationRow* row = row_named(projection, name);
      if (row == nullptr) return;
      rows.push_back({name, whose, readable_bytes(static_cast<double>(row->message.count())), fmt::to_string(row->count),
                      text_of(row->each), text_of(row->total()), role_of(*row), formula_of(*row)});
    };
    add("published", nodes.published);
    add("right", nodes.right);
  }
  return rows;
}

nlohmann::ordered_json projection_json(const NodeProjection& projection) {
  nlohmann::ordered_json json = {
      {"nodes_min", projection.nodes_min},        {"nodes", projection.nodes},
      {"data_parallel_min", projection.data_min}, {"data_parallel", projection.data},
      {"microbatches", projection.microbatches},  {"transfer_s", projection.transfer.in_s()},
      {"base_s", projection.base.in_s()},         {"pipeline_s", projection.pipeline.in_s()},
      {"step_s", projection.step.in_s()},         {"tokens_per_s_and_gpu", projection.tokens_per_s_per_gpu}};
  json["communication"] = nlohmann::ordered_json::array();
  for (const CommunicationRow& row : projection.communication) {
    nlohmann::ordered_json one = {
        {"name", row.name},          {"message_bytes", row.message.count()}, {"count", row.count},
        {"each_s", row.each.in_s()}, {"total_s", row.total().in_s()},        {"added_s", row.added.in_s()},
        {"nodes", row.nodes}};
    if (row.formula) one["formula"] = to_text(*row.formula);
    json["communication"].push_back(std::move(one));
  }
  return json;
}

// --- Layers ---

struct LayerKind {
  const char* name;
  PartTimes LayerTimes::*times;
};
constexpr std::array<LayerKind, 4> layer_kinds = {{{"embedding", &LayerTimes::input},
                                                   {"dense layer", &LayerTimes::dense_layer},
                                                   {"expert layer", &LayerTimes::expert_layer},
                                                   {"output", &LayerTimes::output}}};

bool is_there(const PartTimes& times) { return times.forward > Duration::zero() || times.backward > Duration::zero(); }

std::string difference(Duration calculated, Duration measured) {
  if (measured == Duration::zero()) return "";
  return fmt::format("{:+.1f} %", 100 * (calculated.in_s() / measured.in_s() - 1));
}

}  // namespace

std::string nodes_page(const NodesComparison& nodes) {
  const NodeProjection& published = nodes.published;
  const NodeProjection& right = nodes.right;
  std::string text = fmt::format("From a node to a cluster, as Primus' documentation prints it and as it is right; links: {}\n",
                                 nodes.hardware.name);
  Rows rows = {{"", "as published", "right"}};
  const auto add = [&](const char* name, auto&& cell) { rows.push_back({name, cell(published), cell(right)}); };
  add("fewest nodes", [](const NodeProjection& one) { return fmt::to_string(one.nodes_min); });
  add("nodes", [](const NodeProjection& one) { return fmt::to_string(one.nodes); });
  add("data-parallel ranks, fewest and target",
      [](const NodeProjection& one) { return fmt::format("{} and {}", one.data_min, one.data); });
  const auto& by_rule = nodes.data_ranks;
  rows.push_back({"data-parallel ranks for memory, scaling and GPUs",
                  fmt::format("{:g}, {:g} and {:g}", by_rule[0], by_rule[1], by_rule[2]), fmt::to_string(right.data)});
  rows.push_back({"gradients of a rank, as its example counts",
                  readable_bytes(static_cast<double>(nodes.printed_gradients.count())),
                  readable_bytes(static_cast<double>(nodes.gradients.count()))});
  add("microbatches that are simulated", [](const NodeProjection& one) { return fmt::to_string(one.microbatches); });
  add("transfer between simulated stages", [](const NodeProjection& one) { return text_of(one.transfer); });
  add("pipeline on the fewest nodes", [](const NodeProjection& one) { return text_of(one.base); });
  add("pipeline on the target", [](const NodeProjection& one) { return text_of(one.pipeline); });
  add("communication listed as critical", [&](const NodeProjection& one) {
    Duration added;
    for (const CommunicationRow& row : one.communication) added += row.added;
    return text_of(&one == &published ? sum_of_listed(one) : added);
  });
  add("communication in the step", [](const NodeProjection& one) { return text_of(one.step - one.pipeline); });
  add("iteration, without optimizer", [](const NodeProjection& one) { return text_of(one.step); });
  add("tokens/s per GPU", [](const NodeProjection& one) { return fmt::format("{:.0f}", one.tokens_per_s_per_gpu); });
  text += aligned_rows(rows, "  ") + "\n";
  return text + aligned_rows(communication_rows(nodes), "  ");
}

nlohmann::ordered_json nodes_json(const NodesComparison& nodes) {
  return {
      {"links", nodes.hardware.name},
      {"published_data_ranks", {{"memory", nodes.data_ranks[0]}, {"scaling", nodes.data_ranks[1]}, {"gpus", nodes.data_ranks[2]}}},
      {"published_gradient_bytes", nodes.printed_gradients.count()},
      {"gradient_bytes", nodes.gradients.count()},
      {"as_published", projection_json(nodes.published)},
      {"right", projection_json(nodes.right)}};
}

std::string estimates_table(const std::vector<LiteratureEstimate>& estimates) {
  Rows rows = {{"estimators of the literature", "as published", "right"}};
  std::string rules;
  for (const LiteratureEstimate& estimate : estimates) {
    const auto cell = [](const std::optional<Duration>& time) { return time ? text_of(*time) : std::string("-"); };
    rows.push_back({"  " + estimate.name, cell(estimate.published), cell(estimate.right)});
    if (!estimate.rule.empty()) rules += fmt::format("  {}: {}\n", estimate.name, estimate.rule);
  }
  return aligned_rows(rows) + rules;
}

nlohmann::ordered_json estimates_json(const std::vector<LiteratureEstimate>& estimates) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const LiteratureEstimate& estimate : estimates) {
    nlohmann::ordered_json one = {{"name", estimate.name}};
    if (estimate.published) one["as_published_s"] = estimate.published->in_s();
    if (estimate.right) one["right_s"] = estimate.right->in_s();
    if (!estimate.rule.empty()) one["rule"] = estimate.rule;
    json.push_back(std::move(one));
  }
  return json;
}

std::string layers_table(const MeasuredBench& bench, bool compares) {
  std::string text = fmt::format("layers measured: {}\n", bench.origin);
  for (const std::string& reduction : bench.reductions) text += fmt::format("  reduced: {}\n", reduction);
  Rows rows = {compares ? std::vector<std::string>{"one microbatch", "calculated", "measured", "calculated - measured"}
                        : std::vector<std::string>{"one microbatch", "measured"}};
  for (const LayerKind& kind : layer_kinds) {
    const PartTimes& measured = bench.measured.*kind.times;
    const PartTimes& calculated = bench.calculated.*kind.times;
    if (!is_there(measured) && !is_there(calculated)) continue;
    const auto add = [&](const char* direction, Duration of_clock, Duration of_bench) {
      std::vector<std::string> row = {fmt::format("{}, {}", kind.name, direction)};
      if (compares) row.push_back(text_of(of_clock));
      row.push_back(text_of(of_bench));
      if (compares) row.push_back(difference(of_clock, of_bench));
      rows.push_back(std::move(row));
    };
    add("forward", calculated.forward, measured.forward);
    add("backward", calculated.backward, measured.backward);
  }
  return text + aligned_rows(rows, "  ");
}

nlohmann::ordered_json layers_json(const MeasuredBench& bench) {
  nlohmann::ordered_json json = {{"origin", bench.origin}, {"reductions", bench.reductions}};
  for (const LayerKind& kind : layer_kinds) {
    const PartTimes& measured = bench.measured.*kind.times;
    const PartTimes& calculated = bench.calculated.*kind.times;
    if (!is_there(measured) && !is_there(calculated)) continue;
    json["layers"][kind.name] = {{"forward_s", measured.forward.in_s()},
                                 {"backward_s", measured.backward.in_s()},
                                 {"calculated_forward_s", calculated.forward.in_s()},
                                 {"calculated_backward_s", calculated.backward.in_s()}};
  }
  return json;
}

}  // namespace weft
