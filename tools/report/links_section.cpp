// SPDX-License-Identifier: Apache-2.0
// Section of a run's report: which links are busy, and when.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/report/reduction.hpp"
#include "tools/report/run_sections.hpp"

namespace weft {

namespace {

constexpr std::size_t drawn_per_level_max = 48;
constexpr std::size_t hot_links_max = 200;

struct NetworkLink {
  std::string name;
  std::string source;
  std::string destination;
  std::string tier;
  double rate_bps = 0;
  double bytes = 0;
  double utilization = 0;
  double queue = 0;
  double marks = 0;
  double paused_ns = 0;
  double drops = 0;
};

std::vector<NetworkLink> network_links(const RunFolder& run) {
  std::vector<NetworkLink> links;
  run.table("links.csv").each([&](const ResultsTable::Row& row) {
    // Those inside a host are no links of the network.
    if (row.text("tier") == "host") return;
    const auto number = [&](const char* column) { return row.number(column).value_or(0); };
    links.push_back({std::string(row.text("link")), std::string(row.text("src")), std::string(row.text("dst")),
                     std::string(row.text("tier")), number("rate_bps"), number("bytes"), number("mean_utilization"),
                     number("peak_queue_bytes"), number("ecn_marks"), number("pause_ns"), number("drops")});
  });
  std::ranges::stable_sort(links, std::greater<>(), &NetworkLink::utilization);
  return links;
}

/// "host" of "host->leaf".
std::pair<std::string, std::string> levels_of(const std::string& tier) {
  const std::size_t arrow = tier.find("->");
  if (arrow == std::string::npos) return {tier, tier};
  return {tier.substr(0, arrow), tier.substr(arrow + 2)};
}

/// A host is drawn as one, whatever cards it has.
std::string drawn_node(const std::string& node, const std::string& level) {
  return level == "host" ? node.substr(0, node.find('/')) : node;
}

/// Levels from the hosts upward.
std::vector<std::string> levels_in(const std::vector<NetworkLink>& links) {
  static constexpr std::array known = {"host", "leaf", "agg", "spine", "switch"};
  std::set<std::string> there;
  for (const NetworkLink& link : links) {
    const auto [from, to] = levels_of(link.tier);
    there.insert(from);
    there.insert(to);
  }
  std::vector<std::string> levels;
  for (const char* level : known) {
    if (there.contains(level)) levels.emplace_back(level);
  }
  return levels;
}

/// By the numbers in names: host2 before host10.
bool comes_before(const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; }

void add_topology(const std::vector<NetworkLink>& links, ReportSection& section) {
  const std::vector<std::string> levels = levels_in(links);
  if (levels.size() < 2) return;
  // The hottest links decide who is drawn where a level has too many.
  std::vector<std::set<std::string>> all(levels.size());
  std::vector<std::set<std::string>> drawn(levels.size());
  const auto level_index = [&](const std::string& level) { return std::ranges::find(levels, level) - levels.begin(); };
  for (const NetworkLink& link : links) {
    const auto [from, to] = levels_of(link.tier);
    for (const auto& [node, level] : {std::pair{link.source, from}, std::pair{link.destination, to}}) {
      const std::string name = drawn_node(node, level);
      const auto i = static_cast<std::size_t>(level_index(level));
      all[i].insert(name);
      if (drawn[i].size() < drawn_per_level_max) drawn[i].insert(name);
    }
  }
  ReportJson nodes = ReportJson::array();
  std::map<std::string, std::size_t> node_index;
  std::string left_out;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::vector<std::string> names(drawn[level].begin(), drawn[level].end());
    std::ranges::sort(names, comes_before);
    for (const std::string& name : names) {
      node_index[name] = nodes.size();
      nodes.push_back(ReportJson::array({name, level}));
    }
    if (names.size() < all[level].size())
      left_out +=
          fmt::format("{}{} of {} at level {}", left_out.empty() ? "" : ", ", names.size(), all[level].size(), levels[level]);
  }
  // Both directions and parallel cables are one line, which has the busiest of them.
  std::map<std::pair<std::size_t, std::size_t>, const NetworkLink*> lines;
  for (const NetworkLink& link : links) {
    const auto [from_level, to_level] = levels_of(link.tier);
    const auto from = node_index.find(drawn_node(link.source, from_level));
    const auto to = node_index.find(drawn_node(link.destination, to_level));
    if (from == node_index.end() || to == node_index.end() || from == to) continue;
    lines.emplace(std::minmax(from->second, to->second), &link);
  }
  ReportJson drawn_links = ReportJson::array();
  for (const auto& [ends, link] : lines)
    drawn_links.push_back(ReportJson::array({ends.first, ends.second, link->utilization, link->name}));
  const NetworkLink& hottest = links.front();
  ReportJson chart = chart_of("topology", "topology", "The network and its hot links",
                              fmt::format("Hosts below, switches above. Lines are stronger and thicker the more of its capacity "
                                          "the busiest of their links used over "
                                          "the run. {} was busiest, at {}.",
                                          hottest.name, readable_share(hottest.utilization)));
  chart["z"] = ReportAxis{"mean utilization", "share"}.json();
  chart["levels"] = levels;
  chart["nodes"] = std::move(nodes);
  chart["links"] = std::move(drawn_links);
  if (!left_out.empty()) chart["note"] = fmt::format("Drawn are the nodes of the busiest links: {}.", left_out);
  section.charts.push_back(std::move(chart));
}

void add_tiers_over_time(const RunFolder& run, ReportSection& section) {
  const ResultsTable samples = run.table("tier_samples.csv");
  if (!samples.is_there()) return;
  std::vector<std::string> tiers;
  std::vector<double> times;
  struct Sample {
    std::size_t column = 0;
    std::size_t tier = 0;
    double mean = 0;
    double most = 0;
    std::string link;
  };
  std::vector<Sample> rows;
  samples.each([&](const ResultsTable::Row& row) {
    const double begin = row.number("begin_ns").value_or(0) * ns_in_s;
    if (times.empty() || begin > times.back()) times.push_back(begin);
    const std::string tier(row.text("tier"));
    auto found = std::ranges::find(tiers, tier);
    if (found == tiers.end()) found = tiers.insert(tiers.end(), tier);
    rows.push_back({times.size() - 1, static_cast<std::size_t>(found - tiers.begin()), row.number("mean_utilization").value_or(0),
                    row.number("max_utilization").value_or(0), std::string(row.text("busiest_link"))});
  });
  if (rows.empty()) return;
  const double interval = times.size() > 1 ? times[1] - times[0] : 0;
  ReportAxis maximum{"", "share"};
  const auto add = [&](const char* id, const char* title, const std::string& caption, double Sample::*value) {
    ReportJson cells = ReportJson::array();
    for (const Sample& sample : rows) cells.push_back(ReportJson::array({sample.column, sample.tier, sample.*value}));
    ReportJson chart = chart_of("heat", id, title, caption);
    chart["x"] = ReportAxis{"time", "s"}.json();
    chart["x"]["values"] = times;
    ReportAxis y{"tier"};
    y.categories = tiers;
    chart["y"] = y.json();
    ReportAxis z{"utilization", "share"};
    z.maximum = 1;
    chart["z"] = z.json();
    chart["cells"] = std::move(cells);
    chart["note"] = fmt::format("Intervals of {}; each link's share of its rate over the interval.", readable(interval));
    section.charts.push_back(std::move(chart));
  };
  const Sample& peak = *std::ranges::max_element(rows, {}, &Sample::most);
  add("tiers_max", "The busiest link of each tier over time",
      fmt::format("The highest is {} on {} at {}.", readable_share(peak.most), peak.link, readable(times[peak.column])),
      &Sample::most);
  const Sample& mean_peak = *std::ranges::max_element(rows, {}, &Sample::mean);
  add("tiers_mean", "Mean over the links of each tier over time",
      fmt::format(
          "The mean over all links of a tier is at most {}, of {} at {}. Where it is far below the busiest link's, load is spread "
          "unevenly.",
          readable_share(mean_peak.mean), tiers[mean_peak.tier], readable(times[mean_peak.column])),
      &Sample::mean);
}

void add_hot_links(const std::vector<NetworkLink>& links, bool is_packets, ReportSection& section) {
  ReportTable table{"links-table",
                    "Links, the busiest first",
                    {{"link", "text"}, {"tier", "text"}, {"rate", "bps"}, {"carried", "bytes"}, {"mean utilization", "share"}}};
  if (is_packets) {
    for (const char* name : {"longest queue", "ECN marks", "paused", "drops"})
      table.columns.emplace_back(name, std::string_view(name) == "longest queue" ? "bytes"
                                       : std::string_view(name) == "paused"      ? "s"
                                                                                 : "");
  }
  for (const NetworkLink& link : links) {
    if (table.rows.size() == hot_links_max) break;
    ReportJson row = ReportJson::array({link.name, link.tier, link.rate_bps, link.bytes, link.utilization});
    if (is_packets) {
      for (const double value : {link.queue, link.marks, link.paused_ns * ns_in_s, link.drops}) row.push_back(value);
    }
    table.rows.push_back(std::move(row));
  }
  if (links.size() > hot_links_max)
    table.note = fmt::format("The first {} of {} links; links.csv has all.", hot_links_max, links.size());
  section.tables.push_back(std::move(table));
}

}  // namespace

ReportSection links_section(const RunFolder& run) {
  ReportSection section{"links", "Links"};
  const std::vector<NetworkLink> links = network_links(run);
  if (links.empty()) return section;
  add_tiers_over_time(run, section);
  if (section.charts.empty()) {
    section.text.push_back(
        "This run did not sample links over time; `weft run --report` does, and the report then has their utilization "
        "by tier and time.");
  }
  add_topology(links, section);
  add_hot_links(links, results_text(run.summary, "mode") == "packet", section);
  return section;
}

}  // namespace weft
