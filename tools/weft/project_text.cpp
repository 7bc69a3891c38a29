// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/project_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text/readable.hpp"
#include "tools/weft/aligned_rows.hpp"

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

std::string blame_text(const BlamedLink& blamed) {
  return fmt::format("{} ({}): {} of its share lost for {}", blamed.link,
                     blamed.is_own ? "its own transfers" : fmt::format("since {} started", blamed.trigger),
                     readable_share(blamed.lost_share), readable(blamed.congested_s));
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
  text += fmt::format("{} sequences of {} tokens in {} microbatches; operator times: {}\n\n", projection.global_batch,
                      projection.sequence, projection.microbatches, projection.operators);
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
    add("hours", [&](const ProjectionColumn& column) { return fmt::format("{:.4g}", hours(projection, column)); });
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
    parts.push_back({name, readable(time.in_s()), readable_share(time.in_s() / projection.columns.front().iteration.in_s())});
  }
  text += aligned_rows(parts, "  ");
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
  if (projection.peak) json["peak_operations_per_s"] = *projection.peak;
  for (const auto& [name, time] : projection.parts) json["isolated_parts_s"][name] = time.in_s();
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
  json["notes"] = projection.notes;
  return json;
}

}  // namespace weft
