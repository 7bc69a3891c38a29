// SPDX-License-Identifier: Apache-2.0
// Section of a run's report: why it took so long, as `weft explain` found.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/report/report_page.hpp"
#include "tools/report/run_sections.hpp"

namespace weft {

namespace {

constexpr std::size_t paths_drawn_max = 8;
constexpr std::size_t pieces_drawn_max = 2000;
constexpr std::size_t what_ifs_drawn_max = 20;
constexpr std::size_t blame_rows_max = 500;

double number_or_zero(const ReportJson& json, const char* name) { return results_number(json, name).value_or(0); }

/// Pieces of one job's path, a row for each kind, in order of the time that it takes.
ReportJson path_chart(const ReportJson& job, const ReportJson& path, std::string id) {
  std::vector<std::string> kinds;
  std::string words;
  const double seconds = number_or_zero(path, "seconds");
  double lost_s = 0;
  for (const ReportJson& share : results_list(path, "by_kind")) {
    kinds.push_back(results_text(share, "kind"));
    lost_s += number_or_zero(share, "contention_s");
    constexpr std::size_t kinds_in_words = 3;
    if (kinds.size() <= kinds_in_words && seconds > 0) {
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", results_text(share, "kind"),
                           readable_share(number_or_zero(share, "seconds") / seconds));
    }
  }
  const ReportJson& pieces = results_list(path, "path");
  const auto length = [&](std::size_t i) { return number_or_zero(pieces[i], "end_s") - number_or_zero(pieces[i], "begin_s"); };
  std::vector<std::size_t> kept(pieces.size());
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = i;
  if (kept.size() > pieces_drawn_max) {
    std::ranges::stable_sort(kept, [&](std::size_t a, std::size_t b) { return length(a) > length(b); });
    kept.resize(pieces_drawn_max);
    std::ranges::sort(kept);
  }
  const double begin_s = pieces.empty() ? 0 : number_or_zero(pieces.front(), "begin_s");
  ReportJson bars = ReportJson::array();
  ReportJson details = ReportJson::array();
  for (const std::size_t i : kept) {
    const ReportJson& piece = pieces[i];
    const double contention_s = number_or_zero(piece, "contention_s");
    const auto kind = std::ranges::find(kinds, results_text(piece, "kind"));
    if (kind == kinds.end()) continue;
    bars.push_back(ReportJson::array({kind - kinds.begin(), number_or_zero(piece, "begin_s") - begin_s,
                                      number_or_zero(piece, "end_s") - begin_s, contention_s > 0 ? 1 : 0}));
    std::string detail = fmt::format("{} {}", results_text(piece, "op"), results_text(piece, "where"));
    if (contention_s > 0) detail += fmt::format(", {} of it lost to others", readable(contention_s));
    details.push_back(std::move(detail));
  }
  ReportJson chart = chart_of(
      "gantt", std::move(id),
      fmt::format("Critical path of {}, iteration {}", results_text(job, "job"), number_or_zero(path, "iteration")),
      fmt::format("What the end of the iteration waited for, piece by piece: {} over {}, of which {}. {} were lost to other "
                  "transfers on the same links.",
                  counted(pieces.size(), "piece", "pieces"), readable(seconds), words, readable(lost_s)));
  chart["x"] = ReportAxis{"time since the iteration began", "s"}.json();
  chart["row_name"] = "kind";
  chart["state_name"] = "how";
  chart["detail_name"] = "what";
  chart["rows"] = kinds;
  chart["states"] = ReportJson::array({"as fast as alone", "slowed by others"});
  chart["bars"] = std::move(bars);
  chart["details"] = std::move(details);
  if (kept.size() < pieces.size())
    chart["note"] = fmt::format("The {} longest of {} pieces are drawn; the table below is of all.", kept.size(), pieces.size());
  return chart;
}

void add_paths(const ReportJson& explanation, ReportSection& section) {
  ReportTable shares{"path-table",
                     "Critical paths by kind",
                     {{"job", "text"},
                      {"iteration", ""},
                      {"kind", "text"},
                      {"pieces", ""},
                      {"time", "s"},
                      {"of the path", "share"},
                      {"lost to others", "s"}}};
  std::size_t drawn = 0;
  std::size_t paths = 0;
  for (const ReportJson& job : results_list(explanation, "jobs")) {
    const ReportJson& path = results_object(job, "critical_path");
    if (path.empty()) continue;
    ++paths;
    const double seconds = number_or_zero(path, "seconds");
    for (const ReportJson& share : results_list(path, "by_kind")) {
      const double of_kind_s = number_or_zero(share, "seconds");
      shares.rows.push_back(ReportJson::array({results_text(job, "job"), results_cell(path, "iteration"),
                                               results_text(share, "kind"), results_cell(share, "pieces"), of_kind_s,
                                               seconds > 0 ? of_kind_s / seconds : 0, results_cell(share, "contention_s")}));
    }
    if (drawn == paths_drawn_max || results_list(path, "path").empty()) continue;
    section.charts.push_back(path_chart(job, path, fmt::format("path-{}", drawn++)));
  }
  if (paths > drawn) shares.note = fmt::format("Paths of the first {} of {} jobs are drawn.", drawn, paths);
  if (!shares.rows.empty()) section.tables.push_back(std::move(shares));
}

void add_links_to_raise(const ReportJson& explanation, ReportSection& section) {
  const double raise = results_number(explanation, "raise").value_or(1);
  ReportTable table{"raise-table",
                    fmt::format("Raise these first: links {} faster", readable_share(raise - 1)),
                    {{"job", "text"},
                     {"links that limit alike", "text"},
                     {"tier", "text"},
                     {"links", ""},
                     {"faster by, by its derivative", "s"},
                     {"faster by, run so", "s"}}};
  for (const ReportJson& job : results_list(explanation, "jobs")) {
    for (const char* of : {"tiers", "links"}) {
      for (const ReportJson& one : results_list(job, of)) {
        const bool is_tier = std::string_view(of) == "tiers";
        table.rows.push_back(ReportJson::array({results_text(job, "job"), is_tier ? "all" : results_text(one, "what"),
                                                results_text(one, is_tier ? "what" : "tier"), results_cell(one, "links"),
                                                results_cell(one, "gain_s"), results_cell(one, "tried_gain_s")}));
      }
    }
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
}

void add_blame(const ReportJson& explanation, ReportSection& section) {
  const ReportJson& waiting = results_object(explanation, "waiting");
  const ReportJson& blame = results_list(waiting, "blame");
  ReportTable table{
      "blame-table", "Who waited for whom, where", {{"job", "text"}, {"waits at", "text"}, {"for", "text"}, {"lost", "s"}}};
  for (std::size_t i = 0; i < std::min(blame.size(), blame_rows_max); ++i) {
    const std::string link = results_text(blame[i], "link");
    table.rows.push_back(ReportJson::array({results_text(blame[i], "job"), link.empty() ? "its own connection" : link,
                                            results_text(blame[i], "blamed_job"), results_cell(blame[i], "lost_s")}));
  }
  table.note = fmt::format(
      "All transfers together would take {} alone and take {} more; the rows of all links and jobs add up to "
      "that.",
      readable(number_or_zero(waiting, "alone_s")), readable(number_or_zero(waiting, "lost_s")));
  if (blame.size() > blame_rows_max) table.note += fmt::format(" The {} largest of {} are here.", blame_rows_max, blame.size());
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
}

/// One chart for each job, as what jobs gain does not add up.
void add_what_ifs(const ReportJson& explanation, ReportSection& section) {
  std::size_t drawn = 0;
  for (const ReportJson& job : results_list(explanation, "jobs")) {
    const std::string name = results_text(job, "job");
    std::vector<std::pair<double, std::string>> gains;
    for (const ReportJson& what_if : results_list(explanation, "what_if")) {
      const std::optional<double> gain_s = results_number(results_object(what_if, "gain_s"), name.c_str());
      if (gain_s && *gain_s > 0)
        gains.emplace_back(*gain_s, fmt::format("{}: {}", results_text(what_if, "kind"), results_text(what_if, "what")));
    }
    if (gains.empty() || drawn == paths_drawn_max) continue;
    std::ranges::stable_sort(gains, [](const auto& a, const auto& b) { return a.first > b.first; });
    const std::size_t all = gains.size();
    gains.resize(std::min(gains.size(), what_ifs_drawn_max));
    ReportJson categories = ReportJson::array();
    ReportJson values = ReportJson::array();
    for (const auto& [gain_s, what] : gains) {
      categories.push_back(what);
      values.push_back(gain_s);
    }
    ReportJson chart =
        chart_of("bars", fmt::format("what-if-{}", drawn++), fmt::format("What would make {} faster", name),
                 fmt::format("One thing ideal at a time, each in a run of its own. {} would save most, {} of {}. "
                             "Gains do not add up.",
                             gains.front().second, readable(gains.front().first), readable(number_or_zero(job, "seconds"))));
    chart["category_name"] = "what is ideal";
    chart["categories"] = std::move(categories);
    chart["y"] = ReportAxis{"time saved", "s"}.json();
    chart["series"] = ReportJson::array({{{"name", "saved"}, {"values", std::move(values)}}});
    if (gains.size() < all) chart["note"] = fmt::format("The best {} of {} that save anything.", gains.size(), all);
    section.charts.push_back(std::move(chart));
  }
}

}  // namespace

ReportSection explained_section(const RunFolder& run) {
  ReportSection section{"why", "Why it took so long"};
  if (!std::filesystem::exists(run.path / explanation_data_file)) return section;
  const ReportJson explanation = read_results_json(run.path / explanation_data_file);
  if (results_text(explanation, "run_fingerprint") != results_text(run.summary, "fingerprint")) {
    section.text.push_back("explanation.json in this folder is of another run and is left out: weft explain --report renews it.");
    return section;
  }
  add_paths(explanation, section);
  add_what_ifs(explanation, section);
  add_links_to_raise(explanation, section);
  add_blame(explanation, section);
  section.notes = results_texts(explanation, "notes");
  return section;
}

}  // namespace weft
