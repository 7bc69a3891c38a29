// SPDX-License-Identifier: Apache-2.0
#include "tools/report/comparison_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/report/run_folder.hpp"

namespace weft {

namespace {

constexpr std::size_t changes_drawn_max = 30;

ReportTable texts_table(const char* id, const char* title, const ReportJson& texts) {
  ReportTable table{id, title, {{"what", "text"}, {"a", "text"}, {"b", "text"}}};
  for (const ReportJson& text : texts) {
    if (text.is_object())
      table.rows.push_back(ReportJson::array({results_text(text, "what"), results_text(text, "a"), results_text(text, "b")}));
  }
  return table;
}

ReportJson mean_in(const ReportJson& figure, const char* side, const char* what) {
  const auto found = figure.find(side);
  if (found == figure.end() || !found->is_object()) return {};
  const std::optional<double> value = results_number(*found, what);
  return value ? ReportJson(*value) : ReportJson();
}

std::string figure_name(const ReportJson& figure) {
  const std::string point = results_text(figure, "point");
  return point.empty() ? results_text(figure, "name") : fmt::format("{} ({})", results_text(figure, "name"), point);
}

void add_figures(const ReportJson& figures, ReportSection& section) {
  ReportTable table{"figures-table",
                    "Figures that differ",
                    {{"figure", "text"}, {"a", ""}, {"b", ""}, {"change", "share"}, {"chance (p)", ""}, {"counts", "text"}}};
  std::vector<std::pair<double, std::string>> changes;
  for (const ReportJson& figure : figures) {
    if (!figure.is_object()) continue;
    const std::optional<double> change = results_number(figure, "change");
    const std::optional<double> p = results_number(figure, "p_value");
    const auto significant = figure.find("significant");
    const bool is_chance = significant != figure.end() && *significant == false;
    table.rows.push_back(ReportJson::array({figure_name(figure), mean_in(figure, "a", "mean"), mean_in(figure, "b", "mean"),
                                            change ? ReportJson(*change) : ReportJson(), p ? ReportJson(*p) : ReportJson(),
                                            is_chance ? "may be chance" : "yes"}));
    if (change && !is_chance) changes.emplace_back(*change, figure_name(figure));
  }
  std::ranges::stable_sort(changes, [](const auto& x, const auto& y) { return std::abs(x.first) > std::abs(y.first); });
  if (!changes.empty()) {
    ReportJson categories = ReportJson::array();
    ReportJson values = ReportJson::array();
    for (std::size_t i = 0; i < std::min(changes.size(), changes_drawn_max); ++i) {
      categories.push_back(changes[i].second);
      values.push_back(changes[i].first);
    }
    ReportJson chart =
        chart_of("bars", "changes", "What changed most",
                 fmt::format("From a to b, as a share of a's value. {} changes most, by {}{}.", changes.front().second,
                             changes.front().first > 0 ? "+" : "", readable_share(changes.front().first)));
    chart["category_name"] = "figure";
    chart["categories"] = std::move(categories);
    chart["y"] = ReportAxis{"change", "share"}.json();
    chart["series"] = ReportJson::array({{{"name", "change"}, {"values", std::move(values)}}});
    if (changes.size() > changes_drawn_max)
      chart["note"] = fmt::format("The {} largest of {} changes.", changes_drawn_max, changes.size());
    section.charts.push_back(std::move(chart));
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
}

}  // namespace

Report comparison_report(const std::filesystem::path& folder) {
  const ReportJson json = read_results_json(folder / "comparison.json");
  const ReportJson& figures = results_list(json, "figures");
  Report report;
  report.kind = "comparison";
  report.title = fmt::format("{} and {}", results_text(json, "a"), results_text(json, "b"));
  report.subtitle = fmt::format("a is {}, b is {}; {} each", results_text(json, "a"), results_text(json, "b"),
                                counted(static_cast<std::uint64_t>(results_number(json, "seeds").value_or(1)), "seed", "seeds"));
  report.figures.push_back(
      {"Figures that differ", figures.size(), "", fmt::format("of {}", results_number(json, "figures_compared").value_or(0))});
  report.figures.push_back({"Inputs that differ", results_list(json, "inputs").size(), "", ""});
  const auto past = json.find("past_threshold");
  report.figures.push_back({"Past the threshold", past != json.end() && *past == true ? "yes" : "no", "text", ""});
  ReportSection& inputs = report.sections.emplace_back(ReportSection{"inputs", "What went in"});
  if (results_list(json, "inputs").empty()) {
    inputs.text.push_back("Both sides had the same inputs, parameters and seeds.");
  } else {
    inputs.tables.push_back(texts_table("inputs-table", "Inputs and parameters that differ", results_list(json, "inputs")));
  }
  ReportSection& results = report.sections.emplace_back(ReportSection{"results", "What came out"});
  if (figures.empty()) results.text.push_back("No figure differs.");
  add_figures(figures, results);
  if (!results_list(json, "texts").empty())
    results.tables.push_back(texts_table("texts-table", "Texts that differ", results_list(json, "texts")));
  ReportTable rows{"rows-table",
                   "Jobs and links that differ, the largest changes first",
                   {{"table", "text"}, {"row", "text"}, {"column", "text"}, {"a", ""}, {"b", ""}}};
  for (const ReportJson& row : results_list(json, "rows")) {
    if (!row.is_object()) continue;
    const std::optional<double> a = results_number(row, "a");
    const std::optional<double> b = results_number(row, "b");
    rows.rows.push_back(ReportJson::array({results_text(row, "table"), results_text(row, "row"), results_text(row, "column"),
                                           a ? ReportJson(*a) : ReportJson(), b ? ReportJson(*b) : ReportJson()}));
  }
  if (!rows.rows.empty()) results.tables.push_back(std::move(rows));
  return report;
}

}  // namespace weft
