// SPDX-License-Identifier: Apache-2.0
// Section of a run's report: queues, rates and pauses in packet mode.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/text/readable.hpp"
#include "tools/report/reduction.hpp"
#include "tools/report/run_sections.hpp"

namespace weft {

namespace {

constexpr std::size_t sampled_links_max = 6;
constexpr std::size_t sample_parts_max = 400;

struct TierSeries {
  std::vector<std::string> tiers;
  std::map<std::string, std::map<std::string, ReportSeries>> of_column;  ///< by column, tier
};

TierSeries tier_series(const RunFolder& run) {
  TierSeries found;
  run.table("tier_samples.csv").each([&](const ResultsTable::Row& row) {
    const double begin = row.number("begin_ns").value_or(0) * ns_in_s;
    const double end = row.number("end_ns").value_or(0) * ns_in_s;
    const std::string tier(row.text("tier"));
    if (std::ranges::find(found.tiers, tier) == found.tiers.end()) found.tiers.push_back(tier);
    const double links = row.number("links").value_or(1);
    const double width = end - begin;
    const auto put = [&](const char* column, double at, double value) {
      ReportSeries& series = found.of_column[column][tier];
      series.name = tier;
      series.values.emplace_back(at, value);
    };
    put("queue", begin, row.number("queue_bytes").value_or(0));
    if (width <= 0) return;
    put("pause", begin, row.number("pause_ns").value_or(0) * ns_in_s / width / links);
    put("marks", begin, row.number("ecn_marks").value_or(0) / width);
    put("drops", begin, row.number("drops").value_or(0) / width);
  });
  return found;
}

/// What a column says of tiers in which it is not 0 throughout.
std::vector<ReportSeries> moving(const TierSeries& all, const char* column) {
  std::vector<ReportSeries> series;
  const auto found = all.of_column.find(column);
  if (found == all.of_column.end()) return series;
  for (const std::string& tier : all.tiers) {
    const auto of_tier = found->second.find(tier);
    if (of_tier == found->second.end()) continue;
    if (std::ranges::any_of(of_tier->second.values, [](const auto& value) { return value.second.value_or(0) > 0; }))
      series.push_back(of_tier->second);
  }
  return series;
}

void add_tier_series(const RunFolder& run, ReportSection& section) {
  const TierSeries all = tier_series(run);
  struct Picture {
    const char* column;
    const char* title;
    const char* what;
    ReportAxis axis;
  };
  const std::vector<Picture> pictures = {
      {"queue",
       "Queues",
       "The longest queue of any link of the tier, as it stood at ends of intervals.",
       {"longest queue", "bytes"}},
      {"pause",
       "Pauses",
       "The share of time for which links of the tier were paused, on average.",
       {"share of time paused", "share"}},
      {"marks", "ECN marks", "Packets marked per second on all links of the tier.", {"marks per second"}},
      {"drops", "Drops", "Packets dropped per second on all links of the tier.", {"drops per second"}}};
  std::string silent;
  for (const Picture& picture : pictures) {
    const std::vector<ReportSeries> series = moving(all, picture.column);
    if (series.empty()) {
      silent += fmt::format("{}{}", silent.empty() ? "" : ", ", picture.title);
      continue;
    }
    double most = 0;
    std::string at;
    for (const ReportSeries& one : series) {
      for (const auto& [time, value] : one.values) {
        if (value.value_or(0) <= most) continue;
        most = *value;
        at = fmt::format("{} at {}", one.name, readable(time));
      }
    }
    const std::string peak = picture.axis.unit == "bytes"   ? readable_bytes(most)
                             : picture.axis.unit == "share" ? readable_share(most)
                                                            : fmt::format("{:.4g}", most);
    ReportJson chart =
        xy_chart("lines", fmt::format("tier_{}", picture.column), fmt::format("{} by tier", picture.title),
                 fmt::format("{} The most is {}, {}.", picture.what, peak, at), ReportAxis{"time", "s"}, picture.axis, series);
    chart["step"] = true;
    section.charts.push_back(std::move(chart));
  }
  if (!all.tiers.empty() && !silent.empty()) section.text.push_back(fmt::format("None in any sample: {}.", silent));
}

struct LinkSamples {
  std::map<double, std::array<double, 3>> at;  ///< by time: rate, queue, pause
  double queue_peak = 0;
};

void add_link_series(const RunFolder& run, ReportSection& section) {
  std::map<std::string, LinkSamples> links;
  double end_s = 0;
  double begin_s = HUGE_VAL;
  std::map<double, bool> times;
  run.table("link_samples.csv").each([&](const ResultsTable::Row& row) {
    LinkSamples& link = links[std::string(row.text("link"))];
    const double time = row.number("time_ns").value_or(0) * ns_in_s;
    const double queue = row.number("queue_bytes").value_or(0);
    link.at[time] = {row.number("rate_bps").value_or(0), queue, row.number("pause_ns").value_or(0) * ns_in_s};
    link.queue_peak = std::max(link.queue_peak, queue);
    times[time] = true;
    end_s = std::max(end_s, time);
    begin_s = std::min(begin_s, time);
  });
  if (links.empty()) return;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, link] : links) order.emplace_back(-link.queue_peak, name);
  std::ranges::sort(order);
  order.resize(std::min(order.size(), sampled_links_max));
  // The smallest distance of two samples is the interval; idle ones have no rows.
  double interval = end_s;
  double before = 0;
  for (const auto& [time, there] : times) {
    if (time - before > 0) interval = std::min(interval, time - before);
    before = time;
  }
  const auto samples = static_cast<std::size_t>(std::llround((end_s - begin_s) / interval)) + 1;
  const std::size_t parts = std::min(samples, sample_parts_max);
  const std::size_t per_part = (samples + parts - 1) / parts;
  struct Quantity {
    const char* id;
    const char* title;
    ReportAxis axis;
    bool takes_most;
  };
  const std::array<Quantity, 3> quantities = {{{"link_rate", "Rates of the links with the longest queues", {"rate", "bps"}, false},
                                               {"link_queue", "Their queues", {"queue", "bytes"}, true},
                                               {"link_pause", "Their pauses", {"share of time paused", "share"}, false}}};
  for (std::size_t quantity = 0; quantity < quantities.size(); ++quantity) {
    std::vector<ReportSeries> series;
    bool moves = false;
    for (const auto& [peak, name] : order) {
      std::vector<double> values((samples + per_part - 1) / per_part, 0);
      for (const auto& [time, sample] : links.at(name).at) {
        const auto i = static_cast<std::size_t>(std::llround((time - begin_s) / interval)) / per_part;
        double& value = values[std::min(i, values.size() - 1)];
        const double share = quantity == 2 ? sample[2] / interval : sample[quantity];
        value = quantities[quantity].takes_most ? std::max(value, share) : value + share / static_cast<double>(per_part);
        moves = moves || share > 0;
      }
      ReportSeries& line = series.emplace_back(ReportSeries{name});
      for (std::size_t i = 0; i < values.size(); ++i)
        line.values.emplace_back(begin_s - interval + static_cast<double>(i * per_part) * interval, values[i]);
    }
    if (!moves) continue;
    ReportJson chart = xy_chart("lines", quantities[quantity].id, quantities[quantity].title,
                                fmt::format("The {} links of {} sampled ones whose queues grew longest, of intervals of {}.",
                                            order.size(), links.size(), readable(interval)),
                                ReportAxis{"time", "s"}, quantities[quantity].axis, series);
    chart["step"] = true;
    if (per_part > 1)
      chart["note"] =
          fmt::format("{} of {} intervals each are put together.", quantities[quantity].takes_most ? "Maxima" : "Means", per_part);
    section.charts.push_back(std::move(chart));
  }
}

}  // namespace

ReportSection packets_section(const RunFolder& run) {
  ReportSection section{"packets", "Queues and pauses"};
  if (results_text(run.summary, "mode") != "packet") return section;
  add_tier_series(run, section);
  add_link_series(run, section);
  if (section.charts.empty() && section.text.empty())
    section.text.push_back("This run did not sample queues over time: `weft run --report` does by tier, --sample by link.");
  return section;
}

}  // namespace weft
