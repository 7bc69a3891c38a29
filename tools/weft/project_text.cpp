// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/project_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/weft/aligned_rows.hpp"
#include "tools/weft/nodes_text.hpp"

namespace weft {

namespace {

constexpr double seconds_per_hour = 3600;

double tokens_per_s(const TrainingProjection& projection, const ProjectionColumn& column) {
  return projection.tokens_per_iteration() / column.iteration.in_s();
}

/// Operations per second and GPU.
double rate(const TrainingProjection& projection, const ProjectionColumn& column) {
  return projection.operations / column.iteration.in_s() / static_cast<double>(projection.gpus);
}

/// Of the tokens that are to be trained on.
double hours(const TrainingProjection& projection, const ProjectionColumn& column) {
  return *projection.tokens / tokens_per_s(projection, column) / seconds_per_hour;
}

std::string hours_text(double hours) {
  constexpr double whole_from = 1000;
  return hours < whole_from ? fmt::format("{:.4g}", hours) : fmt::format("{:.0f}", hours);
}

std::string blame_text(const BlamedLink& blamed) {
  return fmt::format("{} ({}): {} of its share lost for {}", blamed.link,
                     blamed.is_own ? "its own transfers" : fmt::format("since {} started", blamed.trigger),
                     readable_share(blamed.lost_share), readable(blamed.congested_s));
}

std::string hosts_text(const TrainingProjection& projection) {
  return fmt::format("{} of {}", counted(projection.hosts_min, "host", "hosts"), counted(projection.gpus_per_host, "GPU", "GPUs"));
}

/// Whether computation hides it.
std::string hidden_text(const CommunicationCost& row) {
  if (row.exposed == Duration::zero()) return "overlapped";
  return row.exposed < row.busy ? "partly" : "critical";
}

std::string communication_table(const TrainingProjection& projection) {
  std::vector<std::vector<std::string>> rows = {{"axis", "what", "of", "count", "message", "each", "total", "exposed", ""}};
  for (const CommunicationCost& row : projection.communication) {
    rows.push_back({std::string(to_text(row.axis)), std::string(row.what), std::string(row.purpose), fmt::to_string(row.count),
                    readable_bytes(static_cast<double>(row.each_bytes().count())), readable(row.each().in_s()),
                    readable(row.busy.in_s()), readable(row.exposed.in_s()), hidden_text(row)});
  }
  return aligned_rows(rows, "  ");
}

/// Axes of all columns, in the order in which they come.
std::vector<std::string> axes_of(const TrainingProjection& projection) {
  std::vector<std::string> axes;
  for (const ProjectionColumn& column : projection.columns) {
    for (const auto& [axis, exposed_s] : column.exposed_s) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
    }
  }
  return axes;
}

}  // namespace

std::string training_page(const TrainingProjection& projection) {
  std::string text = fmt::format("{}: {} on {}\n", projection.model, projection.plan, projection.cluster);
  text += fmt::format("{} sequences of {} tokens in {} microbatches; operator times: {}\n", projection.global_batch,
                      projection.sequence, projection.microbatches, projection.operators);
  text += fmt::format("one replica needs at least {}\n", hosts_text(projection));
  if (!projection.network.empty()) text += fmt::format("isolated: collectives by closed forms of {}\n", projection.network);
  if (projection.bench) text += layers_table(*projection.bench, projection.compares_layers);
  text += "\n";
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, auto&& cell) {
    std::vector<std::string> row = {name};
    for (const ProjectionColumn& column : projection.columns) row.push_back(cell(column));
    rows.push_back(std::move(row));
  };
  add("", [](const ProjectionColumn& column) { return column.name; });
  add("iteration", [](const ProjectionColumn& column) { return readable(column.iteration.in_s()); });
  add("tokens/s", [&](const ProjectionColumn& column) { return fmt::format("{:.0f}", tokens_per_s(projection, column)); });
  add("tokens/s per GPU", [&](const ProjectionColumn& column) {
    return fmt::format("{:.0f}", tokens_per_s(projection, column) / static_cast<double>(projection.gpus));
  });
  add("TFLOP/s per GPU", [&](const ProjectionColumn& column) { return fmt::format("{:.0f}", rate(projection, column) * 1e-12); });
  if (projection.peak) {
    add("MFU", [&](const ProjectionColumn& column) { return readable_share(rate(projection, column) / *projection.peak); });
  }
  if (projection.tokens) {
    add("hours", [&](const ProjectionColumn& column) { return hours_text(hours(projection, column)); });
  }
  add("exposed communication",
      [](const ProjectionColumn& column) { return column.exposed ? readable(column.exposed->in_s()) : std::string(); });
  for (const std::string& axis : axes_of(projection)) {
    add("  " + axis, [&](const ProjectionColumn& column) {
      for (const auto& [name, exposed_s] : column.exposed_s) {
        if (name == axis) return readable(exposed_s);
      }
      return std::string("-");
    });
  }
  text += aligned_rows(rows, "  ");
  text += "\nisolated, part by part:\n";
  std::vector<std::vector<std::string>> parts;
  for (const auto& [name, time] : projection.parts) {
    if (time == Duration::zero()) continue;
    parts.push_back({name, readable(time.in_s()), readable_share(time.in_s() / projection.isolated.in_s())});
  }
  text += aligned_rows(parts, "  ");
  if (!projection.communication.empty())
    text += "\nisolated, what one GPU of the busiest stage communicates:\n" + communication_table(projection);
  if (!projection.estimates.empty()) text += "\n" + estimates_table(projection.estimates);
  if (projection.nodes) text += "\n" + nodes_page(*projection.nodes);
  for (const ProjectionColumn& column : projection.columns) {
    if (column.blamed) text += fmt::format("\nlink to blame, {}: {}", column.name, blame_text(*column.blamed));
  }
  if (text.back() != '\n') text += "\n";
  for (const std::string& note : projection.notes) text += fmt::format("note: {}\n", note);
  return text;
}

nlohmann::ordered_json training_json(const TrainingProjection& projection) {
  nlohmann::ordered_json json = {{"model", projection.model},
                                 {"plan", projection.plan},
                                 {"cluster", projection.cluster},
                                 {"operator_times", projection.operators},
                                 {"gpus", projection.gpus},
                                 {"global_batch", projection.global_batch},
                                 {"sequence_tokens", projection.sequence},
                                 {"microbatches", projection.microbatches},
                                 {"operations", projection.operations}};
  json["hosts_min"] = projection.hosts_min;
  json["gpus_per_host"] = projection.gpus_per_host;
  if (!projection.network.empty()) json["isolated_network"] = projection.network;
  if (projection.peak) json["peak_operations_per_s"] = *projection.peak;
  if (projection.bench) json["benchmark"] = layers_json(*projection.bench);
  for (const auto& [name, time] : projection.parts) json["isolated_parts_s"][name] = time.in_s();
  json["isolated_communication"] = nlohmann::ordered_json::array();
  for (const CommunicationCost& row : projection.communication) {
    json["isolated_communication"].push_back({{"axis", to_text(row.axis)},
                                              {"what", row.what},
                                              {"of", row.purpose},
                                              {"count", row.count},
                                              {"bytes", row.bytes.count()},
                                              {"busy_s", row.busy.in_s()},
                                              {"exposed_s", row.exposed.in_s()}});
  }
  json["projections"] = nlohmann::ordered_json::array();
  for (const ProjectionColumn& column : projection.columns) {
    nlohmann::ordered_json one = {{"name", column.name},
                                  {"iteration_s", column.iteration.in_s()},
                                  {"tokens_per_s", tokens_per_s(projection, column)},
                                  {"operations_per_s_and_gpu", rate(projection, column)}};
    if (projection.peak) one["mfu"] = rate(projection, column) / *projection.peak;
    if (projection.tokens) one["hours"] = hours(projection, column);
    if (column.exposed) one["exposed_s"] = column.exposed->in_s();
    for (const auto& [axis, exposed_s] : column.exposed_s) one["exposed_by_axis_s"][axis] = exposed_s;
    if (column.ranks_simulated > 0) one["ranks_simulated"] = column.ranks_simulated;
    if (column.blamed) {
      one["link_to_blame"] = {{"link", column.blamed->link},
                              {"cause", column.blamed->is_own ? "own" : "others"},
                              {"trigger", column.blamed->trigger},
                              {"congested_s", column.blamed->congested_s},
                              {"lost_share", column.blamed->lost_share}};
    }
    json["projections"].push_back(std::move(one));
  }
  if (!projection.estimates.empty()) json["estimators"] = estimates_json(projection.estimates);
  if (projection.nodes) json["from_node_to_cluster"] = nodes_json(*projection.nodes);
  json["notes"] = projection.notes;
  return json;
}

std::string clusters_page(const std::vector<TrainingProjection>& projections) {
  const TrainingProjection& first = projections.front();
  std::string text = fmt::format("{}: {} sequences of {} tokens\n\n", first.model, first.global_batch, first.sequence);
  std::vector<std::vector<std::string>> rows = {{"cluster"}};
  for (const ProjectionColumn& column : first.columns) rows.front().push_back(column.name);
  for (const char* name : {"tokens/s", "per GPU", "MFU"}) rows.front().emplace_back(name);
  if (first.tokens) {
    for (const char* name : {"hours", "GPU-hours"}) rows.front().emplace_back(name);
  }
  for (const TrainingProjection& projection : projections) {
    std::vector<std::string> row = {projection.cluster};
    for (std::size_t i = 0; i < first.columns.size(); ++i)
      row.push_back(i < projection.columns.size() ? readable(projection.columns[i].iteration.in_s()) : "-");
    const ProjectionColumn& last = projection.columns.back();
    row.push_back(fmt::format("{:.0f}", tokens_per_s(projection, last)));
    row.push_back(fmt::format("{:.0f}", tokens_per_s(projection, last) / static_cast<double>(projection.gpus)));
    row.push_back(projection.peak ? readable_share(rate(projection, last) / *projection.peak) : "-");
    if (projection.tokens) {
      row.push_back(hours_text(hours(projection, last)));
      row.push_back(hours_text(hours(projection, last) * static_cast<double>(projection.gpus)));
    }
    rows.push_back(std::move(row));
  }
  text += aligned_rows(rows, "  ");
  for (const TrainingProjection& projection : projections) {
    text += fmt::format("\n{}: {}, one replica needs at least {}; operator times: {}\n", projection.cluster, projection.plan,
                        hosts_text(projection), projection.operators);
    for (const ProjectionColumn& column : projection.columns) {
      if (column.blamed) text += fmt::format("link to blame, {}: {}\n", column.name, blame_text(*column.blamed));
    }
    for (const std::string& note : projection.notes) text += fmt::format("note: {}\n", note);
  }
  return text;
}

}  // namespace weft
