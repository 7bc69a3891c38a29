// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report_parts.hpp"

#include "core/text/version.hpp"

namespace weft {

ReportJson ReportAxis::json() const {
  ReportJson json = {{"name", name}, {"unit", unit}};
  if (is_log) json["log"] = true;
  if (!categories.empty()) json["categories"] = categories;
  if (maximum) json["max"] = *maximum;
  return json;
}

ReportJson ReportSeries::json() const {
  ReportJson json = {{"name", name}, {"values", ReportJson::array()}};
  for (const auto& [x, y] : values) json["values"].push_back(ReportJson::array({x, y ? ReportJson(*y) : ReportJson()}));
  if (!intervals.empty()) json["intervals"] = ReportJson::array();
  for (const auto& interval : intervals)
    json["intervals"].push_back(interval ? ReportJson::array({interval->first, interval->second}) : ReportJson());
  if (!labels.empty()) json["labels"] = labels;
  return json;
}

ReportJson chart_of(std::string_view kind, std::string id, std::string title, std::string caption) {
  return {{"kind", kind}, {"id", std::move(id)}, {"title", std::move(title)}, {"caption", std::move(caption)}};
}

ReportJson xy_chart(std::string_view kind, std::string id, std::string title, std::string caption, const ReportAxis& x,
                    const ReportAxis& y, std::span<const ReportSeries> series) {
  ReportJson chart = chart_of(kind, std::move(id), std::move(title), std::move(caption));
  chart["x"] = x.json();
  chart["y"] = y.json();
  chart["series"] = ReportJson::array();
  for (const ReportSeries& one : series) chart["series"].push_back(one.json());
  return chart;
}

ReportJson ReportTable::json() const {
  ReportJson json = {{"id", id}, {"title", title}, {"columns", ReportJson::array()}, {"rows", rows}};
  for (const auto& [name, unit] : columns) json["columns"].push_back({{"name", name}, {"unit", unit}});
  if (!note.empty()) json["note"] = note;
  return json;
}

ReportJson ReportSection::json() const {
  ReportJson json = {{"id", id},       {"title", title},   {"text", text},
                     {"notes", notes}, {"charts", charts}, {"tables", ReportJson::array()}};
  for (const ReportTable& table : tables) json["tables"].push_back(table.json());
  return json;
}

ReportJson Report::json() const {
  ReportJson json = {
      {"kind", kind}, {"title", title}, {"subtitle", subtitle}, {"warnings", warnings}, {"figures", ReportJson::array()}};
  for (const ReportFigure& figure : figures) {
    ReportJson entry = {{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}};
    if (!figure.more.empty()) entry["more"] = figure.more;
    json["figures"].push_back(std::move(entry));
  }
  json["sections"] = ReportJson::array();
  for (const ReportSection& section : sections) {
    if (!section.is_empty()) json["sections"].push_back(section.json());
  }
  json["version"] = version_text();
  return json;
}

}  // namespace weft
