// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/comparison_text.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/counted.hpp"
#include "tools/weft/aligned_rows.hpp"
#include "tools/weft/figure_text.hpp"

namespace weft {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string value_text(const std::optional<MeanInterval>& value, const std::string& name) {
  if (!value) return "-";
  const std::string mean = figure_text(value->mean, unit_of_figure(name));
  if (!value->half_width) return mean;
  constexpr int half_width_digits = 2;
  return mean + " +- " + (*value->half_width > 0 ? figure_text(*value->half_width, unit_of_figure(name), half_width_digits) : "0");
}

std::string change_text(std::optional<double> change) {
  if (!change) return "-";
  if (!std::isfinite(*change)) return *change > 0 ? "from 0" : "below 0";
  const double percent = 100 * *change;
  return fmt::format("{:+.{}g} %", percent, std::abs(percent) < 1 ? 2 : 3);
}

std::string chance_text(const ComparedFigure& figure) {
  if (!figure.p_value) return "";
  constexpr double least = 0.0001;
  const std::string p = *figure.p_value < least ? "p < 0.0001" : fmt::format("p = {:.2g}", *figure.p_value);
  return figure.is_significant ? p : p + ", may be chance";
}

void add_texts(const std::vector<ComparedText>& texts, std::string& page) {
  Rows rows = {{"", "a", "b"}};
  for (const ComparedText& text : texts) rows.push_back({text.what, or_dash(text.a), or_dash(text.b)});
  page += aligned_rows(rows, "  ");
}

void add_figures(const Comparison& comparison, std::string& page) {
  const bool has_labels =
      std::ranges::any_of(comparison.figures, [](const ComparedFigure& figure) { return !figure.label.empty(); });
  Rows rows = {{"", "a", "b", "change"}};
  if (has_labels) rows.front().insert(rows.front().begin(), "");
  for (const ComparedFigure& figure : comparison.figures) {
    std::vector<std::string>& row = rows.emplace_back();
    if (has_labels) row.push_back(figure.label);
    row.push_back(figure.name);
    row.push_back(value_text(figure.a, figure.name));
    row.push_back(value_text(figure.b, figure.name));
    row.push_back(change_text(figure.change()));
    if (const std::string chance = chance_text(figure); !chance.empty()) row.push_back(chance);
  }
  page += aligned_rows(rows, "  ");
}

/// The largest changes of each table.
void add_cells(const std::vector<ComparedNumber>& cells, std::string& page) {
  constexpr std::size_t shown_max = 5;
  for (std::size_t begin = 0; begin < cells.size();) {
    const std::string& table = cells[begin].cell.table;
    std::size_t end = begin;
    while (end < cells.size() && cells[end].cell.table == table) ++end;
    const std::size_t shown = std::min(shown_max, end - begin);
    page += fmt::format("\n{}: {} differ{}\n", table, counted(end - begin, "value", "values"),
                        shown < end - begin ? fmt::format("; the {} that change most", shown) : "");
    Rows rows = {{"", "", "a", "b", "change"}};
    for (std::size_t i = begin; i < begin + shown; ++i) {
      const ComparedNumber& one = cells[i];
      const auto text = [&](const std::optional<double>& number) {
        return number ? figure_text(*number, unit_of_figure(one.cell.column)) : "-";
      };
      rows.push_back({one.cell.row, one.cell.column, text(one.a), text(one.b), change_text(one.change())});
    }
    page += aligned_rows(rows, "  ");
    begin = end;
  }
}

void add_cases(const std::vector<std::string>& cases, const char* side, std::string& page) {
  for (const std::string& label : cases) page += fmt::format("only {} has {}\n", side, or_dash(label));
}

nlohmann::ordered_json value_json(const std::optional<MeanInterval>& value) {
  if (!value) return nullptr;
  nlohmann::ordered_json json = {{"mean", value->mean}};
  if (value->half_width) json["half_width"] = *value->half_width;
  return json;
}

nlohmann::ordered_json texts_json(const std::vector<ComparedText>& texts) {
  auto json = nlohmann::ordered_json::array();
  for (const ComparedText& text : texts) json.push_back({{"what", text.what}, {"a", text.a}, {"b", text.b}});
  return json;
}

}  // namespace

std::string comparison_page(const ComparedSide& a, const ComparedSide& b, const Comparison& comparison) {
  std::string page = fmt::format("a: {}\nb: {}\n", a.name, b.name);
  if (comparison.seeds > 1)
    page += fmt::format(
        "{} seeds each; +- has the mean with 95 %, p says how likely chance is\n"
        "\"may be chance\": among {} figures some p are small by chance; --metric=NAME asks about fewer (Holm's correction)\n",
        comparison.seeds, comparison.figures_compared);
  if (comparison.are_identical())
    return page + fmt::format("\nidentical: {}\n", counted(comparison.figures_compared, "figure", "figures"));
  page += comparison.inputs.empty() ? "\nwhat went in is the same\n" : "\nwhat went in\n";
  if (!comparison.inputs.empty()) add_texts(comparison.inputs, page);
  page += fmt::format("\nwhat came out: {} of {} figures differ\n", comparison.figures.size(), comparison.figures_compared);
  if (!comparison.figures.empty()) add_figures(comparison, page);
  if (!comparison.texts.empty()) {
    page += "\n";
    add_texts(comparison.texts, page);
  }
  add_cells(comparison.cells, page);
  add_cases(comparison.only_a, "a", page);
  add_cases(comparison.only_b, "b", page);
  return page;
}

nlohmann::ordered_json comparison_json(const ComparedSide& a, const ComparedSide& b, const Comparison& comparison) {
  nlohmann::ordered_json json = {{"a", a.name},
                                 {"b", b.name},
                                 {"identical", comparison.are_identical()},
                                 {"past_threshold", comparison.is_past_threshold()},
                                 {"seeds", comparison.seeds},
                                 {"figures_compared", comparison.figures_compared},
                                 {"inputs", texts_json(comparison.inputs)},
                                 {"figures", nlohmann::ordered_json::array()},
                                 {"texts", texts_json(comparison.texts)},
                                 {"rows", nlohmann::ordered_json::array()},
                                 {"only_a", comparison.only_a},
                                 {"only_b", comparison.only_b}};
  for (const ComparedFigure& figure : comparison.figures) {
    nlohmann::ordered_json entry;
    if (!figure.label.empty()) entry["point"] = figure.label;
    entry["name"] = figure.name;
    entry["a"] = value_json(figure.a);
    entry["b"] = value_json(figure.b);
    if (const std::optional<double> change = figure.change(); change && std::isfinite(*change)) entry["change"] = *change;
    if (figure.p_value) entry["p_value"] = *figure.p_value;
    if (figure.p_value) entry["significant"] = figure.is_significant;
    entry["past_threshold"] = figure.is_past_threshold;
    json["figures"].push_back(std::move(entry));
  }
  for (const ComparedNumber& one : comparison.cells) {
    nlohmann::ordered_json entry = {{"table", one.cell.table}, {"row", one.cell.row}, {"column", one.cell.column}};
    entry["a"] = one.a ? nlohmann::ordered_json(*one.a) : nlohmann::ordered_json();
    entry["b"] = one.b ? nlohmann::ordered_json(*one.b) : nlohmann::ordered_json();
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace weft
